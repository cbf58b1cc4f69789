"""The commit of a task's tree: all of it, nothing but it, on the parent that was named, whatever the agent did to git."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.integration.git.build import AUTHOR, World, git, place, work, world, write

from interlock.core.gate.changes import SUBMODULE
from interlock.core.problems import Refused

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")


def paths(repo, base: str, head: str) -> dict[str, str]:
    return {change.path: change.status for change in repo.changes(base, head)}


def test_one_commit_by_the_agent_committed_by_interlock_and_a_clean_tree(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    write(made.path, {"src/a.py": "a = 2\n", "src/b.py": None, "new/x.txt": "x", "bytes.bin": bytes(range(256))})
    (made.path / "run.sh").write_text("#!/bin/sh\n")
    (made.path / "run.sh").chmod(0o755)
    (made.path / "link").symlink_to("src/a.py")
    done = repo.commit_work(
        made,
        parent=made.base,
        message="Goal.\n\nInterlock-Job: j\n",
        author=AUTHOR,
        sign=False,
        keep="refs/interlock/k",
    )
    assert not done.empty
    head = git(made.path, "log", "-1", "--format=%H|%P|%an|%ae|%cn|%ce|%B")
    assert head == (
        f"{done.commit}|{made.base}|agent (t)|agent+t@interlock.invalid|Interlock|interlock@localhost|"
        "Goal.\n\nInterlock-Job: j"
    )
    assert paths(repo, made.base, done.commit) == {
        "src/a.py": "M",
        "src/b.py": "D",
        "new/x.txt": "A",
        "bytes.bin": "A",
        "run.sh": "A",
        "link": "A",
    }
    assert git(made.path, "ls-tree", "HEAD", "run.sh", "link").split("\n")[0].startswith("120000")
    assert repo.read(done.commit, "bytes.bin") == bytes(range(256))
    assert git(made.path, "status", "--porcelain") == ""
    assert git(made.path, "show-ref", "--heads").count("agent/t") == 1
    assert "refs/interlock/k" not in git(team.top, "for-each-ref"), "nothing of the agent's own to keep"


def test_nothing_changed_is_empty_and_makes_no_commit(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    done = work(repo, made)
    assert (done.empty, done.commit) == (True, made.base)
    write(made.path, {"src/a.py": "x\n"})
    git(made.path, "commit", "-qam", "there")
    git(made.path, "revert", "--no-edit", "HEAD")
    done = work(repo, made, keep="refs/interlock/kept/j/2")
    assert (done.empty, done.commit) == (True, made.base)
    assert git(made.path, "rev-parse", "HEAD") == made.base
    assert git(team.top, "rev-list", "--count", f"{made.base}..refs/interlock/kept/j/2") == "2"


def test_the_agents_commits_become_one_and_stay_reachable(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    for number in range(3):
        write(made.path, {f"n{number}.txt": "x", "secret.txt": "key" if number == 1 else "gone"})
        git(made.path, "add", "-A")
        git(made.path, "commit", "-qm", f"step {number}")
    (made.path / "secret.txt").unlink()
    done = work(repo, made)
    assert paths(repo, made.base, done.commit) == {f"n{number}.txt": "A" for number in range(3)}
    assert git(team.top, "rev-list", "--count", f"{made.base}..{done.commit}") == "1"
    assert "key" not in git(team.top, "log", "-p", f"{made.base}..agent/t"), "nothing lands that the difference hides"
    assert git(team.top, "rev-list", "--count", f"{made.base}..refs/interlock/kept/j/1") == "3"


def test_a_second_attempt_is_again_one_commit_on_the_base(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    write(made.path, {"one.txt": "1"})
    first = work(repo, made).commit
    write(made.path, {"two.txt": "2"})
    second = work(repo, made, keep="refs/interlock/kept/j/2").commit
    assert git(team.top, "rev-parse", f"{second}^@") == made.base
    assert paths(repo, made.base, second) == {"one.txt": "A", "two.txt": "A"}
    assert git(team.top, "rev-parse", "refs/interlock/kept/j/2") == first


def test_ignored_files_stay_out_and_what_the_agent_tracks_is_in(team: World) -> None:
    team.commit({".gitignore": "*.log\nbuild/\n", "keep.log": "old"}, "with ignores")
    git(team.top, "add", "-f", "keep.log")
    team.commit({}, "tracked though ignored")
    team.push()
    repo = team.repo()
    made = place(team, repo=repo)
    write(
        made.path, {"keep.log": "new", "other.log": "x", "build/out.o": "x", ".agent-env": "A=1\n", "forced.log": "y"}
    )
    git(made.path, "add", "-f", "forced.log")
    done = work(repo, made)
    assert paths(repo, made.base, done.commit) == {"keep.log": "M", "forced.log": "A"}
    assert git(made.path, "status", "--porcelain") == ""
    assert (made.path / "other.log").exists()
    assert repo.extra_files(made) == (".agent-env", "build/out.o", "other.log")


def test_assume_unchanged_and_skip_worktree_hide_nothing(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    git(made.path, "update-index", "--assume-unchanged", "src/a.py")
    git(made.path, "update-index", "--skip-worktree", "src/b.py")
    write(made.path, {"src/a.py": "hidden\n", "src/b.py": "hidden\n"})
    assert git(made.path, "status", "--porcelain") == ""
    done = work(repo, made)
    assert paths(repo, made.base, done.commit) == {"src/a.py": "M", "src/b.py": "M"}


def test_an_exclude_or_attribute_file_of_the_agent_hides_nothing(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    (team.top / ".git" / "info" / "exclude").write_text("*\n")
    (team.top / ".git" / "info" / "attributes").write_text("* filter=hide\n")
    git(made.path, "config", "core.excludesFile", str(team.root / "all"))
    (team.root / "all").write_text("*\n")
    write(made.path, {"new.txt": "x"})
    assert paths(repo, made.base, work(repo, made).commit) == {"new.txt": "A"}


def test_a_folder_that_became_a_link_and_a_file_that_became_a_folder(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    for name in ("a.py", "b.py"):
        (made.path / "src" / name).unlink()
    (made.path / "src").rmdir()
    (made.path / "src").symlink_to("elsewhere")
    (made.path / "README.md").unlink()
    write(made.path, {"README.md/inner.txt": "x"})
    done = work(repo, made)
    assert paths(repo, made.base, done.commit) == {
        "src/a.py": "D",
        "src/b.py": "D",
        "src": "A",
        "README.md": "D",
        "README.md/inner.txt": "A",
    }
    assert git(made.path, "status", "--porcelain") == ""


def test_a_nested_repository_is_a_submodule_and_never_swallowed(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    inner = made.path / "vendor"
    git(made.path, "init", "-q", "vendor")
    write(inner, {"code.c": "int x;"})
    with pytest.raises(Refused, match="repository of its own that has no commit") as caught:
        work(repo, made)
    assert caught.value.refusal.rule == "submodule"
    git(inner, "add", "-A")
    git(inner, "commit", "-qm", "x")
    done = work(repo, made)
    (change,) = repo.changes(made.base, done.commit)
    assert (change.path, change.new_mode, change.new_oid) == ("vendor", SUBMODULE, git(inner, "rev-parse", "HEAD"))
    git(inner, "commit", "-q", "--allow-empty", "-m", "y")
    again = work(repo, made, keep="refs/interlock/kept/j/2")
    (change,) = repo.changes(made.base, again.commit)
    assert change.new_oid == git(inner, "rev-parse", "HEAD")


def test_line_endings_follow_the_users_settings_as_they_were(tmp_path: Path) -> None:
    team = world(tmp_path, {"a.txt": "one\ntwo\n"})
    git(team.top, "config", "core.autocrlf", "true")
    repo = team.repo()
    made = place(team, repo=repo)
    assert (made.path / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
    assert git(made.path, "status", "--porcelain") == ""
    write(made.path, {"b.txt": b"new\r\n"})
    done = work(repo, made)
    assert repo.read(done.commit, "b.txt") == b"new\n"
    assert paths(repo, made.base, done.commit) == {"b.txt": "A"}
    assert git(made.path, "status", "--porcelain") == ""


def test_executable_bits_follow_core_filemode(tmp_path: Path) -> None:
    team = world(tmp_path, {"a.sh": "x\n"})
    git(team.top, "config", "core.fileMode", "false")
    repo = team.repo()
    made = place(team, repo=repo)
    (made.path / "a.sh").chmod(0o755)
    assert work(repo, made).empty


def test_a_sha256_repository(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "--object-format=sha256", "remote.git")
    git(tmp_path, "init", "-q", "-b", "main", "--object-format=sha256", "repo")
    team = World(root=tmp_path, top=tmp_path / "repo", remote=tmp_path / "remote.git")
    git(team.top, "remote", "add", "origin", str(team.remote))
    team.commit({"a.txt": "x"})
    team.push()
    repo = team.repo()
    made = place(team, repo=repo)
    write(made.path, {"b.txt": "y"})
    done = work(repo, made)
    assert len(done.commit) == 64
    assert paths(repo, made.base, done.commit) == {"b.txt": "A"}
    with repo.fresh_tree(done.commit, tmp_path / "fresh") as tree:
        assert git(tree, "status", "--porcelain") == ""
    trees = team.trees(repo)
    write(made.path, {"c.txt": "z"})
    trees.snapshot(made, "refs/interlock/trash/t/j-1")
    trees.remove(made, "refs/interlock/trash/t/j-1")
    trees.restore("refs/interlock/trash/t/j-1", made)
    assert (made.path / "c.txt").read_text() == "z"


def test_a_bare_repository_with_worktrees_only(tmp_path: Path) -> None:
    team = world(tmp_path)
    git(tmp_path, "clone", "-q", "--bare", str(team.remote), "home.git")
    home = World(root=tmp_path, top=tmp_path / "home.git", remote=team.remote)
    made = place(home)
    assert made.path == tmp_path / "home-tasks" / "t"
    assert git(made.path, "status", "--porcelain") == ""


def test_from_inside_a_task_the_main_repository_is_meant(team: World) -> None:
    from interlock.adapters.git.repo import GitRepo

    made = place(team)
    inside = GitRepo.open(made.path / "src")
    assert (inside.top, inside.common_dir) == (team.top, team.top / ".git")
    second = place(World(root=team.root, top=made.path, remote=team.remote), "two", "job2")
    assert second.path == team.root / "repo-tasks" / "two"


def test_a_huge_index_lock_free_commit_keeps_stat_data_so_status_is_quick(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    write(made.path, {"new.txt": "x"})
    work(repo, made)
    assert git(made.path, "diff-files", "--name-only") == "", "entries are known to be unchanged without reading files"
    assert os.path.exists(made.path / "new.txt")
