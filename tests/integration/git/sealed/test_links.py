"""Submodules in sealed tasks: what the agent did to one is in the commit, as at level worktree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.integration.git.build import ENV, World, git, place, work, world
from tests.integration.git.sealed.agent import KINDS, needs_overlay, of

from interlock.adapters.git.sealed import bases
from interlock.adapters.git.sealed.layout import Kind

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("no_user_settings")]

pytest_plugins = ("tests.integration.git.fixtures",)

SCRIPTS = {
    "moved": "git rm -q --cached lib; rmdir lib; mkdir lib2; git config -f .gitmodules submodule.lib.path lib2; "
    f"git update-index --add --cacheinfo 160000,{'1' * 40},lib2",
    "set": f"git update-index --cacheinfo 160000,{'2' * 40},lib",
    "files in its place": "mkdir -p lib; echo 1 > lib/f; echo 1 > lib/x.o",
    "ignored files in its place": "mkdir -p lib; echo 1 > lib/x.o",
    "gone": "git rm -q lib .gitmodules",
    "a file in its place": "rm -r lib; echo 1 > lib",
    "set and taken away": f"git update-index --cacheinfo 160000,{'2' * 40},lib; rm -r lib",
}


def with_link(root: Path) -> World:
    """A default branch with a submodule that nobody filled."""
    team = world(root, {"README.md": "hello\n", ".gitignore": "*.o\n"})
    (team.top / ".gitmodules").write_text('[submodule "lib"]\n\tpath = lib\n\turl = https://example.invalid/lib\n')
    git(team.top, "add", "-A")
    git(team.top, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib")
    git(team.top, "commit", "-q", "-m", "a submodule")
    (team.top / "lib").mkdir()
    team.push()
    return team


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", SCRIPTS)
def test_a_sealed_task_s_submodule_is_committed_as_at_level_worktree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind, what: str
) -> None:
    needs_overlay()
    if kind == "overlay":
        monkeypatch.setattr(bases, "SMALL_FILES", 0)
    made = of(with_link(tmp_path))
    plain = place(made.team, "plain", "job2", made.repo)
    made.run(SCRIPTS[what])
    subprocess.run(["sh", "-ec", SCRIPTS[what]], cwd=plain.path, env=ENV, check=True)
    expected = work(made.repo, plain, keep="refs/interlock/kept/plain/1")
    assert made.work().tree == expected.tree
    assert expected.empty is (what == "ignored files in its place")
