"""Submodules in a task's tree: what the agent did to one is in the commit, or is refused by name; nothing of it stays behind unseen."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.git.build import World, git, place, work, world, write

from interlock.core.contract.card import Card
from interlock.core.gate.changes import SUBMODULE
from interlock.core.gate.scope import judge_scope
from interlock.ports.repository import Merged, TextConflict

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")

FIRST, SECOND, THIRD = ("1" * 40, "2" * 40, "3" * 40)
DECLARED = '[submodule "lib"]\n\tpath = lib\n\turl = https://example.invalid/lib\n'


def with_link(root: Path) -> World:
    """A default branch with a submodule that nobody filled."""
    team = world(root, {"README.md": "hello\n"})
    write(team.top, {".gitmodules": DECLARED})
    git(team.top, "add", "-A")
    git(team.top, "update-index", "--add", "--cacheinfo", f"160000,{FIRST},lib")
    git(team.top, "commit", "-q", "-m", "a submodule")
    (team.top / "lib").mkdir()
    team.push()
    return team


def stands(team: World, commit: str) -> dict[str, str]:
    """Paths of a commit below lib, with their modes and objects."""
    listed = git(team.repo().mirror.path, "ls-tree", "-r", "--full-tree", commit).splitlines()
    found = {path: meta for meta, _, path in (line.partition("\t") for line in listed)}
    return {
        path: meta.split(" ")[0] + " " + meta.split(" ")[2][:4]
        for path, meta in found.items()
        if path.startswith("lib")
    }


def test_a_repository_that_gitmodules_does_not_name_is_refused_by_its_own_owner_too(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    git(made.path, "init", "-q", "lib")
    write(made.path / "lib", {"code.c": "int x;"})
    git(made.path / "lib", "add", "-A")
    git(made.path / "lib", "commit", "-qm", "x")
    card = Card(
        slug="t",
        class_name="tests",
        owned_paths=("lib", ".gitmodules"),
        checks=(),
        stop_when=(),
        integration_owner="@a",
    )
    changes = repo.changes(made.base, work(repo, made).commit)
    (found,) = judge_scope(card, changes, protected_paths=())
    assert (found.path, found.rule) == ("lib", "submodule")
    assert "its files would stay behind" in found.why
    write(made.path, {".gitmodules": DECLARED})
    changes = repo.changes(made.base, work(repo, made, keep="refs/interlock/kept/j/2").commit)
    assert judge_scope(card, changes, protected_paths=()) == ()
    write(made.path, {".gitmodules": "[submodule\n"})
    changes = repo.changes(made.base, work(repo, made, keep="refs/interlock/kept/j/3").commit)
    assert [each.rule for each in judge_scope(card, changes, protected_paths=())] == ["submodule"]


def test_a_submodule_that_was_moved_without_being_filled_is_in_the_commit(tmp_path: Path) -> None:
    team = with_link(tmp_path)
    repo = team.repo()
    made = place(team, repo=repo)
    git(made.path, "mv", "lib", "lib2")
    done = work(repo, made)
    assert stands(team, done.commit) == {"lib2": f"160000 {FIRST[:4]}"}
    assert {change.path for change in repo.changes(made.base, done.commit)} == {".gitmodules", "lib", "lib2"}
    assert git(made.path, "status", "--porcelain") == ""


def test_a_commit_that_is_set_for_a_submodule_alone_is_in_the_commit(tmp_path: Path) -> None:
    team = with_link(tmp_path)
    repo = team.repo()
    made = place(team, repo=repo)
    git(made.path, "update-index", "--cacheinfo", f"160000,{SECOND},lib")
    assert stands(team, work(repo, made).commit) == {"lib": f"160000 {SECOND[:4]}"}


def test_files_in_place_of_a_submodule_are_in_the_commit_and_ignored_ones_are_not(tmp_path: Path) -> None:
    team = with_link(tmp_path)
    team.commit({".gitignore": "*.o\n"})
    team.push()
    repo = team.repo()
    made = place(team, repo=repo)
    write(made.path, {"lib/x.o": "built"})
    assert work(repo, made).empty
    assert repo.extra_files(made) is not None
    write(made.path, {"lib/code.c": "int x;"})
    done = work(repo, made, keep="refs/interlock/kept/j/2")
    assert set(stands(team, done.commit)) == {"lib/code.c"}
    removed = next(change for change in repo.changes(made.base, done.commit) if change.path == "lib")
    assert (removed.status, removed.old_mode) == ("D", SUBMODULE), "and scope asks who owns it"


def test_a_submodule_that_is_taken_away_is_gone(tmp_path: Path) -> None:
    team = with_link(tmp_path)
    repo = team.repo()
    made = place(team, repo=repo)
    git(made.path, "rm", "-q", "lib", ".gitmodules")
    assert stands(team, work(repo, made).commit) == {}


@pytest.mark.parametrize("style", ["merge", "squash", "rebase"])
def test_two_changes_of_one_submodule_clash_by_name_and_one_beside_another_change_does_not(
    tmp_path: Path, style: str
) -> None:
    team = with_link(tmp_path)
    repo = team.repo()
    heads = []
    for slug, oid in (("one", SECOND), ("two", THIRD), ("three", "")):
        made = place(team, slug, f"job-{slug}", repo)
        if oid:
            git(made.path, "update-index", "--cacheinfo", f"160000,{oid},lib")
        else:
            write(made.path, {"README.md": "changed\n"})
        heads.append(work(repo, made, keep=f"refs/interlock/kept/{slug}/1").commit)
    base = repo.last_base().oid
    words = {"message": "x", "style": style, "each": ["1", "2", "3"]}
    assert repo.merge(base, heads[:2], **words) == TextConflict(head=heads[1], paths=("lib",))  # type: ignore[arg-type]
    found = repo.merge(base, [heads[0], heads[2]], **words)  # type: ignore[arg-type]
    assert isinstance(found, Merged)
    assert stands(team, found.commit) == {"lib": f"160000 {SECOND[:4]}"}
    assert repo.lacking(base, found.commit, [heads[0], heads[2]]) == ((), ())
