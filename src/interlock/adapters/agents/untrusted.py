"""Reading a client's JSON lines without trust: whatever stands in them becomes a plain value or nothing; what they mean is each adapter's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

_TEXT_MOST: Final = 200_000
_EMPTY: Final[Mapping[str, Any]] = {}


def shape_of(line: bytes) -> Mapping[str, Any] | None:
    """The object of one line; None for anything else."""
    try:
        shape = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return shape if isinstance(shape, dict) else None


def text(value: object, most: int = _TEXT_MOST) -> str:
    """A text as it can be stored, cut at ``most`` characters; empty for what is none."""
    return value[:most].encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def mapping(value: object) -> Mapping[str, Any]:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else _EMPTY


def objects(value: object) -> Iterator[Mapping[str, Any]]:
    """The objects of a list, without what else is in it."""
    for each in value if isinstance(value, list) else ():
        if isinstance(each, dict):
            yield each
