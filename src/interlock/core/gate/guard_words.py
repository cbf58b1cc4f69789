"""Reading a command's words for the guards: options, operands, and the answer they give; which programs is guards' list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Blocked(NamedTuple):
    """A command that a guard does not let through: whole sentences."""

    what: str
    why: str
    would_change: str


def operands(words: Sequence[str], *, valued: frozenset[str] = frozenset()) -> list[str]:
    """The words that are no options; ``valued`` are options whose value is the next word."""
    found: list[str] = []
    skip = False
    for at, word in enumerate(words):
        if skip:
            skip = False
        elif word == "--":
            return found + list(words[at + 1 :])
        elif word.startswith("-") and word != "-":
            skip = word in valued
        else:
            found.append(word)
    return found


def short_flags(words: Sequence[str]) -> set[str]:
    """The letters of all short options, also written together."""
    found: set[str] = set()
    for word in words:
        if word == "--":
            break
        if word.startswith("-") and not word.startswith("--"):
            found |= set(word[1:])
    return found
