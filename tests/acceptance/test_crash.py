"""kill -9 of the supervisor and of a runner in the middle of their work, through the command line; the same command heals."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from interlock.testing.world import World

pytestmark = pytest.mark.long
DEADLINE = 30.0


def wait_for(what: Callable[[], object], why: str):
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.05)
    raise AssertionError(f"{why} did not happen within {DEADLINE} s")


def start_run(world: World) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "interlock", "run"]
    return subprocess.Popen(
        words,
        cwd=world.repo,
        env=world.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait(10)


def processes_with(mark: str) -> list[psutil.Process]:
    return [process for process in psutil.process_iter(["cmdline"]) if mark in " ".join(process.info["cmdline"] or ())]


@pytest.fixture
def world(tmp_path):
    return World.make(tmp_path / "w")


def test_an_agent_outlives_the_supervisor_and_is_taken_up_again(world):
    flag, ran = world.root / "go", world.root / "ran"
    command = f"echo ran >> {ran}; while [ ! -e {flag} ]; do sleep 0.05; done; mkdir -p a; echo x > a/x"
    world.card("a", command=command)
    world.push()
    world.cli("dispatch", "a")
    first = start_run(world)
    wait_for(ran.exists, "the agent's start")
    kill(first)
    (job,) = world.ask("status")["jobs"]
    assert ("running", True) == (job["state"], job["agent_alive"])
    second = start_run(world)
    flag.touch()
    assert 0 == second.wait(DEADLINE)
    (job,) = world.ask("status", "--all")["jobs"]
    assert ("landed", 1) == (job["state"], job["attempt"])
    assert "ran\n" == ran.read_text()


def test_a_check_ends_with_the_supervisor_and_is_run_again(world):
    ran = world.root / "checked"
    mark = f"sleep 31{os.getpid()}"
    check = f"echo run >> {ran}; if [ $(wc -l < {ran}) = 1 ]; then {mark}; fi; test -e a/x"
    world.card("a", command="mkdir -p a; echo x > a/x", checks=(check,))
    world.push()
    world.cli("dispatch", "a")
    first = start_run(world)
    wait_for(lambda: ran.exists() and processes_with(mark), "the check's start")
    kill(first)
    wait_for(lambda: not processes_with(mark), "the end of the check's processes")
    world.cli("run")
    (job,) = world.ask("status", "--all")["jobs"]
    assert "landed" == job["state"]


def test_a_killed_runner_is_an_interruption_and_no_retry(world):
    ran = world.root / "ran"
    mark = f"sleep 32{os.getpid()}"
    command = f"echo ran >> {ran}; if [ $(wc -l < {ran}) = 1 ]; then {mark}; fi; mkdir -p a; echo x > a/x"
    world.card("a", command=command, extra="budget: {attempts: 1}\n")
    world.push()
    world.cli("dispatch", "a")
    first = start_run(world)
    wait_for(lambda: processes_with(mark), "the agent's start")
    (runner,) = [p for p in processes_with("interlock.runner") if str(world.root) in " ".join(p.info["cmdline"])]
    runner.kill()
    assert 0 == first.wait(DEADLINE)
    assert not processes_with(mark)
    (job,) = world.ask("status", "--all")["jobs"]
    assert ("landed", 2) == (job["state"], job["attempt"])
    kinds = [event["kind"] for event in world.ask("show", "a")["history"]]
    assert "attempt.interrupted" in kinds


def test_stop_ends_the_whole_tree_and_keeps_the_work(world):
    mark = f"sleep 33{os.getpid()}"
    world.card("a", command=f"mkdir -p a; echo half > a/x; setsid {mark} & {mark}")
    world.push()
    world.cli("dispatch", "a")
    running = start_run(world)
    wait_for(lambda: len(processes_with(mark)) > 1, "the agent's start")
    world.cli("stop", "a", "--reason", "wrong way")
    assert 0 == running.wait(DEADLINE)
    assert not processes_with(mark)
    (job,) = world.ask("status")["jobs"]
    assert ("waiting", "cancelled") == (job["state"], job["waits_for"])
    assert "half\n" == Path(job["workspace"], "a/x").read_text()


def test_a_stop_while_supervisor_and_runner_are_dead_is_heard(world):
    ran = world.root / "ran"
    mark = f"sleep 34{os.getpid()}"
    world.card("a", command=f"echo ran >> {ran}; {mark}")
    world.push()
    world.cli("dispatch", "a")
    first = start_run(world)
    wait_for(lambda: processes_with(mark), "the agent's start")
    (runner,) = [p for p in processes_with("interlock.runner") if str(world.root) in " ".join(p.info["cmdline"])]
    kill(first)
    runner.kill()
    wait_for(lambda: not processes_with(mark), "the agent's end")
    world.cli("stop", "a", "--reason", "wrong way")
    world.cli("run")
    (job,) = world.ask("status")["jobs"]
    assert ("waiting", "cancelled", 1) == (job["state"], job["waits_for"], job["attempt"])
    assert "ran\n" == ran.read_text()
