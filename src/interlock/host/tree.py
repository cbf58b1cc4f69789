"""Processes by identity (pid, start time, boot): finding, naming and ending them; starting one is processes' work.

A pid alone is never trusted: it may belong to somebody else by now (case JQ-05).
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from interlock.host import procfs

_POLL = 0.01
_boot_id = lru_cache(maxsize=1)(procfs.boot_id)


@dataclass(frozen=True, slots=True)
class Identity:
    """One process of one boot: ``start`` in clock ticks since boot, as /proc/PID/stat gives it."""

    pid: int
    start: int
    boot: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def from_json(data: Any) -> Identity | None:
    """The identity that as_json wrote, or None when it is not one."""
    try:
        return Identity(pid=int(data["pid"]), start=int(data["start"]), boot=str(data["boot"]))
    except (KeyError, TypeError, ValueError):
        return None


def identify(pid: int) -> Identity | None:
    """Who has this pid now, or None when nobody does."""
    facts = procfs.stat(pid)
    return None if facts is None else Identity(pid=pid, start=facts[3], boot=_boot_id())


def me() -> Identity:
    """This process."""
    found = identify(os.getpid())
    return found or Identity(pid=os.getpid(), start=0, boot=_boot_id())


def alive(who: Identity) -> bool:
    """Whether exactly this process lives; a zombie does not, nor one of an earlier boot."""
    facts = procfs.stat(who.pid)
    return facts is not None and facts[1] not in "ZX" and facts[3] == who.start and who.boot == _boot_id()


def descendants(pid: int) -> tuple[Identity, ...]:
    """Everything that lives below a process, nearest first."""
    found = (identify(each) for each in procfs.descendants(pid))
    return tuple(who for who in found if who is not None)


def marked(marker: str, *, since: int = 0) -> tuple[Identity, ...]:
    """Processes whose environment holds ``NAME=value`` as given and that started at ``since`` ticks or later."""
    needle = marker.encode()
    mine = os.getpid()
    found = (identify(pid) for pid in procfs.pids() if pid != mine and needle in procfs.environ(pid).split(b"\0"))
    return tuple(who for who in found if who is not None and who.start >= since and alive(who))


def label(who: Identity) -> str:
    """``pid name``, as it is shown to a person."""
    facts = procfs.stat(who.pid)
    return f"{who.pid} {facts[0] if facts else '?'}"


def send(who: Identity, number: signal.Signals) -> bool:
    """Signal exactly this process; False when it is gone, somebody else's by now, or not ours to signal."""
    try:
        handle = os.pidfd_open(who.pid)
    except OSError:
        return False
    try:
        # The handle is taken first: what it points at cannot change between the look and the signal.
        if not alive(who):
            return False
        signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def end(processes: Iterable[Identity], *, seconds: float = 2.0) -> tuple[Identity, ...]:
    """Kill these processes and wait until they are gone; gives those that are still there after ``seconds``."""
    left = tuple(processes)
    for who in left:
        send(who, signal.SIGKILL)
    deadline = time.monotonic() + seconds
    while (left := tuple(who for who in left if alive(who))) and time.monotonic() < deadline:
        time.sleep(_POLL)
    return left


def sweep(marker: str, *, since: int = 0, seconds: float = 2.0) -> tuple[str, ...]:
    """End every marked process, also those that are forked meanwhile; gives the labels of what was found."""
    found: dict[Identity, str] = {}
    deadline = time.monotonic() + seconds
    while present := marked(marker, since=since):
        found |= {who: label(who) for who in present if who not in found}
        end(present, seconds=max(0.0, deadline - time.monotonic()))
        if time.monotonic() >= deadline:
            break
    return tuple(found.values())
