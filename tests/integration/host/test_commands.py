"""host.commands: deadlines that hold whatever the command leaves behind."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from interlock.host import commands
from interlock.host.commands import TimedOut, run

ENV = {"PATH": os.environ["PATH"]}


def test_output_and_code_are_kept() -> None:
    done = run(["sh", "-c", "printf out; printf err >&2; exit 3"], env=ENV)
    assert (done.code, done.out, done.error) == (3, b"out", "err")


def test_input_larger_than_a_pipe_comes_back_whole() -> None:
    data = os.urandom(3_000_000)
    assert run(["cat"], env=ENV, stdin=data).out == data


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look more often than in daily use, so that the tests need not wait."""
    monkeypatch.setattr(commands, "_LOOK", 0.2)
    monkeypatch.setattr(commands, "GRACE", 0.2)


def test_deadline_kills_the_whole_group(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    with pytest.raises(TimedOut):
        run(["sh", "-c", f"sleep 60 & echo $! > {mark}; wait"], env=ENV, seconds=0.5)
    child = int(mark.read_text())
    deadline = time.monotonic() + 30
    while Path(f"/proc/{child}").exists() and "Z" not in Path(f"/proc/{child}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline, "the child of the command outlived it"
        time.sleep(0.02)


@pytest.mark.usefixtures("_quick")
def test_grandchild_in_another_session_cannot_hang_a_killed_command(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    start = time.monotonic()
    with pytest.raises(TimedOut):
        run(["sh", "-c", f"setsid sleep 20 & echo $! > {mark}; sleep 20"], env=ENV, seconds=0.5)
    assert time.monotonic() - start < 5
    os.kill(int(mark.read_text()), 9)


@pytest.mark.usefixtures("_quick")
def test_a_command_that_says_nothing_more_still_has_its_deadline_and_its_code() -> None:
    with pytest.raises(TimedOut):
        run(["sh", "-c", "exec >&- 2>&-; exec sleep 60"], env=ENV, seconds=0.5)
    assert run(["sh", "-c", "echo said; exec >&- 2>&-; sleep 0.7; exit 4"], env=ENV, seconds=30).code == 4


@pytest.mark.usefixtures("_quick")
def test_daemon_that_holds_the_pipe_does_not_delay_the_answer(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    start = time.monotonic()
    done = run(["sh", "-c", f"setsid sleep 20 & echo $! > {mark}; echo ready"], env=ENV, seconds=30)
    assert (done.code, done.out) == (0, b"ready\n")
    assert time.monotonic() - start < 8
    os.kill(int(mark.read_text()), 9)


def test_command_has_a_session_and_so_no_terminal_of_ours() -> None:
    done = run(["sh", "-c", "ps -o sid= -p $$; echo $$"], env=ENV)
    session, pid = done.text.split()
    assert session == pid


def test_closed_standard_input_by_default() -> None:
    assert run(["cat"], env=ENV).out == b""


def test_only_named_descriptors_are_inherited(tmp_path: Path) -> None:
    with (tmp_path / "f").open("w") as wanted, (tmp_path / "g").open("w") as other:
        os.set_inheritable(other.fileno(), True)
        done = run(["sh", "-c", "ls /proc/self/fd"], env=ENV, pass_fds=[wanted.fileno()])
        seen = set(done.text.split())
        assert str(wanted.fileno()) in seen
        assert str(other.fileno()) not in seen


def test_missing_program_is_an_error_of_its_own() -> None:
    with pytest.raises(FileNotFoundError):
        run(["interlock-no-such-program"], env=ENV)


@pytest.mark.parametrize("fault", ["kernel", "python", "descriptors"])
def test_the_end_is_seen_where_a_process_has_no_handle(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    def refused(pid: int, flags: int = 0) -> int:
        raise OSError({"kernel": errno.ENOSYS, "descriptors": errno.EMFILE}[fault], "refused")

    if fault == "python":
        monkeypatch.delattr(os, "pidfd_open")
    else:
        monkeypatch.setattr(os, "pidfd_open", refused)
    assert run(["sh", "-c", "echo said; exec >&- 2>&-; sleep 0.1; exit 4"], env=ENV, seconds=30).code == 4
    with pytest.raises(TimedOut):
        run(["sh", "-c", "exec >&- 2>&-; exec sleep 60"], env=ENV, seconds=0.3)
