"""Locks over parts of the repository that a killed holder's git command keeps, and who has a file open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from interlock.adapters.git.errors import locked
from interlock.core.problems import Refused
from interlock.host import locks, procfs

WAIT = 120.0


@contextmanager
def held(path: Path, *, what: str, wait: float = WAIT) -> Iterator[int]:
    """Hold the lock file at ``path`` and give its descriptor; waits ``wait`` seconds, then refuses naming the holder.

    A command that inherits the descriptor keeps the lock until it ends, even when its starter was killed: who
    comes next never meets a git command that is still writing.
    """

    def refuse(fault: locks.LockHeld) -> Refused:
        holder = f"process {fault.holder}" if fault.holder else "another process"
        return locked(what, fault.path, holder, "Wait until it ends, then run the command again.")

    path.parent.mkdir(parents=True, exist_ok=True)
    with locks.held(path, wait=wait, refuse=refuse) as lock:
        yield lock.fileno()


def openers(path: Path) -> tuple[str, ...]:
    """Processes that have the file open, as ``pid name``; those that may not be looked into are left out."""
    try:
        wanted = path.stat()
    except OSError:
        return ()
    found = []
    for pid in procfs.pids():
        with suppress(OSError):
            if any(_same(entry, wanted) for entry in Path(f"/proc/{pid}/fd").iterdir()):
                facts = procfs.stat(pid)
                found.append(f"{pid} {facts[0] if facts else '?'}")
    return tuple(found)


def _same(entry: Path, wanted: os.stat_result) -> bool:
    try:
        seen = entry.stat()
    except OSError:
        return False
    return (seen.st_dev, seen.st_ino) == (wanted.st_dev, wanted.st_ino)
