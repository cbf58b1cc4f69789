"""Two clones on one store: each leaves the other's jobs alone, says so, and audits what it has."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from interlock.testing.world import World

pytestmark = pytest.mark.long


@pytest.fixture
def pair(tmp_path: Path) -> tuple[World, Path, dict[str, str]]:
    """A world, a second clone of its remote, and the environment in which both use one store."""
    world = World.make(tmp_path / "w")
    for slug in ("one", "two"):
        world.card(slug, command=f"mkdir -p {slug} && echo {slug} > {slug}/x", checks=(f"test -e {slug}/x",))
    world.push()
    other = tmp_path / "w" / "clone2"
    subprocess.run(["git", "clone", "-q", str(world.remote), str(other)], env=world.env, check=True)
    return world, other, {**world.env, "INTERLOCK_STORE": f"sqlite:///{tmp_path}/shared.db"}


def test_a_clone_leaves_the_jobs_of_another_alone_and_says_whose_they_are(
    pair: tuple[World, Path, dict[str, str]],
) -> None:
    world, other, env = pair

    def at(where: Path, *words: str) -> subprocess.CompletedProcess[str]:
        return World.start(words, where, env)

    assert at(world.repo, "dispatch", "one").returncode == 0
    seen = at(other, "run")
    assert seen.returncode == 0, seen.stderr
    assert "one: kept by another clone" in seen.stderr
    assert "kept by another clone" in at(other, "status").stdout
    assert "workspace-missing" not in at(world.repo, "status").stdout
    assert at(world.repo, "run").returncode == 0
    assert at(other, "dispatch", "two").returncode == 0
    assert at(other, "run").returncode == 0
    for where in (world.repo, other):
        audit = at(where, "audit")
        assert audit.returncode == 0, audit.stdout + audit.stderr
        assert "2 landings" in audit.stdout
        assert "Another clone keeps these files" in audit.stdout
