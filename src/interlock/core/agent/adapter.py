"""What an adapter of one vendor's client is: pure functions between values; processes, files and sockets are the supervisor's.

How to write one: docs/howto/write-an-agent-adapter.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from interlock.core.agent.outcome import AgentOutcome, ProcessEnd
from interlock.core.agent.seen import Seen, Summary
from interlock.core.agent.usage import UNKNOWN, Usage
from interlock.core.contract.card import AgentChoice, Card


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a client of this version can do, and what it cannot; ``note`` is a sentence for ``doctor``.

    ``known_good`` tells that this version was driven in our tests.  ``own_budget``: it can be told a limit in dollars
    and keeps it by itself; ``gateway``: its model can be reached by a base URL; ``turn_limit``, ``resume``,
    ``approvals``, ``hooks`` speak for themselves.
    """

    version: str = ""
    known_good: bool = False
    usage: bool = False
    cost: bool = False
    turn_limit: bool = False
    own_budget: bool = False
    gateway: bool = False
    resume: bool = False
    approvals: bool = False
    hooks: bool = False
    tested: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the agent's client reaches the models: the gateway's base URL for one dialect, and the word it must show.

    ``url`` ends without a slash and holds no version part: ``http://127.0.0.1:3129/anthropic``.
    """

    name: str
    dialect: str
    url: str
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One run that an adapter is asked to describe.

    ``programs`` maps each name of ``AgentAdapter.programs`` to its path as the agent's room sees it.  ``home`` and
    ``tree`` are paths there as well.  ``walled`` tells whether our sandbox stands around the run; ``writable``
    whether the tree may be changed in this phase.  ``resume`` is a session to go on with.  ``hook`` is a command
    that refuses a tool call early (facts/agents §1.4), or empty.  ``usd_left`` is what is left of the budget.
    ``writes`` are folders beside the tree that the run may write in every phase, for a client with a sandbox of its own.
    ``logged_in`` tells that the policy puts a subscription's credentials below HOME.
    """

    card: Card
    choice: AgentChoice
    prompt: str
    programs: Mapping[str, str]
    home: str
    tree: str
    walled: bool
    writable: bool = True
    endpoints: tuple[Endpoint, ...] = ()
    resume: str = ""
    hook: str = ""
    usd_left: float | None = None
    turns: int | None = None
    writes: tuple[str, ...] = ()
    logged_in: bool = False

    def endpoint(self, dialect: str) -> Endpoint | None:
        """The first endpoint that speaks a dialect."""
        return next((each for each in self.endpoints if each.dialect == dialect), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How the run is started: argv, variables over the exact environment, files below HOME, standard input.

    ``ends`` are values of ``type`` in JSON lines of its output after which nothing more is to come: it then has the
    grace of ``after_end`` seconds to leave.  ``quiet`` are patterns of empty folders that the client leaves in a
    tree, and that are taken away again.  ``secrets`` are texts that no log may show.  ``merged`` keeps standard error
    among its output, for a client without lines of its own.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    stdin: bytes | None = None
    ends: tuple[str, ...] = ()
    after_end: float = 10.0
    quiet: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    merged: bool = False


class AgentAdapter(Protocol):
    """One vendor's client, or one protocol."""

    @property
    def name(self) -> str:
        """What a card says under ``agent.use``."""
        ...

    @property
    def programs(self) -> tuple[str, ...]:
        """Names of the executables that are looked for on PATH; the first is asked for its version with ``--version``."""
        ...

    @property
    def wheels(self) -> Mapping[str, tuple[str, str]]:
        """Python packages that bring one of ``programs``, by its name: the package, and where in it the program is."""
        ...

    @property
    def tools(self) -> tuple[str, ...]:
        """Programs of ours that its run finds on PATH beside interlock-task (host.bridges.PROGRAMS); most need none."""
        ...

    @property
    def dialects(self) -> tuple[str, ...]:
        """Dialects of models that it speaks: ``anthropic``, ``responses``, ``chat``; none where it needs no gateway."""
        ...

    @property
    def login(self) -> tuple[str, ...]:
        """Files below HOME that hold a subscription's credentials, such as ``.codex/auth.json``."""
        ...

    def probe(self, version: str) -> Capabilities:
        """What the client of this version can do; takes what it printed for ``--version``.  Never raises."""
        ...

    def launch(self, order: Order) -> Plan:
        """How to start a run.  Raises Refused (no-agent) when the order cannot be carried out."""
        ...

    def decode(self, line: bytes) -> Sequence[Seen]:
        """What one line of standard output says; an unknown one is ``Unknown``.  Never raises, keeps nothing."""
        ...

    def complain(self, line: bytes) -> Sequence[Seen]:
        """What one line of standard error says; most say nothing.  Never raises, keeps nothing."""
        ...

    def settle(self, end: ProcessEnd, seen: Summary) -> AgentOutcome:
        """How the run came out; ``judging.judge`` is the common order."""
        ...

    def recover_usage(self, files: Iterable[bytes]) -> Usage:
        """Usage from files that the client left below HOME, for a run that was killed; unknown when they do not say.

        They come newest first, and each is read when it is asked for.
        """
        ...

    def transcripts(self) -> tuple[str, ...]:
        """Patterns below HOME of its sessions: for ``recover_usage``, and for the HOME of a run that goes on with one.

        No more than the newest 50 files are given.
        """
        ...


class Plain:
    """What most adapters leave as it is."""

    wheels: Mapping[str, tuple[str, str]] = MappingProxyType({})
    tools: tuple[str, ...] = ()
    dialects: tuple[str, ...] = ()
    login: tuple[str, ...] = ()

    def complain(self, line: bytes) -> Sequence[Seen]:  # noqa: ARG002 - see AgentAdapter
        return ()

    def recover_usage(self, files: Iterable[bytes]) -> Usage:  # noqa: ARG002 - see AgentAdapter
        return UNKNOWN

    def transcripts(self) -> tuple[str, ...]:
        return ()
