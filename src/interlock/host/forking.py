"""Forks of this process as detached processes of their own, one for each order; what they do, and who orders, is the callers'."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

_SECONDS: Final = 60.0
_POLL: Final = 0.002
_ARGUMENTS: Final = (45, 46)
"""Where the command line begins and ends in memory: fields of /proc/self/stat behind the name, from 0 (man 5 proc)."""


def start(words: Sequence[str], log: str, run: Callable[[], None]) -> int:
    """Fork, and ``run`` there as a process of these words would; gives the exit status of the fork.

    It has a session of its own, nothing to read, and its output appended to ``log``.  It may fork again and leave,
    as detach.leave_starter does.  Must be called in a process without threads.  A fork that neither ends nor leaves
    within a minute is killed.
    """
    gc.collect()
    gc.freeze()  # the collector would otherwise write to what the forks share
    first = os.fork()
    if first == 0:
        _become(words, log, run)
    deadline = time.monotonic() + _SECONDS
    while not (ended := os.waitpid(first, os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            os.kill(first, 9)
        time.sleep(_POLL)
    return os.waitstatus_to_exitcode(ended[1])


def _become(words: Sequence[str], log: str, run: Callable[[], None]) -> None:
    """In the fork: what a process of its own would find, and then its work; never returns."""
    code = 1
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        for descriptor, place in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(descriptor, place)
        for descriptor in (nothing, output):
            os.close(descriptor)
        sys.argv = list(words)
        _show((sys.executable, "-m", *words))
        run()
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it is, it is told in the log
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _show(words: Sequence[str]) -> None:
    """Write what this process is over its command line, as far as there is room; without it only ``ps`` says less."""
    try:
        fields = Path("/proc/self/stat").read_bytes().rpartition(b") ")[2].split()
        start, end = (int(fields[place]) for place in _ARGUMENTS)
        text = b"\0".join(map(os.fsencode, words))[: end - start - 1]
        ctypes.memmove(start, text.ljust(end - start, b"\0"), end - start)
    except (OSError, ValueError, IndexError):
        pass
