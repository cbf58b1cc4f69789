"""Counts and long lists in the words of a sentence; which ones are told is each message's own."""

from __future__ import annotations

from collections.abc import Sequence


def count(number: int, thing: str) -> str:
    """``1 pair``, ``2 pairs``: a number with its thing, which takes an s in the plural."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def some(texts: Sequence[str], most: int) -> str:
    """The first ``most`` of the texts, and how many more there are: ``a, b and 3 more``."""
    shown = ", ".join(texts[:most])
    return f"{shown} and {len(texts) - most} more" if len(texts) > most else shown
