"""Whether a run of the train is still of use, asked while it goes on; ending its processes is the checks' work, deciding the core's."""

from __future__ import annotations

from typing import Final

from interlock.app.base import View
from interlock.app.members import depends_on
from interlock.core.merge.queue import Cancel, Set, stripped
from interlock.core.merge.speculation import decide
from interlock.core.merge.standing import present, queue_of, under_way
from interlock.core.merge.train import TrainState, departed
from interlock.ports.bundle import Ports

LOOK: Final = 1.0
"""Seconds between two looks at the train while a run goes on."""


class OfNoUse(Exception):
    """A run of the train was ended before it said anything, since nothing that it could say is of use any more."""


class Usefulness:
    """Of one run: looked at now and then, and once it is of no use it never is again, so that nothing of it is believed.

    It is read from the train's own record each time, so a look after a crash comes to the same end.
    """

    def __init__(self, ports: Ports, view: View, train: TrainState, jobs: Set) -> None:
        self._ports, self._policy = ports, view.policy.train
        self._number, self._base, self._jobs = train.number, train.base, jobs
        waited = self._policy.slots > 1  # for a slot, while the train may have moved on
        self._next = 0.0 if waited else ports.clock.now() + LOOK
        self.why = ""

    def ask(self) -> str | None:
        """A word that ends the run, or None; for ``Checks.run``."""
        now = self._ports.clock.now()
        if not self.why and now >= self._next:
            self.why = self._look()
            self._next = self._ports.clock.now() + LOOK
        return "of-no-use" if self.why else None

    def check(self) -> None:
        """Raises OfNoUse once it was found to be of no use."""
        if self.why:
            raise OfNoUse(self.why)

    def _look(self) -> str:
        train = self._ports.store.train(self._number)
        if train is None or not train.open:
            return "the train ended"
        now = present(train, self._base, self._jobs)
        if now is None:
            return "it stands on what is not the default branch any more"
        jobs = self._ports.store.jobs()
        gone = {member.job for member in departed(train, jobs)}
        if not set(now) <= {member.job for member in train.members} - gone:
            return "one of its changes left"
        if train.phase != "testing":
            lands = tuple(member.job for member in train.landing)
            return "" if stripped(now, lands) is not None else "what lands stands without it"
        if self._policy.slots == 1:
            return ""
        queue = queue_of(train, jobs, depends_on(jobs), self._policy, under_way(train))
        return "another run needs its slot" if Cancel(now) in decide(queue) else ""
