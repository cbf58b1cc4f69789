"""What is started for a task and how it ended: agents' runs, commands and services; not what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from interlock.core.contract.around import Service
from interlock.core.sandbox import Sandbox
from interlock.ports.isolation import Room

if TYPE_CHECKING:  # every verb imports the ports, and few need what these are of
    from interlock.core.agent.gateway import ModelGateway, Reached
    from interlock.core.agent.outcome import How


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One attempt to start: argv, exact environment, where, the prompt, and the limits in seconds.

    ``startup`` is for the first byte; ``ends`` are values of ``type`` in JSON lines of its output after which it has
    ``after_end`` seconds to leave.  ``gateway`` is served for it outside of the sandbox.  ``split`` keeps what
    it writes to standard error in a file of its own.  ``watched`` are trees that it must leave alone: they are compared
    before and after, where no wall keeps it out.  ``tied`` ends it when the process that called ``run`` dies: nobody
    would come back for it.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    stdin: bytes | None = None
    wall: float = 3600.0
    idle: float = 900.0
    startup: float | None = None
    ends: tuple[str, ...] = ()
    after_end: float = 10.0
    sandbox: Sandbox | None = None
    redact: tuple[str, ...] = ()
    gateway: ModelGateway | None = None
    split: bool = False
    watched: tuple[Path, ...] = ()
    tied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How an attempt's process ended.

    ``how``: ``exited`` by itself, ``signalled``, one of the limits, ``budget`` when its gateway refused a
    call, ``ended`` when it had said its last and did not leave, ``cancelled``, ``stopped`` through interlock-task, ``failed-to-start``, or ``interrupted`` when its runner
    died with it.  ``budget`` says which limit that was, ``reached`` says it as data; ``leaked`` names what changed meanwhile in the launch's
    ``watched`` trees, by whomever.
    """

    how: How
    exit_code: int | None
    seconds: float
    tail: str
    leftovers: tuple[str, ...] = ()
    namespace: bool = False
    message: str = ""
    budget: str = ""
    reached: Reached | None = None
    leaked: tuple[str, ...] = ()


class Runs(Protocol):
    """Attempts under their runner process, which outlives us."""

    def run(self, folder: Path, launch: Launch) -> End:
        """Start the attempt of this folder, or attach to it, or read how it ended (idempotent); blocks to its end."""
        ...

    def attach(self, folder: Path) -> End | None:
        """The end of an attempt that was written down, waiting for it; None when there is nothing to attach to."""
        ...

    def cancel(self, folder: Path) -> None: ...
    def alive(self, folder: Path) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command of ours inside a task ended: ``code`` None when it was ended; the log's last lines."""

    code: int | None
    seconds: float
    tail: str
    timed_out: bool = False


class Commands(Protocol):
    """Commands that the harness runs in a task's room: migrations, probes, installers, a person's shell."""

    def run(
        self,
        command: str,
        room: Room,
        env: Mapping[str, str],
        log: Path,
        *,
        seconds: float,
        redact: tuple[str, ...] = (),
    ) -> Done:
        """Run ``bash -eo pipefail -c command`` in the tree and wait; all that it started is gone when this returns."""
        ...

    def shell(self, argv: Sequence[str], room: Room, env: Mapping[str, str]) -> int:
        """Hand the terminal to a command in the tree; gives its exit code."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A service as it is now: its process, the port on this machine, its log, and why it ended if it did."""

    name: str
    state: Literal["ready", "starting", "ended"]
    pid: int | None
    port: int | None
    log: Path
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A service to be started: its policy, the port inside and on this machine, and the exact environment."""

    service: Service
    room: Room
    env: Mapping[str, str]
    inside: int | None
    outside: int | None
    redact: tuple[str, ...] = ()


class Services(Protocol):
    """Services beside a task, which outlive the command that started them."""

    def start(self, folder: Path, unit: Unit) -> Running:
        """Start it, or find it running, and wait until it is ready.  Raises Refused (service) with its last lines."""
        ...

    def stop(self, folder: Path, name: str) -> None: ...
    def list(self, folder: Path) -> tuple[Running, ...]: ...
