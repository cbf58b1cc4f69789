"""The task card as a value; reading it from YAML is adapters.files' work, judging it readiness' work.

Source of the shape: design/formats, which accepts the seeds' cards as they stand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from interlock.core.contract.loop import Loop
from interlock.core.contract.surfaces import CoverageLimits, Kind, Limit, Picture, Wait
from interlock.core.contract.surfaces import Level as FindingLevel

Tier = Literal["fast", "slow"]
PromptBy = Literal["file", "argument", "stdin"]
Risk = Literal["low", "normal", "high"]
Level = Literal["worktree", "snapshot", "sealed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a check writes: the path of each format in the tree, and the tests that must have run at least.

    ``log`` is a file whose lines are looked through instead of the output; ``allow_suppressed`` lets findings be silenced.
    """

    junit: str | None = None
    at_least: int | None = None
    allow_skipped: bool = False
    tap: str | None = None
    sarif: str | None = None
    cobertura: str | None = None
    lcov: str | None = None
    benchmark: str | None = None
    log: str | None = None
    allow_suppressed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One command that must end with 0 on the exact commit; ``timeout`` in seconds.

    ``kind`` is what it promises beside its exit status (docs/reference/checks.md).  ``expects`` and ``refuses`` are lines
    of its output, ``state`` and ``heads`` commands that print what migrations made, ``files`` patterns of migrations.
    ``document`` is an OpenAPI file and ``against`` the one that it must keep to, if not the base's own.
    """

    run: str
    report: Report | None = None
    timeout: float = 600.0
    tier: Tier = "fast"
    kind: Kind | None = None
    expects: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    least_level: FindingLevel = "warning"
    found_exit: int = 1
    coverage: CoverageLimits | None = None
    limits: tuple[Limit, ...] = ()
    document: str | None = None
    against: str | None = None
    pictures: tuple[Picture, ...] = ()
    may_renew: bool = False
    state: str | None = None
    heads: str | None = None
    files: tuple[str, ...] = ()
    wait: Wait | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A file that the work must bring, such as a screenshot."""

    path: str
    kind: str = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChoice:
    """Which agent does the work; for ``use: command`` and ``use: acp`` the shell command, and how it gets its prompt."""

    use: str | None = None
    model: str | None = None
    effort: str | None = None
    command: str | None = None
    prompt: PromptBy = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of a job: tokens and dollars over all its attempts, those of one attempt, and how many attempts.

    ``wall``, ``idle`` and ``startup`` (until the first byte) are seconds of one attempt; ``turns`` is kept by the
    client, and no attempt is started with one that knows no such limit.
    """

    tokens: int | None = None
    usd: float | None = None
    attempt_tokens: int | None = None
    attempt_usd: float | None = None
    wall: float | None = None
    idle: float | None = None
    startup: float | None = None
    turns: int | None = None
    attempts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What the task needs around it: a number of ports and names of things that the policy configures."""

    ports: int = 10
    database: str | None = None
    browser: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A card that could be read; whether it is ready is another question (readiness)."""

    slug: str
    class_name: str
    owned_paths: tuple[str, ...]
    checks: tuple[Check, ...]
    stop_when: tuple[str, ...]
    integration_owner: str
    goal: str | None = None
    accepted_plan: str | None = None
    acceptance: tuple[str, ...] = ()
    read_only_paths: tuple[str, ...] = ()
    prohibited_paths: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    done_when: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    agent: AgentChoice = field(default_factory=AgentChoice)
    budget: Budget = field(default_factory=Budget)
    needs: Needs = field(default_factory=Needs)
    variants: int = 1
    risk: Risk = "normal"
    isolation: Level | None = None
    reproduces: tuple[str, ...] = ()
    loop: Loop | None = None

    @property
    def subject(self) -> str:
        """The line that a commit of this card begins with: the goal's first line, else the slug."""
        return (self.goal or self.slug).strip().splitlines()[0][:72]
