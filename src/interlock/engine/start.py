"""DBOS started over the store's database, and the Engine port on it; nothing else in the product imports dbos.

Source of the settings: facts/engine §5 (JSON serializer, executor id per boot, explicit recovery of earlier
boots, warnings only in the log).
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dbos import DBOS, DBOSConfig, SetWorkflowID
from dbos._serialization import DBOSPortableJSONSerializer

from interlock.core.plan import Action
from interlock.engine.workflows import steps_of
from interlock.ports.bundle import Ports

PROTOCOL = "1"
"""The version of the workflows' bodies; changed only with a plan for those that are under way."""


class DbosEngine:
    """Carries actions out as DBOS workflows, each id once; one per process (DBOS is a singleton)."""

    def __init__(self, ports: Ports, url: str, folder: Path) -> None:
        """Launch DBOS on the database at url; boots are counted in folder so that each has its own executor id."""
        self._ports = ports
        self._running: dict[str, Any] = {}
        self._failures: dict[str, str] = {}
        self._ended = threading.Condition()
        number, earlier = _next_boot(folder)
        _quiet()
        config = DBOSConfig(
            name="interlock",
            system_database_url=url,
            application_version=PROTOCOL,
            executor_id=f"boot-{number}",
            serializer=DBOSPortableJSONSerializer(),
            log_level="ERROR",
            max_executor_threads=64,
            notification_listener_polling_interval_sec=0.1,
        )
        DBOS(config=config)
        self._perform = DBOS.workflow(name="action", max_recovery_attempts=50)(self._as_function())
        DBOS.launch()
        self._recover(earlier)

    def _as_function(self) -> Callable[[dict[str, Any]], None]:
        """The body as a plain function: DBOS writes attributes on what it decorates, which a bound method refuses."""

        def body(shape: dict[str, Any]) -> None:
            self._body(shape)

        return body

    def _body(self, shape: dict[str, Any]) -> None:
        action = Action(**shape)
        for name, step in steps_of(action):
            DBOS.run_step({"name": f"{action.kind}.{name}"}, self._step, step, action.subject, action.number)

    def _step(self, step: Any, subject: str, number: int) -> Any:
        return step(self._ports, subject, number)

    def _recover(self, earlier: list[str]) -> None:
        recover = getattr(DBOS, "recover_workflows", None) or DBOS._recover_pending_workflows  # noqa: SLF001
        for handle in recover(earlier) if earlier else ():
            self._follow(handle.get_workflow_id().partition("#")[0], handle)

    def start(self, action: Action) -> None:
        """Start an action unless it runs already; one that has ended and is due again is tried under a further id."""
        if action.id in self._running:
            return
        with SetWorkflowID(self._next_try(action.id)):
            handle = DBOS.start_workflow(self._perform, asdict(action))
        self._follow(action.id, handle)

    def _next_try(self, name: str) -> str:
        number = 1
        while (status := DBOS.get_workflow_status(_tried(name, number))) and status.status in _ENDED:
            number += 1
        return _tried(name, number)

    def _follow(self, name: str, handle: Any) -> None:
        self._running[name] = handle
        threading.Thread(target=self._await, args=(name, handle), name=f"await {name}", daemon=True).start()

    def _await(self, name: str, handle: Any) -> None:
        failed = None
        try:
            handle.get_result()
        except BaseException as fault:  # noqa: BLE001  DBOS raises its own from BaseException
            failed = "".join(traceback.format_exception_only(fault)).strip()
        with self._ended:
            if failed is not None:
                self._failures[name] = failed
            self._running.pop(name, None)
            self._ended.notify_all()

    def running(self) -> frozenset[str]:
        return frozenset(self._running)

    def wait(self, timeout: float) -> None:
        before = self.running()
        with self._ended:
            self._ended.wait_for(lambda: self.running() != before or not before, timeout)

    def failures(self) -> Mapping[str, str]:
        with self._ended:
            told, self._failures = self._failures, {}
        return told

    def close(self) -> None:
        """Let go of the database; actions that run are interrupted as by a crash and healed by the next start."""
        DBOS.destroy(workflow_completion_timeout_sec=0)


_ENDED = ("SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")


def _tried(name: str, number: int) -> str:
    return name if number == 1 else f"{name}#{number}"


def _next_boot(folder: Path) -> tuple[int, list[str]]:
    """The number of this boot and the executor ids of earlier ones; the caller holds the supervisor's lock."""
    from interlock.host.files import write_whole

    path = folder / "boot"
    number = int(path.read_text()) + 1 if path.exists() else 1
    write_whole(path, str(number).encode())
    return number, [f"boot-{earlier}" for earlier in range(1, number)]


def _quiet() -> None:
    """DBOS's log advertises a service at INFO; faults reach us as exceptions."""
    logging.getLogger("dbos").setLevel(logging.ERROR)
