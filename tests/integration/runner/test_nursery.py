"""Runners forked from one process: each is a process like any other, and nothing depends on the one that they came from."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.runner.attempt import launch, runner_pid, tidy
from tests.integration.watching import wait_until

from interlock.host import nursery, procfs, tree
from interlock.host.attempts import HostRuns


@pytest.fixture(autouse=True)
def nothing_stays(tmp_path: Path) -> Iterator[None]:
    yield
    tidy(tmp_path)


def nurseries(parent: int) -> list[int]:
    return [pid for pid in procfs.descendants(parent) if b"interlock.runner.nursery" in words(pid)]


def words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it ended meanwhile
        return b""


def look(folder: Path) -> str:
    """An agent that stays until it is told to go."""
    return f"while [ ! -s {folder}/started.json ] || [ ! -e {folder}/go ]; do sleep 0.02; done"


def test_a_runner_is_a_process_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "1"
    pid = os.fork()
    if pid == 0:  # a control plane that is gone before its agent
        try:
            HostRuns().run(folder, launch(look(folder), tmp_path))
        finally:
            os._exit(0)
    wait_until((folder / "output.log").exists)
    runner = runner_pid(folder)
    assert runner is not None
    assert words(runner).rstrip(b"\0").endswith(b"-m\0interlock.runner\0" + os.fsencode(folder))
    assert os.getsid(runner) not in (os.getsid(0), os.getsid(pid))
    assert {os.readlink(f"/proc/{runner}/fd/{number}") for number in (1, 2)} == {str(folder / "runner.log")}
    (source,) = nurseries(pid)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    wait_until(lambda: procfs.stat(source) is None or procfs.stat(source)[1] in "ZX")  # type: ignore[index]
    assert HostRuns().alive(folder)
    (folder / "go").touch()
    end = HostRuns().attach(folder)
    assert end is not None
    assert (end.how, end.exit_code) == ("exited", 0)


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGTERM])
def test_when_it_is_gone_runners_are_started_all_the_same(tmp_path: Path, blow: signal.Signals) -> None:
    assert HostRuns().run(tmp_path / "1", launch("exit 3", tmp_path)).exit_code == 3
    (source,) = nurseries(os.getpid())
    os.kill(source, blow)
    for number in (2, 3):
        end = HostRuns().run(tmp_path / str(number), launch(f"exit {number}", tmp_path))
        assert (end.how, end.exit_code) == ("exited", number)
    assert len(nurseries(os.getpid())) == 1, "the next one who asked got a new one"
    assert not tree.alive(tree.Identity(pid=source, start=0, boot=""))


def test_two_processes_do_not_share_one(tmp_path: Path) -> None:
    HostRuns().run(tmp_path / "1", launch("true", tmp_path))
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = HostRuns().run(tmp_path / "2", launch("exit 0", tmp_path)).exit_code or 0
            code += len(nurseries(os.getpid())) != 1
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    assert HostRuns().run(tmp_path / "3", launch("exit 4", tmp_path)).exit_code == 4


def test_it_ends_with_the_process_that_it_belongs_to(tmp_path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from interlock.host.attempts import HostRuns
from interlock.ports.processes import Launch
from tests.integration.runner.test_nursery import nurseries
HostRuns().run(Path(sys.argv[1]), Launch(argv=("true",), env={"PATH": os.environ["PATH"]}, cwd=Path("/")))
print(*nurseries(os.getpid()))
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONWARNINGS": "error"}
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "1")], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert procfs.stat(int(done.stdout)) is None


def test_what_a_runner_changes_about_itself_reaches_no_other(tmp_path: Path) -> None:
    """Each has the environment of its order alone, whatever order came before."""
    first = HostRuns().run(tmp_path / "1", launch("echo $ONE $TWO", tmp_path, ONE="1"))
    second = HostRuns().run(tmp_path / "2", launch("echo $ONE $TWO", tmp_path, TWO="2"))
    assert (first.tail, second.tail) == ("1", "2")


def test_an_answer_that_is_none_is_a_reason_to_do_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nursery, "_MODULE", "this")
    monkeypatch.setattr(nursery, "_MINE", nursery._Nursery())
    assert HostRuns().run(tmp_path / "1", launch("exit 5", tmp_path)).exit_code == 5
