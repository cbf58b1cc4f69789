"""The team's policy and classes as values; reading interlock.yaml and caps.txt is adapters.files' work."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from interlock.core.contract.agents import (
    AGENTS,
    ONE_RUN,
    Login,
    ModelPrice,
    Models,
    Phase,
    Route,
    Rules,
    Spend,
    TierOf,
)
from interlock.core.contract.around import (
    ApprovalRule,
    Bases,
    Browser,
    Database,
    Dependency,
    SandboxRules,
    Secret,
    Service,
    Template,
)
from interlock.core.contract.card import AgentChoice, Budget, Check, Level
from interlock.core.sandbox import Host

Kind = Literal["parallel", "serial", "alone"]
SignOff = Literal["owner", "none"]
Style = Literal["merge", "squash", "rebase"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskClass:
    """A class of work: how it may run beside others, and the paths that only it may own.

    ``phases`` are the runs of one job, each in a fresh context; ``per_day`` is what the class may spend in a day (UTC).
    ``solo``: a change of it is tested and lands by itself, and nothing is tested across it.
    """

    name: str
    kind: Kind
    paths: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    agent: AgentChoice = field(default_factory=AgentChoice)
    budget: Budget = field(default_factory=Budget)
    isolation: Level | None = None
    sign_off: SignOff | None = None
    phases: tuple[Phase, ...] = ONE_RUN
    per_day: Spend = field(default_factory=Spend)
    solo: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Train:
    """How changes land: the full suite on the combined tree, how many are tested at once, and who signs off.

    ``slots`` is how many candidates are tested at the same time; with one, up to ``batch`` changes are tested together, with
    more each stands on those before it, up to ``window`` of them.  ``style`` is how they stand on the default branch, decided before the
    test; ``retries`` how often a red head is tested again before it is believed; ``stalled`` seconds without any
    dispatch while something waits are told.
    """

    checks: tuple[Check, ...] = ()
    slots: int = 1
    batch: int = 8
    window: int = 20
    style: Style = "merge"
    retries: int = 1
    stalled: float = 300.0
    sign_off: SignOff = "owner"
    rebuilds: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Flakes:
    """How often the failed tests of a check are run again before they are believed."""

    reruns: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """A checker whose findings on changes together, minus those on each alone, are conflicts: mypy, tsc, go vet.

    ``reads`` is how its output is read: SARIF, or lines with a place and a text.
    """

    name: str
    run: str
    paths: tuple[str, ...] = ()
    reads: Literal["lines", "sarif"] = "lines"
    timeout: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRules:
    """Which keys may sign evidence, by their ids; without any, every key that the history names may."""

    keys: tuple[str, ...] = ()


PROTECTED_PATHS = (
    "tasks/**",
    ".github/**",
    "CODEOWNERS",
    "interlock.yaml",
    "docs/parallel-work.md",
    "docs/product/**",
    "tests/conftest.py",
    "**/.gitattributes",
)
NUMBERED = ("**/migrations/*", "**/migration/*", "**/migrate/*")
DEFAULT_PORTS = (("APP_PORT", 3000), ("DEBUG_PORT", 9229))


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What interlock.yaml on the base says; every key has a default except the full check of the train.

    ``ports`` is block 0, the main checkout's table; ``review_wip`` the ceiling over all classes (None: no
    ceiling); ``caches`` names ignored files that a check may find in the task's own tree; ``environment``
    names variables that agents and checks inherit beside the built-in list; times are in seconds.  ``network``
    is what cards may ask for (None: anything that a card names).  ``models`` are behind the gateway; ``routes`` and
    ``tiers`` stand before the default table (core.agent.routing); ``per_day`` is for all classes together.  ``numbered`` are files whose
    number takes a place in a row, so that two of one number clash.  ``agents`` are the names that can be
    started here, which no file says.
    """

    train: Train = field(default_factory=Train)
    classes: tuple[TaskClass, ...] = ()
    ports: tuple[tuple[str, int], ...] = DEFAULT_PORTS
    protected_paths: tuple[str, ...] = PROTECTED_PATHS
    review_wip: int | None = None
    databases: tuple[Database, ...] = ()
    caches: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    workspaces: str | None = None
    isolation: Level | None = None
    sandbox: SandboxRules = field(default_factory=SandboxRules)
    network: tuple[Host, ...] | None = None
    dependencies: tuple[Dependency, ...] = ()
    bases: Bases = field(default_factory=Bases)
    services: tuple[Service, ...] = ()
    templates: tuple[Template, ...] = ()
    browsers: tuple[Browser, ...] = ()
    secrets: tuple[Secret, ...] = ()
    approvals: tuple[ApprovalRule, ...] = ()
    idle_days: int = 7
    sign_commits: bool = False
    agent: AgentChoice = field(default_factory=AgentChoice)
    budget: Budget = field(default_factory=Budget)
    per_day: Spend = field(default_factory=Spend)
    models: tuple[Models, ...] = ()
    prices: tuple[ModelPrice, ...] = ()
    logins: tuple[Login, ...] = ()
    routes: tuple[Route, ...] = ()
    tiers: tuple[TierOf, ...] = ()
    rules: Rules = field(default_factory=Rules)
    flakes: Flakes = field(default_factory=Flakes)
    diagnostics: tuple[Diagnostics, ...] = ()
    numbered: tuple[str, ...] = NUMBERED
    evidence: EvidenceRules = field(default_factory=EvidenceRules)
    parallel_agents: int = 8
    warnings: tuple[str, ...] = ()
    agents: tuple[str, ...] = AGENTS

    def find_class(self, name: str) -> TaskClass | None:
        return next((known for known in self.classes if known.name == name), None)

    def service(self, name: str) -> Service | None:
        return next((known for known in self.services if known.name == name), None)

    def browser(self, role: str) -> Browser | None:
        return next((known for known in self.browsers if known.role == role), None)

    def secret(self, name: str) -> Secret | None:
        return next((known for known in self.secrets if known.name == name), None)

    def database(self, name: str) -> Database | None:
        return next((known for known in self.databases if known.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """One line of tasks/caps.txt."""

    class_name: str
    cap: int
    line: int
