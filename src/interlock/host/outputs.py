"""What a run writes, on its way from a pipe into a capped log without secrets; who reads when is processes' work."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from interlock.host.logs import Cap, Log
from interlock.host.redact import Redactor

PIPE: Final = 1 << 20
_CHUNK: Final = 1 << 18


class Output:
    """One stream of a run: its log, and its pipe while there is one.

    ``heed`` is told the bytes as they were written.  ``texts`` do not reach the log.
    """

    def __init__(self, log: Path, cap: Cap, texts: Iterable[str], heed: Callable[[bytes], None] | None = None) -> None:
        self.log = Log(log, cap)
        self.reader = -1
        self._heed = heed
        self._redactor = Redactor(text.encode("utf-8", "surrogateescape") for text in texts)

    def open(self) -> int:
        """Make the pipe; gives the end that is written to, which is the caller's to close."""
        self.reader, writer = os.pipe()
        os.set_blocking(self.reader, False)
        widen(self.reader)
        return writer

    def copy(self) -> int | None:
        """Take what was written so far into the log: how many bytes, 0 at its end, None when there is nothing now."""
        try:
            data = os.read(self.reader, _CHUNK)
        except BlockingIOError:
            return None
        if data:
            if self._heed is not None:
                self._heed(data)
            if clean := self._redactor.feed(data):
                self.log.write(clean)
        return len(data)

    def drain(self) -> None:
        """Take what still stands in the pipe, when nobody is left to write more, and close it."""
        try:
            rest = PIPE
            while rest > 0 and (taken := self.copy()):
                rest -= taken
        finally:
            self.leave()

    def leave(self) -> None:
        """Close the pipe."""
        if self.reader >= 0:
            os.close(self.reader)
            self.reader = -1

    def close(self) -> None:
        """Put the rest into the log, and the log together."""
        try:
            if rest := self._redactor.end():
                self.log.write(rest)
        finally:
            self.log.close()


def widen(pipe: int) -> None:
    """A larger pipe means fewer turns for a talkative command; a refusal changes nothing."""
    with suppress(OSError, AttributeError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE)
