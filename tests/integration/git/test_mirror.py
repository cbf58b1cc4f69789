"""The trusted mirror: made once and whole, seeded from what is here, fetched by one at a time, following the remote exactly."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.integration.git.build import ENV, World, git, place, work, world, write

from interlock.adapters.git import locks, objects
from interlock.adapters.git import mirror as mirrors
from interlock.adapters.git.errors import GitFailed
from interlock.adapters.git.plumbing import GitDir
from interlock.adapters.git.repo import GitRepo
from interlock.core.problems import Refused
from interlock.host.commands import Finished
from interlock.testing.world import World as WholeWorld

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")


def tracked(repo: GitRepo) -> dict[str, str]:
    lines = git(repo.mirror.path, "for-each-ref", "--format=%(refname:lstrip=3) %(objectname)", "refs/remotes/origin/")
    return {name: oid for name, oid in (line.split(" ") for line in lines.splitlines()) if name != "HEAD"}


def test_it_lies_beside_gits_own_files_and_borrows_no_objects(team: World) -> None:
    repo = team.repo()
    repo.refresh()
    assert repo.mirror.path == team.top / ".git" / "interlock" / "mirror.git"
    assert not (repo.mirror.path / "objects" / "info" / "alternates").exists()
    assert not list((repo.mirror.path / "hooks").glob("*")) if (repo.mirror.path / "hooks").exists() else True
    assert git(team.top, "status", "--porcelain", "--ignored") == ""
    subprocess.run(["rm", "-r", str(team.top / ".git" / "objects")], check=True)
    git(repo.mirror.path, "fsck", "--strict")


def test_the_first_fetch_brings_only_what_is_not_here(tmp_path: Path) -> None:
    team = world(tmp_path, {f"f{number}.bin": bytes([number]) * 20_000 + str(number).encode() for number in range(40)})
    team.outsider({"new.txt": "x"})
    log = tmp_path / "packets"
    (tmp_path / "pack").write_text(f'#!/bin/sh\nexec git-upload-pack "$@" | tee {log}\n')
    (tmp_path / "pack").chmod(0o755)
    git(team.top, "config", "remote.origin.uploadpack", str(tmp_path / "pack"))
    repo = team.repo()
    repo.refresh()
    assert git(repo.mirror.path, "for-each-ref", "refs/seed/") == ""
    assert log.stat().st_size < 5_000, "the files that were here already did not travel"
    git(repo.mirror.path, "fsck", "--strict")


def test_it_follows_branches_that_move_come_and_go(team: World) -> None:
    repo = team.repo()
    repo.refresh()
    git(team.top, "push", "-q", "origin", "main:agent/a", "main:old")
    repo.refresh()
    assert set(tracked(repo)) == {"main", "agent/a", "old"}
    git(team.remote, "branch", "-D", "old", "agent/a")
    git(team.remote, "branch", "agent/a/b", "main")
    git(team.remote, "branch", "side", "main")
    git(team.remote, "update-ref", "refs/heads/main", team.outsider({"x.txt": "x"}, "side"))
    repo.refresh()
    assert set(tracked(repo)) == {"main", "agent/a/b", "side"}
    git(team.remote, "update-ref", "refs/heads/main", git(team.top, "rev-parse", "main"))
    assert repo.refresh().oid == git(team.top, "rev-parse", "main"), "also backwards"


def test_without_a_remote_it_follows_the_local_branches(team: World) -> None:
    git(team.top, "remote", "remove", "origin")
    repo = team.repo()
    repo.refresh()
    tip = team.commit({"x.txt": "x"})
    git(team.top, "branch", "agent/a")
    assert repo.refresh().oid == tip
    assert dict(repo.agent_branches()) == {}, "nothing on it that main has not"
    git(team.top, "switch", "-q", "agent/a")
    ahead = team.commit({"y.txt": "y"})
    git(team.top, "switch", "-q", "main")
    repo.refresh()
    assert dict(repo.agent_branches()) == {"agent/a": ahead}
    git(team.top, "branch", "-D", "agent/a")
    repo.refresh()
    assert set(tracked(repo)) == {"main"}


def test_nothing_new_takes_one_connection(team: World, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = team.repo()
    repo.refresh()
    calls: list[str] = []
    real = mirrors._patiently

    def counted(where: GitDir, *args: str) -> Finished:
        calls.append(args[0])
        return real(where, *args)

    monkeypatch.setattr(mirrors, "_patiently", counted)
    repo.refresh()
    assert calls == ["ls-remote"]
    team.outsider({"x.txt": "x"})
    repo.refresh()
    assert calls == ["ls-remote", "ls-remote", "fetch"]


def test_where_the_default_branch_stood_is_never_told_of_one_that_moved(team: World) -> None:
    repo = team.repo()
    first = repo.refresh()
    assert repo.last_base() == first
    assert repo.last_base() == first
    team.outsider({"x.txt": "x"})
    moved = team.repo().refresh()  # as another process fetches
    assert moved.oid != first.oid
    assert repo.last_base() == moved
    git(repo.mirror.path, "pack-refs", "--all")
    assert repo.last_base() == moved
    git(team.top, "remote", "set-url", "origin", str(team.top / "elsewhere"))
    with pytest.raises(Refused, match="was"):
        repo.last_base()


def test_a_default_branch_that_leads_to_another_one_is_asked_for_each_time(team: World) -> None:
    """Its file stays as it is while what it leads to moves; so does the time of packed ones that are written at once again."""
    repo = team.repo()
    first = repo.refresh().oid
    second = team.outsider({"x.txt": "x"})
    repo.refresh()
    mirror = repo.mirror.path
    git(mirror, "update-ref", "refs/remotes/origin/other", first)
    git(mirror, "symbolic-ref", "refs/remotes/origin/main", "refs/remotes/origin/other")
    assert repo.last_base().oid == first
    git(mirror, "update-ref", "refs/remotes/origin/other", second)
    assert repo.last_base().oid == second
    git(mirror, "symbolic-ref", "--delete", "refs/remotes/origin/main")
    git(mirror, "update-ref", "refs/remotes/origin/main", second)
    assert repo.last_base().branch == "main"
    git(mirror, "pack-refs", "--all")
    packed = mirror / "packed-refs"
    seen = packed.stat()
    assert repo.last_base().oid == second
    packed.write_text(packed.read_text().replace(second, first))
    os.utime(packed, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert repo.last_base().oid == first


def test_which_of_two_commits_follows_is_told_both_ways(team: World) -> None:
    repo = team.repo()
    old = repo.refresh().oid
    git(team.top, "push", "-q", "origin", "main:agent/a")
    side = team.outsider({"y.txt": "y"}, "agent/a")
    new = team.outsider({"x.txt": "x"})
    repo.refresh()
    for _ in range(2):
        assert not repo.is_ancestor(new, old)
        assert repo.is_ancestor(old, new)
        assert repo.is_ancestor(old, old)
        assert not repo.is_ancestor(side, new)
        assert not repo.is_ancestor(new, side)
    with pytest.raises(GitFailed):
        repo.is_ancestor("1" * 40, new)
    assert dict(repo.tips(["agent/a", "agent/nobody"])) == {"agent/a": side}
    assert dict(repo.tips([])) == {}


def test_a_passing_failure_is_tried_again_and_a_lasting_one_is_told(
    team: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirrors, "_PAUSES", (0.01, 0.01))
    count = team.root / "count"
    flaky = team.root / "flaky"
    flaky.write_text(
        f'#!/bin/sh\necho x >> {count}\n[ $(wc -l < {count}) -lt 3 ] && echo "fatal: early EOF" >&2 && exit 1\n'
        'exec git-upload-pack "$@"\n'
    )
    flaky.chmod(0o755)
    git(team.top, "config", "remote.origin.uploadpack", str(flaky))
    repo = team.repo()
    repo.refresh()
    assert count.read_text().count("x") >= 3
    team.remote.rename(team.root / "away")
    with pytest.raises(GitFailed, match="git ls-remote failed") as caught:
        repo.refresh()
    assert caught.value.code == "git"
    assert repo.last_base().oid == git(team.top, "rev-parse", "main")


def test_many_at_once_fetch_one_after_the_other(team: World) -> None:
    for number in range(5):
        team.outsider({f"n{number}.txt": "x"}, "main")
        git(team.remote, "branch", f"agent/b{number}", "main")
    code = "import sys; from pathlib import Path; from interlock.adapters.git.repo import GitRepo\n"
    code += "print(GitRepo.open(Path(sys.argv[1])).refresh().oid)"
    root = Path(__file__).parents[3]
    env = {**ENV, "PYTHONPATH": str(root / "src")}
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(team.top)], env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    answers: list[object] = []

    def fetch() -> None:
        try:
            answers.append(team.repo().refresh().oid)
        except Exception as fault:  # noqa: BLE001
            answers.append(fault)

    threads = [threading.Thread(target=fetch) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers += [process.communicate()[0].strip() for process in running]
    assert set(answers) == {team.tip()}
    git(team.repo().mirror.path, "fsck")


def test_a_lock_names_its_holder_when_the_wait_is_over(team: World) -> None:
    path = team.top / ".git" / "interlock" / "worktrees.lock"
    with locks.held(path, what="A test"), pytest.raises(Refused) as caught, locks.held(path, what="A test", wait=0.1):
        pass
    assert caught.value.refusal.rule == "locked"
    assert str(path) in caught.value.refusal.what
    assert caught.value.refusal.holders[0].startswith("process ")


def test_a_lock_outlives_its_holder_as_long_as_the_command_that_shares_it(team: World) -> None:
    path = team.root / "a.lock"
    with locks.held(path, what="A test") as descriptor:
        command = subprocess.Popen(["sleep", "30"], pass_fds=[descriptor])
    with pytest.raises(Refused), locks.held(path, what="A test", wait=0.1):
        pass
    command.kill()
    command.wait()
    with locks.held(path, what="A test", wait=5):
        pass


def test_half_a_transfer_does_not_count_as_there(team: World) -> None:
    """A commit that arrived without its files is fetched again, as after a kill in the middle of unpacking."""
    theirs = team.outsider({"deep/new.txt": "x"})
    repo = team.repo()
    repo.refresh()
    commit = git(repo.mirror.path, "cat-file", "commit", theirs) + "\n"
    assert git(team.top, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=commit) == theirs
    assert not objects.complete(repo.found.git(), [theirs])
    made = place(team, repo=repo)
    assert git(made.path, "show", "HEAD:deep/new.txt") == "x"
    git(team.top, "fsck")


def test_a_merciless_gc_of_the_agent_does_not_hurt_the_record(team: World) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    write(made.path, {"new.txt": "x"})
    done = work(repo, made)
    git(made.path, "reset", "-q", "--hard", made.base)
    git(team.top, "reflog", "expire", "--expire=now", "--all")
    git(made.path, "gc", "-q", "--prune=now")
    assert repo.read(done.commit, "new.txt") == b"x"
    repo.keep("refs/interlock/kept/again", done.commit)
    assert git(team.top, "show", "refs/interlock/kept/again:new.txt") == "x"
    git(repo.mirror.path, "fsck")


def test_settings_that_change_files_are_taken_and_programs_are_not(team: World) -> None:
    for name, value in {
        "filter.a.clean": "tr a b",
        "core.autocrlf": "input",
        "remote.origin.proxy": "p",
        "user.signingkey": "K",
        "core.fsmonitor": "evil",
        "diff.external": "evil",
        "core.hooksPath": "/evil",
        "alias.x": "!evil",
        'url.ssh://a "b"\\c/.insteadOf': 'x"y\\z\ttab',
    }.items():
        git(team.top, "config", name, value)
    repo = team.repo()
    repo.mirror.ensure()
    listed = git(repo.mirror.path, "config", "--local", "--list")
    assert "filter.a.clean=tr a b" in listed
    assert "core.autocrlf=input" in listed
    assert "remote.origin.proxy=p" in listed
    assert 'url.ssh://a "b"\\c/.insteadof=x"y\\z\ttab' in listed
    assert "evil" not in listed


def test_relative_remotes_mean_the_same_from_everywhere(team: World) -> None:
    git(team.top, "remote", "set-url", "origin", "../remote.git")
    assert team.repo().refresh().oid == team.tip()


def test_what_piled_up_is_packed_and_nothing_is_lost(team: World, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = team.repo()
    made = place(team, repo=repo)
    for number in range(3):
        write(made.path, {f"n{number}.txt": str(number)})
        work(repo, made, keep=f"refs/interlock/kept/j/{number}")
    loose = git(repo.mirror.path, "count-objects").split()[0]
    objects_ = set(git(repo.mirror.path, "cat-file", "--batch-all-objects", "--batch-check").splitlines())
    monkeypatch.setattr(mirrors, "_LOOSE", -1)
    repo.refresh()
    repo.refresh()
    assert int(git(repo.mirror.path, "count-objects").split()[0]) < int(loose)
    assert set(git(repo.mirror.path, "cat-file", "--batch-all-objects", "--batch-check").splitlines()) == objects_
    git(repo.mirror.path, "fsck")


def test_a_remote_that_is_added_later_has_to_be_confirmed_once(team: World) -> None:
    git(team.top, "remote", "remove", "origin")
    repo = team.repo()
    assert repo.refresh().remote is None
    place(team, repo=repo)
    git(team.top, "remote", "add", "origin", str(team.remote))
    with pytest.raises(Refused, match="was absent when") as caught:
        repo.refresh()
    subprocess.run(caught.value.refusal.would_change.partition(": ")[2].split(), check=True)
    assert repo.refresh().ref == "origin/main"
    git(team.top, "remote", "remove", "origin")
    with pytest.raises(Refused, match="is absent now") as caught:
        repo.refresh()
    subprocess.run(caught.value.refusal.would_change.partition(": ")[2].split(), check=True)
    assert repo.refresh().remote is None


def test_reading_files_of_a_commit(team: World) -> None:
    tip = team.commit({"tasks/a.yaml": "slug: a\n", "tasks/sub/b.yaml": "x", "odd\nname": "y", "empty": ""})
    team.push()
    repo = team.repo()
    repo.refresh()
    assert repo.read(tip, "tasks/a.yaml") == b"slug: a\n"
    assert repo.read(tip, "odd\nname") == b"y"
    assert repo.read(tip, "empty") == b""
    assert repo.read(tip, "nope") is None
    assert repo.read(tip, "tasks") is None, "a folder is no file"
    assert repo.blob_oid(tip, "tasks/a.yaml") == git(team.top, "rev-parse", "HEAD:tasks/a.yaml")
    assert repo.blob_oid(tip, "tasks/z.yaml") is None
    assert repo.files(tip, "tasks") == ("tasks/a.yaml", "tasks/sub/b.yaml")
    assert "odd\nname" in repo.files(tip)
    assert repo.tree_of(tip) == git(team.top, "rev-parse", "HEAD^{tree}")
    many = repo.read_many([(tip, "empty"), (tip, "gone"), (tip, "odd\nname"), (tip, "src")])
    assert [blob and blob.data for blob in many] == [b"", None, b"y", None]


def test_importing_a_branch_prefers_what_follows(team: World) -> None:
    repo = team.repo()
    repo.refresh()
    git(team.top, "switch", "-q", "-c", "agent/a")
    first = team.commit({"x.txt": "1"})
    team.push("agent/a")
    second = team.commit({"x.txt": "2"})
    repo.refresh()
    assert repo.import_branch("agent/a") == second
    git(team.top, "reset", "-q", "--hard", "HEAD~2")
    assert repo.import_branch("agent/a") == first
    team.commit({"x.txt": "other"})
    with pytest.raises(Refused, match="neither follows the other"):
        repo.import_branch("agent/a")
    with pytest.raises(Exception, match="names no commit"):
        repo.import_branch("agent/none")


@pytest.mark.long
def test_remote_added_before_any_task_is_taken_and_one_added_later_is_not(tmp_path: Path) -> None:
    world = WholeWorld.make(tmp_path / "w")
    world.git("remote", "remove", "origin")
    world.git("add", "-A")
    world.git("commit", "-qm", "base")
    assert world.ask("doctor", code=None)["features"]
    world.git("remote", "add", "origin", str(world.remote))
    world.card("a")
    world.push("with a remote")
    assert world.ask("dispatch", "a")["admitted"]
    world.git("remote", "set-url", "origin", str(tmp_path / "elsewhere.git"))
    done = world.ask("dispatch", "a", code=1)
    assert done["refusal"]["rule"] == "git"
    assert "remote.origin.url" in done["refusal"]["would_change"]


def test_when_a_path_last_changed_is_told_and_nothing_where_it_never_was(team: World) -> None:
    repo = team.repo()
    first = team.outsider({"docs/rules.md": "x", "a[1].txt": "y"})
    second = team.outsider({"other.txt": "z"})
    repo.refresh()
    assert repo.last_change(second, "docs/rules.md") == repo.last_change(first)
    assert repo.last_change(second, "docs") == repo.last_change(first)
    assert repo.last_change(second, "a[1].txt") == repo.last_change(first)
    assert repo.last_change(second, "a*.txt") is None
    assert repo.last_change(second, "gone.md") is None
    assert repo.last_change(second) is not None
