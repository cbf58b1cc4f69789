"""How an agent's run came out, in one vocabulary; what that means for the job is core.job.settle's decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from interlock.core.agent.gateway import Reached
from interlock.core.agent.seen import Fault, Limit

Kind = Literal[
    "completed",
    "denied",
    "stopped",
    "limit",
    "api-error",
    "cancelled",
    "crashed",
    "interrupted",
    "failed-to-start",
    "protocol-error",
]
"""``completed`` says nothing about the tree: with no change it is the job's ``empty-diff``."""

How = Literal[
    "exited",
    "signalled",
    "wall-limit",
    "idle-limit",
    "startup-limit",
    "budget",
    "ended",
    "cancelled",
    "stopped",
    "failed-to-start",
    "interrupted",
]
"""How a supervised process ended, in the supervisor's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOutcome:
    """``fault`` goes with api-error, ``limit`` with limit; ``message`` is a sentence for people.

    ``reached`` says of a spent budget whose it was, where that is known.
    """

    kind: Kind
    fault: Fault | None = None
    limit: Limit | None = None
    message: str = ""
    reached: Reached | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnd:
    """How the process ended, as the supervisor saw it (ports.End): ``how``, exit code, last lines, a sentence.

    ``budget`` names the budget that the gateway refused a call for, or is empty; ``reached`` says it as data.
    """

    how: str
    exit_code: int | None
    tail: str = ""
    message: str = ""
    budget: str = ""
    reached: Reached | None = None
