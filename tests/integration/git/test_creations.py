"""Many trees of one repository made at once: none fails, and the repository is sound afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.integration.git.build import ENV, World, git, world

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")
CREATING = Path(__file__).with_name("creating.py")


def create_many(team: World, *, processes: int, threads: int, each: int) -> list[str]:
    """Make processes * each trees, processes * threads at a time; gives the faults."""
    root = Path(__file__).parents[3]
    env = {**ENV, "PYTHONPATH": f"{root}:{root / 'src'}"}
    team.repo().refresh()
    running = [
        subprocess.Popen(
            [sys.executable, str(CREATING), str(team.top), str(number * each), str(each), str(threads)],
            env=env,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    answers = [json.loads(process.communicate()[0]) for process in running]
    return [f"{number}: {fault}" for answer in answers for number, fault in answer if fault]


def sound(team: World, count: int, *, look: int) -> None:
    """All are registered and on their branch, some are looked at closely, and git finds no fault."""
    base = git(team.top, "rev-parse", "origin/main")
    listed = git(team.top, "worktree", "list", "--porcelain")
    assert listed.count("\nbranch refs/heads/agent/s") == count
    assert listed.count(f"HEAD {base}") >= count
    assert "locked" not in listed
    assert "prunable" not in listed
    for number in range(0, count, max(1, count // look)):
        tree = team.root / "repo-tasks" / f"s{number}"
        assert git(tree, "status", "--porcelain", "--branch") == f"## agent/s{number}"
    assert git(team.top, "config", "--local", "--get-regexp", "^branch\\.agent", code=1) == "", "nothing is tracked"
    assert git(team.top, "fsck", "--strict", "--no-dangling", "--no-progress") == ""


def test_forty_at_once_from_processes_and_threads(tmp_path: Path) -> None:
    team = world(tmp_path, {f"d{number % 5}/f{number}.txt": str(number) for number in range(20)})
    assert create_many(team, processes=2, threads=10, each=20) == []
    sound(team, 40, look=10)


def test_creations_beside_fetches_and_commits_of_others(tmp_path: Path) -> None:
    """The user goes on working meanwhile: fetches, commits, packs references, writes settings."""
    team = world(tmp_path, {f"f{number}.txt": str(number) for number in range(10)})
    team.repo().refresh()
    stop = threading.Event()
    noise: list[str] = []

    def disturb() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            git(team.top, "commit", "-q", "--allow-empty", "-m", str(number))
            git(team.top, "fetch", "-q", "origin", code=None)
            git(team.top, "pack-refs", "--all", code=None)
            git(team.top, "config", f"x.n{number}", "1", code=None)
            noise.append("x")

    other = threading.Thread(target=disturb)
    other.start()
    try:
        faults = create_many(team, processes=2, threads=4, each=8)
    finally:
        stop.set()
        other.join()
    assert faults == []
    assert noise
    sound(team, 16, look=4)
