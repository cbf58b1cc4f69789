"""One attempt said again after a kill: what it was started with is on its record, whatever the default branch says now."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from pathlib import Path

import pytest
from tests.integration.watching import wait_until

from interlock.app import attempt, decide
from interlock.app.base import fresh_view
from interlock.core.job.lifecycle import State
from interlock.core.problems import BadInput, Refused
from interlock.host.folder import Folder


@pytest.fixture
def waiting_agent(world, town):
    """A job whose agent runs until ``go`` exists; gives its id and its attempt's folder."""
    go = world.root / "go"
    command = f"echo ran >> {world.root}/ran; while [ ! -e {go} ]; do sleep 0.02; done; mkdir -p a; echo x > a/x"
    world.card("a", command=command)
    world.push()
    town().dispatch("a")
    job = town().job("a").id
    folder = town().ports.records.attempt(job, 1)
    yield job, folder
    go.touch()
    wait_until(lambda: not town().ports.runs.alive(folder))


def break_policy(world, town) -> None:
    """As somebody else would, from another clone: what changes in the main checkout while an agent runs ends its attempt."""
    other = world.root / "other"
    world.git("clone", "-q", str(world.remote), str(other), at=world.root)
    (other / "interlock.yaml").write_text("train: {checks: [\n")
    world.git("commit", "-qam", "broken", at=other)
    world.git("push", "-q", at=other)
    with pytest.raises(BadInput):
        fresh_view(town.ports)


def start_and_leave(world, town, job: str, folder: Path) -> None:
    """Start the attempt as a supervisor would that is killed meanwhile; its agent lives on."""
    attempt.start(town.ports, job, 1)
    threading.Thread(target=attempt.follow, args=(town.ports, job, 1), daemon=True).start()
    wait_until((world.root / "ran").exists)
    wait_until(Folder(folder).agent)


def test_a_policy_that_broke_meanwhile_does_not_keep_a_running_attempt_from_its_end(world, town, waiting_agent):
    job, folder = waiting_agent
    start_and_leave(world, town(), job, folder)
    prompt = (folder / "prompt.md").stat().st_mtime_ns
    break_policy(world, town())
    assert {"started": True} == attempt.start(town().ports, job, 1)
    (world.root / "go").touch()
    assert {"how": "exited"} == attempt.follow(town().ports, job, 1)
    assert {"kind": "worked"} == attempt.settle(town().ports, job, 1)
    assert State.WORKED == town().job("a").state
    assert "ran\n" == (world.root / "ran").read_text()
    assert prompt == (folder / "prompt.md").stat().st_mtime_ns


def test_a_damaged_record_of_the_environment_does_not_either(world, town, waiting_agent):
    job, folder = waiting_agent
    start_and_leave(world, town(), job, folder)
    (town().ports.records.job(job) / "environment.json").write_text("{")
    (world.root / "go").touch()
    assert {"how": "exited"} == attempt.follow(town().ports, job, 1)
    assert {"kind": "worked"} == attempt.settle(town().ports, job, 1)


def test_an_attempt_that_has_to_be_started_still_needs_the_policy(world, town, waiting_agent):
    job, folder = waiting_agent
    attempt.start(town().ports, job, 1)
    break_policy(world, town())
    with pytest.raises(BadInput):
        attempt.follow(town().ports, job, 1)
    assert not (world.root / "ran").exists()
    assert not Folder(folder).was_started()


def test_a_stop_while_supervisor_and_runner_are_dead_is_heard(world, town, waiting_agent):
    job, folder = waiting_agent
    start_and_leave(world, town(), job, folder)
    runner = Folder(folder).runner()
    assert runner is not None
    # The thread of this process would heal the attempt at once; a stop that came before is what counts.
    decide.stop(town().ports, "a", "ana", "wrong way")
    os.kill(runner.pid, signal.SIGKILL)
    attempt.follow(town().ports, job, 1)
    attempt.settle(town().ports, job, 1)
    assert (State.WAITING, "cancelled") == (town().job("a").state, town().rule("a"))


@pytest.mark.parametrize("way", ["vanished", "emptied", "link"])
def test_ai_02_without_its_tree_an_attempt_starts_no_agent(world, town, waiting_agent, way):
    job, folder = waiting_agent
    tree = Path(town().job("a").workspace)
    attempt.start(town().ports, job, 1)
    shutil.rmtree(tree)
    if way == "emptied":
        tree.mkdir()
    if way == "link":
        tree.symlink_to(world.repo)
    with pytest.raises(Refused) as refused:
        attempt.follow(town().ports, job, 1)
    assert "workspace-missing" == refused.value.refusal.rule
    assert str(tree) in refused.value.refusal.what
    assert not (world.root / "ran").exists()
    assert not Folder(folder).was_started()


@pytest.mark.parametrize("way", [pytest.param("vanished", marks=pytest.mark.long), "emptied"])
def test_ai_02_between_two_attempts_the_job_waits_and_resume_makes_the_tree_again(world, town, way):
    world.card("a", command=f"pwd >> {world.root}/where; test -e {world.root}/go && mkdir -p a && echo x > a/x")
    world.push()
    town().dispatch("a")
    town().run()
    assert "agent-failed" == town().rule("a")
    tree = Path(town().job("a").workspace)
    shutil.rmtree(tree)
    if way == "emptied":
        tree.mkdir()
    decide.retry(town().ports, "a", "the second time", "ana")
    town().run()
    assert "workspace-missing" == town().rule("a")
    assert f"{tree}\n" == (world.root / "where").read_text()
    if way == "emptied":
        assert "Move the folder away" in town().job("a").waiting.ask
        tree.rmdir()
    (world.root / "go").touch()
    decide.resume(town().ports, "a", "ana")
    town().run()
    assert State.LANDED == town().job("a").state
    assert f"{tree}\n{tree}\n" == (world.root / "where").read_text()
