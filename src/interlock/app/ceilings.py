"""The limits that an attempt runs under, by card, class and policy, in words; what was spent under each is spending's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from interlock.core.agent.gateway import Scope
from interlock.core.contract.agents import Spend
from interlock.core.contract.card import Card
from interlock.core.contract.policy import Policy
from interlock.core.job.lifecycle import Job

RAISED: Final = ("usd", "tokens", "attempt_usd", "attempt_tokens")
"""Names of budgets that a person can raise for one job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One limit in tokens or dollars, and how a person says it."""

    scope: Scope
    text: str
    tokens: int | None = None
    usd: float | None = None


def limits_of(job: Job, card: Card, policy: Policy) -> tuple[Limit, ...]:
    """Every limit, the narrowest scope first; the card is one with its defaults, and what a person raised counts."""
    budget, task_class = card.budget, policy.find_class(job.class_name)
    per_class = task_class.per_day if task_class is not None else Spend()
    own = {name: in_force(job, name, getattr(budget, name)) for name in RAISED}
    scopes: tuple[tuple[Scope, str, float | None, float | None], ...] = (
        ("attempt", "the attempt", own["attempt_tokens"], own["attempt_usd"]),
        ("job", "the job", own["tokens"], own["usd"]),
        ("class", f"the class {job.class_name} in a day", per_class.tokens, per_class.usd),
        ("day", "all work of a day", policy.per_day.tokens, policy.per_day.usd),
    )
    found = []
    for scope, words, most_tokens, most_usd in scopes:
        if most_tokens is not None:
            most = int(most_tokens)
            found.append(Limit(scope=scope, text=f"{most} tokens for {words}", tokens=most))
        if most_usd is not None:
            found.append(Limit(scope=scope, text=f"usd {most_usd:g} for {words}", usd=most_usd))
    return tuple(found)


def in_force(job: Job, name: str, limit: float | None) -> float | None:
    """The limit of a budget, or what a person raised it to for this job when that is more.

    Raising makes no limit where there was none, and hides none that the card has been given since.
    """
    return None if limit is None else max(limit, job.raised.get(name, limit))
