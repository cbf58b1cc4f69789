"""Looks in a stream of JSON lines for the one that says it was the last; what follows from that is the ladder's business."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

LINE_MOST: Final = 1 << 20
"""Bytes of one line that are kept to be read; a longer one is passed over (facts/agents §2: 429 kB were seen)."""


class LastWord:
    """Told the bytes as they come, in pieces of any size; ``seen`` once a line's ``type`` was one of ``ends``."""

    def __init__(self, ends: Iterable[str]) -> None:
        self._ends = frozenset(ends)
        # Most lines hold none of the words, so that looking for their bytes spares nearly all parsing.
        self._marks = tuple(json.dumps(each).encode() for each in sorted(self._ends))
        self._line = bytearray()
        self._lost = False
        self.seen = False

    def feed(self, data: bytes) -> None:
        """Take in what was written next.  Never raises for what stands in it."""
        if self.seen or not self._ends:
            return
        head, newline, rest = data.rpartition(b"\n")
        if newline:
            self._look(self._whole(head))
            self._lost = False
        self._keep(rest)

    def _whole(self, head: bytes) -> bytes:
        """The complete lines, with what was kept of the first one."""
        if self._lost:
            return head.partition(b"\n")[2]
        lines = bytes(self._line) + head
        self._line.clear()
        return lines

    def _keep(self, rest: bytes) -> None:
        if self._lost:
            return
        self._line += rest
        if len(self._line) > LINE_MOST:
            self._lost = True
            self._line.clear()

    def _look(self, lines: bytes) -> None:
        if not any(mark in lines for mark in self._marks):
            return
        for line in lines.split(b"\n"):
            if len(line) <= LINE_MOST and any(mark in line for mark in self._marks) and self._is_last(line):
                self.seen = True
                return

    def _is_last(self, line: bytes) -> bool:
        try:
            shape = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return False
        kind = shape.get("type") if isinstance(shape, dict) else None
        return isinstance(kind, str) and kind in self._ends
