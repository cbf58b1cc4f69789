"""What a verb loads at its start, counted in modules, not in seconds: what it does without stays out, and so does the last look for cycles."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from interlock.testing.world import World

CODE = """\
import atexit, gc, json, sys
atexit.register(lambda: print(json.dumps([gc.get_freeze_count(), gc.get_threshold()[0], list(sys.modules)]), file=sys.stderr))
from interlock.cli.main import main
main()
"""

# Each takes as long to load as a short verb may last, or belongs to what only a run, a check or a screen does.
NEVER = {
    "acp",
    "alembic",
    "dbos",
    "httpx2",
    "interlock.adapters.agents.known",
    "interlock.adapters.checks.runner",
    "interlock.adapters.facts",
    "interlock.adapters.store.migrations",
    "interlock.demo",
    "interlock.engine",
    "interlock.mcp",
    "mcp",
    "psutil",
    "psycopg",
    "pydantic",
    "rich",
    "tree_sitter",
}
STORE = {"interlock.adapters.store", "sqlalchemy", "sqlite3"}
SIGNING = {"cryptography", "securesystemslib"}
JUDGING = {"interlock.app.cards", "interlock.app.landing", "interlock.core.gate.worth_a_look"}
WORK = {"interlock.core", "interlock.ports", "interlock.wiring", "yaml"}

# What is typed, what it does without, and the most modules of ours that it may load: today's count and a little room.
VERBS = [
    ("--help", NEVER | STORE | SIGNING | WORK, 4),
    ("--version", NEVER | STORE | SIGNING | WORK, 4),
    ("scope --help", NEVER | STORE | SIGNING, 12),
    ("status --help", NEVER | STORE | SIGNING, 15),
    ("scope a --base main --head HEAD", NEVER | STORE | SIGNING, 100),
    ("overlap main --base main", NEVER | STORE | SIGNING, 50),
    ("card check --here", NEVER | STORE | SIGNING, 155),
    ("status", NEVER | SIGNING | JUDGING, 290),
    ("inbox", NEVER | SIGNING | JUDGING, 290),
    ("caps show", NEVER | SIGNING, 235),
    ("show a", NEVER | SIGNING, 225),
    ("audit", NEVER | {"interlock.core.plan", "yaml"}, 215),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    made = World.make(tmp_path_factory.mktemp("start") / "w")
    made.card("a")
    made.push()
    made.cli("dispatch", "a")
    return made


def loaded(world: World, words: str) -> tuple[int, int, set[str]]:
    """How many objects were frozen at the end, how many new ones wake the collector, and every module that was loaded."""
    argv = [sys.executable, "-c", CODE, *words.split()]
    done = subprocess.run(argv, cwd=world.repo, env=world.env, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    frozen, threshold, modules = json.loads(done.stderr.splitlines()[-1])
    return frozen, threshold, set(modules)


@pytest.mark.parametrize(("words", "without", "most"), VERBS, ids=[words for words, _, _ in VERBS])
def test_a_verb_loads_what_it_needs_and_no_more(world: World, words: str, without: set[str], most: int) -> None:
    frozen, threshold, modules = loaded(world, words)
    assert sorted(without & modules) == []
    ours = sorted(name for name in modules if name.partition(".")[0] == "interlock")
    assert len(ours) <= most, ours
    assert frozen > len(modules), "Python looked for cycles in all that was loaded when it ended."
    assert threshold > 100_000, "Every few hundred new objects it looked again."


def test_what_may_not_be_loaded_is_called_so() -> None:
    """A module that got another name would be kept out for ever, whatever loads it."""
    named = sorted(name for name in NEVER | STORE | WORK if name.startswith("interlock."))
    assert [name for name in named if find_spec(name) is None] == []


def test_an_adapter_that_is_loaded_late_is_made_once_and_answers_as_itself(world: World) -> None:
    from interlock.wiring import open_ports

    ports = open_ports(Path(world.repo))
    one, again = ports.agents.watch, ports.agents.watch
    assert one == again, "Both are of one and the same object."
    with pytest.raises(AttributeError, match="no_such"):
        ports.agents.no_such  # type: ignore[attr-defined]  # noqa: B018
