"""Cases JQ-04 and JQ-05: agents that outlive their controller, and pids that belong to somebody else by now."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.runner.attempt import control, ended, launch, runner_pid, tidy
from tests.integration.watching import wait_until

from interlock.host import tree
from interlock.host.attempts import HostRuns
from interlock.host.folder import Folder


@pytest.fixture(autouse=True)
def nothing_stays(tmp_path: Path) -> Iterator[None]:
    yield
    tidy(tmp_path)


def test_jq_04_a_live_agent_is_adopted_again_by_its_identity(tmp_path: Path) -> None:
    folder = tmp_path / "1"
    script = f"echo ran >> {tmp_path}/count; echo one; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; echo two"
    first = control(folder, script, contain=True)
    wait_until(lambda: Folder(folder).agent() and (folder / "output.log").read_bytes())
    first.kill()
    first.communicate()
    runner, agent = Folder(folder).runner(), Folder(folder).agent()
    assert runner is not None
    assert agent is not None
    assert tree.alive(runner)
    assert tree.alive(agent)
    controls = [control(folder, script, contain=True) for _ in range(3)]
    (tmp_path / "go").touch()
    results = {each.communicate(timeout=60)[0] for each in controls}
    assert [json.loads(result) for result in results] == [["exited", 0, "one\ntwo"]]
    assert (tmp_path / "count").read_text() == "ran\n"
    wait_until(lambda: not tree.alive(runner))


def test_jq_04_an_agent_that_died_with_its_runner_is_an_interruption_and_its_work_stays(tmp_path: Path) -> None:
    folder = tmp_path / "1"
    work = tmp_path / "tree"
    work.mkdir()
    first = control(folder, f"echo half > {work}/file; sleep 600", contain=True)
    wait_until((work / "file").exists)
    pid = runner_pid(folder)
    assert pid is not None
    first.kill()
    first.communicate()
    os.kill(pid, signal.SIGKILL)
    assert ended(folder, contain=True, script="touch ran-again") == ("interrupted", None)
    assert (work / "file").read_text() == "half\n"
    assert not (folder / "ran-again").exists()


def stranger_in_the_record(folder: Path, stranger: subprocess.Popen[bytes], *, start: int, boot: str) -> None:
    """A record of a started attempt whose pids are those of a process that has nothing to do with it."""
    who = {"pid": stranger.pid, "start": start, "boot": boot}
    Folder(folder).path.mkdir(parents=True)
    order = launch("true", folder)
    spec = {
        "argv": list(order.argv),
        "env": {"INTERLOCK_RUN": "0" * 32},
        "cwd": "/",
        "stdin": None,
        "wall": 1.0,
        "idle": 1.0,
        "spool": None,
        "attempt": 1,
        "contain": True,
    }
    (folder / "spec.json").write_text(json.dumps(spec))
    (folder / "started.json").write_text(json.dumps({"runner": who, "agent": who, "namespace": True}))
    (folder / "lock").touch()


def test_jq_05_a_stored_pid_that_is_somebody_elses_counts_as_dead_and_gets_no_signal(tmp_path: Path) -> None:
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        who = tree.identify(stranger.pid)
        assert who is not None
        cases = {
            "other-start": (who.start - 5, who.boot),
            "other-boot": (who.start, "00000000-0000-0000-0000-000000000000"),
            "the-same": (who.start, who.boot),  # even exactly this process: it does not hold the lock of the attempt
        }
        for name, (start, boot) in cases.items():
            folder = tmp_path / name
            stranger_in_the_record(folder, stranger, start=start, boot=boot)
            runs = HostRuns()
            assert not runs.alive(folder)
            runs.cancel(folder)
            assert ended(folder, contain=True) == ("cancelled", None)
            assert stranger.poll() is None, name
    finally:
        stranger.kill()
        stranger.wait()


def test_jq_05_no_signal_reaches_a_process_of_another_start_or_boot() -> None:
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        who = tree.identify(stranger.pid)
        assert who is not None
        for stale in (replace(who, start=who.start + 1), replace(who, boot="another"), replace(who, start=0)):
            assert not tree.alive(stale)
            assert not tree.send(stale, signal.SIGKILL)
            assert tree.end((stale,)) == ()
        assert stranger.poll() is None
        assert tree.send(who, signal.SIGKILL)
        assert stranger.wait() == -signal.SIGKILL
        assert not tree.send(who, signal.SIGKILL)
    finally:
        stranger.kill()
        stranger.wait()


def test_jq_09_a_machine_that_slept_finds_its_agents_healthy(tmp_path: Path) -> None:
    """Runner and agent are stopped for longer than the idle limit; the gap is ours, and nobody is blamed."""
    script = f"while [ ! -e {tmp_path}/go ]; do echo tick; sleep 0.05; done; echo done"
    order = replace(launch(script, tmp_path), idle=2.5)
    folder = tmp_path / "1"
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(HostRuns().run(folder, order).how))
    thread.start()
    wait_until(Folder(folder).agent)
    runner = Folder(folder).runner()
    assert runner is not None
    asleep = (runner, *tree.descendants(runner.pid))
    for who in asleep:
        tree.send(who, signal.SIGSTOP)
    time.sleep(3.0)  # longer than the limit: that is the case
    for who in reversed(asleep):
        tree.send(who, signal.SIGCONT)
    time.sleep(0.3)
    assert HostRuns().alive(folder)
    (tmp_path / "go").touch()
    thread.join(30)
    assert found == ["exited"]
