"""Cases of a worktree's life, as far as the git layer decides: nothing lost, nothing forced, nobody's else touched."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.git.build import World, git, place, placed, snapshot_of, work, world, write

from interlock.adapters.git import occupants as living
from interlock.adapters.git.worktrees import Worktrees
from interlock.core.problems import Refused
from interlock.host import procfs
from interlock.ports.isolation import Place

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")

REF = "refs/interlock/trash/t/job1-7"


def refs(team: World) -> dict[str, str]:
    lines = git(team.top, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(line.split(" ") for line in lines)


# ---------------------------------------------------------------- WT-01
def test_wt_01_uncommitted_work_is_listed_and_a_tree_without_snapshot_stays(team: World) -> None:
    made = place(team)
    trees = team.trees()
    write(made.path, {"src/a.py": "edited\n", "new/untracked.txt": "x"})
    before = snapshot_of(made.path)
    with pytest.raises(Refused) as caught:
        trees.remove(made, REF)
    assert caught.value.refusal.rule == "unsaved"
    assert snapshot_of(made.path) == before
    taken = trees.snapshot(made, REF)
    assert (taken.modified, taken.untracked) == (("src/a.py",), ("new/untracked.txt",))
    assert snapshot_of(made.path) == before, "looking changes nothing"


def test_wt_01_a_second_creation_of_the_slug_refuses_and_leaves_the_tree(team: World) -> None:
    made = place(team)
    write(made.path, {"src/a.py": "edited\n"})
    before = snapshot_of(made.path)
    trees = team.trees()
    with pytest.raises(Refused, match="agent/t exists in this repository already") as caught:
        trees.create(replace(made, job="job2"), "t")
    assert caught.value.refusal.holders == ("agent/t", "job job1")
    assert caught.value.refusal.rule == "name-taken"
    assert snapshot_of(made.path) == before
    assert trees.create(made, "t") == made, "its own job finds its tree"
    assert snapshot_of(made.path) == before


def test_wt_01_work_written_after_the_snapshot_stops_the_removal(team: World) -> None:
    made = place(team)
    trees = team.trees()
    write(made.path, {"src/a.py": "edited\n"})
    trees.snapshot(made, REF)
    write(made.path, {"src/a.py": "edited again\n"})
    with pytest.raises(Refused, match="changed since its snapshot"):
        trees.remove(made, REF)
    git(made.path, "add", "-A")
    trees.snapshot(made, REF)
    write(made.path, {"late.txt": "x"})
    with pytest.raises(Refused, match="changed since its snapshot"):
        trees.remove(made, REF)
    trees.snapshot(made, REF)
    git(made.path, "commit", "-qam", "late")
    with pytest.raises(Refused, match="changed since its snapshot"):
        trees.remove(made, REF)
    assert made.path.is_dir()


def test_wt_01_two_snapshots_at_one_ref_lose_neither(team: World) -> None:
    made = place(team)
    trees = team.trees()
    write(made.path, {"src/a.py": "first\n"})
    first = trees.snapshot(made, REF)
    write(made.path, {"src/a.py": "second\n"})
    second = trees.snapshot(made, REF)
    assert git(team.top, "show", f"{first.oid}:src/a.py") == "first"
    git(team.top, "merge-base", "--is-ancestor", first.oid, second.oid)


# ---------------------------------------------------------------- WT-02
def test_wt_02_ignored_files_are_kept_and_come_back(team: World) -> None:
    team.commit({".gitignore": "*.log\ndev.sqlite3\n"})
    team.push()
    made = place(team)
    files: dict[str, str | bytes | None] = {
        ".agent-env": "APP_PORT=3010\n",
        "run.log": "log\n",
        "dev.sqlite3": bytes(range(256)),
    }
    write(made.path, files)
    assert git(made.path, "status", "--porcelain") == ""
    trees = team.trees()
    taken = trees.snapshot(made, REF)
    assert set(taken.ignored) == set(files)
    assert (taken.modified, taken.untracked, taken.left_out) == ((), (), ())
    before = snapshot_of(made.path)
    trees.remove(made, REF)
    assert not made.path.exists()
    trees.restore(REF, made)
    assert snapshot_of(made.path) == before


def test_wt_02_ignored_files_beyond_the_limit_are_named(team: World) -> None:
    from interlock.adapters.git.snapshot import snapshot

    team.commit({".gitignore": "*.log\nbuild/\n"})
    team.push()
    made = place(team)
    write(made.path, {"small.log": "x", "big.log": "y" * 5000, "build/huge.o": "z" * 9000})
    taken = snapshot(team.repo().mirror, made, REF, limit=6000)
    assert taken.ignored == ("small.log", "big.log")
    assert taken.left_out == ("build/huge.o",)


def test_wt_02_a_nested_repository_is_named_since_it_cannot_be_kept(team: World) -> None:
    made = place(team)
    git(made.path, "init", "-q", "vendor/thing")
    write(made.path, {"vendor/thing/code.c": "int x;"})
    assert team.trees().snapshot(made, REF).left_out == ("vendor/thing/",)


# ---------------------------------------------------------------- WT-04
def lost(team: World) -> tuple[Place, str]:
    """A task with committed work whose folder somebody deleted."""
    repo = team.repo()
    made = place(team, repo=repo)
    write(made.path, {"new.txt": "work"})
    done = work(repo, made)
    subprocess.run(["rm", "-r", str(made.path)], check=True)
    return made, done.commit


def test_wt_04_a_deleted_folder_is_seen_as_missing(team: World) -> None:
    made, _ = lost(team)
    assert not team.trees().exists(made)
    with pytest.raises(Refused) as caught:
        team.repo().head_of(made)
    assert caught.value.refusal.rule == "workspace-missing"
    with pytest.raises(Refused):
        work(team.repo(), made)


def test_wt_04_it_is_made_again_from_the_tip_of_its_branch(team: World) -> None:
    made, tip = lost(team)
    other = place(team, "other", "job2")
    again = team.trees().create(made, "t")
    assert again == made
    assert git(made.path, "rev-parse", "HEAD", "--abbrev-ref", "HEAD").split() == [tip, "agent/t"]
    assert (made.path / "new.txt").read_text() == "work"
    assert git(made.path, "status", "--porcelain") == ""
    assert git(team.top, "worktree", "list").count("\n") == 2
    assert git(other.path, "status", "--porcelain") == ""


def test_wt_04_it_is_made_again_even_when_git_forgot_it(team: World) -> None:
    made, tip = lost(team)
    git(team.top, "worktree", "prune")
    team.trees().create(made, "t")
    assert git(made.path, "rev-parse", "HEAD") == tip
    assert git(made.path, "status", "--porcelain") == ""


def test_wt_04_a_folder_that_git_forgot_is_not_written_over(team: World) -> None:
    made = place(team)
    write(made.path, {"precious.txt": "x"})
    subprocess.run(["rm", "-r", str(team.top / ".git" / "worktrees" / "t")], check=True)
    assert not team.trees().exists(made)
    for _ in range(2):
        with pytest.raises(Refused, match="no worktree of this repository"):
            team.trees().create(made, "t")
        assert (made.path / "precious.txt").exists()
    made.path.rename(made.path.with_name("aside"))
    team.trees().create(made, "t")
    assert git(made.path, "status", "--porcelain") == ""


def test_wt_04_without_its_branch_there_is_nothing_to_make_it_from(team: World) -> None:
    made, _ = lost(team)
    git(team.top, "worktree", "prune")
    git(team.top, "branch", "-D", "agent/t")
    with pytest.raises(Refused) as caught:
        team.trees().create(made, "t")
    assert caught.value.refusal.rule == "workspace-missing"
    assert not made.path.exists()


def test_wt_04_removal_takes_that_entry_alone_and_keeps_an_unmerged_branch(team: World) -> None:
    made, tip = lost(team)
    other = place(team, "other", "job2")
    subprocess.run(["rm", "-r", str(other.path)], check=True)
    trees = team.trees()
    trees.remove(made, REF)
    listed = git(team.top, "worktree", "list", "--porcelain")
    assert str(made.path) not in listed
    assert str(other.path) in listed, "no repository-wide prune"
    assert refs(team)["refs/heads/agent/t"] == tip
    with pytest.raises(Refused, match="agent/t exists in this repository"):
        trees.check_free("t", made.path)
    trees.remove(made, REF)
    assert refs(team)["refs/heads/agent/t"] == tip


def test_wt_04_removal_deletes_a_branch_that_is_merged(team: World) -> None:
    made, tip = lost(team)
    git(team.top, "merge", "-q", "--no-ff", "-m", "landed", "agent/t")
    team.push()
    repo = team.repo()
    repo.refresh()
    team.trees(repo).remove(made, REF)
    assert "refs/heads/agent/t" not in refs(team)
    git(team.top, "merge-base", "--is-ancestor", tip, "main")


# ---------------------------------------------------------------- WT-07
def with_submodule(team: World) -> None:
    corpus = team.root / "corpus"
    git(team.root, "init", "-q", "-b", "main", "corpus")
    write(corpus, {"data.txt": "test data"})
    git(corpus, "add", "-A")
    git(corpus, "commit", "-qm", "data")
    git(team.top, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(corpus), "tests/corpus")
    team.commit({})
    team.push()


def test_wt_07_filled_submodules_stop_the_creation_and_nothing_is_left(team: World) -> None:
    with_submodule(team)
    repo = team.repo()
    base = repo.refresh()
    trees = team.trees(repo)
    before = refs(team)
    with pytest.raises(Refused) as caught:
        trees.create(placed(trees, "t", "j", base.oid), "t")
    assert caught.value.refusal.rule == "isolation"
    assert "tests/corpus" in caught.value.refusal.what
    assert refs(team) == before
    assert not trees.path_for("t", "j").exists()
    assert not list((team.top / ".git" / "interlock" / "intents").glob("*.json"))


def test_wt_07_submodules_that_nobody_filled_are_no_obstacle_and_removal_forces_nothing(team: World) -> None:
    with_submodule(team)
    git(team.top, "submodule", "--quiet", "deinit", "--all")
    repo = team.repo()
    made = place(team, repo=repo)
    assert list((made.path / "tests/corpus").iterdir()) == []
    write(made.path, {"new.txt": "x"})
    done = work(repo, made)
    assert [change.path for change in repo.changes(made.base, done.commit)] == ["new.txt"]
    git(made.path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    trees = team.trees(repo)
    taken = trees.snapshot(made, REF)
    assert taken.left_out == ("tests/corpus",), "the submodule's files are not in the snapshot, and it says so"
    before = snapshot_of(made.path)
    trees.remove(made, REF)
    trees.restore(REF, made)
    assert snapshot_of(made.path) == before
    assert not repo.equals_commit(made, done.commit, known=(), caches=()), "files of submodules are not compared"


# ---------------------------------------------------------------- WT-08
def test_wt_08_a_detached_head_stops_the_commit_and_its_work_is_kept(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    git(made.path, "checkout", "-q", "--detach")
    write(made.path, {"new.txt": "x"})
    git(made.path, "add", "-A")
    git(made.path, "commit", "-qm", "off the branch")
    loose = git(made.path, "rev-parse", "HEAD")
    assert repo.head_of(made).branch is None
    assert repo.head_of(made).oid == loose
    with pytest.raises(Refused) as caught:
        work(repo, made, keep="refs/interlock/kept/j/1")
    assert caught.value.refusal.rule == "head-moved"
    assert "agent/t" in caught.value.refusal.what
    assert loose in refs(team).values()
    assert git(made.path, "rev-parse", "HEAD") == loose
    assert refs(team)["refs/heads/agent/t"] == made.base
    assert git(team.top, "rev-parse", "HEAD") == made.base


def test_wt_08_a_renamed_branch_stops_the_commit_and_its_work_is_kept(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    git(made.path, "branch", "-m", "agent/other")
    write(made.path, {"new.txt": "x"})
    git(made.path, "add", "-A")
    git(made.path, "commit", "-qm", "on another branch")
    moved = git(made.path, "rev-parse", "HEAD")
    assert repo.head_of(made).branch == "agent/other"
    with pytest.raises(Refused, match="is on agent/other; it belongs on agent/t"):
        work(repo, made)
    assert refs(team)["refs/heads/agent/other"] == moved
    repo.keep("refs/interlock/kept/j/2", moved)
    assert refs(team)["refs/interlock/kept/j/2"] == moved
    assert git(repo.mirror.path, "rev-parse", "refs/interlock/kept/j/2") == moved


def test_wt_08_removal_keeps_commits_of_a_detached_head(team: World) -> None:
    made = place(team)
    git(made.path, "checkout", "-q", "--detach")
    git(made.path, "commit", "-q", "--allow-empty", "-m", "off the branch")
    loose = git(made.path, "rev-parse", "HEAD")
    trees = team.trees()
    taken = trees.snapshot(made, REF)
    assert taken.detached == (loose,)
    trees.remove(made, REF)
    git(team.top, "reflog", "expire", "--expire=now", "--all")
    git(team.top, "gc", "-q", "--prune=now")
    git(team.top, "cat-file", "-e", loose)
    trees.restore(REF, made)
    assert git(made.path, "rev-parse", "HEAD") == loose
    assert git(made.path, "branch", "--show-current") == ""


def test_wt_08_a_swapped_git_file_leads_nowhere_else(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    (made.path / ".git").write_text(f"gitdir: {team.top}/.git\n")
    write(made.path, {"new.txt": "x"})
    done = work(repo, made)
    assert refs(team)["refs/heads/agent/t"] == done.commit
    assert git(team.top, "rev-parse", "HEAD") == made.base
    assert git(team.top, "status", "--porcelain") == ""


def test_wt_08_a_folder_swapped_for_a_link_is_not_followed(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    made.path.rename(team.root / "away")
    made.path.symlink_to(team.top)
    assert not team.trees(repo).exists(made)
    with pytest.raises(Refused, match="is gone"):
        work(repo, made)


# ---------------------------------------------------------------- WT-09
def test_wt_09_a_live_process_keeps_its_tree(team: World) -> None:
    made = place(team)
    trees = team.trees()
    inner = made.path / "src"
    with subprocess.Popen(["sh", "-c", "echo ready; exec sleep 60"], cwd=inner, stdout=subprocess.PIPE) as shell:
        assert shell.stdout
        shell.stdout.readline()
        assert any(name.startswith(f"{shell.pid} ") for name in trees.occupants(made))
        trees.snapshot(made, REF)
        with pytest.raises(Refused) as caught:
            trees.remove(made, REF)
        assert caught.value.refusal.rule == "alive"
        assert any(name.startswith(f"{shell.pid} ") for name in caught.value.refusal.holders)
        assert inner.is_dir()
        shell.kill()
    assert trees.occupants(made) == ()
    trees.remove(made, REF)
    assert not made.path.exists()


def test_wt_09_a_neighbour_of_the_same_beginning_is_not_inside(team: World) -> None:
    made = place(team)
    beside = made.path.with_name("t-two")
    beside.mkdir()
    with subprocess.Popen(["sleep", "60"], cwd=beside) as neighbour:
        assert team.trees().occupants(made) == ()
        neighbour.kill()


def test_wt_09_what_cannot_be_read_counts_as_occupied(team: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made = place(team)
    monkeypatch.setattr(procfs, "pids", list)
    assert team.trees().occupants(made) == ("unknown: /proc cannot be read",)
    trees = team.trees()
    trees.snapshot(made, REF)
    with pytest.raises(Refused, match="A process lives"):
        trees.remove(made, REF)


@pytest.mark.parametrize("looks", [1, 2])
def test_wt_09_a_process_that_is_shut_only_until_its_program_begins_is_looked_at_again(
    team: World, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    """As the child of a program that shuts others out is, from its fork to its exec; one that stays shut counts."""
    made = place(team)
    read, shut = Path.readlink, [looks]
    with subprocess.Popen(["sleep", "60"], cwd=team.root) as other:

        def readlink(path: Path) -> Path:
            if str(path) == f"/proc/{other.pid}/cwd" and shut[0]:
                shut[0] -= 1
                raise PermissionError(13, "Permission denied", str(path))
            return read(path)

        monkeypatch.setattr(Path, "readlink", readlink)
        assert team.trees().occupants(made) == (() if looks == 1 else (f"{other.pid} sleep",))
        other.kill()


# ---------------------------------------------------------------- WT-10
def test_wt_10_trees_lie_beside_the_repository(team: World) -> None:
    path = team.trees().path_for("t", "j")
    assert path == team.root / "repo-tasks" / "t"
    assert not path.is_relative_to(team.top)


@pytest.mark.parametrize("inside", ["tasks", ".git/tasks", ".", "../repo/x", "sub/../tasks"])
def test_wt_10_a_root_inside_the_repository_is_refused(team: World, inside: str) -> None:
    trees = Worktrees(team.repo(), root=Path(inside))
    with pytest.raises(Refused) as caught:
        trees.path_for("t", "j")
    assert caught.value.refusal.rule == "isolation"
    base = team.repo().refresh()
    with pytest.raises(Refused):
        trees.create(placed(trees, "t", "j", base.oid, team.top / "tasks" / "t"), "t")
    assert git(team.top, "worktree", "list").count("\n") == 0


def test_wt_10_a_root_that_leads_inside_by_a_link_is_refused(team: World) -> None:
    (team.top / "tasks").mkdir()
    (team.root / "link").symlink_to(team.top / "tasks")
    with pytest.raises(Refused):
        Worktrees(team.repo(), root=team.root / "link").path_for("t", "j")


def test_wt_10_where_nothing_may_be_written_beside_it_the_state_folder_is_taken(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("needs another user")
    shared = tmp_path / "shared"
    shared.mkdir()
    team = world(shared)
    for parent in (tmp_path, *tmp_path.parents):
        parent.chmod(parent.stat().st_mode | 0o055)
        if parent.name.startswith("pytest-of"):
            break
    code = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from pathlib import Path\n"
        "from interlock.adapters.git.repo import GitRepo\n"
        "from interlock.adapters.git.worktrees import Worktrees\n"
        "print(Worktrees(GitRepo.open(Path(sys.argv[1]))).path_for('t', 'j'))"
    )
    source = str(Path(living.__file__).parents[3])
    env = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": "/state", "GIT_CONFIG_GLOBAL": "/dev/null"}
    done = subprocess.run(
        ["/usr/bin/python3", "-c", code, str(team.top), source],
        user=12345,
        group=12345,
        env=env,
        capture_output=True,
        text=True,
        cwd="/",
    )
    if "Permission denied" in done.stderr and "No module" in done.stderr:
        pytest.skip("the source is not readable for others")
    assert done.stdout.startswith("/state/interlock/tasks/repo-"), done.stderr


def test_wt_10_the_main_checkout_sees_no_file_of_a_task(team: World) -> None:
    made = place(team)
    write(made.path, {"src/test_new.py": "x"})
    assert git(team.top, "status", "--porcelain", "--ignored") == ""
    assert (made.path / ".git").is_file()
    assert git(made.path, "check-ignore", ".agent-env") == ".agent-env"
    assert not (made.path / ".gitignore").exists()
    exclude = (team.top / ".git" / "info" / "exclude").read_text()
    place(team, "two", "job2")
    assert (team.top / ".git" / "info" / "exclude").read_text() == exclude, "written once"
