"""Attacks on care that lose nothing: a tree full of every kind of work taken away, its trash lost, and brought back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from interlock.app import clean as care
from interlock.app import decide
from interlock.core.problems import Misuse, Refused


@pytest.fixture
def tree(world, town) -> Path:
    world.write(".gitignore", "*.ign\n")
    world.write("a/tracked", "0\n")
    world.card("a")
    world.push()
    return Path(town().dispatch("a").job.workspace)


def fill(world, tree: Path) -> None:
    """Changed, staged otherwise than on disk, untracked, ignored, a link, a mode, its own and detached commits."""
    world.git("commit", "-q", "--allow-empty", "-m", "own", at=tree)
    world.git("checkout", "-q", "--detach", at=tree)
    world.git("commit", "-q", "--allow-empty", "-m", "detached", at=tree)
    for name, text in {"a/tracked": "mod", "untracked": "u", "x.ign": "i", "staged": "1", "exe": "e"}.items():
        (tree / name).write_text(text)
    world.git("add", "staged", at=tree)
    (tree / "staged").write_text("2")
    (tree / "exe").chmod(0o755)
    (tree / "link").symlink_to("nowhere")


def picture(world, tree: Path) -> tuple[dict[str, str], str, str]:
    files = {
        str(path.relative_to(tree)): f"{path.lstat().st_mode:o} {path.read_text() if path.is_file() else ''}"
        for path in sorted(tree.rglob("*"))
        if ".git" != path.name
    }
    return files, world.git("status", "--porcelain", at=tree), world.git("log", "--format=%s", at=tree)


@pytest.mark.parametrize("lost", [False, True], ids=["from the trash", "from the snapshot"])
def test_everything_comes_back(world, town, tree, lost):
    fill(world, tree)
    before = picture(world, tree)
    decide.abandon(town().ports, "a", "ana", "x")
    with pytest.raises(Refused):
        care.clean(town().ports, "a", "ana")
    assert before == picture(world, tree)
    care.clean(town().ports, "a", "ana", approve=True)
    assert not tree.exists()
    if lost:
        shutil.rmtree(tree.parent / ".trash")
    care.restore(town().ports, "a", "ana")
    assert before == picture(world, tree)
    with pytest.raises(Misuse):
        care.restore(town().ports, "a", "ana")


def test_a_folder_that_git_forgot_is_not_taken_away(world, town, tree):
    (tree / "work").write_text("mine")
    aside = tree.with_name("aside")
    tree.rename(aside)
    world.git("worktree", "prune", "--expire=now")
    aside.rename(tree)
    decide.abandon(town().ports, "a", "ana", "x")
    with pytest.raises(Refused):
        care.clean(town().ports, "a", "ana", approve=True)
    assert "mine" == (tree / "work").read_text()


def test_a_stash_stays_where_it_is(world, town, tree):
    (tree / "a/tracked").write_text("stashed")
    world.git("stash", "-q", at=tree)
    decide.abandon(town().ports, "a", "ana", "x")
    care.clean(town().ports, "a", "ana")
    assert "WIP on agent/a" in world.git("stash", "list")
