"""What a client left below HOME: read one file at a time, newest first, and only when somebody asks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from interlock.adapters.agents import reading, transcripts
from interlock.adapters.agents.acp import AcpAgent
from interlock.adapters.agents.codex import CodexAgent
from interlock.adapters.agents.known import KnownAgents
from interlock.core.agent.usage import UNKNOWN, Usage
from interlock.core.problems import Misuse
from interlock.host import answers, files
from interlock.ports.processes import End

END = End(how="signalled", exit_code=None, seconds=1.0, tail="")


class Counting(AcpAgent):
    """Says of each file that it reads one token, and stops after two."""

    def recover_usage(self, files: Iterable[bytes]) -> Usage:
        return Usage(output=sum(1 for _, _ in zip(range(2), files, strict=False)))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The descriptors that were read from."""
    seen: list[int] = []
    real = files.read_open

    def count(descriptor: int, most: int) -> bytes:
        seen.append(descriptor)
        return real(descriptor, most)

    monkeypatch.setattr(files, "read_open", count)
    return seen


def left(folder: Path) -> None:
    place = folder / "home" / ".codex" / "sessions"
    place.mkdir(parents=True)
    for number in range(5):
        (place / f"rollout-{number}.jsonl").write_text(f"{number}\n")
        os.utime(place / f"rollout-{number}.jsonl", (number, number))
    (place / "rollout-9.jsonl").symlink_to(place / "rollout-1.jsonl")


def test_what_nobody_asks_for_is_not_read(tmp_path: Path, read: list[int]) -> None:
    left(tmp_path)
    acp = KnownAgents(tmp_path / "locks", {"acp": AcpAgent()})
    assert acp.read("acp", tmp_path, END, before=UNKNOWN, usd_before=None).seen.usage == UNKNOWN
    assert read == []
    counting = KnownAgents(tmp_path / "locks", {"acp": Counting()})
    assert counting.read("acp", tmp_path, END, before=UNKNOWN, usd_before=None).seen.usage.output == 2
    assert len(read) == 2


def test_the_newest_comes_first_and_a_link_never(tmp_path: Path) -> None:
    left(tmp_path)
    found = list(transcripts.of(AcpAgent(), tmp_path / "home"))
    assert [data for _, data in found] == [b"4\n", b"3\n", b"2\n", b"1\n", b"0\n"]
    assert found[0][0] == ".codex/sessions/rollout-4.jsonl"


def test_nothing_outside_of_home_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left(tmp_path / "elsewhere")
    outside = tmp_path / "elsewhere" / "home"
    home = tmp_path / "home"
    (home / ".codex").mkdir(parents=True)
    (home / ".codex" / "sessions").symlink_to(outside / ".codex" / "sessions")
    (home / ".claude" / "projects").mkdir(parents=True)
    (home / ".claude" / "projects" / "p").symlink_to(outside / ".codex" / "sessions")
    (tmp_path / "link").symlink_to(outside)
    inside = {each.stat().st_ino for each in (home, home / ".codex", home / ".claude", home / ".claude" / "projects")}
    opened: set[int] = set()
    real = os.scandir

    def look(folder: int) -> object:
        opened.add(os.fstat(folder).st_ino)
        return real(folder)

    monkeypatch.setattr(os, "scandir", look)
    for place in (home, tmp_path / "link"):
        assert list(transcripts.of(AcpAgent(), place)) == []
    assert opened == inside
    acp = KnownAgents(tmp_path / "locks", {"acp": AcpAgent()})
    assert not acp.has_session("acp", tmp_path)
    assert acp.has_session("acp", tmp_path / "elsewhere")


def test_no_more_is_read_and_looked_at_than_the_bounds_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left(tmp_path)
    monkeypatch.setattr(transcripts, "_ALL_MOST", 3)
    assert [data for _, data in transcripts.of(AcpAgent(), tmp_path / "home")] == [b"4\n", b"3"]
    monkeypatch.setattr(transcripts, "_LOOKED_AT", 1)
    assert list(transcripts.of(AcpAgent(), tmp_path / "home")) == []


@pytest.mark.parametrize(("session", "output"), [("s1", 50), ("s2", 150)])
def test_what_another_session_used_is_not_taken_off(tmp_path: Path, session: str, output: int) -> None:
    lines = (
        {"type": "thread.started", "thread_id": session},
        {"type": "turn.completed", "usage": {"input_tokens": 9, "output_tokens": 150}},
    )
    (tmp_path / "output.log").write_text("".join(json.dumps(each) + "\n" for each in lines))
    codex = KnownAgents(tmp_path / "locks", {"codex": CodexAgent()})
    before = Usage(uncached_input=4, output=100)
    found = codex.read("codex", tmp_path, END, before=before, usd_before=None, resumed="s1")
    assert found.seen.usage.output == output


def test_an_answer_that_nobody_gave_is_none(tmp_path: Path) -> None:
    asks = [b'{"type": "interlock.asked", "id": "%s", "what": "x", "choices": []}' % each for each in (b"p1", b"../x")]
    says = [
        b'{"type": "interlock.answered", "id": "%s", "choice": "a", "allowed": true}' % each
        for each in (b"p1", b"../x")
    ]
    (tmp_path / "output.log").write_bytes(b"\n".join([*asks, *says]))
    (tmp_path / "x.json").write_text("{}")
    (tmp_path / "answers").mkdir()
    assert [each.id for each in reading.summary(AcpAgent(), tmp_path).asked] == ["p1", "../x"]
    with pytest.raises(Misuse, match="no answer"):
        answers.answer(tmp_path / "answers", "p1", "a", "ana")
    answers.answer(tmp_path / "answers", "p1", "deny", "ana")
    assert [each.id for each in reading.summary(AcpAgent(), tmp_path).asked] == ["../x"]


def test_a_line_that_is_too_long_is_unknown_whatever_it_would_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = b'{"type": "interlock.said", "text": "%s"}'
    for most in (60, 1 << 20):
        monkeypatch.setattr(reading, "LINE_MOST", most)
        short, long = said % b"short", said % (b"x" * most)
        # Its first bytes and its last ones would be an object together.
        torn = (said % b"torn")[:-2].ljust(most + 1) + b"y" * (3 << 20) + b'"}'
        (tmp_path / "output.log").write_bytes(b"\n".join([short, long, torn]))
        seen = reading.summary(AcpAgent(), tmp_path)
        assert (seen.last_text, seen.lines, seen.unknown) == ("short", 3, 2)
