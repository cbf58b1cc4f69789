"""One attempt from its spec to its exit.json, under a lock held for life; starting and attaching is host.attempts' work.

FOLDER holds ``spec.json`` (what to run), ``lock``, ``started.json`` (who runs it), ``output.log`` (raw bytes),
``cancel`` (a person's wish to end it) and, at the end, ``exit.json``.
"""

from __future__ import annotations

import signal
import sys
import time
import traceback
from pathlib import Path
from types import FrameType

from interlock.host import detach, locks, processes, spool
from interlock.host.folder import Folder, Spec
from interlock.host.text import last_lines

_LOCK_SECONDS = 2.0


def main() -> None:
    """Take the lock, detach, run the attempt, write how it ended.  Does nothing when it runs or ran already."""
    folder = Folder(Path(sys.argv[1]))
    lock = _lock(folder)
    if lock is None or folder.was_started():
        return
    spec = folder.spec()
    detach.leave_starter()
    lock.sign()
    _Attempt(folder, spec).run()


def _lock(folder: Folder) -> locks.Lock | None:
    """The lock, also when somebody's look at it is in the way for an instant."""
    deadline = time.monotonic() + _LOCK_SECONDS
    while (lock := locks.take(folder.lock)) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return lock


class _Attempt:
    """The attempt that this process is for."""

    def __init__(self, folder: Folder, spec: Spec) -> None:
        self._folder = folder
        self._spec = spec
        self._asked_to_go = False

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self._go)
        signal.signal(signal.SIGHUP, self._go)
        self._folder.write_started(None)
        try:
            ended = self._follow()
        except BaseException as fault:
            traceback.print_exc()
            self._folder.write_exit(how="interrupted", message=f"A fault of the runner: {fault!r}; see runner.log.")
            raise
        how = "stopped" if ended.how in ("exited", "signalled") and self._has_stop() else ended.how
        self._folder.write_exit(
            how=how,
            exit_code=ended.exit_code,
            seconds=ended.seconds,
            tail=last_lines(self._folder.output),
            leftovers=ended.leftovers,
            namespace=ended.namespace,
            message=ended.message,
        )

    def _follow(self) -> processes.Ended:
        spec = self._spec
        return processes.run(
            spec.argv,
            env=spec.env,
            cwd=Path(spec.cwd),
            log=self._folder.output,
            stdin=spec.stdin,
            limits=processes.Limits(wall=spec.wall, idle=spec.idle),
            ask=self._ask,
            started=self._folder.write_started,
            contain=spec.contain,
            sandbox=spec.sandbox,
            redact=spec.redact,
        )

    def _ask(self) -> str | None:
        if self._asked_to_go:
            return "interrupted"
        if self._folder.cancel.exists():
            return "cancelled"
        return "stopped" if self._has_stop() else None

    def _has_stop(self) -> bool:
        return self._spec.spool is not None and spool.has_stop(Path(self._spec.spool), self._spec.attempt)

    def _go(self, _number: int, _frame: FrameType | None) -> None:
        self._asked_to_go = True
