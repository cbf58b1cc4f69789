"""The record of decisions: JSON lines in a file of bounded size, appended as they are made; what was decided is others' work."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Final

MOST_BYTES: Final = 4 << 20


class Record:
    """Lines in ``path``; when it has ``most`` bytes it is put beside, as ``NAME.1``, in place of an earlier one.

    An empty path records nothing.
    """

    def __init__(self, path: Path | None, *, most: int = MOST_BYTES) -> None:
        self._path = path
        self._most = most
        self._file = -1

    def write(self, **values: Any) -> None:
        """Put down one decision, with the time in seconds since 1970.  Raises OSError."""
        if self._path is None:
            return
        line = json.dumps({"at": round(time.time(), 3), **values}, ensure_ascii=True).encode() + b"\n"
        if self._file < 0:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._file = os.open(self._path, flags, 0o600)
        os.write(self._file, line)
        if os.fstat(self._file).st_size >= self._most:
            self.close()
            self._path.replace(self._path.with_name(f"{self._path.name}.1"))

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
