"""Which of many steps to try when one of each kind shows the same as all of them; what a step is, its sweep knows."""

from __future__ import annotations

from collections.abc import Sequence


def one_of_each(names: Sequence[str]) -> list[int]:
    """One step of each name, and the last step; counted from 1, in order.

    Where a name comes often, another occurrence is taken for each name, so that the whole length is tried.
    """
    places: dict[str, list[int]] = {}
    for number, name in enumerate(names, 1):
        places.setdefault(name, []).append(number)
    taken = {found[turn % len(found)] for turn, found in enumerate(places.values())}
    return sorted({*taken, len(names)})
