"""A log of raw bytes that keeps its head and its tail when it grows too large; what is shown of it is text's work."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MEBIBYTE: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """How many bytes are kept of a log: the first ``head`` and the last ``tail``."""

    head: int = 32 * MEBIBYTE
    tail: int = 8 * MEBIBYTE


class Log:
    """An append-only file; beyond the cap's head, bytes go through two files beside it that replace each other.

    Everything is in a file as soon as ``write`` returns.  ``close`` puts the tail behind the head with a line that
    tells how much was cut.
    """

    def __init__(self, path: Path, cap: Cap) -> None:
        """Begin an empty log at path; an earlier one there is replaced.  Raises OSError."""
        for stale in (path, *_beside(path)):
            stale.unlink(missing_ok=True)
        self.path = path
        self.written = 0
        self._cap = cap
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._tail = -1
        self._tail_size = 0

    @property
    def cut(self) -> bool:
        return self.written > self._cap.head + self._cap.tail

    def write(self, data: bytes) -> None:
        room = max(0, self._cap.head - self.written)
        self.written += len(data)
        if room:
            _write_all(self._file, data[:room])
        if len(data) > room:
            self._write_tail(data[room:])

    def close(self) -> None:
        os.close(self._file)
        if self._tail >= 0:
            os.close(self._tail)
        seal(self.path, self._cap, self.written)

    def _write_tail(self, data: bytes) -> None:
        new, old = _beside(self.path)
        if self._tail < 0 or self._tail_size >= self._cap.tail:
            if self._tail >= 0:
                os.close(self._tail)
                new.replace(old)
            self._tail = os.open(new, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._tail_size = 0
        _write_all(self._tail, data)
        self._tail_size += len(data)


def seal(path: Path, cap: Cap, written: int | None = None) -> None:
    """Put the tail of a log that was left open behind its head; ``written`` is None when nobody counted.

    Does nothing to a log that is whole.
    """
    new, old = _beside(path)
    kept = b"".join(part.read_bytes() for part in (old, new) if part.exists())
    if not kept:
        return
    tail = kept[-cap.tail :] if cap.tail else b""
    lost = "an unknown number of" if written is None else str(written - path.stat().st_size - len(tail))
    mark = b"" if lost == "0" else f"\n[interlock: {lost} bytes cut here]\n".encode()
    with path.open("ab") as file:
        file.write(mark + tail)
        file.flush()
        os.fsync(file.fileno())
    new.unlink(missing_ok=True)
    old.unlink(missing_ok=True)


def _beside(path: Path) -> tuple[Path, Path]:
    return path.with_name(f"{path.name}.tail"), path.with_name(f"{path.name}.tail.old")


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
