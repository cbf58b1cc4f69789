"""Cases of branch names and the base: collisions before anything is taken, the base after a fetch, no base never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.git.build import World, git, place, placed, work, world, write

from interlock.adapters.git.errors import UnknownBase
from interlock.adapters.git.repo import GitRepo
from interlock.core.problems import Misuse, Refused

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")


def nothing_made(team: World, refs: str) -> None:
    assert git(team.top, "for-each-ref") == refs
    assert git(team.top, "worktree", "list").count("\n") == 0
    assert not (team.root / "repo-tasks").exists()
    assert not (team.top / ".git" / "interlock" / "intents").exists()


@pytest.mark.parametrize("taken", ["agent", "agent/billing", "agent/billing/x"])
@pytest.mark.parametrize("where", ["here", "remote"])
def test_br_02_a_branch_in_the_way_is_named_before_anything_is_taken(team: World, taken: str, where: str) -> None:
    git(team.top, "branch", taken)
    if where == "remote":
        git(team.top, "push", "-q", "origin", taken)
        git(team.top, "update-ref", "-d", f"refs/remotes/origin/{taken}")
        git(team.top, "branch", "-D", taken)
    repo = team.repo()
    repo.refresh()
    trees = team.trees(repo)
    refs = git(team.top, "for-each-ref")
    with pytest.raises(Refused) as caught:
        trees.check_free("billing", trees.path_for("billing", "j1"))
    assert caught.value.refusal.rule == "name-taken"
    assert f"The branch {taken} " in caught.value.refusal.what
    assert caught.value.refusal.holders == (taken,)
    nothing_made(team, refs)


@pytest.mark.parametrize("neighbour", ["agent/billing-two", "agents", "agent/bill"])
def test_br_02_neighbours_are_not_in_the_way(team: World, neighbour: str) -> None:
    git(team.top, "branch", neighbour)
    trees = team.trees()
    path = trees.path_for("billing", "j1")
    trees.check_free("billing", path)
    assert trees.exists(place(team, "billing", "j1"))
    assert git(team.top, "rev-parse", neighbour)


@pytest.mark.parametrize("kind", ["folder", "empty", "file", "link"])
def test_br_02_a_folder_in_the_way_is_named(team: World, kind: str) -> None:
    trees = team.trees()
    path = trees.path_for("billing", "j1")
    path.parent.mkdir()
    match kind:
        case "folder":
            write(path, {"mine.txt": "x"})
        case "empty":
            path.mkdir()
        case "file":
            path.write_text("x")
        case _:
            path.symlink_to(team.root / "nowhere")
    refs = git(team.top, "for-each-ref")
    for attempt in (lambda: trees.check_free("billing", path), lambda: create(team, path)):
        with pytest.raises(Refused) as caught:
            attempt()
        assert caught.value.refusal.rule == "name-taken"
        assert str(path) in caught.value.refusal.what
    assert git(team.top, "for-each-ref") == refs
    assert path.is_symlink() or path.exists()
    assert not list((team.top / ".git" / "interlock" / "intents").glob("*.json"))


def create(team: World, path: Path) -> None:
    repo = team.repo()
    trees = team.trees(repo)
    trees.create(placed(trees, "billing", "j1", repo.refresh().oid, path), "billing")


def test_br_02_a_name_taken_between_check_and_creation_leaves_nothing(team: World) -> None:
    trees = team.trees()
    path = trees.path_for("billing", "j1")
    trees.check_free("billing", path)
    git(team.top, "branch", "agent/billing/x")
    with pytest.raises(Refused, match="agent/billing/x"):
        create(team, path)
    assert not path.exists()
    assert git(team.top, "branch", "--list", "agent/*") == "  agent/billing/x"


def test_br_03_the_base_is_the_remotes_default_branch_after_a_fetch(tmp_path: Path) -> None:
    team = world(tmp_path, branch="trunk")
    team.repo().refresh()
    git(team.top, "switch", "-q", "-c", "wip")
    mine = team.commit({"wip.txt": "x"}, "only mine")
    theirs = team.outsider({"new.txt": "x"}, "trunk")
    base = team.repo().refresh()
    assert (base.remote, base.branch, base.oid, base.note) == ("origin", "trunk", theirs, "")
    assert base.ref == "origin/trunk"
    assert base.oid != mine
    made = place(team)
    assert git(made.path, "rev-parse", "HEAD") == theirs
    assert made.base == theirs
    assert team.repo().last_base() == base


def test_br_03_origin_head_is_not_believed(team: World) -> None:
    git(team.top, "branch", "old")
    git(team.top, "push", "-q", "origin", "old")
    git(team.top, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/old")
    assert team.repo().refresh().branch == "main"


def test_br_03_tasks_of_one_dispatch_start_from_one_commit(team: World) -> None:
    repo = team.repo()
    base = repo.refresh()
    trees = team.trees(repo)
    team.outsider({"later.txt": "x"})
    made = [trees.create(placed(trees, f"v{n}", f"j{n}", base.oid), f"v{n}") for n in range(3)]
    assert {git(each.path, "rev-parse", "HEAD") for each in made} == {base.oid}


def test_br_03_a_base_that_the_checkout_never_saw_is_brought_over(team: World) -> None:
    theirs = team.outsider({"new.txt": "x"})
    git(team.top, "cat-file", "-e", theirs, code=1)
    made = place(team)
    assert git(made.path, "rev-parse", "HEAD") == theirs
    git(team.top, "fsck", "--strict")


def test_br_03_without_a_remote_the_local_default_branch_is_said_aloud(team: World) -> None:
    git(team.top, "remote", "remove", "origin")
    git(team.top, "switch", "-q", "-c", "wip")
    team.commit({"wip.txt": "x"})
    base = team.repo().refresh()
    assert (base.remote, base.branch, base.ref) == (None, "main", "main")
    assert base.oid == git(team.top, "rev-parse", "main")
    assert base.note == "There is no remote. The local branch main is the base."


def test_br_03_several_remotes_without_origin_are_said_aloud(team: World) -> None:
    git(team.top, "remote", "rename", "origin", "one")
    git(team.top, "remote", "add", "two", str(team.remote))
    base = team.repo().refresh()
    assert base.remote is None
    assert "several remotes (one, two)" in base.note


def test_br_03_the_only_remote_counts_whatever_its_name(team: World) -> None:
    git(team.top, "remote", "rename", "origin", "upstream")
    assert team.repo().refresh().ref == "upstream/main"


def test_br_03_a_repository_without_commits_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "empty")
    with pytest.raises(UnknownBase, match="has no commit yet") as caught:
        GitRepo.open(tmp_path / "empty").refresh()
    assert caught.value.code == "unknown-base"


def test_br_03_an_empty_remote_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "r.git")
    git(tmp_path, "clone", "-q", "r.git", "c")
    with pytest.raises(UnknownBase, match="remote has no commit yet"):
        GitRepo.open(tmp_path / "c").refresh()


def test_br_04_without_a_local_default_branch_the_remote_still_tells_it(tmp_path: Path) -> None:
    team = world(tmp_path, branch="trunk")
    made = place(team)
    write(made.path, {"src/new.py": "x"})
    repo = team.repo()
    done = work(repo, made)
    git(team.top, "switch", "-q", "--detach", "trunk")
    git(team.top, "branch", "-D", "trunk")
    git(team.top, "remote", "set-head", "origin", "--delete", code=None)
    base = repo.refresh()
    assert base.branch == "trunk"
    assert base.oid != done.commit
    assert [change.path for change in repo.changes(base.oid, done.commit)] == ["src/new.py"]
    assert repo.branches(base.oid) == {"agent/t": done.commit}, "it does not count as merged"


def test_br_04_an_unknown_base_stops(team: World) -> None:
    git(team.remote, "symbolic-ref", "HEAD", "refs/heads/gone")
    repo = team.repo()
    with pytest.raises(UnknownBase, match="does not say which"):
        repo.refresh()
    with pytest.raises(UnknownBase, match="never fetched"):
        repo.last_base()
    config = repo.mirror.path / "config"
    git(team.root, "config", "--file", str(config), "interlock.branch", "main")
    assert repo.refresh().branch == "main"


def test_br_04_a_branch_of_a_task_is_never_the_base(team: World) -> None:
    git(team.top, "push", "-q", "origin", "main:agent/x")
    git(team.remote, "symbolic-ref", "HEAD", "refs/heads/agent/x")
    with pytest.raises(UnknownBase, match="agent/x, a branch of a task"):
        team.repo().refresh()


def test_br_04_without_a_remote_two_candidates_are_not_guessed_between(team: World) -> None:
    git(team.top, "remote", "remove", "origin")
    git(team.top, "branch", "master")
    with pytest.raises(UnknownBase, match="main and master"):
        team.repo().refresh()
    git(team.top, "branch", "-m", "main", "agent/only")
    git(team.top, "branch", "-D", "master")
    with pytest.raises(UnknownBase, match="Every branch here is a task's"):
        team.repo().refresh()


def test_br_04_outside_a_repository_is_misuse(tmp_path: Path) -> None:
    with pytest.raises(Misuse):
        GitRepo.open(tmp_path)
