"""Tokens and money of model calls as values; where a number is not known it stays unknown, and is never taken for nothing.

Normalised as facts/agents §4 demands, since vendors count cached input in, out, or both: the five counts never overlap,
but that ``reasoning`` is a part of ``output``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

MOST_TOKENS: Final = 10**12
MOST_DOLLARS: Final = 1e6
"""What one figure may be at most: no run comes near, and a sum of what is larger would make every limit void."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one call or of many; None where the vendor did not say."""

    uncached_input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None

    @property
    def total(self) -> int | None:
        """All tokens, input and output; None when neither is known."""
        known = [self.uncached_input, self.cache_read, self.cache_write, self.output]
        return sum(each or 0 for each in known) if any(each is not None for each in known) else None

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{each.name: _add(getattr(self, each.name), getattr(other, each.name)) for each in fields(Usage)})

    def __sub__(self, other: Usage) -> Usage:
        """What came since ``other``, the last known total of the same session; never below nothing."""
        return Usage(
            **{each.name: _less(getattr(self, each.name), getattr(other, each.name)) for each in fields(Usage)}
        )

    def as_json(self) -> dict[str, int | None]:
        return {each.name: getattr(self, each.name) for each in fields(Usage)}


UNKNOWN = Usage()


def from_json(shape: Mapping[str, Any] | None) -> Usage:
    """The value that ``as_json`` wrote; what is no whole number is unknown."""
    known = shape or {}
    return Usage(**{each.name: whole(known.get(each.name)) for each in fields(Usage)})


def believed(usage: Usage) -> Usage:
    """The same with only such counts as can be; an adapter of others may hand on whatever its client says."""
    return Usage(**{each.name: whole(getattr(usage, each.name)) for each in fields(Usage)})


def whole(value: object) -> int | None:
    """A count of tokens as a vendor sent it, or None: true, text, and what is negative or absurdly large are none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else None


def dollars(value: object) -> float | None:
    """An amount of money as somebody said it; None for what is no finite number between nothing and MOST_DOLLARS."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= MOST_DOLLARS else None


def total(parts: Iterable[Usage]) -> Usage:
    """The sum of all parts; unknown where there are none."""
    found = UNKNOWN
    for part in parts:
        found += part
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Dollars for a million tokens of one model; a kind without a price of its own costs as uncached input does."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None

    def of(self, usage: Usage) -> float | None:
        """What the tokens cost; None when their number is not known."""
        if usage.total is None:
            return None
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        dear = (usage.uncached_input or 0) * self.input + (usage.output or 0) * self.output
        return (dear + (usage.cache_read or 0) * read + (usage.cache_write or 0) * write) / 1_000_000


def _add(one: int | None, other: int | None) -> int | None:
    return one if other is None else other if one is None else one + other


def _less(one: int | None, other: int | None) -> int | None:
    return one if one is None or other is None else max(0, one - other)
