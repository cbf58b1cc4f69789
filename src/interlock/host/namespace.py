"""Whether a pid namespace can be had here, and the command line that makes one; it hides processes and is no sandbox.

A namespace dies with its first process, and that one with its starter (bubblewrap's ``--die-with-parent``), so
that a killed starter leaves nothing; a killed subreaper leaves its children (facts/agents §1.3).
"""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Final

from interlock.host.sandbox import bwrap

_FLAGS: Final = ("--dev-bind", "/", "/", "--proc", "/proc", "--unshare-pid", "--die-with-parent", "--as-pid-1", "--")
_PROBE: Final = "import os; raise SystemExit(os.getpid() != 1 or not os.path.exists('/proc/1/stat'))"
_PROBE_SECONDS: Final = 10.0


@lru_cache(maxsize=1)
def prefix() -> tuple[str, ...] | None:
    """The words before a command that make it pid 1 of a fresh namespace, or None where that does not work.

    Found out by doing it, once a process.
    """
    return next((words for words in map(_words, (program.path for program in bwrap.programs())) if _works(words)), None)


def _words(program: Path) -> tuple[str, ...]:
    return (str(program), *_FLAGS)


def _works(words: tuple[str, ...]) -> bool:
    argv = [*words, sys.executable, "-I", "-S", "-c", _PROBE]
    try:
        done = subprocess.run(
            argv,
            env={},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
