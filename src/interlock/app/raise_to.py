"""What a spent limit could be raised to, as a figure that a person can copy; raising it is app.raising's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from interlock.app.base import last_view
from interlock.app.cardjson import from_json
from interlock.app.ceilings import in_force
from interlock.app.costs import Spent, spent
from interlock.core.contract.defaults import with_defaults
from interlock.core.job.lifecycle import Job
from interlock.core.problems import InterlockError
from interlock.ports.bundle import Ports

_BUDGETS: Final = ("usd", "tokens", "attempt_usd", "attempt_tokens")
_RULES: Final = frozenset({"budget", "not-worth"})
_STEP: Final = 1000
"""Tokens that a proposal is rounded up to."""


def detail_of(ports: Ports, job: Job) -> Mapping[str, Any]:
    """What a job waits with, for ``options_of``; where it waits for a budget, with what each limit could be raised to."""
    if job.waiting is None or job.waiting.rule not in _RULES:
        return job.waiting.detail if job.waiting else {}
    with suppress(InterlockError):  # a policy that broke meanwhile does not keep the question from being shown
        return {**job.waiting.detail, "raise_to": proposals(ports, job)}
    return job.waiting.detail


def proposals(ports: Ports, job: Job) -> dict[str, str]:
    """What is spent and the old limit once more, for each limit of the job and of its attempts, as ``--raise`` takes it."""
    budget = with_defaults(from_json(job.card), last_view(ports).policy).budget
    used = spent(ports, job)
    found = {}
    for name in _BUDGETS:
        limit = in_force(job, name, getattr(budget, name))
        if limit is not None:
            each = Spent() if name.startswith("attempt") else used  # each attempt has its own anew
            known = each.known if name.endswith("usd") else each.usage.total
            found[name.replace("attempt_", "attempt.")] = _written(name, max(limit, known or 0) + limit)
    return found


def _written(name: str, value: float) -> str:
    if name.endswith("usd"):
        return f"{math.ceil(round(value * 100, 6)) / 100:g}"
    return str(math.ceil(value / _STEP) * _STEP)
