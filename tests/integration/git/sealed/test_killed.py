"""The making of a sealed task killed at its steps, and many made at once: the next call heals, and nothing is unsound.

A step of each kind, and a hundred and sixty at once; each step, and a thousand, with INTERLOCK_TESTS=full.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests import preloaded
from tests.integration.git.build import ENV, World, git, world
from tests.integration.git.dying import STEPS
from tests.integration.git.sealed.rooms import Yard, yard
from tests.kinds import one_of_each
from tests.needs import FULL, needs_sandbox

from interlock.adapters.git.sealed import bases

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = [needs_sandbox, pytest.mark.usefixtures("no_user_settings")]
FILES: dict[str, str | bytes | None] = {f"d{number % 3}/f{number}.txt": str(number) for number in range(9)}
ROOT = Path(__file__).parents[4]


def dying(team: World, kind: str, number: int, when: str, **more: str) -> subprocess.CompletedProcess[str]:
    words = (str(team.top), kind, str(number), when)
    return preloaded.run("tests.integration.git.sealed.dying", words, cwd=team.root, env={**ENV, **more})


def die(team: World, kind: str, number: int, when: str) -> None:
    """Make the task in a process that kills itself at its n-th step."""
    done = dying(team, kind, number, when)
    assert done.returncode == -9, done.stderr or f"step {number} did not come"


def healed(here: Yard, kind: str) -> None:
    """The same call again ends with the whole tree, and with nothing beside it."""
    made = here.make("t", "job-t", here.repo.last_base().oid)
    assert here.run(made, "git status --porcelain --branch; git diff-files; git fsck --strict; ls") == (
        "## agent/t\nd0\nd1\nd2"
    )
    assert [each.name for each in made.path.parent.iterdir()] == ["t"]
    task = here.layout.read("job-t")
    assert task is not None
    assert (task.kind, task.state) == (kind, "ready")
    assert git(here.layout.store, "fsck", "--strict", "--no-dangling") == ""
    assert not list(here.layout.bases.glob(".making*"))


def swept(tmp_path: Path, kind: str, when: str) -> list[str]:
    """Kill at the steps in turn; gives what they are called."""
    team = world(tmp_path, FILES)
    here = yard(team)
    here.repo.refresh()
    steps = tmp_path / "steps"
    done = dying(team, kind, 0, when, **{STEPS: str(steps)})
    assert done.returncode == 0, done.stderr
    names = steps.read_text().splitlines()
    for number in range(1, len(names) + 1) if FULL else one_of_each(names):
        back(here)
        die(team, kind, number, when)
        try:
            healed(here, kind)
        except AssertionError as fault:
            raise AssertionError(f"killed {when} step {number} ({names[number - 1]}): {fault}") from fault
    return names


def back(here: Yard) -> None:
    """Everything as before the first creation, but for the mirror."""
    shutil.rmtree(here.layout.root)
    shutil.rmtree(here.team.root / "repo-tasks")
    for ref in git(here.team.top, "for-each-ref", "--format=%(refname)", "refs/heads/agent").splitlines():
        git(here.team.top, "update-ref", "-d", ref)
    for ref in here.repo.mirror.git.refs("refs/interlock/bases/"):
        here.repo.mirror.git.run("update-ref", "-d", ref)


@pytest.mark.parametrize("kind", ["copy", "overlay"])
@pytest.mark.parametrize("number", [3, 30])
def test_a_creation_that_was_killed_is_healed(
    tmp_path: Path, kind: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bases, "SMALL_FILES", 0 if kind == "overlay" else 1000)
    team = world(tmp_path, FILES)
    here = yard(team)
    die(team, kind, number, "before")
    healed(here, kind)


@pytest.mark.long
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("kind", ["copy", "overlay"])
@pytest.mark.parametrize("when", ["before", "during", *(["after"] if FULL else [])])
def test_killed_at_every_step(tmp_path: Path, kind: str, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bases, "SMALL_FILES", 0 if kind == "overlay" else 1000)
    assert len(swept(tmp_path, kind, when)) > 5


CREATING = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tests.integration.git.build import World
from tests.integration.git.sealed.rooms import yard
from interlock.adapters.git.sealed import bases
bases.SMALL_FILES = int(sys.argv[4])
top = Path(sys.argv[1])
team = World(root=top.parent, top=top, remote=top.parent / "remote.git")
base = team.repo().last_base().oid

def create(number):
    try:
        here = yard(team)
        place = here.place(f"s{number}", f"j{number}", base)
        here.spaces.check_free(f"s{number}", place.path)
        here.spaces.create(place, f"s{number}")
    except Exception as fault:
        return f"{number}: {type(fault).__name__}: {fault}"

first, count = int(sys.argv[2]), int(sys.argv[3])
with ThreadPoolExecutor(4) as pool:
    print(json.dumps([each for each in pool.map(create, range(first, first + count)) if each]))
"""


@pytest.mark.long
@pytest.mark.timeout(1500)
@pytest.mark.parametrize(("kind", "small"), [("overlay", 0), ("copy", 1000)])
def test_many_at_once_without_a_failure(tmp_path: Path, kind: str, small: int) -> None:
    team = world(tmp_path, FILES)
    team.repo().refresh()
    each = {"overlay": 500 if FULL else 80, "copy": 50 if FULL else 20}[kind]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", CREATING, str(team.top), str(number * each), str(each), str(small)],
            cwd=ROOT,
            env={**ENV, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    assert [fault for process in running for fault in json.loads(process.communicate()[0])] == []
    here = yard(team)
    assert len(here.layout.every()) == 2 * each
    for number in range(0, 2 * each, each // 5):
        place = here.place(f"s{number}", f"j{number}")
        assert here.run(place, "git status --porcelain --branch; git diff-files") == f"## agent/s{number}"
    assert len(git(team.top, "for-each-ref", "refs/heads/agent").splitlines()) == 2 * each
    assert git(team.top, "fsck", "--strict", "--no-dangling", "--no-progress") == ""
    assert git(here.layout.store, "fsck", "--strict", "--no-dangling") == ""
    assert os.listdir(here.layout.bases) != [] if kind == "overlay" else True
