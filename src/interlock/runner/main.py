"""One attempt from its spec to its exit.json, under a lock held for life; starting and attaching is host.attempts' work.

FOLDER holds ``spec.json`` (what to run), ``lock``, ``started.json`` (who runs it), ``output.log`` and, where they are
apart, ``errors.log`` (raw bytes), ``cancel`` (a person's wish to end it) and, at the end, ``exit.json``.  One that is
tied to its starter ends when nobody holds ``starter.lock`` any more.
"""

from __future__ import annotations

import os
import pwd
import signal
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import FrameType

from interlock.host import detach, locks, processes, spool
from interlock.host.folder import Folder, Spec
from interlock.runner.models import Models

_LOCK_SECONDS = 2.0
_HOME_LOCK = ".interlock.lock"


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


def _homes() -> tuple[Path, ...]:
    """What this user calls HOME."""
    return tuple(Path(each) for each in (os.environ.get("HOME"), pwd.getpwuid(os.getuid()).pw_dir) if each)


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
        self._models = Models(spec.gateway)
        self._stop = spool.Stop(spec.spool, spec.attempt)
        self._asked_to_go = False

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self._go)
        signal.signal(signal.SIGHUP, self._go)
        self._folder.write_started(None)
        self._folder.forget_secrets()  # from here on nobody starts it again
        try:
            self._folder.look_around(self._spec.watched)
            ended = self._follow()
        except BaseException as fault:
            import traceback

            traceback.print_exc()
            self._folder.write_exit(how="interrupted", message=f"A fault of the runner: {fault!r}; see runner.log.")
            raise
        how = "stopped" if ended.how in ("exited", "signalled") and self._stop.is_there() else ended.how
        self._folder.write_exit(
            how=how,
            exit_code=ended.exit_code,
            seconds=ended.seconds,
            tail=self._folder.last_lines(),
            leftovers=ended.leftovers,
            namespace=ended.namespace,
            message=ended.message or (self._models.refused if how == "budget" else ""),
            budget=self._models.refused,
            reached=self._models.reached,
            leaked=self._folder.leaked(),
        )

    def _follow(self) -> processes.Ended:
        """The run, unless something that it needs cannot be had."""
        try:
            with self._home():
                return self._agent()
        except locks.LockHeld as held:
            why = f"{held.path.parent}, its HOME, is in use by the run of process {held.holder}."
        except self._models.NotServed as fault:
            why = str(fault)
        return processes.Ended(how="failed-to-start", exit_code=None, seconds=0.0, message=why)

    def _home(self) -> AbstractContextManager[object]:
        """HOME held for this run, since two of one client spoil each other's start and sessions (facts/agents §1).

        A sandbox has one of its own, and what shares the user's by the policy's word shares it.
        """
        home = Path(self._spec.env.get("HOME", ""))
        shared = home in _homes() or not home.is_absolute() or not home.is_dir()
        if not self._spec.split or self._spec.sandbox is not None or shared:
            return nullcontext()
        return locks.held(home / _HOME_LOCK, wait=0.0)

    def _agent(self) -> processes.Ended:
        spec, folder = self._spec, self._folder
        with self._models.served(folder.path, spec.sandbox) as sandbox:
            return processes.run(
                spec.argv,
                env=spec.env,
                cwd=Path(spec.cwd),
                log=folder.output,
                errors=folder.errors if spec.split else None,
                ends=spec.ends,
                stdin=spec.stdin,
                limits=processes.Limits(wall=spec.wall, idle=spec.idle, startup=spec.startup, after_end=spec.after_end),
                ask=self._ask,
                started=folder.write_started,
                contain=spec.contain,
                sandbox=sandbox,
                redact=spec.hidden,
            )

    def _ask(self) -> str | None:
        if self._asked_to_go or self._is_forsaken():
            return "interrupted"
        if self._folder.is_cancelled():
            return "cancelled"
        if self._stop.is_there():
            return "stopped"
        return "budget" if self._models.is_over else None

    def _is_forsaken(self) -> bool:
        """Whether this is tied to a process that started it and is gone."""
        return self._spec.tied and not locks.is_held(self._folder.starter)

    def _go(self, _number: int, _frame: FrameType | None) -> None:
        self._asked_to_go = True
