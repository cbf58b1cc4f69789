"""A revert and a resolution that are killed at each recorded step boundary: the next run, or the same words, go on; nothing is done twice."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from tests import preloaded
from tests.acceptance.test_resolution import mended, world_of

from interlock.testing.world import World

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

KILLER = Path(__file__).with_name("killer.py")


def command(world: World, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return preloaded.run(str(KILLER), words, cwd=world.repo, env=world.env | {"KILL_AT": "0"} | env, timeout=180)


def boundaries(world: World, *words: str) -> int:
    """How many boundaries a command that nobody disturbs has."""
    count = world.root / "count"
    done = command(world, *words, COUNT_FILE=str(count))
    assert 0 == done.returncode, done.stderr
    return len(count.read_text().splitlines())


def states(world: World) -> dict[str, str]:
    return {job["slug"]: job["state"] for job in world.ask("status", "--all")["jobs"]}


# ---------------------------------------------------------------- a revert
REVERT = ("revert", "a", "--why", "It broke the invoice.")


def landed(root: Path) -> World:
    """One change that landed, and another one that the train holds."""
    world = World.make(root)
    for slug in "ab":
        world.card(slug, command=f"mkdir {slug}; echo x > {slug}/x")
    world.push()
    world.cli("dispatch", "a")
    world.cli("run")
    world.cli("dispatch", "b")
    world.cli("train", "hold", "b", "--reason", "later")
    world.cli("run")
    world.cli("train", "add", "b")
    return world


@pytest.mark.parametrize("first", ["run", "revert"])
def test_a_revert_that_is_killed_goes_on_by_a_run_and_by_the_same_words(tmp_path, first):
    for number in range(1, boundaries(landed(tmp_path / "unharmed"), *REVERT) + 1):
        world = landed(tmp_path / f"{first}{number}")
        assert command(world, *REVERT, KILL_AT=str(number)).returncode == -signal.SIGKILL
        begun = "revert-a" in states(world)
        if first == "revert" or not begun:
            world.cli(*REVERT)
        world.cli("run")
        told = f"killed at boundary {number}, then {first}"
        assert {"a": "reverted", "b": "landed", "revert-a": "landed"} == states(world), told
        assert ["b/x"] == sorted(path for path in world.main_files() if path.endswith("/x")), told


# ---------------------------------------------------------------- a resolution
def test_a_resolution_that_is_killed_is_said_again_and_judged_beside_the_change_as_it_was(tmp_path):
    number, many = 0, 1
    while number < many:
        world = world_of(tmp_path / f"w{number}", mended())
        if number == 0:
            many = boundaries(world, "resolve", "shipping")
        else:
            assert command(world, "resolve", "shipping", KILL_AT=str(number)).returncode == -signal.SIGKILL
            if "waiting" == states(world)["shipping"]:
                world.cli("resolve", "shipping")
        world.cli("run")
        told = f"killed at boundary {number}: {world.ask('show', 'shipping')}"
        assert {"tax": "landed", "shipping": "landed"} == states(world), told
        number += 1
