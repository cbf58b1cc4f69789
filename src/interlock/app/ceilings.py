"""The limits that an attempt runs under, by card, class and policy, in words; what was spent under each is spending's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from interlock.core.contract.agents import Spend
from interlock.core.contract.card import Card
from interlock.core.contract.policy import Policy
from interlock.core.job.lifecycle import Job

Scope = Literal["attempt", "job", "class", "day"]


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
    tokens, usd = _raised(job, "tokens", budget.tokens), _raised(job, "usd", budget.usd)
    scopes: tuple[tuple[Scope, str, int | None, float | None], ...] = (
        ("attempt", "the attempt", budget.attempt_tokens, budget.attempt_usd),
        ("job", "the job", None if tokens is None else int(tokens), usd),
        ("class", f"the class {job.class_name} in a day", per_class.tokens, per_class.usd),
        ("day", "all work of a day", policy.per_day.tokens, policy.per_day.usd),
    )
    found = []
    for scope, words, most_tokens, most_usd in scopes:
        if most_tokens is not None:
            found.append(Limit(scope=scope, text=f"{most_tokens} tokens for {words}", tokens=most_tokens))
        if most_usd is not None:
            found.append(Limit(scope=scope, text=f"usd {most_usd:g} for {words}", usd=most_usd))
    return tuple(found)


def _raised(job: Job, name: str, limit: float | None) -> float | None:
    """The limit, or what a person raised it to for this job; raising makes no limit where there was none."""
    return None if limit is None else job.raised.get(name, limit)
