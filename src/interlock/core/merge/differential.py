"""Diagnostics of a merged tree that neither side has: what a checker sees only in both together; running it is others' work."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_NUMBERS: Final = re.compile(r"\d+")
_STOPPED: Final = re.compile(
    r"prevented further checking|too many errors|only showing the first \d+ (?:errors|warnings)", re.IGNORECASE
)
"""How checkers say that they gave up before they had looked at all."""
_QUOTED: Final = re.compile(r"[\"'`](?P<name>[A-Za-z_][\w.]*)[\"'`]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One finding of a checker: where, and its words."""

    path: str
    line: int
    text: str

    @property
    def alike(self) -> tuple[str, str]:
        """What two findings have in common that are one: numbers are left out, since lines move."""
        return self.path, _NUMBERS.sub("#", self.text)

    @property
    def symbol(self) -> str | None:
        """The first name that the words put in quotes."""
        match = _QUOTED.search(self.text)
        return match["name"] if match else None


def only_together(merged: Iterable[Diagnostic], *sides: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Findings of the merged tree beyond as many alike as a side has; of those alike the last ones count as new."""
    known: Counter[tuple[str, str]] = Counter()
    for side in sides:
        known |= Counter(each.alike for each in side)
    found = []
    for each in merged:
        if known[each.alike] > 0:
            known[each.alike] -= 1
        else:
            found.append(each)
    return tuple(found)


def stopped_early(text: str) -> bool:
    """Whether a checker says that it did not look at all of it: an old fault then hides a new one."""
    return _STOPPED.search(text) is not None


def groups(
    wanted: Sequence[tuple[str, str]], merging: Collection[tuple[str, str]]
) -> Iterator[tuple[tuple[str, ...], tuple[tuple[str, str], ...]]]:
    """Groups of names, each two of which are among ``merging``, until each wanted pair is in one; with the pairs that are new in it.

    ``wanted`` is a part of ``merging``; the order of the names in a pair does not count.
    """
    known = {frozenset(pair) for pair in merging}
    names = dict.fromkeys(name for pair in wanted for name in pair)
    left = dict.fromkeys(wanted)
    while left:
        group = list(next(iter(left)))
        for name in names:
            if name not in group and all(frozenset((name, other)) in known for other in group):
                group.append(name)
        ordered = tuple(name for name in names if name in group)
        new = tuple(pair for pair in left if set(pair) <= set(group))
        yield ordered, new
        left = dict.fromkeys(pair for pair in left if pair not in new)
