"""Whether another try of a job is worth its expected cost, from values alone; what was spent is the app's knowledge.

A retry must be worth its expected cost (seed 004: caps on retries by expected value; product D5).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

PRIOR_CHANCE: Final = 0.5
PRIOR_WEIGHT: Final = 2.0
"""Before a class has a history, one try in two is taken to land; that counts as much as two jobs do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A closed job of the class: how many tries it had, whether the last one landed, and what it cost where that is known."""

    tries: int
    landed: bool
    usd: float | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What try ``number`` is expected to cost, and its chance to land.

    ``cost``, ``left`` and ``budget`` are in ``unit``; None where a figure is not known, or where there is no limit.
    ``basis`` says where the cost is from, ``of`` over how many jobs of the class the chance is told.
    """

    number: int
    unit: Literal["usd", "tokens"] | None
    cost: float | None
    chance: float
    left: float | None
    budget: float | None
    basis: Literal["own", "class", "unknown"]
    of: int

    def fault(self) -> str:
        """Why another try is not worth it, as a sentence; empty when it is, or when too little is known to say."""
        if self.cost is None or self.budget is None or self.left is None or self.unit is None:
            return ""
        cost = amount(self.unit, self.cost)
        if self.cost > self.left:
            return (
                f"Try {self.number} is expected to cost {cost}, and {amount(self.unit, max(0.0, self.left))} is left."
            )
        if self.cost / self.chance > self.budget:
            landing = amount(self.unit, self.cost / self.chance)
            return (
                f"Try {self.number} is expected to cost {cost} and lands in {self.chance:.0%} of such jobs, so a landing "
                f"costs {landing}, and the job's budget is {amount(self.unit, self.budget)}."
            )
        return ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def amount(unit: str, value: float) -> str:
    """A figure as people read it."""
    return f"${value:.2f}" if unit == "usd" else f"{value:.0f} tokens"


def chance(past: Iterable[Past], number: int) -> tuple[float, int]:
    """How often try ``number`` landed among the jobs of a class that came so far, and how many jobs those are.

    Each job speaks of the tries that it had: those before its last one did not land.
    """
    reached = [each for each in past if each.tries >= number]
    landed = sum(each.landed and each.tries == number for each in reached)
    return (landed + PRIOR_CHANCE * PRIOR_WEIGHT) / (len(reached) + PRIOR_WEIGHT), len(reached)


def expect(
    own: Past,
    past: Iterable[Past],
    *,
    number: int,
    budget: Mapping[str, float | None],
) -> Expected:
    """What the next try is worth: ``own`` is the job so far, ``budget`` its limits by unit (usd, tokens).

    Dollars are looked at first, tokens where dollars are not known or not limited.
    """
    known = tuple(past)
    likely, of = chance(known, number)
    found = [each for unit in _UNITS if (each := _in(unit, own, known, budget.get(unit))) is not None]
    unit, cost, basis, limit = next((each for each in found if each[3] is not None), found[0] if found else _UNKNOWN)
    spent = getattr(own, unit) if unit else None
    left = limit - (spent or 0) if limit is not None else None
    return Expected(number=number, unit=unit, cost=cost, chance=likely, left=left, budget=limit, basis=basis, of=of)


_Unit = Literal["usd", "tokens"]
_Basis = Literal["own", "class", "unknown"]
_UNITS: Final[tuple[_Unit, ...]] = ("usd", "tokens")
_UNKNOWN: Final[tuple[_Unit | None, float | None, _Basis, float | None]] = (None, None, "unknown", None)


def _in(
    unit: _Unit, own: Past, past: tuple[Past, ...], limit: float | None
) -> tuple[_Unit | None, float | None, _Basis, float | None] | None:
    """The mean of one try in a unit: the job's own, else the class's; None where neither is known."""
    spent = getattr(own, unit)
    if spent is not None and own.tries:
        return unit, spent / own.tries, "own", limit
    known = [each for each in past if getattr(each, unit) is not None and each.tries]
    if not known:
        return None
    return unit, sum(getattr(each, unit) for each in known) / sum(each.tries for each in known), "class", limit
