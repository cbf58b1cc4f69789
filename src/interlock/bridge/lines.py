"""What the bridge says: one JSON line on standard output for each thing seen, in our own words; meaning it is the adapter's."""

from __future__ import annotations

import json
import sys
from typing import Any, BinaryIO


class Lines:
    """Standard output as lines of JSON whose ``type`` begins with ``interlock.``."""

    def __init__(self, out: BinaryIO | None = None) -> None:
        self._out = out or sys.stdout.buffer

    def write(self, what: str, /, **data: Any) -> None:
        """Write one line at once.  Raises BrokenPipeError when nobody reads any more."""
        line = json.dumps({"type": f"interlock.{what}", **data}, ensure_ascii=True, default=str)
        self._out.write(line.encode() + b"\n")
        self._out.flush()
