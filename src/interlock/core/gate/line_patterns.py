"""Patterns of log lines: literal text with ``*``, ``?`` and ``[...]``, found anywhere in a line in linear time; pure.

Not regular expressions: a pattern comes from a card, the lines from an agent's program, and a backtracking search can be
made to last for ever.  Between two ``*`` everything has a fixed length, so the leftmost place is always the right one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

MOST_LINE: Final = 4096
"""Characters of a line that are looked at."""

MOST_PATTERN: Final = 500
_CLASS: Final = re.compile(r"\[(!?)(\]?[^\]]*)\]")


def fault(pattern: str) -> str:
    """Why a pattern cannot be used, as a sentence; empty when it can."""
    if not pattern.strip("* "):
        return "It would match every line."
    if len(pattern) > MOST_PATTERN:
        return f"It has {len(pattern)} characters, and {MOST_PATTERN} are allowed."
    if any(not char.isprintable() and char != "\t" for char in pattern):
        return "It holds a control character, and a line of a log has none."
    try:
        _pieces(pattern)
    except re.error:
        return "A [...] in it is no set of characters."
    return ""


@lru_cache(maxsize=256)
def _pieces(pattern: str) -> tuple[re.Pattern[str], ...]:
    """The parts between the stars, each of a fixed length."""
    pieces, current, at = [], "", 0
    while at < len(pattern):
        char = pattern[at]
        found = _CLASS.match(pattern, at) if char == "[" else None
        if char == "\\" and at + 1 < len(pattern):
            current += re.escape(pattern[at + 1])
            at += 2
        elif char == "*":
            pieces.append(current)
            current = ""
            at += 1
        elif found is not None and found[2]:
            inner = found[2].replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]").replace("^", r"\^")
            inner = inner.replace("&&", r"&\&").replace("||", r"|\|").replace("~~", r"~\~").replace("--", r"-\-")
            current += f"[{'^' if found[1] else ''}{inner}]"
            at = found.end()
        else:
            current += "." if char == "?" else re.escape(char)
            at += 1
    pieces.append(current)
    return tuple(re.compile(piece, re.DOTALL) for piece in pieces if piece)


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a line has the pattern somewhere in it."""
    pieces = _pieces(pattern)

    def matches(line: str) -> bool:
        at = 0
        for piece in pieces:
            found = piece.search(line, at, MOST_LINE)
            if found is None:
                return False
            at = found.end()
        return True

    return matches


def first_lines(patterns: Sequence[str], lines: Iterable[str]) -> Mapping[str, int]:
    """For each pattern the number of the first line that has it, from 1; 0 when none has."""
    found = dict.fromkeys(patterns, 0)
    open_ones = {pattern: matcher(pattern) for pattern in found}
    for number, line in enumerate(lines, start=1):
        for pattern in [pattern for pattern, matches in open_ones.items() if matches(line)]:
            found[pattern] = number
            del open_ones[pattern]
        if not open_ones:
            break
    return found
