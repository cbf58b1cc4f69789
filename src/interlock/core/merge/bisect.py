"""Who makes a train red: the next set to test, or the guilty change with its partners; running the suite is app's work.

Plain bisection, seed 000's semantic conflict: two changes green alone and red together are a pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Set = tuple[str, ...]


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


def bisect(members: Sequence[str], green: Mapping[Set, bool]) -> Answer:
    """What the results so far say about members in landing order.

    ``green`` maps each tested set to its result.  Asking again with the results of the probes asked for ends
    after at most about 2·log2(n) + 3 probes.  The later member of a pair is the guilty one, so the older lands.
    """
    everyone = tuple(members)
    if everyone not in green:
        return Probe(everyone)
    if green[everyone]:
        return Green()
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
    if () not in green:
        return Probe(())
    return Guilty(culprit, ()) if green[()] else RedBase()


def _partners(before: Set, culprit: str, green: Mapping[Set, bool]) -> Answer:
    """The earlier members that the culprit is red with: one where it is red with that one alone, else all that may matter."""
    low, high = 0, len(before)
    while high - low > 1:
        middle = (low + high) // 2
        probe = (*before[:middle], culprit)
        if probe not in green:
            return Probe(probe)
        low, high = (middle, high) if green[probe] else (low, middle)
    pair = (before[high - 1], culprit)
    if pair not in green:
        return Probe(pair)
    return Guilty(culprit, before[:high] if green[pair] else (before[high - 1],))
