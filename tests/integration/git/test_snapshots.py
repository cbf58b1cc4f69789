"""Snapshots hold every byte, whatever state the tree is in, and bring it back with or without the trash."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.integration.git.build import World, git, place, snapshot_of, work, world, write

from interlock.core.problems import Refused
from interlock.ports.isolation import Place

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")

REF = "refs/interlock/trash/t/job1-7"


def forget_trash(team: World) -> None:
    shutil.rmtree(team.root / "repo-tasks" / ".trash")
    shutil.rmtree(team.top / ".git" / "interlock" / "trash")


def collect(team: World) -> None:
    """What a person's gc with no mercy leaves: only what refs lead to."""
    git(team.top, "reflog", "expire", "--expire=now", "--all")
    git(team.top, "gc", "-q", "--prune=now")


def messy(team: World) -> Place:
    made = place(team)
    write(
        made.path,
        {
            "src/a.py": "edited\n",
            "src/b.py": None,
            "new/untracked.txt": "x",
            "name with\nnewline": "y",
            ".agent-env": "A=1\n",
            "bytes.bin": bytes(range(256)),
        },
    )
    (made.path / "link").symlink_to("nowhere")
    (made.path / "README.md").unlink()
    (made.path / "README.md").symlink_to("src/a.py")
    (made.path / "run.sh").write_text("#!/bin/sh\n")
    (made.path / "run.sh").chmod(0o755)
    return made


@pytest.mark.parametrize("trash", ["kept", "emptied"])
def test_everything_comes_back(team: World, trash: str) -> None:
    made = messy(team)
    before, status = snapshot_of(made.path), git(made.path, "status", "--porcelain", "--ignored")
    trees = team.trees()
    taken = trees.snapshot(made, REF)
    assert set(taken.modified) == {"src/a.py", "src/b.py", "README.md"}
    assert set(taken.untracked) == {"new/untracked.txt", "name with\nnewline", "bytes.bin", "link", "run.sh"}
    assert taken.ignored == (".agent-env",)
    trees.remove(made, REF)
    assert not trees.exists(made)
    assert git(team.top, "for-each-ref", "refs/heads/agent/") == ""
    if trash == "emptied":
        forget_trash(team)
        collect(team)
    trees.restore(REF, made)
    assert snapshot_of(made.path) == before
    assert git(made.path, "status", "--porcelain", "--ignored") == status
    assert (made.path / "run.sh").stat().st_mode & 0o111
    assert trees.create(made, "t") == made


def test_the_users_repository_alone_is_enough(team: World) -> None:
    made = messy(team)
    before = snapshot_of(made.path)
    trees = team.trees()
    trees.snapshot(made, REF)
    trees.remove(made, REF)
    forget_trash(team)
    shutil.rmtree(team.top / ".git" / "interlock" / "mirror.git")
    collect(team)
    team.repo().refresh()
    team.trees().restore(REF, made)
    assert snapshot_of(made.path) == before


def test_the_mirror_alone_is_enough(team: World) -> None:
    made = messy(team)
    before = snapshot_of(made.path)
    trees = team.trees()
    trees.snapshot(made, REF)
    trees.remove(made, REF)
    forget_trash(team)
    git(team.top, "update-ref", "-d", REF)
    collect(team)
    trees.restore(REF, made)
    assert snapshot_of(made.path) == before
    git(team.top, "fsck")


@pytest.mark.parametrize("trash", ["kept", "emptied"])
def test_line_endings_and_filters_are_not_applied_to_what_was_changed(tmp_path: Path, trash: str) -> None:
    team = world(tmp_path, {"a.txt": "one\ntwo\n", "b.txt": "b\n", "c.up": "c\n", ".gitattributes": "*.up filter=up\n"})
    for name, value in {
        "core.autocrlf": "true",
        "core.safecrlf": "false",
        "filter.up.smudge": "tr a-z A-Z",
        "filter.up.clean": "tr A-Z a-z",
    }.items():
        git(team.top, "config", name, value)
    made = place(team)
    assert (made.path / "c.up").read_bytes() == b"C\r\n" or (made.path / "c.up").read_bytes() == b"C\n"
    write(made.path, {"a.txt": b"mixed\r\nline\nends\r\n", "new.up": b"MiXeD\n"})
    before = snapshot_of(made.path)
    trees = team.trees()
    taken = trees.snapshot(made, REF)
    assert (taken.modified, taken.untracked) == (("a.txt",), ("new.up",))
    assert git(team.top, "cat-file", "blob", f"{REF}:new.up") == "MiXeD"
    trees.remove(made, REF)
    if trash == "emptied":
        forget_trash(team)
    trees.restore(REF, made)
    assert snapshot_of(made.path) == before


@pytest.mark.parametrize("trash", ["kept", "emptied"])
def test_what_is_staged_and_then_changed_again_is_kept_too(team: World, trash: str) -> None:
    made = place(team)
    write(made.path, {"src/a.py": "staged\n", "only-staged.txt": "precious\n"})
    git(made.path, "add", "-A")
    write(made.path, {"src/a.py": "later\n", "only-staged.txt": None})
    status = git(made.path, "status", "--porcelain")
    trees = team.trees()
    trees.snapshot(made, REF)
    trees.remove(made, REF)
    collect(team)
    if trash == "emptied":
        forget_trash(team)
    trees.restore(REF, made)
    assert git(made.path, "status", "--porcelain") == status
    assert git(made.path, "show", ":only-staged.txt") == "precious"
    assert git(made.path, "show", ":src/a.py") == "staged"


def test_a_merge_in_the_middle_keeps_both_sides_and_comes_back_unfinished(team: World) -> None:
    made = place(team)
    write(made.path, {"src/a.py": "ours\n"})
    git(made.path, "commit", "-qam", "ours")
    git(made.path, "switch", "-q", "-c", "side", made.base)
    write(made.path, {"src/a.py": "theirs\n"})
    git(made.path, "commit", "-qam", "theirs")
    side = git(made.path, "rev-parse", "side")
    git(made.path, "switch", "-q", "agent/t")
    git(made.path, "merge", "side", code=1)
    git(made.path, "branch", "-D", "side")
    before, status = snapshot_of(made.path), git(made.path, "status", "--porcelain")
    trees = team.trees()
    trees.snapshot(made, REF)
    trees.remove(made, REF)
    collect(team)
    git(team.top, "cat-file", "-e", side)
    trees.restore(REF, made)
    assert snapshot_of(made.path) == before
    assert git(made.path, "status", "--porcelain") == status == "UU src/a.py"
    assert git(made.path, "rev-parse", "MERGE_HEAD") == side


def test_commits_that_only_this_trees_history_remembers_are_kept(team: World) -> None:
    made = place(team)
    lost = []
    for number in range(3):
        write(made.path, {"x.txt": str(number)})
        git(made.path, "add", "-A")
        git(made.path, "commit", "-qm", str(number))
        lost.append(git(made.path, "rev-parse", "HEAD"))
        git(made.path, "reset", "-q", "--hard", made.base)
    trees = team.trees()
    taken = trees.snapshot(made, REF)
    assert taken.detached == ()
    trees.remove(made, REF)
    collect(team)
    for oid in lost:
        git(team.top, "cat-file", "-e", oid)


def test_the_stash_of_this_task_is_kept_and_that_of_others_is_not_taken(team: World) -> None:
    made, other = place(team), place(team, "other", "job2")
    write(made.path, {"src/a.py": "mine\n"})
    git(made.path, "stash", "-q")
    write(other.path, {"src/a.py": "theirs\n"})
    git(other.path, "stash", "-q")
    mine = git(team.top, "rev-parse", "stash@{1}")
    trees = team.trees()
    taken = trees.snapshot(made, REF)
    parents = git(team.top, "rev-parse", f"{taken.oid}^@").split()
    assert mine in parents
    assert git(team.top, "rev-parse", "stash@{0}") not in parents
    assert git(team.top, "stash", "list").count("\n") == 1, "the stash itself is nobody's to drop"


def test_a_clean_landed_task_has_nothing_unsaved(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    write(made.path, {"new.txt": "x"})
    git(made.path, "add", "-A")
    git(made.path, "commit", "-qm", "own commit")
    work(repo, made)
    taken = team.trees(repo).snapshot(made, REF)
    assert (taken.modified, taken.untracked, taken.left_out, taken.detached) == ((), (), (), ())


def test_restoring_never_writes_over_anything(team: World) -> None:
    made = messy(team)
    trees = team.trees()
    trees.snapshot(made, REF)
    with pytest.raises(Refused, match="exists"):
        trees.restore(REF, made)
    trees.remove(made, REF)
    write(made.path, {"somebody.txt": "x"})
    with pytest.raises(Refused) as caught:
        trees.restore(REF, made)
    assert caught.value.refusal.rule == "name-taken"
    assert snapshot_of(made.path) == {"somebody.txt": b"x"}
    shutil.rmtree(made.path)
    git(team.top, "branch", "agent/t", team.commit({"later.txt": "x"}))
    with pytest.raises(Refused, match="agent/t stands at"):
        trees.restore(REF, made)
    with pytest.raises(Refused, match="no snapshot"):
        trees.restore("refs/interlock/trash/t/none", made)


def test_a_removal_asked_for_again_does_not_touch_the_next_tree_of_the_slug(team: World) -> None:
    made = messy(team)
    trees = team.trees()
    trees.snapshot(made, REF)
    trees.remove(made, REF)
    again = place(team, "t", "job2")
    write(again.path, {"precious.txt": "x"})
    trees.remove(made, REF)
    assert (again.path / "precious.txt").exists()
    assert trees.exists(again)
    assert git(again.path, "branch", "--show-current") == "agent/t"


def test_a_folder_that_is_not_registered_is_not_moved(team: World) -> None:
    made = messy(team)
    trees = team.trees()
    trees.snapshot(made, REF)
    (made.path / ".git").unlink()
    shutil.rmtree(team.top / ".git" / "worktrees" / "t")
    with pytest.raises(Refused) as caught:
        trees.remove(made, REF)
    assert caught.value.refusal.rule == "workspace-missing"
    assert (made.path / "bytes.bin").exists()
