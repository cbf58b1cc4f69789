"""The nearest known word to a misspelt one; what is known is the caller's."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, or None when none is near."""
    from difflib import get_close_matches

    by_fold = {each.casefold(): each for each in known}
    found = get_close_matches(word.casefold(), list(by_fold), n=1, cutoff=0.6)
    return by_fold[found[0]] if found else None
