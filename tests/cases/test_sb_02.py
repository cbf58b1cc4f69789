"""Case SB-02 at level worktree: programs that an agent plants in the shared repository are not run by any call of ours."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.git.build import ENV, World, git, place, placed, work, world, write

from interlock.core.problems import InterlockError
from interlock.ports.isolation import Place
from interlock.ports.repository import Merged
from interlock.testing.world import World as Commands

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("no_user_settings")]

pytest_plugins = ("tests.integration.git.fixtures",)

REF = "refs/interlock/trash/t/job1-7"


def script(path: Path, mark: Path) -> str:
    """A program that leaves a mark and otherwise behaves like cat."""
    path.write_text(f"#!/bin/sh\ntouch {mark}\ncat 2>/dev/null\nexit 0\n")
    path.chmod(0o755)
    return str(path)


def hook(team: World, name: str, evil: str) -> None:
    folder = team.top / ".git" / "hooks"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{evil} </dev/null\n")
    (folder / name).chmod(0o755)


def setting(*pairs: tuple[str, str]) -> Callable[[World, Place, str], None]:
    """Plant settings in the common configuration; EVIL stands for the program."""

    def plant(team: World, made: Place, evil: str) -> None:
        for name, value in pairs:
            git(made.path, "config", name, value.replace("EVIL", evil).replace("REMOTE", str(team.remote)))

    return plant


def hooks_path(team: World, made: Place, evil: str) -> None:
    folder = made.path / ".githooks"
    folder.mkdir()
    for name in ("pre-commit", "post-checkout", "reference-transaction", "post-index-change", "pre-push"):
        (folder / name).write_text(f"#!/bin/sh\n{evil} </dev/null\n")
        (folder / name).chmod(0o755)
    git(made.path, "config", "core.hooksPath", str(folder))


def included(team: World, made: Place, evil: str) -> None:
    (made.path / "inc").write_text(f"[core]\n\tfsmonitor = {evil}\n\thooksPath = {made.path}\n")
    git(made.path, "config", "include.path", str(made.path / "inc"))


def worktree_config(team: World, made: Place, evil: str) -> None:
    git(made.path, "config", "extensions.worktreeConfig", "true")
    git(made.path, "config", "--worktree", "core.fsmonitor", evil)
    git(made.path, "config", "--worktree", "filter.zz.clean", evil)


def swapped_git_file(team: World, made: Place, evil: str) -> None:
    git(team.root, "init", "-q", "evil")
    git(team.root / "evil", "config", "core.fsmonitor", evil)
    git(team.root / "evil", "config", "filter.zz.clean", evil)
    (made.path / ".git").write_text(f"gitdir: {team.root}/evil/.git\n")


def nested_repository(team: World, made: Place, evil: str) -> None:
    """A repository inside the tree, whose own filter would run as soon as git looks whether it is dirty."""
    inner = made.path / "inner"
    git(made.path, "init", "-q", "inner")
    write(inner, {"f.c": "x", ".gitattributes": "*.c filter=zz\n"})
    git(inner, "add", "-A")
    git(inner, "commit", "-qm", "x")
    git(inner, "config", "filter.zz.clean", evil)
    git(inner, "config", "core.fsmonitor", evil)
    write(inner, {"f.c": "y"})
    git(made.path, "add", "inner", code=None)
    git(made.path, "-c", "core.hooksPath=/dev/null", "commit", "-qm", "inner")


def every_hook(team: World, made: Place, evil: str) -> None:
    for name in (
        *("post-checkout", "pre-commit", "commit-msg", "reference-transaction", "pre-push", "post-index-change"),
        *("post-merge", "pre-receive", "update", "post-update", "pre-auto-gc", "fsmonitor-watchman", "post-rewrite"),
    ):
        hook(team, name, evil)


PLANTS: dict[str, Callable[[World, Place, str], None]] = {
    "fsmonitor": setting(("core.fsmonitor", "EVIL")),
    "clean-filter": setting(("filter.zz.clean", "EVIL"), ("filter.zz.required", "true")),
    "smudge-filter": setting(("filter.zz.smudge", "EVIL")),
    "process-filter": setting(("filter.zz.process", "EVIL")),
    "external-diff": setting(("diff.external", "EVIL")),
    "diff-command": setting(("diff.zz.command", "EVIL")),
    "textconv": setting(("diff.zz.textconv", "EVIL")),
    "merge-driver": setting(("merge.zz.driver", "EVIL"), ("merge.default", "zz")),
    "ssh-command": setting(("core.sshCommand", "EVIL"), ("url.ssh://h/.insteadOf", "/")),
    "upload-pack": setting(("remote.origin.uploadpack", "EVIL")),
    "receive-pack": setting(("remote.origin.receivepack", "EVIL")),
    "ext-protocol": setting(("protocol.ext.allow", "always"), ("url.ext::EVIL %S.insteadOf", "REMOTE")),
    "credential-helper": setting(("credential.helper", "!EVIL")),
    "askpass": setting(("core.askPass", "EVIL")),
    "gpg": setting(("gpg.program", "EVIL"), ("commit.gpgSign", "true"), ("log.showSignature", "true")),
    "pager-editor": setting(("core.pager", "EVIL"), ("core.editor", "EVIL"), ("sequence.editor", "EVIL")),
    "alias": setting(("alias.read-tree", "!EVIL"), ("alias.commit-tree", "!EVIL")),
    "pack-hook": setting(("uploadpack.packObjectsHook", "EVIL")),
    "gc-hook": setting(("gc.recentObjectsHook", "EVIL"), ("gc.auto", "1"), ("maintenance.auto", "true")),
    "alternate-refs": setting(("core.alternateRefsCommand", "EVIL")),
    "git-proxy": setting(("core.gitProxy", "EVIL")),
    "submodule-update": setting(("submodule.s.update", "!EVIL"), ("submodule.recurse", "true")),
    "trailer": setting(("trailer.x.command", "EVIL"), ("trailer.x.key", "X")),
    "hooks-path": hooks_path,
    "hooks": every_hook,
    "include": included,
    "worktree-config": worktree_config,
    "git-file": swapped_git_file,
    "nested-repository": nested_repository,
}


def everything(team: World, made: Place) -> list[str]:
    """Every kind of call that we make, on a task that an agent prepared; gives what failed, for the reader."""
    repo = team.repo()
    trees = team.trees(repo)
    faults: list[str] = []

    def tried(step: Callable[[], object]) -> None:
        try:
            step()
        except InterlockError as fault:
            faults.append(f"{type(fault).__name__}: {fault.message}")

    base = repo.last_base()
    tried(repo.refresh)
    tried(lambda: repo.head_of(made))
    tried(lambda: repo.extra_files(made))
    done = work(repo, made)
    repo.changes(base.oid, done.commit)
    tried(lambda: repo.equals_commit(made, done.commit, known=(), caches=()))
    merged = repo.merge(base.oid, [done.commit], message="Land")
    assert isinstance(merged, Merged)
    with repo.fresh_tree(merged.commit, team.root / "fresh"):
        pass
    tried(lambda: repo.push_branch("agent/t", done.commit, None))
    tried(lambda: trees.create(placed(trees, "second", "job2", base.oid), "second"))
    tried(lambda: repo.import_branch("agent/t"))
    tried(lambda: repo.keep("refs/interlock/kept/x", done.commit))
    tried(lambda: repo.branches(base.oid))
    tried(lambda: repo.land(base, merged.commit))
    tried(lambda: repo.landed_slugs(merged.commit))
    tried(lambda: repo.rebase_place(made, head=done.commit, onto=merged.commit, keep="refs/interlock/kept/y"))
    tried(lambda: trees.snapshot(made, REF))
    tried(lambda: trees.remove(made, REF))
    tried(lambda: trees.restore(REF, made))
    for words in (["scope", "t", "--base", "main", "--head", done.commit], ["overlap", "--base", "main"]):
        Commands.start(words, team.top, ENV)
    return faults


@pytest.fixture
def prepared(tmp_path: Path) -> tuple[World, Place]:
    """A task with edits to files whose attributes name a driver, dispatched before anything was planted."""
    team = world(tmp_path, {"src/a.c": "1\n", "src/b.c": "2\n", "m.txt": "x\n"})
    made = place(team)
    write(made.path, {".gitattributes": "*.c filter=zz diff=zz merge=zz\n*.txt merge=zz\n", "src/a.c": "3\n"})
    return team, made


@pytest.mark.parametrize("plant", PLANTS)
def test_sb_02_nothing_planted_runs(prepared: tuple[World, Place], plant: str) -> None:
    team, made = prepared
    mark = team.root / "ran"
    evil = script(team.root / "evil.sh", mark)
    PLANTS[plant](team, made, evil)
    mark.unlink(missing_ok=True)
    faults = everything(team, made)
    assert not mark.exists(), faults
    if plant != "git-file":
        assert faults == [], "it works on as if nothing had been planted"


@pytest.mark.parametrize(
    ("plant", "words"),
    [
        ("fsmonitor", ["status"]),
        ("clean-filter", ["add", "-A"]),
        ("external-diff", ["diff"]),
        ("hooks-path", ["commit", "-qm", "x", "--allow-empty"]),
        ("hooks", ["commit", "-qm", "x", "--allow-empty"]),
        ("nested-repository", ["status"]),
        ("git-file", ["status"]),
    ],
)
def test_sb_02_the_plants_do_run_where_git_is_used_plainly(
    prepared: tuple[World, Place], plant: str, words: list[str]
) -> None:
    """Otherwise the test above would prove nothing."""
    team, made = prepared
    mark = team.root / "ran"
    evil = script(team.root / "evil.sh", mark)
    PLANTS[plant](team, made, evil)
    mark.unlink(missing_ok=True)
    git(made.path, *words, code=None)
    assert mark.exists()


def test_sb_02_a_remote_that_was_changed_is_refused_and_not_followed(prepared: tuple[World, Place]) -> None:
    from interlock.core.problems import Refused

    team, made = prepared
    git(team.root, "clone", "-q", "--bare", str(team.remote), "theirs.git")
    git(made.path, "remote", "set-url", "origin", str(team.root / "theirs.git"))
    done = work(team.repo(), made)
    with pytest.raises(Refused, match="The remote was") as caught:
        team.repo().refresh()
    assert "config" in caught.value.refusal.would_change
    with pytest.raises(Refused):
        team.repo().push_branch("agent/t", done.commit, None)
    assert git(team.root / "theirs.git", "branch", "--list", "agent/*") == ""
    words = caught.value.refusal.would_change.partition(": ")[2].split()
    subprocess.run(words, check=True)
    assert team.repo().refresh().oid == made.base


def test_sb_02_history_that_the_agent_forges_in_the_shared_store_is_not_believed(
    prepared: tuple[World, Place],
) -> None:
    team, made = prepared
    git(made.path, "add", "-A")
    git(made.path, "commit", "-qm", "own work")
    tip = git(made.path, "rev-parse", "HEAD")
    git(team.top, "replace", tip, made.base)
    (team.top / ".git" / "info" / "grafts").write_text(f"{tip}\n")
    (team.top / ".git" / "shallow").write_text(f"{made.base}\n")
    repo = team.repo()
    assert repo.import_branch("agent/t") == tip
    assert {change.path for change in repo.changes(made.base, tip)} == {".gitattributes", "src/a.c"}


def test_sb_02_an_object_with_a_forged_name_does_not_get_into_the_mirror(prepared: tuple[World, Place]) -> None:
    """A loose file under the name of another blob: git reads it without hashing, the way into the mirror hashes."""
    import zlib

    team, made = prepared
    git(made.path, "add", "-A")
    git(made.path, "commit", "-qm", "own work")
    tip = git(made.path, "rev-parse", "HEAD")
    blob = git(made.path, "rev-parse", "HEAD:src/a.c")
    loose = team.top / ".git" / "objects" / blob[:2] / blob[2:]
    loose.chmod(0o644)
    loose.write_bytes(zlib.compress(b"blob 5\0evil\n"))
    repo = team.repo()
    repo.mirror.ensure()
    with pytest.raises(InterlockError):
        repo.import_branch("agent/t")
    assert git(repo.mirror.path, "for-each-ref", "--contains", tip, code=None) == ""
