"""The structure of a JSON object walked without building it: where its outermost values stand, and it without its long texts; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

MOST_PARTS: Final = 500_000
MOST_DEEP: Final = 200
"""What the structure of one request may be; a million tokens of conversation have a fifth of that."""

# A mark, or what stands between marks (white space, numbers, words); and a piece of a text, with its end where it is
# there.  Each is bounded, since nothing else runs in the process while one is looked for.
_PART: Final = re.compile(rb'[^"{}\[\],:]{1,65536}+|[{}\[\],:"]')
_PIECE: Final = re.compile(rb'[^"\\]{0,65536}+(?:\\.[^"\\]{0,64}+){0,1024}+("?)', re.DOTALL)
_BETWEEN: Final = 1 << 16
SHOWN: Final = 1024
"""Bytes of one text that are read; of a longer one the begin."""

_BEGIN: Final = re.compile(rb"[ !#-\[\]-~]{0,64}")
_MOST_SHORT: Final = 16 << 20


class BadBody(Exception):
    """A body that is not passed on; the text says why."""

    def __init__(self, why: str, status: int = 400) -> None:
        super().__init__(why)
        self.status = status


def scan(data: bytes) -> tuple[dict[str, tuple[int, int]], str]:
    """Where the value of each outermost key stands, its key in lower case, and all of it with long texts cut short.

    Some servers do not tell the case of keys apart.  Raises BadBody for what is no single object, for an outermost key
    that comes twice, and for too many parts.
    """
    if data.lstrip()[:1] != b"{":
        raise BadBody("The request is no JSON object.")
    walk = _Walk(data)
    for count, (start, end) in enumerate(_parts(data)):
        if count > MOST_PARTS or walk.depth > MOST_DEEP:
            raise BadBody(f"The request has more than {MOST_PARTS} parts, or is more than {MOST_DEEP} deep.")
        if walk.take(start, end):
            return walk.spans, walk.short(end)
    raise BadBody("The request breaks off.")


def _parts(data: bytes) -> Iterator[tuple[int, int]]:
    """Where each part begins and ends.  Raises BadBody."""
    at = 0
    while (part := _PART.match(data, at)) is not None:
        end = part.end() if part[0] != b'"' else _end(data, part.end())
        yield at, end
        at = end


def _end(data: bytes, at: int) -> int:
    """Where the text ends that goes on there."""
    while (piece := _PIECE.match(data, at)) is not None and piece.end() > at:
        at = piece.end()
        if piece[1]:
            return at
    raise BadBody("The request breaks off within a text.")


class _Walk:
    def __init__(self, data: bytes) -> None:
        self.depth = 0
        self.spans: dict[str, tuple[int, int]] = {}
        self._data = data
        self._short: list[bytes] = []
        self._kept = 0
        self._key = ""
        self._start = -1
        self._last = b""

    def take(self, start: int, end: int) -> bool:
        """The next part; True when it ends the object.  Raises BadBody."""
        part = self._data[start : min(end, start + SHOWN + 1)]
        mark = part[:1]
        if mark == b'"':
            if len(part) > SHOWN:
                self._shorten(part, start, end)
        elif mark in b"{[":
            self.depth += 1
        elif mark == b":":
            self._colon(end)
        elif mark in b",}]":
            if self.depth == 1 and self._start >= 0:
                self.spans[self._key] = (self._start, start)
                self._start = -1
            self.depth -= mark != b","
        elif end - start >= _BETWEEN:
            raise BadBody("The request has too much between its texts.")
        elif not part.strip():
            return False
        self._last = part
        return self.depth == 0

    def short(self, end: int) -> str:
        """All of it up to there, with long texts cut.  Raises BadBody."""
        if self._data[end:].strip():
            raise BadBody("Something follows the request's JSON object.")
        self._short.append(self._data[self._kept : end])
        if sum(map(len, self._short)) > _MOST_SHORT:
            raise BadBody(f"The request has more than {_MOST_SHORT} bytes beside its long texts.")
        try:
            return b"".join(self._short).decode()
        except UnicodeDecodeError:
            raise BadBody("The request is not UTF-8.") from None

    def _shorten(self, text: bytes, start: int, end: int) -> None:
        """Of a long text keep the first plain characters."""
        begin = _BEGIN.match(text, 1)
        shown = begin[0] if begin is not None and begin[0] else b"?"
        self._short += (self._data[self._kept : start], b'"' + shown + b'"')
        self._kept = end

    def _colon(self, end: int) -> None:
        if self.depth == 1 and self._start < 0:
            self._key, self._start = _key(self._last), end
            if self._key in self.spans:
                raise BadBody(f"The key {self._key} comes twice.")


def _key(text: bytes) -> str:
    if text[:1] != b'"' or len(text) > SHOWN:
        raise BadBody("The request is no JSON object.")
    try:
        return str(json.loads(text)).lower()
    except ValueError:
        raise BadBody("A key of the request is no JSON text.") from None
