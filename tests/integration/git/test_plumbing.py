"""Every git call: an exact environment, no prompt, no hook, a deadline, an error that says what failed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.integration.git.build import World, git

from interlock.adapters.git import plumbing
from interlock.adapters.git.errors import GitFailed
from interlock.adapters.git.plumbing import GitDir, environment
from interlock.core.problems import Misuse

pytest_plugins = ("tests.integration.git.fixtures",)
pytestmark = pytest.mark.usefixtures("no_user_settings")


@pytest.mark.parametrize(
    "name",
    [
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"),
        *("GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_TRACE", "GIT_EXEC_PATH"),
        *("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_TEMPLATE_DIR", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GPG_TTY"),
    ],
)
def test_variables_that_redirect_are_gone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "/elsewhere")
    assert environment().get(name) in (None, "0")


@pytest.mark.parametrize("name", ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO"])
def test_variables_that_say_how_to_reach_a_remote_stay(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "/dev/null")
    assert environment()[name] == "/dev/null"


def test_a_redirected_call_still_reads_the_repository_it_names(team: World, monkeypatch: pytest.MonkeyPatch) -> None:
    git(team.root, "init", "-q", "trap")
    monkeypatch.setenv("GIT_DIR", str(team.root / "trap" / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(team.root / "trap-index"))
    assert team.repo().refresh().oid == git(team.top, "rev-parse", "main")
    assert not (team.root / "trap-index").exists()


def test_a_failed_command_says_its_last_lines(team: World) -> None:
    with pytest.raises(GitFailed) as caught:
        team.repo().mirror.found.git().run("rev-parse", "--verify", "nowhere")
    assert caught.value.message == "git rev-parse failed: fatal: Needed a single revision."
    assert caught.value.returncode == 128
    assert caught.value.exit_code == 1


def test_a_command_that_does_not_end_is_ended(team: World) -> None:
    mirror = GitDir(path=team.top / ".git").with_options("alias.wait=!sleep 30")
    start = time.monotonic()
    with pytest.raises(GitFailed, match=r"git wait failed: it did not end within 0\.3 s\."):
        mirror.run("wait", seconds=0.3)
    assert time.monotonic() - start < 25, "not the 30 s of the command"


def test_no_hook_runs(team: World) -> None:
    hook = team.top / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {team.root}/ran\n")
    hook.chmod(0o755)
    tip = git(team.top, "rev-parse", "HEAD")
    GitDir(path=team.top / ".git").move("refs/interlock/x", tip, None, why="a test")
    assert not (team.root / "ran").exists()
    git(team.top, "update-ref", "refs/interlock/y", tip)
    assert (team.root / "ran").exists(), "the hook itself works, so the test above means something"


def test_an_identity_is_always_there(team: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(team.root / "nobody"))
    monkeypatch.delenv("EMAIL", raising=False)
    mirror = team.repo().mirror
    mirror.ensure()
    tree = mirror.git.text("mktree", stdin=b"")
    oid = mirror.git.text("commit-tree", tree, "-m", "x")
    assert "Interlock <interlock@localhost>" in mirror.git.text("cat-file", "commit", oid)


def test_a_repository_of_another_user_is_read(team: World) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give files away")
    for at, folders, files in os.walk(team.root):
        for name in (*folders, *files):
            os.lchown(Path(at) / name, 12345, 12345)
    assert git(team.top, "status", code=128) == ""
    repo = team.repo()
    assert repo.found.top == team.top
    git(team.top, "-c", f"safe.directory={team.top}", "remote", "remove", "origin", code=None)
    assert repo.mirror.found.git().text("rev-parse", "main")


def test_no_git_and_no_repository_are_misuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Misuse, match="is not inside a Git repository"):
        plumbing_discover(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Misuse, match="git was not found on PATH"):
        plumbing.call(["version"], env=environment(), cwd=tmp_path)


def plumbing_discover(path: Path) -> None:
    from interlock.adapters.git.discover import discover

    discover(path)
