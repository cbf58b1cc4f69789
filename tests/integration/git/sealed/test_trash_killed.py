"""Every verb on a sealed task killed at its steps: the same call again ends as if it had never been killed.

Some of the steps, others for each way of life; with INTERLOCK_TESTS=full all of them, and the end of each git call too.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from tests import preloaded
from tests.integration.git.build import ENV, git
from tests.integration.git.sealed.agent import KEEP, KINDS, REF, Sealed, sealed
from tests.integration.git.sealed.test_kept import state
from tests.needs import FULL

from interlock.adapters.git.levels import LevelWorkspaces
from interlock.adapters.git.sealed import changes
from interlock.adapters.git.sealed.layout import Kind
from interlock.adapters.git.trees import remove_folder

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = [pytest.mark.long, pytest.mark.timeout(900), pytest.mark.usefixtures("no_user_settings")]

MOST = 1500
WHEN = ["before", "after"] if FULL else ["before"]


def numbers(first: int) -> Iterable[int]:
    """Which steps are killed: some, begun at ``first``; the loops end after one that does not come."""
    return range(1, MOST) if FULL else range(first, MOST, 61)


def die(task: Sealed, verb: str, number: int, when: str, *commits: str) -> bool:
    """Do the verb in a process that kills itself at its n-th step; False when it had fewer."""
    words = (str(task.team.top), verb, str(number), when, *commits)
    done = preloaded.run("tests.integration.git.sealed.ending", words, cwd=task.team.root, env=ENV)
    assert done.returncode in (0, -9), done.stderr
    return done.returncode != 0


@pytest.fixture(params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sealed:
    kind: Kind = request.param
    return sealed(tmp_path, kind, monkeypatch)


@pytest.mark.parametrize("source", ["trash", "snapshot"])
@pytest.mark.parametrize("when", WHEN)
def test_away_and_back(made: Sealed, when: str, source: str) -> None:
    made.run("echo own > own; git add own; git commit -qm own; echo x >> src/a.py; rm README.md; echo n > new")
    before = state(made)
    spaces = LevelWorkspaces(made.repo)
    for number in numbers(1 + 15 * (source == "trash") + 30 * (made.task.kind == "copy")):
        killed = die(made, "snapshot", number, when)
        spaces.snapshot(made.place, REF)
        killed |= die(made, "remove", number, when)
        spaces.remove(made.place, REF)
        assert not made.place.path.exists()
        assert git(made.team.top, "branch", "--list", "agent/t") == ""
        if source == "snapshot":
            remove_folder(made.layout.root / "trash")
            remove_folder(made.place.path.parent / ".trash")
        killed |= die(made, "restore", number, when)
        if not spaces.exists(made.place) or ((made.layout.root / "trash").is_dir() and markers(made)):
            spaces.restore(REF, made.place)
        assert state(made) == before, f"step {number}"
        remove_folder(made.layout.root / "trash")
        remove_folder(made.place.path.parent / ".trash")
        if not killed:
            return
    pytest.fail(f"there were more than {MOST} steps")


def markers(task: Sealed) -> list[Path]:
    return list((task.layout.root / "trash").glob("*.restoring"))


@pytest.mark.parametrize("when", WHEN)
def test_commit(made: Sealed, when: str) -> None:
    parent = made.place.base
    for number in numbers(1 + 30 * (made.task.kind == "copy")):
        made.run("git repack -adq")  # else each round has more to carry, and more steps, than the one before
        made.run(f"echo {number} > own{number}; git add -A; git commit -qm own; echo {number} > new{number}")
        own = made.run("git rev-parse HEAD").strip()
        killed = die(made, "commit", number, when, parent)
        done = made.work(parent)
        files = set(made.repo.files(done.commit))
        assert {f"own{number}", f"new{number}"} <= files
        assert git(made.team.top, "rev-parse", "agent/t", f"{done.commit}^", KEEP).split() == [done.commit, parent, own]
        assert made.run("git status --porcelain; git log -1 --format=%H; git fsck --strict 2>&1") == f"{done.commit}\n"
        parent = done.commit
        if not killed:
            return
    pytest.fail(f"there were more than {MOST} steps")


@pytest.mark.parametrize("when", WHEN)
def test_rebase(made: Sealed, when: str) -> None:
    parent = made.place.base
    for number in numbers(1 + 30 * (made.task.kind == "copy")):
        made.run("git repack -adq")
        made.run(f"echo {number} > mine{number}; echo {number} >> src/a.py")
        head = made.work(parent).commit
        onto = made.team.outsider({f"theirs{number}": "1\n", "README.md": f"{number}\n"})
        made.repo.refresh()
        killed = die(made, "rebase", number, when, head, onto)
        keep = f"{KEEP}-{onto[:8]}"
        assert made.repo.rebase_place(made.place, head=head, onto=onto, keep=keep) == ()
        assert git(made.team.top, "rev-parse", keep, "agent/t").split() == [head, onto]
        assert made.run(f"cat README.md theirs{number} mine{number}") == f"{number}\n1\n{number}\n"
        assert made.run("git rev-parse HEAD").strip() == onto
        assert not {"README.md", f"theirs{number}"} & set(changes.changed(made.layout, made.task))
        done = made.work(onto)
        assert git(made.team.top, "diff", "--name-only", onto, done.commit).count(f"mine{number}") == 1
        parent = done.commit
        if not killed:
            return
    pytest.fail(f"there were more than {MOST} steps")
