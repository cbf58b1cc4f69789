"""Case SB-02, each of 31 ways in, at both levels: no command of ours runs what an agent planted in git's settings."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.git.build import ENV
from tests.integration.git.sealed.agent import needs_overlay

from interlock.adapters.git.vector_world import World
from interlock.adapters.git.vectors import VECTORS, Field, vectors
from interlock.core.contract.card import Level

LEVELS: tuple[Level, ...] = ("worktree", "sealed")
NAMES = tuple(vector.name for vector in VECTORS)

# What a person types, in the checkout (top) or in the task's tree, that does run the program.
PLAINLY = {
    "core.fsmonitor, status": ("top", "git status"),
    "core.fsmonitor, diff in the tree": ("tree", "git diff"),
    "filter.x.clean, status in the tree": ("tree", "git add -A"),
    "filter.x.smudge, making a tree": ("top", "git worktree add ../more -b more"),
    "diff.x.command, diff": ("tree", "git diff"),
    "diff.y.textconv, diff": ("tree", "git diff"),
    "diff.external, diff": ("tree", "git diff -- m.txt"),
    "merge.x.driver, merge-tree": ("top", "git merge-tree --write-tree ours theirs"),
    "merge.x.driver, merge": ("top", "git checkout -q ours && git merge theirs"),
    "core.sshCommand, fetch": ("top", "git fetch origin"),
    "remote.origin.uploadpack, fetch": ("top", "git fetch origin"),
    "remote.origin.receivepack, push": ("top", "git push origin main:z"),
    "credential.helper, https fetch": ("top", "echo url=http://127.0.0.1/ | git credential fill"),
    "hooks/post-checkout, making a tree": ("top", "git worktree add ../more -b more"),
    "core.hooksPath, commit": ("tree", "git commit --allow-empty -m x"),
    "hooks/reference-transaction, branch": ("top", "git branch q"),
    "include.path, fsmonitor in the file": ("top", "git status"),
    "another .git file, another repository": ("tree", "git status"),
    "config.worktree, fsmonitor": ("tree", "git status"),
    "core.editor, merge commit": ("top", "git commit --allow-empty"),
    "trailer.x.command": ("top", "echo m | git interpret-trailers"),
}


@pytest.fixture(scope="module")
def _plain_settings() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM")}
    os.environ.update({"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"})
    yield
    for name, value in before.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory, _plain_settings: None) -> dict[Level, dict[str, tuple[bool, str]]]:
    """What became of every way in at every level; they are tried once."""
    needs_overlay()
    found: dict[Level, dict[str, tuple[bool, str]]] = {}
    for level in LEVELS:
        folder = tmp_path_factory.mktemp(level)
        found[level] = {name: (blocked, why) for name, blocked, why in vectors(level, folder)}
    return found


def test_there_are_31_ways_in_and_none_is_left_open() -> None:
    assert len(set(NAMES)) == 31


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", NAMES)
def test_sb_02_no_command_of_ours_runs_it(
    seen: dict[Level, dict[str, tuple[bool, str]]], name: str, level: Level
) -> None:
    blocked, why = seen[level][name]
    assert blocked, why


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, _plain_settings: None) -> World:
    return World.make(tmp_path_factory.mktemp("plain"), "worktree")


@pytest.mark.long
@pytest.mark.parametrize("name", PLAINLY)
def test_sb_02_plain_git_does_run_it(plain: World, name: str) -> None:
    """Otherwise the test above would prove nothing."""
    number = NAMES.index(name)
    place = plain.task(f"t{number}")
    for branch, line in (("ours", "first"), ("theirs", "last")):
        script = (
            f"git checkout -q -B {branch} main && {{ echo {line} >> src/a.c; echo {line} >> m.txt; }} && "
            f"git commit -qam {branch} && git checkout -q main"
        )
        subprocess.run(["sh", "-ec", script], cwd=plain.top, env=ENV, check=True)
    mark = plain.root / f"mark-{number}"
    config = (plain.top / ".git" / "config").read_bytes()
    field = Field(world=plain, place=place, name=name, evil=f"touch {mark}")
    try:
        VECTORS[number].plant(field)
        mark.unlink(missing_ok=True)
        where, script = PLAINLY[name]
        run(place.path if where == "tree" else plain.top, script)
        assert mark.exists()
    finally:
        (plain.top / ".git" / "config").write_bytes(config)
        run(plain.top, "rm -rf .git/hooks ../more; git worktree prune; git branch -D more q; git merge --abort")
        run(plain.top, "git checkout -qf main")


def run(where: Path, script: str) -> None:
    subprocess.run(["sh", "-c", script], cwd=where, env=ENV, capture_output=True, stdin=subprocess.DEVNULL, check=False)
