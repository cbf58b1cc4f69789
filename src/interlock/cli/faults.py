"""A fault of ours: a log file with versions and traceback, and the exit code 3; errors a person can mend are in render."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
import traceback
from pathlib import Path

from interlock import __version__


def write_fault(fault: BaseException) -> int:
    """Write the fault to a log file, tell where, and give the exit code 3."""
    text = "".join(traceback.format_exception(fault))
    head = (
        f"interlock {__version__}, Python {platform.python_version()}, {platform.platform()}\n{' '.join(sys.argv)}\n\n"
    )
    path = _log_folder() / f"fault-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.log"
    path.write_text(head + text, encoding="utf-8")
    print(f"error: a fault of Interlock itself: {type(fault).__name__}: {fault}", file=sys.stderr)
    print(f"\nhint: the log is {path}; please report it.", file=sys.stderr)
    return 3


def _log_folder() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or (Path.home() / ".local" / "state")
    folder = Path(base) / "interlock" / "log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.gettempdir())
    return folder
