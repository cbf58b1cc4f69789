"""Killed at any step, the same call again ends with the same result: creation, commit, snapshot, removal, restoration.

A step of each kind is tried; with INTERLOCK_TESTS=full each step, and the end of each git call too (which is where the
step after it begins).
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import preloaded
from tests.integration.git.build import ENV, World, git, place, snapshot_of, work, world, write
from tests.integration.git.dying import STEPS, do
from tests.kinds import one_of_each
from tests.needs import FULL

from interlock.ports.isolation import Place

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("no_user_settings")]

pytest_plugins = ("tests.integration.git.fixtures",)

REF = "refs/interlock/trash/t/job1-7"
MANY = 120
SWEEPS = ["before", "after"] if FULL else ["before"]


def die(team: World, verb: str, number: int, when: str) -> bool:
    """Run a verb that kills itself at its n-th step; False when it ended before that step came."""
    done = dying(team, verb, number, when)
    assert done.returncode in (0, -9), done.stderr
    return done.returncode == -9


def files(count: int = 30) -> dict[str, str | bytes | None]:
    return {f"src/d{number % 7}/f{number}.py": f"{number}\n" for number in range(count)}


def dying(team: World, verb: str, number: int, when: str, **more: str) -> subprocess.CompletedProcess[str]:
    words = (str(team.top), verb, str(number), when)
    return preloaded.run("tests.integration.git.dying", words, cwd=team.root, env={**ENV, **more})


def steps(team: World, verb: str, when: str) -> list[str]:
    """Do the verb to its end; gives what its steps are called."""
    file = team.root.with_suffix(".steps")
    done = dying(team, verb, 0, when, **{STEPS: str(file)})
    assert done.returncode == 0, done.stderr
    return file.read_text().splitlines()


def sweep(
    tmp_path: Path, verb: str, when: str, prepare: Callable[[World], Place | None], check: Callable[..., None]
) -> list[str]:
    """Kill the verb at its steps in turn, each in the same world as it was before, and do it again; gives the steps."""
    root, before = tmp_path / "w", tmp_path / "before"
    root.mkdir()
    team = world(root, files())
    made = prepare(team)
    shutil.copytree(root, before, symlinks=True)
    names = steps(team, verb, when)
    assert len(names) < MANY
    check(team, made)
    for number in range(1, len(names) + 1) if FULL else one_of_each(names):
        shutil.rmtree(root)
        shutil.copytree(before, root, symlinks=True)
        assert die(team, verb, number, when), f"step {number} did not come"
        do(team.top, verb)
        try:
            check(team, made)
            git(team.top, "fsck", "--no-dangling", "--no-progress")
        except AssertionError as fault:
            raise AssertionError(f"killed {when} step {number} ({names[number - 1]}): {fault}") from fault
    return names


def whole(team: World, made: Place, head: str | None = None) -> None:
    """The tree is there, clean, on its branch, with nothing half made left."""
    assert git(made.path, "rev-parse", "HEAD") == (head or made.base)
    assert git(made.path, "branch", "--show-current") == "agent/t"
    assert git(made.path, "status", "--porcelain") == ""
    listed = git(team.top, "worktree", "list", "--porcelain")
    assert listed.count("worktree ") == 2
    assert "locked" not in listed
    assert "prunable" not in listed
    assert not list((team.top / ".git" / "worktrees").glob("*/index.lock"))
    intent = json.loads((team.top / ".git" / "interlock" / "intents" / "job1.json").read_text())
    assert intent["state"] == "ready"


def fetched(team: World) -> Place:
    """Before a creation: a base that the checkout has not seen, and somebody else's half-made tree."""
    base = team.outsider({"later.txt": "x"})
    team.repo().refresh()
    return Place(path=team.root / "repo-tasks" / "t", branch="agent/t", base=base, job="job1")


@pytest.mark.parametrize(("when", "least"), [("before", 30), ("during", 6), *([("after", 6)] if FULL else [])])
@pytest.mark.timeout(300)
def test_creation(tmp_path: Path, when: str, least: int) -> None:
    assert len(sweep(tmp_path, "create", when, fetched, whole)) >= least


def with_work(team: World) -> Place:
    """Before a commit: edits, and a commit that the agent made itself."""
    made = place(team)
    write(made.path, {"src/d0/f0.py": "own\n"})
    git(made.path, "commit", "-qam", "the agent's own")
    write(made.path, {"src/d0/f7.py": None, "new/x.txt": "x", ".agent-env": "A=1\n"})
    return made


def committed(team: World, made: Place) -> None:
    tip = git(made.path, "rev-parse", "HEAD")
    whole(team, made, tip)
    assert git(team.top, "rev-list", "--parents", "-1", tip).split() == [tip, made.base]
    assert git(team.top, "diff", "--name-status", made.base, tip).split("\n") == [
        "A\tnew/x.txt",
        "M\tsrc/d0/f0.py",
        "D\tsrc/d0/f7.py",
    ]
    assert git(team.top, "log", "-1", "--format=%s", "refs/interlock/kept/j/1") == "the agent's own"
    mirror = team.repo().mirror.path
    assert git(mirror, "cat-file", "-t", tip) == "commit"


@pytest.mark.parametrize("when", SWEEPS)
@pytest.mark.timeout(300)
def test_commit(tmp_path: Path, when: str) -> None:
    assert len(sweep(tmp_path, "commit", when, with_work, committed)) >= 10


def dirty(team: World) -> Place:
    made = place(team)
    write(made.path, {"src/d0/f0.py": "staged\n"})
    git(made.path, "add", "-A")
    write(made.path, {"src/d0/f0.py": "edited\n", "src/d1/f1.py": None, "new.txt": "x", ".agent-env": "A=1\n"})
    (team.root / "before.json").write_text(json.dumps({k: str(v) for k, v in snapshot_of(made.path).items()}))
    (team.root / "status").write_text(git(made.path, "status", "--porcelain", "--ignored"))
    return made


def snapshotted(team: World) -> Place:
    made = dirty(team)
    team.trees().snapshot(made, REF)
    return made


def taken(team: World, made: Place) -> None:
    both = [git(where, "rev-parse", REF) for where in (team.top, team.repo().mirror.path)]
    assert both[0] == both[1]
    assert git(team.top, "show", f"{REF}:src/d0/f0.py") == "edited"
    assert git(team.top, "show", f"{REF}:.agent-env") == "A=1"
    assert str(snapshot_of(made.path)["src/d0/f0.py"]) == str(b"edited\n")


@pytest.mark.parametrize("when", SWEEPS)
@pytest.mark.timeout(300)
def test_snapshot(tmp_path: Path, when: str) -> None:
    assert len(sweep(tmp_path, "snapshot", when, dirty, taken)) >= 10


def gone(team: World, made: Place) -> None:
    assert not made.path.exists()
    assert git(team.top, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert git(team.top, "branch", "--list", "agent/*") == ""
    restored_after(team, made)


def restored_after(team: World, made: Place) -> None:
    team.trees().restore(REF, made)
    as_before(team, made)


def as_before(team: World, made: Place) -> None:
    before = json.loads((team.root / "before.json").read_text())
    assert {name: str(data) for name, data in snapshot_of(made.path).items()} == before
    assert git(made.path, "status", "--porcelain", "--ignored") == (team.root / "status").read_text()
    assert git(made.path, "branch", "--show-current") == "agent/t"
    assert not list((team.top / ".git" / "interlock" / "trash").glob("*.restoring"))


@pytest.mark.parametrize("when", SWEEPS)
@pytest.mark.timeout(300)
def test_removal(tmp_path: Path, when: str) -> None:
    assert len(sweep(tmp_path, "remove", when, snapshotted, gone)) >= 10


def removed(team: World) -> Place:
    made = snapshotted(team)
    team.trees().remove(made, REF)
    return made


def removed_and_emptied(team: World) -> Place:
    """The trash is gone too: only the snapshot is left."""
    made = removed(team)
    shutil.rmtree(team.root / "repo-tasks" / ".trash")
    shutil.rmtree(team.top / ".git" / "interlock" / "trash")
    return made


@pytest.mark.timeout(300)
def test_restoration_from_the_trash(tmp_path: Path) -> None:
    def check(team: World, made: Place) -> None:
        as_before(team, made)

    root = tmp_path / "w"
    root.mkdir()
    team = world(root, files())
    made = removed(team)
    number = 0
    while die(team, "restore", number := number + 1, "before"):
        assert number < MANY
    check(team, made)
    assert number >= 4


@pytest.mark.timeout(300)
def test_restoration_from_the_snapshot(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    team = world(root, files())
    made = removed_and_emptied(team)
    number = 0
    while die(team, "restore", number := number + 1, "before"):
        assert number < MANY
    as_before(team, made)
    assert number >= 10


def to_rebase(team: World) -> Place:
    """A task whose work clashes with a new base in one file and not in others."""
    repo = team.repo()
    made = place(team, repo=repo)
    write(made.path, {"src/d0/f0.py": "mine\n", "src/d1/f1.py": None, "mine.txt": "x"})
    head = work(repo, made).commit
    onto = team.outsider({"src/d0/f0.py": "theirs\n", "theirs.txt": "y", "src/d2/f2.py": None})
    repo.refresh()
    git(team.top, "fetch", "-q", "origin")
    git(team.top, "update-ref", "refs/interlock/test/head", head)
    git(team.top, "update-ref", "refs/interlock/test/onto", onto)
    return made


def on_new_base(team: World, made: Place) -> None:
    onto = git(team.top, "rev-parse", "refs/interlock/test/onto")
    assert git(made.path, "rev-parse", "HEAD", "--abbrev-ref", "HEAD").split() == [onto, "agent/t"]
    assert git(team.top, "rev-parse", "refs/interlock/kept/j/2") == git(
        team.top, "rev-parse", "refs/interlock/test/head"
    )
    status = git(made.path, "status", "--porcelain").split("\n")
    assert sorted(status) == ["A  mine.txt", "D  src/d1/f1.py", "UU src/d0/f0.py"]
    assert (made.path / "theirs.txt").read_text() == "y"
    assert not (made.path / "src/d2/f2.py").exists()
    assert "<<<<<<<" in (made.path / "src/d0/f0.py").read_text()


@pytest.mark.parametrize("when", SWEEPS)
@pytest.mark.timeout(300)
def test_rebase(tmp_path: Path, when: str) -> None:
    assert len(sweep(tmp_path, "rebase", when, to_rebase, on_new_base)) >= 10


def test_mirror(tmp_path: Path) -> None:
    """A mirror whose making was killed at any step is made again, and nothing of the first try is left."""

    def made_whole(team: World, _: None) -> None:
        repo = team.repo()
        assert repo.refresh().oid == git(team.top, "rev-parse", "main")
        assert not list((team.top / ".git" / "interlock").glob("mirror-making-*"))
        assert git(repo.mirror.path, "for-each-ref", "refs/seed/") == ""
        git(repo.mirror.path, "fsck")

    assert len(sweep(tmp_path, "mirror", "before", lambda _: None, made_whole)) > 8


def test_other_jobs_are_never_touched_by_healing(tmp_path: Path) -> None:
    team = world(tmp_path, files())
    fetched(team)
    for number in (5, 8, 11):
        die(team, "create", number, "before")
        neighbour = place(team, f"t{number}", f"other{number}")
        write(neighbour.path, {"mine.txt": "x"})
    made = place(team)
    for number in (5, 8, 11):
        path = made.path.with_name(f"t{number}")
        assert git(path, "status", "--porcelain") == "?? mine.txt"
    assert git(made.path, "status", "--porcelain") == ""


@pytest.mark.parametrize("left", ["locked", "lock", "branch", "half", "bare-admin", "no-link"])
def test_what_a_killed_git_itself_leaves_is_healed(tmp_path: Path, left: str) -> None:
    """The pieces that git worktree add leaves when it is killed inside, whichever version of git."""
    team = world(tmp_path, files())
    made = fetched(team)
    admin = team.top / ".git" / "worktrees" / "t"
    assert die(team, "create", 1, "after worktree")
    assert admin.is_dir()
    match left:
        case "locked":
            (admin / "locked").write_text("initializing\n")
            (admin / "index.lock").write_bytes(b"")
        case "lock":
            (admin / "index.lock").write_bytes(b"half an index")
        case "branch":
            git(team.top, "worktree", "remove", "--force", str(made.path))
            assert git(team.top, "branch", "--list", "agent/t")
        case "half":
            write(made.path, {"src/d0/f0.py": "torn", "src/d9/junk.py": "x"})
            (made.path / "src/d9/junk.py").unlink()
        case "bare-admin":
            shutil.rmtree(made.path)
            for name in ("gitdir", "HEAD", "commondir"):
                (admin / name).unlink(missing_ok=True)
            (admin / "locked").write_text("initializing\n")
        case _:
            (made.path / ".git").unlink()
    do(team.top, "create")
    whole(team, made)


def test_a_branch_that_somebody_moved_meanwhile_is_not_taken(tmp_path: Path) -> None:
    from interlock.core.problems import Refused

    team = world(tmp_path, files())
    made = fetched(team)
    assert die(team, "create", 1, "after worktree")
    git(team.top, "switch", "-q", "--detach")
    other = team.commit({"mine.txt": "x"})
    git(team.top, "update-ref", "refs/heads/agent/t", other)
    with pytest.raises(Refused, match="stands at"):
        team.trees().create(made, "t")
    assert git(team.top, "rev-parse", "agent/t") == other
