"""One run of a service in a folder of its own, under the same runner as an attempt; readiness is answers' work.

A run is never started twice: a service that is started again gets a fresh folder, so that every log stays.
"""

from __future__ import annotations

import math
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from interlock.host import locks, tree
from interlock.host.attempts import HostRuns, _is_ordered, _spec
from interlock.host.folder import Folder
from interlock.ports.processes import End, Launch

FOREVER: Final = math.inf
_TURN_SECONDS: Final = 90.0
_STOP_SECONDS: Final = 15.0
_POLL: Final = 0.05


class ServiceRuns(HostRuns):
    """Runs that outlive whoever began them (as HostRuns does for attempts, which it waits for)."""

    def begin(self, folder: Path, launch: Launch) -> None:
        """Have a runner start this and return; does nothing when it was started before.  Raises as ``run`` does."""
        folder.mkdir(parents=True, exist_ok=True)
        place = Folder(folder)
        # No spool: a message of the agent ends its attempt and never a service.
        order = replace(_spec(launch, contain=self._contain), spool=None)
        with locks.held(place.turn, wait=_TURN_SECONDS):
            if self._look(place) is None and not locks.is_held(place.lock):
                _is_ordered(place, order)
                self._start(place, 1)

    def ended(self, folder: Path) -> End | None:
        """How a run ended; None while it goes on, or when it never began.  What a killed runner left is swept."""
        place = Folder(folder)
        if place.exit() is None and (self.alive(folder) or not place.was_started()):
            return None
        return self.attach(folder)

    def end(self, folder: Path) -> None:
        """End a run with its whole tree and wait for that; a runner that does not answer is killed.  Idempotent.

        One that did not begin yet never will: its runner looks for the wish before it starts anything.
        """
        place = Folder(folder)
        if place.exit() is None:
            self.cancel(folder)
            deadline = time.monotonic() + _STOP_SECONDS
            while self.alive(folder) and time.monotonic() < deadline:
                time.sleep(_POLL)
            runner = place.runner()
            if runner is not None and self.alive(folder):
                tree.send(runner, signal.SIGKILL)
        self._settle(folder)

    def pid(self, folder: Path) -> int | None:
        """The process of the service as this machine sees it, or that of its runner."""
        place = Folder(folder)
        who = place.agent() or place.runner()
        return who.pid if who else None

    def _settle(self, folder: Path) -> None:
        """Write down the end of a run whose runner was killed, once its lock is free."""
        deadline = time.monotonic() + _STOP_SECONDS
        while self.alive(folder) and time.monotonic() < deadline:
            time.sleep(_POLL)
        self.ended(folder)
