"""What an agent's stream says, in one vocabulary for all of them; decoding a vendor's lines is its adapter's work.

Shapes of the streams: facts/agents §1.1.  Nothing here is proof of anything: the harness runs the checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from interlock.core.agent.usage import UNKNOWN, Usage

Fault = Literal["auth", "quota", "rate", "overload", "context", "bad-request", "network", "other"]
"""Why a model's interface did not answer."""

Limit = Literal["turns", "tokens", "money", "wall", "idle", "startup"]

ToolKind = Literal["edit", "command", "read", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """A session of the agent began: its id, to resume it by, and its model where it says so."""

    session: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A text of the agent; the last one stands in for a pack that it did not hand in."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool call: ``what`` is a path or a command; the last state told under one ``id`` counts."""

    id: str
    kind: ToolKind
    what: str
    state: Literal["started", "done", "failed"] = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One answer that may be given: its id, its words, and whether it lets the agent do it."""

    id: str
    label: str
    allows: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The agent waits for a permission; a person answers it, and nothing else does.

    ``at`` is when it asked, in seconds since the epoch; None where its stream does not say.  ``change`` is the head of
    what it wants to change, where its stream holds that.
    """

    id: str
    what: str
    choices: tuple[Choice, ...] = ()
    at: float | None = None
    change: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A permission was answered: the choice's id, and by whom."""

    id: str
    choice: str
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """Something that the agent wanted was refused by its own rules or by a hook; told again under one ``id``, it is one."""

    what: str
    why: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """Tokens that the agent's client reports.

    ``scope``: ``call`` counts once for its ``key`` (the last line of a key wins, case AI-08); ``session`` is a total
    since the session began, from which what was known before a resume is taken off, and wins over calls; ``turn`` is a
    total of this run alone, or a part of it, and wins over both.  ``usd`` is the client's own figure of the same scope; ``raw`` what it sent.
    """

    usage: Usage
    scope: Literal["call", "turn", "session"]
    key: str = ""
    usd: float | None = None
    model: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """The client tries a call again, by itself."""

    fault: Fault
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The terminal event: without one no agent has completed, whatever its exit code (facts/agents §1.2)."""

    how: Literal["completed", "failed", "limit", "aborted"]
    fault: Fault | None = None
    limit: Limit | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A line that the adapter does not know: its type, or empty when it is not of the stream's form at all."""

    type: str = ""


Seen = Began | Said | Tool | Asked | Answered | Denied | Used | Retried | Warned | Ended | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All that a stream said: folded by core.agent.folding.

    ``usage`` is of this run alone; ``session_usage`` the session's total where the client gives one, to be taken off
    at the next resume.  ``tools`` counts calls by kind; ``asked`` are permissions without an answer yet; ``unknown`` counts
    those of its ``lines`` that the adapter did not understand.
    """

    session: str = ""
    models: tuple[str, ...] = ()
    last_text: str = ""
    tools: Mapping[str, int] = field(default_factory=dict)
    failed_tools: int = 0
    asked: tuple[Asked, ...] = ()
    denied: tuple[Denied, ...] = ()
    usage: Usage = UNKNOWN
    session_usage: Usage = UNKNOWN
    usd: float | None = None
    session_usd: float | None = None
    raw_usage: tuple[Mapping[str, Any], ...] = ()
    retries: int = 0
    last_fault: Fault | None = None
    warnings: tuple[str, ...] = ()
    ended: Ended | None = None
    lines: int = 0
    unknown: int = 0
