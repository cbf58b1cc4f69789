"""``interlock conflicts`` as a stranger meets it: one clone, no set-up, the answer's shape, and the page's own example."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interlock.testing.world import World

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "see-conflicts-early.md"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World.make(tmp_path / "w")


def test_the_example_of_the_page_finds_what_it_says(world: World) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (steps,) = re.findall(r"```sh\n(git init.*?)```", page, re.DOTALL)
    *commands, last = steps.strip().splitlines()
    assert last == "interlock conflicts --base main"
    script = world.root / "try.sh"
    script.write_text("set -e\n" + "\n".join(commands) + "\n", encoding="utf-8")
    world.git("-c", f"alias.run=!bash {script}", "run", at=world.root)
    done = world.cli("conflicts", "--base", "main", at=world.root / "try", code=1)
    shown, *_ = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    for line in shown.splitlines():
        assert line in done.stdout, done.stdout


def test_the_shape_of_the_answer(world: World) -> None:
    world.write("a.txt", "one\ntwo\nthree\n")
    world.push()
    for slug in ("x", "y"):
        world.git("switch", "-q", "-c", f"agent/{slug}", "main")
        world.write("a.txt", f"one\n{slug}\nthree\n")
        world.git("commit", "-qam", slug)
    world.git("switch", "-q", "main")
    found = world.ask("conflicts", code=1)
    keys = {"pairs", "skipped", "order", "cost", "changes", "overlaps", "files", "notes", "base"}
    assert set(found) == keys
    (pair,) = found["pairs"]
    assert set(pair) == {"a", "b", "kind", "tier", "rule", "path", "line", "symbol", "why", "places", "action"}
    assert (pair["kind"], pair["path"], pair["line"], pair["symbol"]) == ("textual", "a.txt", 2, None)
    assert found["files"] == {"a.txt": ["agent/x", "agent/y"]}
    assert found["changes"] == ["agent/x", "agent/y"]
