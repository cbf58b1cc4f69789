"""``diagnostics:`` of interlock.yaml: checkers that are run on two changes together; running them is the app's work."""

from __future__ import annotations

from typing import Final

from interlock.adapters.files import reading as read
from interlock.adapters.files import shared
from interlock.adapters.files.parts import lacks, tell
from interlock.adapters.files.reading import Reading
from interlock.adapters.files.yaml_tree import Node
from interlock.core.contract.policy import Diagnostics

_FORM: Final = '{name: types, run: "uv run mypy .", paths: ["**/*.py"]}'
_TABLE: Final[shared.Table] = {
    "name": read.filled,
    "run": read.filled,
    "paths": read.patterns,
    "reads": read.choice("lines", "sarif"),
    "timeout": read.duration,
}


def diagnostics(reading: Reading, node: Node, key: str) -> tuple[Diagnostics, ...]:
    """Checkers, each with a name of its own."""
    found: tuple[Diagnostics, ...] = reading.items(node, key, _one, f"[{_FORM}]")
    names = [each.name for each in found]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        what, fix = f"{key} has two checkers called {name}.", "Give each a name of its own."
        tell(reading, key, what, fix, "A skipped checker is told by its name.", "shape")
    return found


def _one(reading: Reading, node: Node, key: str) -> Diagnostics | None:
    values = shared.decode(reading, node, key, _TABLE, _FORM)
    for name in ("name", "run"):
        if not values.get(name):
            lacks(reading, node, key, name, _FORM)
            return None
    return Diagnostics(**values)
