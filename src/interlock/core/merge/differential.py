"""Diagnostics of a merged tree that neither side has: what a checker sees only in both together; running it is others' work."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_NUMBERS: Final = re.compile(r"\d+")
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


def only_together(
    merged: Iterable[Diagnostic], one: Iterable[Diagnostic], other: Iterable[Diagnostic]
) -> tuple[Diagnostic, ...]:
    """Findings of the merged tree beyond as many alike as the sides have; of those alike the last ones count as new."""
    known = Counter(each.alike for each in one) | Counter(each.alike for each in other)
    found = []
    for each in merged:
        if known[each.alike] > 0:
            known[each.alike] -= 1
        else:
            found.append(each)
    return tuple(found)
