"""What the train's brain looks at and what it can ask for, as values; deciding is speculation's work, doing the app's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

Set = tuple[str, ...]
"""Jobs in landing order, merged one after the other on the present base; the empty one is the base itself."""

OutRule = Literal["red-alone", "red-together", "text-conflict"]
TestWhy = Literal["first", "probe", "retry", "base"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """A job that waits to land; ``since`` is its first approval (epoch seconds), which later approvals do not move.

    A ``solo`` one is tested by itself on the default branch, and nothing speculates across it.  ``after`` are the jobs that
    must land before it and have not landed yet; one that names a job which is not a member waits and holds up nobody.
    """

    job: str
    since: float = 0.0
    solo: bool = False
    after: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What the runs of one set said so far: whether the last one was green, and how many were red.

    A set that was red and then green is green with ``reds`` counted: that is evidence of a flake.  ``under`` are the
    jobs that landed since the run and that the set was tested on top of: who it may be red together with.
    """

    green: bool
    reds: int = 0
    under: Set = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """All that a decision needs; sets are on the present base, so a base that moved from outside empties the four mappings.

    ``members`` stand in landing order.  ``results`` holds each tested set's outcome,
    ``running`` the sets in test now, ``clashes`` the sets whose last member does not merge on those before it, with the
    paths.  ``suspects`` are pairs that prediction says break together (with a partner that landed they stay, with one that left they
    go), ``green_alone`` the jobs known to pass the full suite by themselves on the present base.  ``offered`` is a green set that owners
    are signing: it is not replaced by a larger one while it can land.
    """

    members: tuple[Queued, ...] = ()
    results: Mapping[Set, Result] = field(default_factory=dict)
    running: frozenset[Set] = frozenset()
    clashes: Mapping[Set, tuple[str, ...]] = field(default_factory=dict)
    suspects: frozenset[frozenset[str]] = frozenset()
    green_alone: frozenset[str] = frozenset()
    offered: Set = ()
    slots: int = 1
    batch: int = 8
    window: int = 20
    retries: int = 1


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop the run of this set: what it would say is of no use any more, or a slot is needed."""

    members: Set


@dataclass(frozen=True, slots=True)
class Test:
    """Merge these members on the present base and run the full suite on that tree; ``retry``: once more, it was red."""

    __test__: ClassVar[bool] = False  # pytest takes no class of this name for tests

    members: Set
    why: TestWhy = "first"


@dataclass(frozen=True, slots=True)
class Land:
    """Move the default branch to the tested commit of this green set.

    ``flaked`` are the sets inside it that were red and are excused by it: evidence of a flake, to be recorded.
    """

    members: Set
    flaked: tuple[Set, ...] = ()


@dataclass(frozen=True, slots=True)
class Out:
    """This member leaves and goes back to its owner; ``partners`` are older ones, landed or landing with this decision.

    ``red-alone``: red on the base by itself; ``red-together``: red with the partners, the smallest set known, each green
    without it; ``text-conflict``: it does not merge on the partners (none: on the base).  ``seen`` is the red or clashing set;
    ``under`` are jobs that landed since it was first seen red: with ``red-alone``, those it may be red together with.
    """

    member: str
    partners: Set
    rule: OutRule
    seen: Set = ()
    under: Set = ()


@dataclass(frozen=True, slots=True)
class RedBase:
    """The base itself is red as often as it may be retried: nobody can be blamed and nothing can land."""


Move = Cancel | Test | Land | Out | RedBase


def stripped(members: Set, landed: Set) -> Set | None:
    """The set on the base after ``landed``, which is the same tree; None where it did not stand on exactly that."""
    return members[len(landed) :] if members[: len(landed)] == landed else None


def rebased(results: Mapping[Set, Result], landed: Set) -> dict[Set, Result]:
    """Results translated to the base after ``landed``: those of sets that stood on it, since their trees are the same.

    The landed set's own result becomes that of the new base, which is so known to be green.
    """
    found: dict[Set, Result] = {}
    for members, result in results.items():
        rest = stripped(members, landed)
        if rest is not None:
            found[rest] = Result(green=result.green, reds=result.reds, under=(*result.under, *landed))
    return found


def without(results: Mapping[Set, Result], gone: Iterable[str]) -> dict[Set, Result]:
    """Results after these jobs left or got a new head: the sets that hold none of them."""
    away = frozenset(gone)
    return {members: result for members, result in results.items() if away.isdisjoint(members)}


def next_window(window: int, floor: int, outcome: Literal["landed", "failed"]) -> int:
    """The additive-increase window: one more after a landing, half after a failure at the head, never below ``floor``.

    Zuul's rule (start 20, floor 3); the floor here is ``max(3, slots)``, so that no slot stays empty because of it.
    """
    return max(floor, window + 1 if outcome == "landed" else window // 2)


def retries_for(retries: int, runs: int, flaked: int) -> int:
    """How often a red head is tested again: once more than ``retries`` where more than one run in seventy was seen to be a flake.

    With f flakes a run, f to the power of the red runs asked for is the share of innocent changes put out: two are enough up to
    2 % (0.04 %), three keep it below 0.1 % at 3 %.  About half of all flakes are seen; fewer than fifty runs say nothing.
    """
    return retries + (retries > 0 and runs >= 50 and 70 * flaked > runs)
