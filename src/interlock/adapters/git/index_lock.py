"""The lock of a task's index, kept with git's own rules: waited for with a bound, never broken unasked."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from interlock.adapters.git.locks import openers
from interlock.core.problems import Refused, refused
from interlock.host import procfs

WAIT: Final = 10.0
_STEP: Final = 0.05
_OURS: Final = b"interlock "


@contextmanager
def index_lock(index: Path, *, wait: float = WAIT) -> Iterator[None]:
    """Hold ``index``.lock, so that no git command of the agent writes the index meanwhile.

    Waits ``wait`` seconds.  Raises Refused (locked) with the lock's path, its age and who has it open.  A lock
    that one of our own processes left when it was killed names that process and is taken over.
    """
    lock = lock_of(index)
    _take(lock, wait)
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            lock.unlink()


def replace_index(index: Path, fresh: Path) -> None:
    """Put a new index in place of the old one in one step; the caller holds the lock."""
    staged = index.with_name("index.interlock")
    with staged.open("wb") as file:
        file.write(fresh.read_bytes())
    # The entries' times are compared with the index's own: a later one would hide a change made since.
    seen = fresh.stat()
    os.utime(staged, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    staged.replace(index)


def lock_of(index: Path) -> Path:
    return index.with_name(f"{index.name}.lock")


def _take(lock: Path, wait: float) -> None:
    """Take the lock with our name in it from its first moment: a kill in between would leave one that nobody owns."""
    deadline = time.monotonic() + wait
    signed = lock.with_name(f"{lock.name}.{os.getpid()}.{threading.get_ident()}")
    signed.write_bytes(_OURS + f"{os.getpid()} {_started(os.getpid())}".encode())
    try:
        while not _linked(signed, lock):
            if _left_by_us(lock):
                lock.unlink(missing_ok=True)
            elif time.monotonic() >= deadline:
                raise _busy(lock)
            else:
                time.sleep(_STEP)
    finally:
        signed.unlink()
    for left in lock.parent.glob(f"{lock.name}.*"):
        if _left_by_us(left):
            left.unlink(missing_ok=True)


def _linked(signed: Path, lock: Path) -> bool:
    try:
        lock.hardlink_to(signed)
    except FileExistsError:
        return False
    return True


def _left_by_us(lock: Path) -> bool:
    try:
        with lock.open("rb") as file:
            word = file.read(64)
    except OSError:
        return False
    if not word.startswith(_OURS):
        return False
    pid, _, started = word.removeprefix(_OURS).decode("ascii", "replace").partition(" ")
    return pid.isdecimal() and _started(int(pid)) != started


def _started(pid: int) -> str:
    """When a process started, in ticks since boot; empty when it is gone.  A pid alone may be somebody else's by now."""
    facts = procfs.stat(pid)
    return "" if facts is None or facts[1] in "ZX" else str(facts[3])


def _busy(lock: Path) -> Refused:
    holders = openers(lock)
    try:
        age = f"{max(0.0, time.time() - lock.stat().st_mtime):.0f} s old"
    except OSError:
        age = "just gone"
    if holders:
        what, would = f"held by {', '.join(holders)}", "Wait until that process ends, then run the command again."
    else:
        what = "and no process has it open: a git command was probably killed"
        would = f"Look at the task, then remove it: rm {lock}"
    return refused(
        "locked",
        f"The task's index is locked by {lock}, {age}, {what}.",
        "A lock may belong to a command that still writes, so only a person removes it.",
        would,
        holders=holders,
    )
