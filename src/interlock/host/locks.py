"""Locks on files that the kernel lets go when their holder dies; what is locked and why is the caller's."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_POLL = 0.02


class LockHeld(Exception):
    """Somebody else holds a lock: ``holder`` is its pid, or None when it could not be told."""

    def __init__(self, path: Path, holder: int | None) -> None:
        who = f"process {holder}" if holder else "another process"
        super().__init__(f"{path} is held by {who}.")
        self.path = path
        self.holder = holder


class Lock:
    """An exclusive lock that is held until ``release``, or until the last process that shares it is gone."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.sign()

    def sign(self) -> None:
        """Put this process's pid into the file, for those who find it locked."""
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, b"%d\n" % os.getpid(), 0)

    def fileno(self) -> int:
        """The descriptor, for a command that is to share the lock: it then lasts until that command is gone too."""
        return self._descriptor

    def release(self) -> None:
        os.close(self._descriptor)


def take(path: Path) -> Lock | None:
    """The lock at path, or None when somebody else holds it.  The file stays when it is released."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return Lock(descriptor)


@contextmanager
def held(
    path: Path, *, wait: float | None = None, refuse: Callable[[LockHeld], Exception] = lambda fault: fault
) -> Iterator[Lock]:
    """Hold the lock at path; wait for it at most ``wait`` seconds (None: as long as it takes).

    Raises LockHeld, or what ``refuse`` makes of it.
    """
    deadline = None if wait is None else time.monotonic() + wait
    while (lock := take(path)) is None:
        if deadline is not None and time.monotonic() >= deadline:
            raise refuse(LockHeld(path, holder(path)))
        time.sleep(_POLL)
    try:
        yield lock
    finally:
        lock.release()


def is_held(path: Path) -> bool:
    """Whether somebody holds the lock at path now; a look may keep others from taking it for an instant."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def holder(path: Path) -> int | None:
    """The pid that the holder left in the file."""
    with suppress(OSError, ValueError):
        return int(path.read_bytes()[:20])
    return None
