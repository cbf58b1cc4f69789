"""A card's ``loop``, from a YAML tree to the value; what a loop does is core.agent.loops' and the app's work."""

from __future__ import annotations

import re
from typing import Any, Final, Literal

from interlock.adapters.files import reading as read
from interlock.adapters.files import shared
from interlock.adapters.files.reading import Reading
from interlock.adapters.files.yaml_tree import Keys, Node, Refused, Text
from interlock.core.contract.loop import Loop, LoopGate

Kind = Literal["reproduce", "benchmark"]
_REPRODUCE: Final = '{reproduce: "pytest -q tests/test_race.py", within: 20, clean: 30}'
_BENCHMARK: Final = '{benchmark: "python bench/search.py", name: search, p95: 200ms, runs: 20}'
_LOOP: Final = "{gate: " + _REPRODUCE + ", limits: {rounds: 3, wall: 2h}}"
_MOST_RUNS: Final = 10_000
_MILLISECONDS: Final = re.compile(r"(\d+(?:\.\d+)?)ms")


def loop(reading: Reading, node: Node, key: str) -> Loop | None:
    """The loop of a card; None when it says nothing, or when its gate cannot be read and was told."""
    if isinstance(node, Refused) or (isinstance(node, Text) and node.meaning == "empty"):
        return None
    values = shared.decode(reading, node, key, _LOOP_KEYS, _LOOP)
    values |= values.pop("limits", {})
    if "gate" in values:
        return Loop(**values)
    if isinstance(node, Keys) and "gate" not in node.values:
        what, why = (
            f"{key} has no gate.",
            "A loop ends by a gate that decides the same for everybody, and by nothing else.",
        )
        reading.tell("missing", (node.line, node.column), key, what=what, why=why, fix=f"Write gate: {_REPRODUCE}.")
    return None


def _gate(reading: Reading, node: Node, key: str) -> LoopGate | None:
    """One of the two kinds, with the keys of that kind alone."""
    values = shared.decode(reading, node, key, _GATE, _REPRODUCE)
    if not isinstance(node, Keys):
        return None
    named: list[Kind] = [kind for kind in _KINDS if kind in node.values]
    if len(named) != 1:
        said = "two kinds of gate at once" if named else "no command"
        why = "A gate either reproduces a failure, or measures a benchmark."
        fix = f"Write {_REPRODUCE}, or {_BENCHMARK}."
        reading.tell("missing", (node.line, node.column), key, what=f"{key} has {said}.", why=why, fix=fix)
        return None
    (kind,) = named
    fits = [_fits(reading, node, key, kind, name) for name in node.values if name in _GATE]
    if not (_complete(reading, node, key, kind) and all(fits) and kind in values):
        return None
    return LoopGate(kind=kind, run=values.pop(kind), **values)


def _fits(reading: Reading, node: Keys, key: str, kind: Kind, name: str) -> bool:
    """Whether a key belongs to this kind of gate; told where it does not."""
    if name == kind or name in _COMMON or name in _KINDS[kind]:
        return True
    other = next(each for each in _KINDS if each != kind)
    what, why = f"{key}.{name} says nothing for {kind}.", f"It belongs to a gate of the kind {other}."
    reading.tell("unknown-key", node.at[name], f"{key}.{name}", what=what, why=why, fix="Leave it out.")
    return False


def _complete(reading: Reading, node: Keys, key: str, kind: Kind) -> bool:
    missing = [name for name in ("name", "p95") if kind == "benchmark" and name not in node.values]
    for name in missing:
        why = "A benchmark is told by its name, and has one figure to reach."
        what, fix = f"{key} has no {name}.", f"Write {_BENCHMARK}."
        reading.tell("missing", (node.line, node.column), key, what=what, why=why, fix=fix)
    return not missing


def _limits(reading: Reading, node: Node, key: str) -> dict[str, Any]:
    return shared.decode(reading, node, key, _LIMITS, "{rounds: 3, wall: 2h}")


def _moment(reading: Reading, node: Node, key: str) -> float | None:
    """A duration that may be given in milliseconds."""
    found = _MILLISECONDS.fullmatch(node.value) if isinstance(node, Text) and node.meaning == "text" else None
    if found is not None and float(found[1]) > 0:
        reading.positions[key] = (node.line, node.column)
        return float(found[1]) / 1000
    return read.duration(reading, node, key, "200ms or 2s")


_COMMON: Final = frozenset({"timeout"})
_KINDS: Final[dict[Kind, frozenset[str]]] = {
    "reproduce": frozenset({"within", "clean"}),
    "benchmark": frozenset({"name", "p95", "runs", "warm_up", "same_output"}),
}
_GATE: Final[shared.Table] = {
    "reproduce": read.filled,
    "benchmark": read.filled,
    "within": read.whole(1, _MOST_RUNS),
    "clean": read.whole(1, _MOST_RUNS),
    "name": read.filled,
    "p95": _moment,
    "runs": read.whole(1, _MOST_RUNS),
    "warm_up": read.whole(0, 100),
    "same_output": read.path,
    "timeout": read.duration,
}
_LIMITS: Final[shared.Table] = {"rounds": read.whole(1, 100), "wall": read.duration}
_LOOP_KEYS: Final[shared.Table] = {
    "gate": _gate,
    "limits": _limits,
    "skip": read.filled,
    "escalate": read.filled,
}
