"""Events: the one append-only history; what they do to a job's state is lifecycle's work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

LONE: Final = "split-"
"""How subjects begin that are no job's: runs of an agent that belong to none.  Ids of jobs are hexadecimal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """An event to be written.

    ``subject`` is a job id, ``train:<n>`` or begins with LONE; (subject, attempt, step) is unique, so that a repeated step
    finds the event that it wrote before.  ``data`` is plain JSON.
    """

    subject: str
    step: str
    kind: str
    attempt: int = 0
    actor: str = "interlock"
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event as written: ``seq`` orders all events of a store, ``at`` is seconds since the epoch (UTC)."""

    seq: int
    at: float
    subject: str
    step: str
    kind: str
    attempt: int
    actor: str
    data: Mapping[str, Any]
