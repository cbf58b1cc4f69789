"""Conflicts between open changes as values: pairs, tiers that were skipped, and what to do about them; finding them is others'."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

PairKind = Literal["textual", "semantic"]
Tier = Literal["declared", "text", "facts", "diagnostics"]
"""From cheap to dear; the train's own run comes after them and is the only one that proves anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A line of a file on one side: which change, which file, and what stands there."""

    change: str
    path: str
    line: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two changes that do not go together, by one of the tiers.

    ``a`` is the older one, which lands first; ``b`` may be the base itself, for a change that no longer fits it.  ``rule`` is the name
    of what was seen, such as ``removed-symbol``; ``places`` are the lines on both sides; ``action`` what the owners can do.
    """

    a: str
    b: str
    kind: PairKind
    tier: Tier
    rule: str
    path: str
    why: str
    line: int | None = None
    symbol: str | None = None
    places: tuple[Spot, ...] = ()
    action: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "a": self.a,
            "b": self.b,
            "kind": self.kind,
            "tier": self.tier,
            "rule": self.rule,
            "path": self.path,
            "line": self.line,
            "symbol": self.symbol,
            "why": self.why,
            "places": [
                {"change": place.change, "path": place.path, "line": place.line, "text": place.text}
                for place in self.places
            ],
            "action": self.action,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A tier that did not look, or not at all of it, and why: never the same as clear.

    ``limit`` says that the tier does not reach there by its nature or unless it is asked to: that is told, and is no failure
    of it.
    """

    tier: Tier
    why: str
    pairs: tuple[tuple[str, str], ...] = ()
    limit: bool = False

    def as_json(self) -> dict[str, Any]:
        pairs = [list(pair) for pair in self.pairs]
        return {"tier": self.tier, "why": self.why, "pairs": pairs, "limit": self.limit}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What was found over a set of changes; ``order`` is the suggested order of landing, ``cost`` seconds by tier.

    ``changes`` are the names of all that were looked at; ``overlaps`` what cards declare alike, and ``files`` what several
    changes touch: neither is a conflict.  ``notes`` are sentences about how it was looked at.
    """

    pairs: tuple[Pair, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    order: tuple[str, ...] = ()
    cost: dict[str, float] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    overlaps: tuple[dict[str, Any], ...] = ()
    files: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def between(self, one: str, other: str) -> tuple[Pair, ...]:
        return tuple(pair for pair in self.pairs if {pair.a, pair.b} == {one, other})

    def as_json(self) -> dict[str, Any]:
        return {
            "pairs": [pair.as_json() for pair in self.pairs],
            "skipped": [each.as_json() for each in self.skipped],
            "order": list(self.order),
            "cost": {tier: round(seconds, 3) for tier, seconds in self.cost.items()},
            "changes": list(self.changes),
            "overlaps": list(self.overlaps),
            "files": {path: list(names) for path, names in self.files.items()},
            "notes": list(self.notes),
        }
