"""Everything a use case may touch, in one value that wiring makes; the engine that carries actions out, and the clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # every verb imports this, and few need what these are of
    from interlock.core.plan import Action
    from interlock.ports.agents import Agents, Prices, Records
    from interlock.ports.checking import Checks, TestSyntax
    from interlock.ports.contract import ContractFiles
    from interlock.ports.history import Signer, Store
    from interlock.ports.isolation import Blocks, Browsers, Databases, Secrets, Workspaces
    from interlock.ports.meeting import Diagnosing, FactsReader
    from interlock.ports.processes import Commands, Runs, Services
    from interlock.ports.repository import Repo


class Clock(Protocol):
    def now(self) -> float: ...


class Engine(Protocol):
    """Carries actions out, each once, and survives a crash between their steps."""

    def start(self, action: Action) -> None: ...
    def running(self) -> frozenset[str]: ...
    def wait(self, timeout: float) -> None:
        """Until an action ends or the time is over."""
        ...

    def failures(self) -> Mapping[str, str]:
        """Actions of this process that ended with a fault: id → last lines.  Each is told once."""
        ...

    def close(self) -> None:
        """Let go; what runs is interrupted as by a crash."""
        ...


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything a use case may touch; made by wiring, handed in first."""

    repo: Repo
    files: ContractFiles
    store: Store
    blocks: Blocks
    workspaces: Workspaces
    databases: Mapping[str, Databases]
    runs: Runs
    agents: Agents
    prices: Prices
    checks: Checks
    syntax: TestSyntax
    commands: Commands
    services: Services
    browsers: Browsers
    secrets: Secrets
    records: Records
    signer: Signer
    clock: Clock
    narrate: Callable[[str], None]
    new_id: Callable[[], str]
    facts: FactsReader
    diagnosing: Diagnosing
