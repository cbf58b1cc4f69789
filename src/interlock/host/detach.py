"""Starts a process of ours that outlives us; what it does is its own business."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_ROOT: Final = str(Path(__file__).resolve().parent.parent.parent)
_NAMES: Final = ("PATH", "HOME", "LANG", "TMPDIR", "TZ")
_FIRST_SECONDS: Final = 60.0


def start(module: str, arguments: Sequence[str], *, log: Path) -> int:
    """Run ``python -m module`` in a session of its own, its output appended to ``log``; gives its exit status.

    The module calls ``leave_starter`` when it is ready, which ends its first process with 0; any other status is a
    failure to start.  Raises subprocess.TimeoutExpired after a minute.
    """
    with log.open("ab") as output:
        first = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *arguments],
            env=environment(),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        return first.wait(_FIRST_SECONDS)
    except BaseException:
        first.kill()
        first.wait()
        raise


def environment() -> dict[str, str]:
    """What a process of ours that outlives us gets to see."""
    inherited = {name: os.environ[name] for name in _NAMES if name in os.environ}
    return {**inherited, "PYTHONPATH": _ROOT}


def leave_starter() -> None:
    """Go on in a new process of which nobody is the parent; locks held by open files go along."""
    if os.fork():
        os._exit(0)
