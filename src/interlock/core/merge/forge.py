"""The local forge as values: a job's change, and a person's yes to one commit of it; the rows are the store's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """A change on the local forge: the draft of a job, opened at admission with the label ``class:<name>``."""

    job: str
    slug: str
    branch: str
    label: str
    state: Literal["draft", "ready", "landed", "closed"]
    head: str | None
    opened_at: float
    ready_at: float | None
    closed_at: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A person's yes to one exact commit of a change."""

    job: str
    commit: str
    by: str
    at: float
