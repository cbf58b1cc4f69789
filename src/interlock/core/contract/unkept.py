"""Limits of a card that nothing would keep, as far as card and policy tell before anything starts; at a start app.spending asks the client itself."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.core.agent.routing import route
from interlock.core.contract.agents import DIALECTS, KEEPS_DOLLARS, KEEPS_TURNS, ONE_RUN
from interlock.core.contract.card import Budget, Card
from interlock.core.contract.defaults import with_defaults
from interlock.core.contract.places import Places
from interlock.core.contract.policy import Policy
from interlock.core.problems import Problem


def unkept(card: Card, policy: Policy, places: Places) -> Iterator[Problem]:
    """A problem for each built-in agent that the card's phases go to and that its budget cannot be kept for.

    Each of them is a refusal (budget) when its attempt is to start.
    """
    budget = with_defaults(card, policy).budget
    known = policy.find_class(card.class_name)
    phases = known.phases if known is not None else ONE_RUN
    for use in dict.fromkeys(route(card, policy, phase).choice.use for phase in phases):
        for limit, fix in _faults(use, budget, policy):
            yield Problem(
                kind="budget",
                what=f"The budget in {limit} is one that nothing can keep for {use}, so that no attempt of it would start.",
                why="A limit that is not enforced while the agent runs is none.",
                fix=fix,
                where=places.where(f"budget.{limit}"),
            )


def _faults(use: str | None, budget: Budget, policy: Policy) -> Iterator[tuple[str, str]]:
    """The limit and what helps, for an agent of whom it is known what its client keeps."""
    spoken = DIALECTS.get(use or "")
    if spoken is None:
        return
    if budget.turns is not None and use not in KEEPS_TURNS:
        keep = " or ".join(sorted(KEEPS_TURNS))
        yield "turns", f"Use {keep}, which keeps one, or take budget.turns off and limit tokens, usd or wall."
    if any(set(spoken) & set(each.dialects) for each in policy.models):
        return
    tokens = budget.tokens is not None or budget.attempt_tokens is not None
    dollars = budget.usd is not None or budget.attempt_usd is not None
    if tokens or (dollars and use not in KEEPS_DOLLARS):
        models = f"Name its vendor under models in interlock.yaml ({', '.join(spoken)})"
        instead = models if spoken else "Use an agent that speaks to a gateway"
        yield ("tokens" if tokens else "usd"), f"{instead}, or take the budget off and limit wall."
