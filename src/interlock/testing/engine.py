"""An engine without durability: each action at once and to its end, in this thread; for tests of use cases."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.core.plan import Action
from interlock.engine.workflows import steps_of
from interlock.ports.bundle import Ports


class DirectEngine:
    """Implements ports.Engine by calling the steps; ``started`` lists the ids in order."""

    def __init__(self, ports: Ports) -> None:
        """Take the ports that every step gets."""
        self._ports = ports
        self._failures: dict[str, str] = {}
        self.started: list[str] = []

    def start(self, action: Action) -> None:
        self.started.append(action.id)
        try:
            for _, step in steps_of(action):
                step(self._ports, action.subject, action.number)
        except Exception as fault:  # noqa: BLE001
            self._failures[action.id] = f"{type(fault).__name__}: {fault}"

    def running(self) -> frozenset[str]:
        return frozenset()

    def wait(self, timeout: float) -> None:
        pass

    def failures(self) -> Mapping[str, str]:
        told, self._failures = self._failures, {}
        return told

    def close(self) -> None:
        pass
