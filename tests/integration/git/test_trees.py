"""Trees beside a commit: equal to it or not, fresh ones for checks, and a task's tree put on a new base."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.integration.git.build import AUTHOR, World, git, place, snapshot_of, work, world, write

from interlock.adapters.git.repo import GitRepo
from interlock.core.problems import Refused
from interlock.ports.isolation import Place

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")


def test_equal_means_tracked_files_and_nothing_else_but_what_is_known(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    write(made.path, {"new.txt": "x", ".agent-env": "A=1\n"})
    done = work(repo, made)

    def equal(known: tuple[str, ...] = (".agent-env",), caches: tuple[str, ...] = ()) -> bool:
        return repo.equals_commit(made, done.commit, known=known, caches=caches)

    assert equal()
    assert not equal(known=()), "an ignored file that nobody knew"
    write(made.path, {"conftest.py": "import os"})
    assert not equal(), "an untracked file"
    (made.path / "conftest.py").unlink()
    write(made.path, {"src/__pycache__/a.pyc": "x"})
    assert not equal()
    assert equal(caches=("**/__pycache__/**",))
    write(made.path, {"src/a.py": "changed\n"})
    assert not equal(caches=("**/__pycache__/**",))
    git(made.path, "update-index", "--assume-unchanged", "src/a.py")
    assert not equal(caches=("**/__pycache__/**",)), "hidden from git status, not from us"
    write(made.path, {"src/a.py": "a = 1\n"})
    assert equal(caches=("**/__pycache__/**",))
    git(made.path, "init", "-q", "inner")
    assert not equal(caches=("**/__pycache__/**",)), "a nested repository is a folder full of unknown files"


def test_a_change_that_keeps_size_and_time_is_seen(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    path = made.path / "src/a.py"
    seen = path.stat()
    path.write_text("a = 9\n")
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert not repo.equals_commit(made, made.base, known=(), caches=())
    assert not work(repo, made).empty


def test_a_fresh_tree_is_the_commit_with_a_repository_of_its_own(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    write(made.path, {"new.txt": "x", ".agent-env": "A=1\n", "ignored.log": "x"})
    done = work(repo, made)
    path = team.root / "fresh" / "tree"
    before = git(repo.mirror.path, "for-each-ref")
    with repo.fresh_tree(done.commit, path) as tree:
        assert set(snapshot_of(tree)) == {"README.md", "src/a.py", "src/b.py", "new.txt", "ignored.log"}
        assert git(tree, "rev-parse", "HEAD") == done.commit
        assert git(tree, "status", "--porcelain") == ""
        assert git(tree, "log", "--format=%s").split("\n") == ["work", "first"]
        write(tree, {"README.md": "test output", "deep/file": "x"})
        git(tree, "commit", "-qam", "a check that commits")
        git(tree, "update-ref", "refs/heads/main", "HEAD")
        (tree / "deep").chmod(0o500)
    assert not path.exists()
    assert git(repo.mirror.path, "for-each-ref") == before
    assert git(team.top, "worktree", "list").count("\n") == 1


def test_a_fresh_tree_replaces_what_a_killed_call_left_and_nothing_else(team: World) -> None:
    repo = team.repo()
    base = repo.refresh()
    path = team.root / "fresh"
    left = repo.fresh_tree(base.oid, path)
    left.__enter__()
    write(path, {"junk.txt": "x"})
    with repo.fresh_tree(base.oid, path) as tree:
        assert "junk.txt" not in snapshot_of(tree)
    write(path, {"precious.txt": "x"})
    with pytest.raises(Refused), repo.fresh_tree(base.oid, path):
        pass
    assert (path / "precious.txt").exists()


def test_a_fresh_tree_goes_away_when_a_check_fails(team: World) -> None:
    repo = team.repo()
    base = repo.refresh()
    with pytest.raises(RuntimeError), repo.fresh_tree(base.oid, team.root / "fresh"):
        raise RuntimeError
    assert not (team.root / "fresh").exists()


def rebased(tmp_path: Path) -> tuple[World, GitRepo, Place, str, str]:
    team = world(tmp_path, {"list.txt": "a\nb\nc\nd\ne\nf\ng\n", "x.txt": "x\n"})
    repo = team.repo()
    made = place(team, repo=repo)
    write(made.path, {"list.txt": "A\nb\nc\nd\ne\nf\ng\n", "mine.txt": "m"})
    head = work(repo, made).commit
    onto = team.outsider({"list.txt": "a\nb\nc\nd\ne\nf\nG\n", "theirs.txt": "t", "x.txt": None})
    repo.refresh()
    return team, repo, made, head, onto


def test_a_tree_moves_to_a_new_base_with_its_work_and_the_next_commit_stands_on_it(tmp_path: Path) -> None:
    team, repo, made, head, onto = rebased(tmp_path)
    assert repo.rebase_place(made, head=head, onto=onto, keep="refs/interlock/kept/j/b") == ()
    assert (made.path / "list.txt").read_text() == "A\nb\nc\nd\ne\nf\nG\n"
    assert not (made.path / "x.txt").exists()
    assert git(made.path, "rev-parse", "HEAD") == onto
    done = repo.commit_work(
        made, parent=onto, message="again", author=AUTHOR, sign=False, keep="refs/interlock/kept/j/2"
    )
    assert {change.path for change in repo.changes(onto, done.commit)} == {"list.txt", "mine.txt"}
    assert git(team.top, "rev-parse", "refs/interlock/kept/j/b") == head
    assert git(team.top, "rev-parse", f"{done.commit}^@") == onto


def test_a_tree_with_unsaved_work_is_not_moved(tmp_path: Path) -> None:
    _, repo, made, head, onto = rebased(tmp_path)
    write(made.path, {"mine.txt": "not committed"})
    with pytest.raises(Refused, match="differs from its branch") as caught:
        repo.rebase_place(made, head=head, onto=onto, keep="refs/interlock/kept/j/b")
    assert caught.value.refusal.rule == "unsaved"
    assert (made.path / "mine.txt").read_text() == "not committed"
    assert git(made.path, "rev-parse", "HEAD") == head


@pytest.mark.parametrize("way", ["file", "folder", "parent"])
def test_an_untracked_file_in_the_way_of_the_new_base_is_not_written_over(tmp_path: Path, way: str) -> None:
    team, repo, made, head, _ = rebased(tmp_path)
    later = team.outsider({"deep/in/file.txt": "z"})
    repo.refresh()
    name = {"file": "theirs.txt", "folder": "theirs.txt/inner.txt", "parent": "deep"}[way]
    write(made.path, {name: "precious"})
    with pytest.raises(Refused, match="untracked files"):
        repo.rebase_place(made, head=head, onto=later, keep="refs/interlock/kept/j/b")
    assert (made.path / name).read_text() == "precious"
    assert git(made.path, "rev-parse", "HEAD") == head


def test_untracked_files_elsewhere_stay(tmp_path: Path) -> None:
    _, repo, made, head, onto = rebased(tmp_path)
    write(made.path, {".agent-env": "A=1\n", "notes.txt": "n"})
    repo.rebase_place(made, head=head, onto=onto, keep="refs/interlock/kept/j/b")
    assert (made.path / "notes.txt").read_text() == "n"
    assert (made.path / ".agent-env").read_text() == "A=1\n"


def test_work_that_was_done_elsewhere_is_taken_into_a_fresh_tree(team: World) -> None:
    repo = team.repo()
    theirs = team.outsider({"src/a.py": "theirs\n", "new.txt": "x"}, "main")
    git(team.remote, "branch", "agent/old", theirs)
    git(team.remote, "update-ref", "refs/heads/main", git(team.top, "rev-parse", "main"))
    made = place(team, repo=repo)
    assert repo.rebase_place(made, head=theirs, onto=made.base, keep="refs/interlock/kept/j/adopted") == ()
    assert (made.path / "src/a.py").read_text() == "theirs\n"
    done = work(repo, made)
    assert {change.path for change in repo.changes(made.base, done.commit)} == {"src/a.py", "new.txt"}
    assert git(team.top, "rev-parse", "refs/interlock/kept/j/adopted") == theirs
