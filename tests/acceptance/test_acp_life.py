"""A card of an ACP agent behind walls from dispatch to the default branch, with the permission that a person gives on the way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.watching import wait_until
from tests.needs import needs_sandbox

from interlock.testing.acp_agent import command
from interlock.testing.world import World


@needs_sandbox
@pytest.mark.long
def test_a_permitted_edit_lands_behind_walls(tmp_path: Path) -> None:
    world = World.make(tmp_path / "world", level="sealed")
    script = {"steps": [{"edit": "a/new.txt", "text": "done\n", "ask": True}, {"say": "All done."}]}
    world.card("a", checks=("test -f a/new.txt",))
    card = world.repo / "tasks" / "a.yaml"
    line = f"agent: {{use: acp, command: {json.dumps(command(script))}}}\n"
    kept = [each for each in card.read_text().splitlines(keepends=True) if not each.startswith("agent:")]
    card.write_text("".join(kept) + line)
    world.push()
    world.cli("dispatch", "a")
    words = [sys.executable, "-m", "interlock", "run"]
    with subprocess.Popen(words, cwd=world.repo, env=world.env, stdin=subprocess.DEVNULL) as run:
        try:
            wait_until(lambda: world.ask("inbox", code=None)["needs_a_person"], seconds=60)
            (asked,) = world.ask("inbox", code=1)["needs_a_person"]
            assert (asked["kind"], asked["request"]) == ("permission", "p1")
            assert "a/new.txt" in asked["what"]
            assert "a/new.txt" not in world.main_files()
            world.cli("decide", "a", "--permit", "allow", "--as", "ana")
            assert run.wait(90) == 0
        finally:
            run.kill()
    assert "a/new.txt" in world.main_files(), world.cli("status", "--all").stdout
