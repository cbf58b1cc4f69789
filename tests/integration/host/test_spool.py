"""The spool: exclusive numbers, bounds, and a reader that takes anything an agent may put there."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from interlock.host import spool


def test_messages_come_back_in_their_order_and_by_attempt(tmp_path: Path) -> None:
    spool.write(tmp_path, 1, "note", "one", {})
    spool.write(tmp_path, 2, "note", "other", {})
    spool.write(tmp_path, 1, "stop", "two", {"reason": "two", "options": ["a"]})
    read = spool.read(tmp_path, 1)
    assert [(each["number"], each["verb"], each["text"]) for each in read] == [(1, "note", "one"), (2, "stop", "two")]
    assert read[1]["data"] == {"reason": "two", "options": ["a"]}
    assert spool.has_stop(tmp_path, 1)
    assert not spool.has_stop(tmp_path, 2)
    assert spool.read(tmp_path, 3) == []


def test_writers_at_the_same_time_never_share_a_number(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        verbs = ["note", "attach", "scope-request"] * 20
        list(pool.map(lambda verb: spool.write(tmp_path, 1, verb, verb, {}), verbs))
    assert [each["number"] for each in spool.read(tmp_path, 1)] == list(range(1, 61))


def test_a_message_and_the_number_of_messages_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(spool.TooLong, match="65536 are allowed"):
        spool.write(tmp_path, 1, "note", "x" * spool.MOST_BYTES, {})
    assert spool.read(tmp_path, 1) == []
    monkeypatch.setattr(spool, "MOST_MESSAGES", 3)
    for _ in range(3):
        spool.write(tmp_path, 1, "note", "x", {})
    with pytest.raises(spool.SpoolFull):
        spool.write(tmp_path, 1, "note", "x", {})
    assert len(spool.read(tmp_path, 1)) == 3


GARBAGE = {
    "000010-stop.json": b"",
    "000011-stop.json": b"{",
    "000012-stop.json": b"[]",
    "000013-stop.json": b'{"verb": "note", "text": "x", "data": {}, "at": 1}',
    "000014-stop.json": b'{"verb": "stop", "text": 7, "data": {}, "at": 1}',
    "000015-stop.json": b'{"verb": "stop", "text": "x", "data": [], "at": 1}',
    "000016-stop.json": b'{"verb": "stop", "text": "x", "data": {}, "at": NaN}',
    "000017-stop.json": b'{"verb": "stop", "text": "x", "data": {}, "at": "soon"}',
    "000018-stop.json": b"[" * 60_000,
    "000025-stop.json": b'{"verb": "stop", "text": "x", "data": {}, "at": "nan"}',
    "000019-stop.json": b"\xff\xfe\x00",
    "000020-stop.json": b'{"verb": "stop", "text": "' + b"x" * 100_000 + b'", "data": {}, "at": 1}',
    "000021-stop.json": b'{"verb": "stop", "text": "x", "data": {"n": ' + b"9" * 5000 + b'}, "at": 1}',
    "../000022-stop.json": b'{"verb": "stop", "text": "x", "data": {}, "at": 1}',
    "0000022-stop.json": b'{"verb": "stop", "text": "x", "data": {}, "at": 1}',
    "000023-run.json": b'{"verb": "run", "text": "x", "data": {}, "at": 1}',
    "000024-stop.json.tmp": b"{}",
}


@pytest.mark.parametrize("name", GARBAGE)
def test_what_is_no_message_is_left_out(tmp_path: Path, name: str) -> None:
    spool.write(tmp_path, 1, "note", "good", {})
    (tmp_path / "1" / name).write_bytes(GARBAGE[name])
    assert [each["text"] for each in spool.read(tmp_path, 1)] == ["good"]
    assert not spool.has_stop(tmp_path, 1)


def test_what_is_no_file_is_left_out_and_not_waited_for(tmp_path: Path) -> None:
    good = json.dumps({"verb": "stop", "text": "x", "data": {}, "at": 1})
    (tmp_path / "elsewhere").write_text(good)
    folder = tmp_path / "1"
    folder.mkdir()
    (folder / "000001-stop.json").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(folder / "000002-stop.json")
    (folder / "000003-stop.json").mkdir()
    assert spool.read(tmp_path, 1) == []
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "000001-stop.json").write_text(good)
    (tmp_path / "2").symlink_to(tmp_path / "real")
    assert spool.read(tmp_path, 2) == []
    (tmp_path / "3").write_text(good)
    assert spool.read(tmp_path, 3) == []


def test_what_an_agent_says_is_fit_to_be_shown_and_stored(tmp_path: Path) -> None:
    shape = '{"verb": "stop", "text": "a\\u001b[31mb\\u0000\\ud800", "data": {"r\\u202e": ["\\u001b]0;t\\u0007x"]}, "at": 1}'
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "000001-stop.json").write_text(shape)
    (message,) = spool.read(tmp_path, 1)
    assert message["text"] == "ab?"
    assert message["data"] == {"r": ["x"]}


def test_a_stop_is_seen_by_who_asks_all_the_time(tmp_path: Path) -> None:
    box = tmp_path / "spool"
    stop = spool.Stop(str(box), 1)
    assert not spool.Stop(None, 1).is_there()
    assert not stop.is_there()
    spool.write(box, 1, "note", "x", {})
    assert not stop.is_there()
    spool.write(box, 1, "stop", "at once after a look", {"reason": "x"})
    assert stop.is_there()
    assert stop.is_there()


def test_a_stop_is_seen_in_a_folder_that_was_quiet_for_long(tmp_path: Path) -> None:
    box = tmp_path / "spool"
    spool.write(box, 1, "note", "x", {})
    os.utime(box / "1", (1_000_000_000, 1_000_000_000))
    stop = spool.Stop(str(box), 1)
    assert not stop.is_there()
    assert stop._known == 1_000_000_000 * 10**9, "it is not read again while nothing changes"
    spool.write(box, 1, "stop", "", {"reason": "x"})
    assert stop.is_there()
