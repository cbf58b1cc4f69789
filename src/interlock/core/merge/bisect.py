"""Who makes a train red: the next set to test, or the guilty change with its partners; running the suite is app's work.

Two changes green alone and red together are a pair (seed 000's semantic conflict).  Where every member is known to be
green alone, each probe halves the pairs that are possible; otherwise plain bisection finds the member or the group.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from interlock.core.merge.minimal import minimal
from interlock.core.merge.queue import Set

MOST_SPLIT: Final = 8
"""Members up to which every subset is weighed as a probe; beyond, bisection asks for few enough."""

FEW: Final = 5
"""Members up to which what may land is tested first, since that run is needed anyway.  Of five, seven of the ten pairs so take
five runs at most with the landing and three take six; no order of probes that sees the pair itself red does better."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Test these members together, in this order; an empty set is the base alone."""

    members: Set


@dataclass(frozen=True, slots=True)
class Green:
    """All members together pass."""


@dataclass(frozen=True, slots=True)
class RedBase:
    """The base fails by itself, so no member can be blamed."""


@dataclass(frozen=True, slots=True)
class Guilty:
    """This member fails; ``partners`` are the earlier ones it fails together with (empty: it fails alone)."""

    member: str
    partners: Set


Answer = Probe | Green | RedBase | Guilty


def bisect(
    members: Sequence[str],
    green: Mapping[Set, bool],
    *,
    suspects: Container[frozenset[str]] = (),
) -> Answer:
    """What the results so far say about members in landing order.

    ``green`` maps each tested set to its result.  Asking again with the results of the probes asked for ends.
    The later member of a pair is the guilty one, so the older lands.  ``suspects`` are pairs that are predicted to break
    together and so are asked about first.
    """
    everyone = tuple(members)
    if everyone not in green:
        return Probe(everyone)
    if green[everyone]:
        return Green()
    if green.get(()) is False:
        return RedBase()
    by_pairs = _suspected(everyone, green, suspects) or _any_pair(everyone, green)
    return by_pairs or _by_members(everyone, green)


# ---------------------------------------------------------------- a pair
def _suspected(everyone: Set, green: Mapping[Set, bool], suspects: Container[frozenset[str]]) -> Answer | None:
    """What to ask about the pairs that were predicted, or who they accuse; none once green sets clear all of them.

    Of several, half are asked about at once, so that many false ones cost few runs.
    """
    cleared = [set(tested) for tested, passed in green.items() if passed]
    pairs = [pair for pair in combinations(everyone, 2) if frozenset(pair) in suspects]
    pairs = [pair for pair in pairs if not any(tested.issuperset(pair) for tested in cleared)]
    if red := [pair for pair in pairs if pair in green]:
        return Guilty(red[0][1], red[0][:1])
    while len(pairs) > 1:
        half = {member for pair in pairs[: len(pairs) // 2] for member in pair}
        probe = tuple(member for member in everyone if member in half)
        if probe not in green:
            return Probe(probe)
        pairs = pairs[: len(pairs) // 2]
    return Probe(pairs[0]) if pairs else None


def _any_pair(everyone: Set, green: Mapping[Set, bool]) -> Answer | None:
    """What to ask about the pairs that explain every result, or the one that is left; None where no pair does."""
    pairs = _possible_pairs(everyone, green)
    if not pairs:
        return None
    if len(pairs) == 1:
        return _blame(pairs[0], green)
    return _landing_first(everyone, pairs, green) if len(everyone) <= FEW else _split(everyone, pairs, green)


def _possible_pairs(everyone: Set, green: Mapping[Set, bool]) -> list[Set]:
    """Pairs that explain every result, inside each red set and inside no green one; none while a member is unproven."""
    if len(everyone) > MOST_SPLIT or not all(green.get((member,)) for member in everyone):
        return []
    results = [(frozenset(tested), passed) for tested, passed in green.items()]
    pairs = combinations(everyone, 2)
    return [pair for pair in pairs if all((set(pair) <= tested) != passed for tested, passed in results)]


def _blame(pair: Set, green: Mapping[Set, bool]) -> Answer:
    """The only pair left is guilty once it was seen red."""
    return Guilty(pair[1], pair[:1]) if pair in green else Probe(pair)


def _landing_first(everyone: Set, pairs: list[Set], green: Mapping[Set, bool]) -> Answer:
    """Ask about the newest member that may be guilty by what lands without it; once it is sure, about its partners."""
    newest = max((pair[1] for pair in pairs), key=everyone.index)
    partners = [first for first, second in pairs if second == newest]
    lands = tuple(member for member in everyone if member != newest)
    if lands not in green:
        return Probe(lands)
    half = partners[: len(partners) // 2] if len(partners) >= 4 else partners[:1]
    probe = (*half, newest)
    return Probe(probe) if probe not in green else _split(everyone, pairs, green)


def _split(everyone: Set, pairs: list[Set], green: Mapping[Set, bool]) -> Probe:
    """The set that halves the pairs best; of equal ones the largest, since a large green set may land."""

    def worst(probe: Set) -> tuple[int, int]:
        inside = sum(1 for pair in pairs if set(pair) <= set(probe))
        return max(inside, len(pairs) - inside), -len(probe)

    sizes = range(len(everyone), 0, -1)
    probes = (probe for size in sizes for probe in combinations(everyone, size) if probe not in green)
    return Probe(min(probes, key=worst))


# ---------------------------------------------------------------- a member or a larger group
def _by_members(everyone: Set, green: Mapping[Set, bool]) -> Answer:
    first_red = _first_red(everyone, green)
    if isinstance(first_red, Probe):
        return first_red
    before, culprit = everyone[:first_red], everyone[first_red]
    return _alone(before, culprit, green) or _partners(before, culprit, green)


def _first_red(everyone: Set, green: Mapping[Set, bool]) -> int | Probe:
    """The index of the member whose prefix is the shortest red one."""
    low, high = 0, len(everyone)
    while high - low > 1:
        middle = (low + high) // 2
        prefix = everyone[:middle]
        if prefix not in green:
            return Probe(prefix)
        low, high = (middle, high) if green[prefix] else (low, middle)
    return high - 1


def _alone(before: Set, culprit: str, green: Mapping[Set, bool]) -> Answer | None:
    """The culprit by itself; what stands before it is green, and with nobody before it the base is asked."""
    alone = (culprit,)
    if alone not in green:
        return Probe(alone)
    if green[alone]:
        return None
    if before:
        return Guilty(culprit, ())
    return Guilty(culprit, ()) if () in green else Probe(())


def _partners(before: Set, culprit: str, green: Mapping[Set, bool]) -> Answer:
    """The earlier members that the culprit is red with, none of whom can be left out."""
    partners, probe = minimal(culprit, before, green)
    return Guilty(culprit, partners) if probe is None else Probe(probe)
