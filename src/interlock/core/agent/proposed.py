"""The head of the change that an agent asks to make, as a person reads it; deciding about it is the person's."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

LINES: Final = 10
"""Lines of all changes together that are shown."""

_WIDTH: Final = 200
_LINES_MOST: Final = 2000
"""Lines of one text that are compared; what a larger one changes is not told by lines."""


def head_of(content: Any) -> str:
    """The head of the differences among the parts of a tool call ({type: diff, path, oldText, newText}); empty without one.

    Takes whatever an agent sent, in any shape, and never raises.
    """
    parts = [each for each in content if isinstance(each, Mapping)] if isinstance(content, list) else []
    lines = [line[:_WIDTH] for each in parts if each.get("type") == "diff" for line in _difference(each)]
    if len(lines) > LINES:
        lines = [*lines[: LINES - 1], f"… and {len(lines) - LINES + 1} more lines."]
    return "\n".join(lines)


def _difference(part: Mapping[str, Any]) -> Iterator[str]:
    old, new = _lines(part.get("oldText")), _lines(part.get("newText"))
    yield f"{part.get('path') or 'a file'}: {len(old)} lines, then {len(new)}"
    if max(len(old), len(new)) <= _LINES_MOST:
        yield from _body(difflib.unified_diff(old, new, n=1, lineterm=""))


def _body(lines: Iterable[str]) -> Iterator[str]:
    """Without its two lines of names, which the path stands for."""
    yield from (line for number, line in enumerate(lines) if number > 1)


def _lines(text: Any) -> list[str]:
    return text.splitlines() if isinstance(text, str) else []
