"""The smallest set that a change fails with, found by few runs; whether it leaves and who is asked is others' work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from interlock.core.merge.queue import Set


def minimal(member: str, before: Set, green: Mapping[Set, bool]) -> tuple[Set, Set | None]:
    """Those of ``before`` that ``member`` fails with, and the set to test next (None: nothing more is to be tested).

    ``before`` with the member is known red; ``green`` maps tested sets to results.  Each round
    finds by halving the shortest beginning that is red, whose last one belongs to it: about log2(n) runs for each
    partner, after which leaving any one of them out is green.  Where results contradict each other it ends all the same.
    """
    chosen: set[str] = set()
    pool = tuple(before)
    while True:
        found = tuple(job for job in before if job in chosen)
        if not pool:
            return found, None
        alone = (*found, member)
        if alone not in green:
            return found, alone
        if not green[alone]:
            return found, None
        low, high = 0, len(pool)
        while high - low > 1:
            middle = (low + high) // 2
            inside = chosen.union(pool[:middle])
            probe = (*(job for job in before if job in inside), member)
            if probe not in green:
                return found, probe
            low, high = (middle, high) if green[probe] else (low, middle)
        chosen.add(pool[high - 1])
        pool = pool[: high - 1]


def is_smallest(red: Set, member: str, greens: Iterable[Iterable[str]]) -> bool:
    """Whether the member is known to be green with all but any one of the others in a red set, so that each of those belongs to it.

    With one other this asks whether the member was green without it.  A set that is larger and green says so as well.
    """
    sets = [frozenset(green) for green in greens]
    return all(any(green.issuperset(set(red) - {other}) for green in sets) for other in red if other != member)
