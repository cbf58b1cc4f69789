"""Runners started as forks of one process that has imported what they need, so that they share its memory; its own work is runner.nursery's.

It belongs to the process that first asked for it, and ends with it; runners do not.  Where it cannot be had a runner
is started by itself, which comes to the same.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from interlock.host import detach

PADDING: Final = 1024
"""Bytes of its own command line that a fork may write its folder over, for those who look at the list of processes."""

_MODULE: Final = "interlock.runner.nursery"
_SECONDS: Final = 90.0


class _Broken(Exception):
    """It is gone, or answered what it should not."""


def start(folder: Path, *, log: Path, imports: Iterable[str] = (), contain: bool = False) -> int:
    """Have a runner carry out what a folder says, its output appended to ``log``; gives its first process's status.

    ``imports`` are further modules that it will need, ``contain`` tells that it will look for a pid namespace.  As detach.start, of which it is the cheaper form.
    """
    with suppress(_Broken):
        return _MINE.ask({"folder": str(folder), "log": str(log), "imports": list(imports), "contain": contain})
    return detach.start("interlock.runner", [str(folder)], log=log)


class _Nursery:
    """The one of this process, made when it is first asked; one order at a time."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, order: dict[str, object]) -> int:
        """Give an order and wait for its answer.  Raises _Broken."""
        with self._turn:
            try:
                process = self._there()
                assert process.stdin is not None  # noqa: S101 - it was made with pipes
                process.stdin.write(json.dumps(order).encode() + b"\n")
                return int(_line(process))
            except (OSError, ValueError) as fault:
                self.leave()
                raise _Broken from fault
            except BaseException:
                self.leave()  # its answer would be taken for that to the next order
                raise

    def leave(self) -> None:
        """Let it go; the next one who asks gets a new one."""
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.kill()
        process.wait()

    def forget(self) -> None:
        """In a fork: the parent's is not ours to ask or to end."""
        if self._process is not None:
            self._process.returncode = 0
        self._turn, self._process = threading.Lock(), None

    def _there(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", _MODULE, "." * PADDING],
                env=detach.environment(),
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                bufsize=0,
            )
        return self._process


def _line(process: subprocess.Popen[bytes]) -> bytes:
    """Its answer.  Raises OSError when there is none in time."""
    assert process.stdout is not None  # noqa: S101 - it was made with pipes
    deadline = time.monotonic() + _SECONDS
    answers = select.poll()
    answers.register(process.stdout, select.POLLIN)
    line = b""
    while not line.endswith(b"\n"):
        ready = answers.poll(max(0.0, deadline - time.monotonic()) * 1000)
        part = os.read(process.stdout.fileno(), 64) if ready else b""
        if not part:
            raise OSError("no answer")
        line += part
    return line


_MINE: Final = _Nursery()
atexit.register(_MINE.leave)
os.register_at_fork(after_in_child=_MINE.forget)
