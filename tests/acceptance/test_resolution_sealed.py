"""A resolution at level sealed: its agent is another uid behind walls, and the harness runs its test on each side alone and on both (G4)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.acceptance.test_resolution import mended, world_of
from tests.needs import needs_sandbox

from interlock.testing.world import World

pytestmark = [needs_sandbox, pytest.mark.long, pytest.mark.timeout(300)]


def resolved(root: Path, resolve: str) -> World:
    """The world after a sealed resolution was tried."""
    world = world_of(root, f'test "$(id -u)" != 0 || exit 9\n{resolve}', level="sealed")
    assert {"sealed"} == {job["level"] for job in world.ask("status", "--all")["jobs"]}
    world.cli("resolve", "shipping")
    world.cli("run", code=None)
    return world


def test_a_sealed_resolution_is_proven_on_either_side_and_lands(tmp_path: Path) -> None:
    world = resolved(tmp_path / "w", mended())
    shown = world.ask("show", "shipping")
    assert {"shop/shipping.py", "tests/test_both.py"} <= world.main_files(), json.dumps(shown)
    assert {(each["level"], each["same_user"]) for each in shown["evidence"]} == {("sealed", False)}
    world.cli("audit")


def test_a_sealed_resolution_that_proves_one_side_only_waits(tmp_path: Path) -> None:
    world = resolved(tmp_path / "w", mended().replace("total(1000) == 1205", "total(1000) > 1000"))
    shown = world.ask("show", "shipping")
    assert (shown["state"], "shop/shipping.py" in world.main_files()) == ("waiting", False)
    assert "passes with shipping alone" in json.dumps(shown)
