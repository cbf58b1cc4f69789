"""Levels: what is demanded is had or refused with the reason, what is not demanded is the best that works below the cap."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from tests.integration.git.build import World, git, place, placed, write
from tests.integration.git.sealed.rooms import yard
from tests.needs import needs_sandbox

from interlock.adapters.git.levels import LevelWorkspaces
from interlock.adapters.git.sealed import bases, snapshot_level
from interlock.core.contract.card import Level
from interlock.core.problems import Misuse, Refused

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")


def levels(team: World, **whys: str) -> LevelWorkspaces:
    """Levels of which some are known not to work."""
    made = LevelWorkspaces(team.repo())
    made._whys.update(cast(dict[Level, str], {"sealed": "", "snapshot": "", **whys}))
    return made


def test_a_demanded_level_that_cannot_be_had_is_refused_with_its_reason(team: World) -> None:
    with pytest.raises(Refused, match=r"sealed is demanded .* here: no bubblewrap") as caught:
        levels(team, sealed="no bubblewrap").level_for("sealed")
    assert caught.value.refusal.rule == "isolation"
    assert "interlock doctor" in caught.value.refusal.would_change


def test_the_cap_is_for_what_is_not_demanded(team: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_ISOLATION", "worktree")
    assert levels(team).level_for(None) == "worktree"
    assert levels(team).level_for("sealed") == "sealed"
    monkeypatch.setenv("INTERLOCK_ISOLATION", "snapshot")
    assert levels(team).level_for(None) == "snapshot"
    assert levels(team, snapshot="no").level_for(None) == "worktree"


def test_the_best_that_works_is_taken(team: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INTERLOCK_ISOLATION")
    assert levels(team).level_for(None) == "sealed"
    assert levels(team, sealed="no").level_for(None) == "snapshot"
    assert levels(team, sealed="no", snapshot="no").level_for(None) == "worktree"


def test_a_wrong_cap_is_misuse(team: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_ISOLATION", "best")
    with pytest.raises(Misuse, match="INTERLOCK_ISOLATION is 'best'"):
        levels(team).level_for(None)


@needs_sandbox
def test_sealed_is_found_out_by_making_a_sandbox(team: World) -> None:
    made = LevelWorkspaces(team.repo())
    team.repo().refresh()
    assert made.why("sealed") == ""
    assert made.level_for("sealed") == "sealed"
    assert [each.name for each in (team.top / ".git/interlock/sealed").iterdir() if "probe" in each.name] == []


def test_snapshot_is_found_out_by_copying(team: World) -> None:
    """What the file system of the test can do decides which of the two is seen; both are asserted."""
    made = LevelWorkspaces(team.repo())
    team.repo().refresh()
    reason = made.why("snapshot")
    if reason:
        assert "cannot copy on write" in reason
        with pytest.raises(Refused, match="cannot copy on write"):
            made.level_for("snapshot")
    else:
        assert made.level_for("snapshot") == "snapshot"


def test_blocks_are_not_shared_between_file_systems(tmp_path: Path) -> None:
    if not os.access("/dev/shm", os.W_OK) or Path("/dev/shm").stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is one file system only")
    assert "different file systems" in snapshot_level.why_not(tmp_path, Path("/dev/shm"))


def test_each_place_goes_to_its_level(team: World) -> None:
    repo = team.repo()
    base = repo.refresh().oid
    spaces = LevelWorkspaces(repo)
    made = spaces.create(placed(team.trees(repo), "t", "job1", base), "t")
    assert spaces.exists(made)
    assert spaces.room(made).sandbox is None
    assert git(made.path, "status", "--porcelain", "--branch") == "## agent/t"
    with spaces.fresh(base, team.root / "fresh", "worktree") as room:
        assert room.sandbox is None
        write(room.path, {"src/a.py": "x"})
        assert spaces.put_back(room, base) == ("src/a.py",)
    assert spaces.occupants(made) == ()


@needs_sandbox
def test_a_job_is_sealed_and_its_neighbour_is_not(team: World) -> None:
    here = yard(team)
    plain = place(team, "plain", "job-p", here.repo)
    closed = here.make()
    assert here.spaces.room(closed).sandbox is not None
    assert here.spaces.room(plain).sandbox is None
    with pytest.raises(Refused) as caught:
        here.make("plain", "job-x")
    assert caught.value.refusal.rule == "name-taken"


# ---------------------------------------------------------------- snapshot
@pytest.mark.parametrize("small", [0, 1000])
def test_a_snapshot_is_a_plain_tree_with_a_repository_of_its_own(
    team: World, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    monkeypatch.setattr(bases, "SMALL_FILES", small)
    repo = team.repo()
    spaces = LevelWorkspaces(repo)
    old = spaces.create(replace(placed(team.trees(repo), "o", "job-o", repo.refresh().oid), level="snapshot"), "o")
    team.commit({"src/b.py": None, "src/a.py": "a = 2\n", "new/n": "n\n", "empty": ""})
    (team.top / "link").symlink_to("README.md")
    team.commit({})
    team.push()
    wanted = replace(placed(team.trees(repo), "t", "job1", repo.refresh().oid), level="snapshot")
    made = spaces.create(wanted, "t")
    assert made == wanted
    room = spaces.room(made)
    assert (room.path, room.written, room.sandbox) == (made.path, made.path, None)
    assert git(made.path, "status", "--porcelain", "--branch") == "## agent/t"
    assert git(made.path, "diff-files") == ""
    assert git(made.path, "ls-files") == "README.md\nempty\nlink\nnew/n\nsrc/a.py"
    assert sorted(each.name for each in made.path.iterdir()) == [".git", "README.md", "empty", "link", "new", "src"]
    git(made.path, "commit", "-q", "--allow-empty", "-m", "mine")
    git(made.path, "fsck", "--strict")
    write(made.path, {"src/a.py": "mine"})
    assert (old.path / "src/a.py").read_text() == "a = 1\n"
    with spaces.fresh(made.base, team.root / "fresh", "snapshot") as fresh:
        assert fresh.sandbox is None
        assert git(fresh.path, "status", "--porcelain") == ""
        assert (fresh.path / "src/a.py").read_text() == "a = 2\n"
        write(fresh.path, {"src/a.py": "x"})
        assert spaces.put_back(fresh, made.base) == ("src/a.py",)
    assert not (team.root / "fresh").exists()


# ---------------------------------------------------------------- worktrees looked at
def test_what_changed_in_a_worktree_is_told_ignored_files_too(team: World) -> None:
    team.commit({".gitignore": "*.log\n", "gone.txt": "x"})
    team.push()
    made = place(team)
    trees = team.trees()
    assert trees.changed(made) == ()
    write(made.path, {"src/a.py": "x", "new.txt": "n", "made.log": "l", "gone.txt": None})
    assert trees.changed(made) == ("gone.txt", "made.log", "new.txt", "src/a.py")
    git(made.path, "update-index", "--assume-unchanged", "src/a.py")
    git(made.path, "add", "new.txt")
    assert trees.changed(made) == ("gone.txt", "made.log", "new.txt", "src/a.py"), "the task's own index is not asked"
    write(made.path, {"src/a.py": "a = 1\n"})
    assert trees.changed(made) == ("gone.txt", "made.log", "new.txt")


def test_a_worktree_is_touched_by_files_and_by_commits(team: World) -> None:
    made = place(team)
    trees = team.trees()
    for path in (made.path, *made.path.rglob("*")):
        os.utime(path, (1000, 1000), follow_symlinks=False)
    admin = team.top / ".git/worktrees/t"
    for file in (admin / "HEAD", admin / "logs/HEAD", team.top / ".git/refs/heads/agent/t"):
        os.utime(file, (2000, 2000))
    assert trees.last_touched(made) == 2000
    os.utime(made.path / "src/a.py", (3000, 3000))
    assert trees.last_touched(made) == 3000
    git(made.path, "commit", "-q", "--allow-empty", "-m", "x")
    assert trees.last_touched(made) > 1_000_000


def test_a_worktree_is_written_to_a_new_folder_and_to_no_other(team: World) -> None:
    made = place(team)
    write(made.path, {"src/a.py": "x", "new.txt": "n"})
    (made.path / "link").symlink_to("/etc")
    os.mkfifo(made.path / "pipe")
    target = team.root / "copy"
    team.trees().materialise(made, target)
    assert (target / "src/a.py").read_text() == "x"
    assert (target / "link").readlink() == Path("/etc")
    assert not (target / ".git").exists()
    with pytest.raises(Refused) as caught:
        team.trees().materialise(made, target)
    assert caught.value.refusal.rule == "name-taken"
