"""Files for a person go to the work tree that the person stands in, and nowhere when there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interlock.testing.world import World

pytestmark = pytest.mark.long

CARD = ("card", "new", "mine", "--class", "bug-fix")


def test_a_bare_repository_gets_no_file_of_ours(tmp_path: Path) -> None:
    world = World.make(tmp_path)
    world.card("a")
    world.push()
    before = sorted(path.name for path in world.remote.iterdir())
    for words in (
        ("init", "--yes"),
        CARD,
        ("card", "check", "--here"),
        ("caps", "set", "bug-fix", "1", "--reason", "x"),
    ):
        told = json.loads(world.cli(*words, "--json", at=world.remote, code=2).stdout)
        assert (told["code"], told["hint"]) == ("misuse", "Go to a clone of it, and call again there.")
        assert told["message"] == f"{world.remote} is a bare repository, so there is no folder of files here."
    after = {path.name for path in world.remote.iterdir()} - {"interlock"}
    assert after == set(before)
    assert "ready, in this order: a" in world.cli("card", "check", at=world.remote).stdout


def test_a_linked_work_tree_gets_its_own_files_and_is_read_from(tmp_path: Path) -> None:
    world = World.make(tmp_path)
    world.push()
    linked = tmp_path / "line\nbreak" / "linked"
    world.git("worktree", "add", "-q", "-b", "linked", str(linked))
    below = linked / "src"
    below.mkdir()
    world.cli(*CARD, at=below)
    assert (linked / "tasks" / "mine.yaml").exists()
    assert not (world.repo / "tasks" / "mine.yaml").exists()
    assert "tasks/mine.yaml:" in world.cli("card", "check", "--here", at=below, code=1).stdout
    assert "There is no card" in world.cli("card", "check", "mine", "--here", code=1).stdout
    world.cli("caps", "set", "bug-fix", "3", "--reason", "x", at=linked)
    assert "bug-fix 3" in (linked / "tasks" / "caps.txt").read_text()
    assert "bug-fix 5" in (world.repo / "tasks" / "caps.txt").read_text()
    (linked / "interlock.yaml").unlink()
    world.cli("init", "--yes", at=linked)
    assert (linked / "interlock.yaml").exists()
