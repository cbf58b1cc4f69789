"""A path that some patterns match and others do not, found exactly or shown not to exist; what a pattern is, is paths' work."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Final

from interlock.core.contract.segment import ANY_NAME, MAX_STATES, Segment, TooComplex, names

Items = tuple[Segment | None, ...]
"""A pattern as its segments, None for any number of folders."""

_Moves = tuple[tuple[Segment, int], ...]
_State = tuple[tuple[int, ...], tuple[frozenset[int], ...]]
_ANYTHING: Final = (ANY_NAME,)


@lru_cache(maxsize=1 << 14)
def _moves(items: Items) -> tuple[tuple[_Moves, bool], ...]:
    """For each position: the segments that can take the next name with the position after it, and whether it may end."""
    table: list[tuple[_Moves, bool]] = []
    for start in range(len(items) + 1):
        moves: list[tuple[Segment, int]] = []
        at = start
        while at < len(items) and items[at] is None:
            moves.append((ANY_NAME, at))
            at += 1
        if at < len(items):
            item = items[at]
            if item is not None:
                moves.append((item, at + 1))
        table.append((tuple(moves), at == len(items)))
    return tuple(table)


def find(required: tuple[Items, ...], excluded: tuple[Items, ...] = ()) -> tuple[str, ...] | None:
    """The names of a shortest path that every ``required`` pattern matches and no ``excluded`` one does.

    None when there is no such path.  Exact.  Raises TooComplex, which cannot happen for two patterns without
    exclusions.
    """
    start: _State = (tuple(0 for _ in required), tuple(frozenset((0,)) for _ in excluded))
    queue: deque[tuple[_State, tuple[str, ...]]] = deque([(start, ())])
    seen = {start}
    while queue:
        state, path = queue.popleft()
        if _ended(state, required, excluded):
            return path
        for following, name in _steps(state, required, excluded):
            if following not in seen:
                seen.add(following)
                queue.append((following, (*path, name)))
        if excluded and len(seen) > MAX_STATES:
            raise TooComplex
    return None


def _ended(state: _State, required: tuple[Items, ...], excluded: tuple[Items, ...]) -> bool:
    positions, sets = state
    return all(_moves(items)[at][1] for items, at in zip(required, positions, strict=True)) and not any(
        _moves(items)[at][1] for items, places in zip(excluded, sets, strict=True) for at in places
    )


def _steps(state: _State, required: tuple[Items, ...], excluded: tuple[Items, ...]) -> Iterator[tuple[_State, str]]:
    """Every state that one more name leads to, with such a name."""
    positions, sets = state
    moves = [_moves(items)[at][0] for items, at in zip(required, positions, strict=True)]
    shut = [
        [move for at in places for move in _moves(items)[at][0]] for items, places in zip(excluded, sets, strict=True)
    ]
    others = tuple(dict.fromkeys(seg for each in shut for seg, _ in each if seg is not ANY_NAME))
    for choice in product(*moves):
        wanted = tuple(dict.fromkeys(seg for seg, _ in choice if seg is not ANY_NAME)) or _ANYTHING
        after = tuple(position for _, position in choice)
        for name, fit in names(wanted, others):
            taken = {others[number] for number in fit}
            left = tuple(
                frozenset(position for seg, position in each if seg is ANY_NAME or seg in taken) for each in shut
            )
            yield (after, left), name
