"""The files of the job records: folders, messages that never raise, and named locks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.adapters.records import JobRecords
from interlock.core.problems import Refused
from interlock.host import spool

HOLD = """
import sys, time
from pathlib import Path
from interlock.adapters.records import JobRecords
with JobRecords(Path(sys.argv[1])).lock("dispatch-a", wait=0):
    print("held", flush=True)
    time.sleep(600)
"""


def test_folders_are_made_where_they_are_told(tmp_path: Path) -> None:
    records = JobRecords(tmp_path)
    assert records.attempt("j1", 3) == tmp_path / "jobs" / "j1" / "attempts" / "3"
    assert records.spool("j1") == tmp_path / "jobs" / "j1" / "spool"
    assert records.spool("j1").is_dir()
    assert records.job("train-4").is_dir()


@pytest.mark.parametrize("name", ["", "..", "a/b", "/etc", "a\nb", ".hidden", "x" * 200])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name"):
        JobRecords(tmp_path / "in").job(name)
    assert not (tmp_path / "in").exists()


def test_messages_are_values_and_garbage_is_left_out(tmp_path: Path) -> None:
    records = JobRecords(tmp_path)
    spool.write(records.spool("j1"), 1, "note", "hello", {"n": 1})
    (records.spool("j1") / "1" / "000002-stop.json").write_bytes(os.urandom(500))
    (message,) = records.messages("j1", 1)
    assert (message.number, message.verb, message.text, message.data) == (1, "note", "hello", {"n": 1})
    assert records.messages("j1", 2) == ()


def test_a_held_lock_is_refused_with_its_holder_and_free_when_it_dies(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    records = JobRecords(tmp_path)
    try:
        with pytest.raises(Refused) as caught, records.lock("dispatch-a", wait=0):
            pass
        assert caught.value.refusal.rule == "locked"
        assert caught.value.refusal.holders == (f"process {child.pid}",)
        with records.lock("dispatch-b", wait=0):
            pass
    finally:
        child.kill()
        child.communicate()
    with records.lock("dispatch-a", wait=None), pytest.raises(Refused), records.lock("dispatch-a", wait=0.05):
        pass


def test_a_fault_inside_lets_the_lock_go(tmp_path: Path) -> None:
    records = JobRecords(tmp_path)
    with pytest.raises(KeyError), records.lock("x", wait=0):
        raise KeyError
    with records.lock("x", wait=0):
        pass


def test_decisions_leave_out_what_is_none_and_tell_the_last_ones(tmp_path: Path) -> None:
    records = JobRecords(tmp_path)
    assert records.decisions("j1") == ()
    hostile = [
        b"\xff\xfe", b"[]", b'"allowed": false', b'{"allowed": false}', b'{"allowed": false, "at": "x", "host": 1}',
        b'{"at": 1, "allowed": false, "host": "h", "port": 1}', b"[" * 100_000 + b'"allowed": false',
        b'{"at": 1, "why": {"allowed": false}, "host": "h", "port": 1, "allowed": true}',
    ]  # fmt: skip
    lines = [
        json.dumps(
            {"at": at, "allowed": False, "host": f"h{at}\x1b[31m" + "x" * 9999, "port": 443, "why": "\u202eno\n"}
        )
        for at in range(30)
    ]
    first, second = records.attempt("j1", 1), records.attempt("j1", 10)
    (first / "network.jsonl").write_bytes(b"\n".join([*hostile, *(line.encode() for line in lines[:5])]))
    (second / "network.jsonl.1").write_text("\n".join(lines[5:20]))
    (second / "network.jsonl").write_text("\n".join(lines[20:]))
    (tmp_path / "gate").write_text(json.dumps({"at": 99, "allowed": False, "ref": "x", "why": "y"}))
    (second / "gate.jsonl").symlink_to(tmp_path / "gate")
    (records.job("j1") / "attempts" / "odd").mkdir()
    told = records.decisions("j1")
    assert [each["at"] for each in told] == list(range(10, 30))
    assert {each["kind"] for each in told} == {"network"}
    assert all(len(each["what"]) <= 300 and "\x1b" not in each["what"] for each in told)
    assert {each["why"] for each in told} == {"no"}
