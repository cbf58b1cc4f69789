"""Cases of the git environment: signing that does not answer, filters that cannot run, hooks that fail, index locks."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from tests.integration.git.build import AUTHOR, World, git, place, placed, work, world, write

from interlock.adapters.git import index_lock
from interlock.adapters.git.admin import find
from interlock.adapters.git.commits import Committing, commit_work
from interlock.adapters.git.errors import SigningTimeout
from interlock.core.problems import Refused
from interlock.host import procfs

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")


def program(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def signed(team: World, where, *, sign: bool, seconds: float = 0.6) -> Committing:
    return Committing(
        mirror=team.repo().mirror,
        place=where,
        parent=where.base,
        message="work",
        author=AUTHOR,
        sign=sign,
        keep="refs/interlock/kept/j/1",
        signing=seconds,
    )


def test_ge_03_signing_that_does_not_answer_says_so_and_leaves_no_signer(team: World) -> None:
    pid = team.root / "pid"
    signer = program(team.root / "gpg", f"echo $$ > {pid}; sleep 600")
    git(team.top, "config", "commit.gpgsign", "true")
    git(team.top, "config", "gpg.program", str(signer))
    git(team.top, "config", "user.signingkey", "ABC")
    made = place(team)
    write(made.path, {"new.txt": "x"})
    start = time.monotonic()
    with pytest.raises(SigningTimeout, match="Signing did not answer") as caught:
        commit_work(signed(team, made, sign=True))
    assert caught.value.code == "signing"
    assert time.monotonic() - start < 60, "not the 600 s of the signer"
    deadline = time.monotonic() + 30
    while (facts := procfs.stat(int(pid.read_text()))) and facts[1] not in "ZX":
        assert time.monotonic() < deadline, "the signer lives on"
        time.sleep(0.02)
    assert git(made.path, "rev-parse", "HEAD") == made.base
    done = commit_work(signed(team, made, sign=False))
    assert not done.empty


def test_ge_03_policy_decides_and_a_signer_that_answers_signs(team: World) -> None:
    answer = (
        'cat >/dev/null; printf "\\n[GNUPG:] SIG_CREATED \\n" >&2; printf -- "-----BEGIN PGP SIGNATURE-----\\nx\\n"'
    )
    git(team.top, "config", "gpg.program", str(program(team.root / "gpg", answer)))
    git(team.top, "config", "user.signingkey", "ABC")
    made = place(team)
    write(made.path, {"new.txt": "x"})
    done = commit_work(signed(team, made, sign=True, seconds=20))
    assert "gpgsig -----BEGIN PGP SIGNATURE-----" in git(team.top, "cat-file", "commit", done.commit)
    again = commit_work(signed(team, made, sign=True, seconds=20))
    assert again.commit == done.commit, "the same call again finds what it made"


def test_ge_03_a_user_who_signs_everything_does_not_stop_unsigned_work(
    team: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = team.root / "gitconfig"
    signer = program(team.root / "gpg", f"touch {team.root}/signed; exit 1")
    settings.write_text(f"[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = {signer}\n[log]\n\tshowSignature = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    repo = team.repo()
    made = place(team, repo=repo)
    write(made.path, {"new.txt": "x"})
    done = work(repo, made)
    repo.merge(made.base, [done.commit], message="Land")
    assert not (team.root / "signed").exists()


LFS = "*.bin filter=lfs\n"


def with_filter(root: Path, smudge: str) -> World:
    """A repository whose *.bin files need a filter; the files are in it as the filter stores them."""
    team = world(root, {".gitattributes": LFS, "a.bin": "pointer\n", "b.txt": "b\n"})
    git(team.top, "config", "filter.lfs.smudge", smudge)
    git(team.top, "config", "filter.lfs.clean", "cat")
    git(team.top, "config", "filter.lfs.required", "true")
    return team


def test_ge_04_a_required_filter_that_is_missing_is_named_and_all_is_rolled_back(tmp_path: Path) -> None:
    team = with_filter(tmp_path, "no-such-lfs smudge -- %f")
    repo = team.repo()
    base = repo.refresh()
    trees = team.trees(repo)
    refs = git(team.top, "for-each-ref")
    path = trees.path_for("t", "j")
    with pytest.raises(Refused) as caught:
        trees.create(placed(trees, "t", "j", base.oid), "t")
    assert caught.value.refusal.rule == "isolation-failed"
    assert "no-such-lfs" in caught.value.refusal.what
    assert git(team.top, "for-each-ref") == refs
    assert git(team.top, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert not path.parent.exists()
    assert not list((team.top / ".git" / "interlock" / "intents").glob("*.json"))
    git(team.top, "fsck")


def test_ge_04_a_filter_that_works_is_used_and_commits_come_back_clean(tmp_path: Path) -> None:
    team = with_filter(tmp_path, "sed s/pointer/content/")
    git(team.top, "config", "filter.lfs.clean", "sed s/content/pointer/")
    repo = team.repo()
    made = place(team, repo=repo)
    assert (made.path / "a.bin").read_text() == "content\n"
    assert git(made.path, "status", "--porcelain") == ""
    write(made.path, {"c.bin": "content of c\n"})
    done = work(repo, made)
    assert repo.read(done.commit, "c.bin") == b"pointer of c\n"
    assert git(made.path, "status", "--porcelain") == ""
    with repo.fresh_tree(done.commit, team.root / "fresh") as tree:
        assert (tree / "c.bin").read_text() == "content of c\n"


def test_ge_04_a_failing_post_checkout_hook_changes_nothing(team: World) -> None:
    hook = team.top / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    program(hook, f"touch {team.root}/ran; exit 3")
    made = place(team)
    assert git(made.path, "status", "--porcelain") == ""
    assert not (team.root / "ran").exists()
    git(made.path, "switch", "-q", "-c", "x", code=None)
    assert (team.root / "ran").exists(), "the hook does fail where it runs"


def test_ge_04_what_git_says_does_not_decide_what_is_there(team: World, monkeypatch: pytest.MonkeyPatch) -> None:
    shim = team.root / "bin"
    shim.mkdir()
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    program(shim / "git", f'{real} "$@"; code=$?; case "$*" in *"worktree add"*) exit 3;; esac; exit $code')
    monkeypatch.setenv("PATH", f"{shim}{os.pathsep}{os.environ['PATH']}")
    made = place(team)
    assert git(made.path, "status", "--porcelain") == ""
    assert team.trees().exists(made)


def locked(team: World):
    """A task with work in it, and the path of its index's lock."""
    repo = team.repo()
    made = place(team, repo=repo)
    write(made.path, {"new.txt": "x"})
    admin = find(repo.found, made.path)
    assert admin
    return repo, made, index_lock.lock_of(admin.index)


def call(team: World, made, wait: float = 0.3):
    return commit_work(
        Committing(
            mirror=team.repo().mirror,
            place=made,
            parent=made.base,
            message="work",
            author=AUTHOR,
            sign=False,
            keep="refs/interlock/kept/j/1",
            wait=wait,
        )
    )


def test_ge_05_a_lock_that_a_live_process_holds_is_waited_for_then_named(team: World) -> None:
    _, made, lock = locked(team)
    with subprocess.Popen(["sh", "-c", f"exec 9>{lock}; echo ready; sleep 60"], stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        holder.stdout.readline()
        start = time.monotonic()
        with pytest.raises(Refused) as caught:
            call(team, made)
        assert 0.3 <= time.monotonic() - start < 30, "not the 60 s of its holder"
        refusal = caught.value.refusal
        assert refusal.rule == "locked"
        assert str(lock) in refusal.what
        assert any(held.startswith(f"{holder.pid} ") for held in refusal.holders)
        holder.kill()
    assert lock.exists()
    assert git(made.path, "rev-parse", "HEAD") == made.base


def test_ge_05_a_lock_that_goes_away_in_time_is_no_fault(team: World) -> None:
    _, made, lock = locked(team)
    lock.write_bytes(b"")
    with subprocess.Popen(["sh", "-c", f"sleep 0.3; rm {lock}"]):
        assert not call(team, made, wait=10).empty


def test_ge_05_a_stale_lock_is_reported_with_its_age_and_how_to_remove_it(team: World) -> None:
    _, made, lock = locked(team)
    lock.write_bytes(b"")
    os.utime(lock, (time.time() - 3600, time.time() - 3600))
    with pytest.raises(Refused, match=r"36\d\d s old, and no process has it open") as caught:
        call(team, made)
    assert caught.value.refusal.would_change == f"Look at the task, then remove it: rm {lock}"
    assert lock.exists(), "nobody removed it"
    lock.unlink()
    assert not call(team, made).empty


def test_ge_05_a_lock_that_our_own_killed_process_left_is_taken_over(team: World) -> None:
    _, made, lock = locked(team)
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
        lock.write_bytes(f"interlock {gone.pid} 12345".encode())
    assert not call(team, made).empty
    assert not lock.exists()


def test_ge_05_a_lock_of_our_own_living_process_is_respected(team: World) -> None:
    _, made, lock = locked(team)
    with index_lock.index_lock(lock.with_name("index")), pytest.raises(Refused, match="locked"):
        call(team, made)


def test_ge_05_a_busy_index_keeps_git_of_the_agent_out_and_not_the_other_way(team: World) -> None:
    repo, made, lock = locked(team)
    with index_lock.index_lock(lock.with_name("index")):
        git(made.path, "add", "new.txt", code=128)
    git(made.path, "add", "new.txt")
    assert work(repo, made).commit == git(made.path, "rev-parse", "HEAD")


def test_ge_05_a_merge_needs_no_index_of_anybody(team: World) -> None:
    repo, made, lock = locked(team)
    done = work(repo, made)
    lock.write_bytes(b"")
    (team.top / ".git" / "index.lock").write_bytes(b"")
    merged = repo.merge(made.base, [done.commit], message="Land")
    assert repo.land(repo.last_base(), merged.commit).state == "landed"
