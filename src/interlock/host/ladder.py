"""When a run has to be ended and by which step, as a small machine over time; it sends nothing itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_GAP: Final = 2.0
"""A longer pause between two looks means that this process itself slept or was stopped; it is nobody's fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one run in seconds, None for none.

    ``wall`` is for the whole run, ``startup`` for the first byte, ``idle`` for silence, ``after_end`` for leaving once
    it has said its last; then the command has ``interrupt`` seconds after SIGINT, everything has ``terminate`` seconds
    after SIGTERM, and SIGKILL follows.  ``linger`` is what processes have to end by themselves once the command has
    ended.
    """

    wall: float | None = None
    idle: float | None = None
    startup: float | None = None
    after_end: float | None = None
    interrupt: float = 0.9
    terminate: float = 0.3
    linger: float = 0.2


class Ladder:
    """The state of one run: it goes on, is being ended step by step, or is over.

    ``word`` says why it was ended (None: by itself), ``why`` is a sentence for people.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._last = clock()
        self._ran = 0.0
        self._silent = 0.0
        self._mute = True
        self._said: float | None = None
        self._steps: list[tuple[str, float]] = []
        self._until: float | None = None
        self.over = False
        self.word: str | None = None
        self.why = ""

    def heard(self) -> None:
        """The command wrote something."""
        self._silent = 0.0
        self._mute = False

    def said_last(self) -> None:
        """The command wrote that there is nothing more to come; the first time counts."""
        if self._said is None:
            self._said = self._ran

    def exited(self) -> None:
        """The command has ended; what it left behind gets a moment, then SIGTERM, then SIGKILL."""
        self._steps = [("name", 0.0), ("term", self._limits.terminate), ("end", 0.0)]
        self._until = self._ran + self._limits.linger

    def emptied(self) -> None:
        """Nobody is left."""
        self.over = True

    def patience(self, most: float) -> float:
        """How long one may wait for output before the next look."""
        if self._until is None:
            return most
        return max(0.0, min(most, self._until - self._ran))

    def due(self, ask: Callable[[], str | None]) -> list[str]:
        """The steps to take now: ``int``, ``term``, ``name`` (who is left) or ``end``."""
        self._look()
        if self._until is None and not self.over and self._must_end(ask):
            self._steps = [("int", self._limits.interrupt), ("term", self._limits.terminate), ("end", 0.0)]
            self._until = self._ran
        steps: list[str] = []
        while self._until is not None and self._ran >= self._until and not self.over:
            step, wait = self._steps.pop(0)
            steps.append(step)
            self._until += wait
            self.over = step == "end"
        return steps

    def _look(self) -> None:
        now = self._clock()
        passed = min(max(0.0, now - self._last), _GAP)
        self._last = now
        self._ran += passed
        self._silent += passed

    def _must_end(self, ask: Callable[[], str | None]) -> bool:
        limits = self._limits
        if self._said is not None and self._is_overdue(self._said):
            self.word, self.why = "ended", f"It said its last {self._ran - self._said:.0f} s ago and did not leave."
        elif limits.wall is not None and self._ran >= limits.wall:
            self.word, self.why = "wall-limit", f"It ran for {limits.wall:g} s, which is its limit."
        elif self._mute and limits.startup is not None and self._ran >= limits.startup:
            self.word, self.why = "startup-limit", f"It wrote nothing in its first {limits.startup:g} s."
        elif self._said is None and limits.idle is not None and self._silent >= limits.idle:
            self.word, self.why = "idle-limit", f"It wrote nothing for {limits.idle:g} s, which is its limit."
        elif word := ask():
            self.word, self.why = word, ""
        return self.word is not None

    def _is_overdue(self, said: float) -> bool:
        """Whether its time to leave is over; at the limit of the whole run it is, too, and it has said its last all the same."""
        limits = self._limits
        if limits.after_end is not None and self._ran - said >= limits.after_end:
            return True
        return limits.wall is not None and self._ran >= limits.wall
