"""Counts and long lists in the words of a sentence; which ones are told is each message's own."""

from __future__ import annotations

from collections.abc import Sequence


def count(number: int, thing: str, things: str = "") -> str:
    """``1 pair``, ``2 pairs``: a number with its thing; ``things`` is for what does not end in a mere s."""
    return f"{number} {thing if number == 1 else things or f'{thing}s'}"


def some(texts: Sequence[str], most: int, between: str = ", ") -> str:
    """The first ``most`` of the texts, and how many more there are: ``a, b and 3 more``."""
    shown = between.join(texts[:most])
    return f"{shown} and {len(texts) - most} more" if len(texts) > most else shown
