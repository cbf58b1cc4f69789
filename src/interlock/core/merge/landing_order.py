"""The suggested order of landing over open changes, as advice; the train's own order is order's."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence


def landing_order(
    changes: Sequence[str],
    *,
    since: Mapping[str, float],
    depends_on: Mapping[str, tuple[str, ...]],
    unfit: Collection[str] = (),
) -> tuple[str, ...]:
    """Changes in the order in which they had best land: what others depend on first, then the oldest.

    ``unfit`` ones clash with the base itself and come last.  A circle of dependencies is broken at its oldest change.
    """
    left = sorted(dict.fromkeys(changes), key=lambda name: (name in unfit, since.get(name, 0.0), name))
    placed: list[str] = []
    while left:
        free = [name for name in left if not any(need in left and need != name for need in depends_on.get(name, ()))]
        if len(free) == len(left):
            return (*placed, *left)
        first = (free or left)[0]
        placed.append(first)
        left.remove(first)
    return tuple(placed)


def stands_before(one: str, other: str, order: Mapping[str, int]) -> bool:
    """Whether one lands before the other, by a suggested order's positions."""
    return (order.get(one, len(order)), one) < (order.get(other, len(order)), other)
