"""What a card leaves open and its class or the policy fills in; reading either is the adapters' work."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from interlock.core.contract.card import AgentChoice, Budget, Card
from interlock.core.contract.policy import Policy, TaskClass


def with_defaults(card: Card, policy: Policy) -> Card:
    """The card with its class's agent, budget and isolation laid under its own, and the policy's under those.

    Every budget is laid field by field.  An agent is taken whole, since a command of one and the prompt of
    another make no sense; only model and effort may differ from the class's agent.
    """
    known = policy.find_class(card.class_name) or TaskClass(name=card.class_name, kind="parallel")
    return replace(
        card,
        agent=_agent(card.agent, _agent(known.agent, policy.agent)),
        budget=_budget(card.budget, _budget(known.budget, policy.budget)),
        isolation=card.isolation or known.isolation or policy.isolation,
    )


def _agent(own: AgentChoice, under: AgentChoice) -> AgentChoice:
    if own.use is not None or own.command is not None:
        return own
    return replace(
        under,
        model=own.model or under.model,
        effort=own.effort or under.effort,
        prompt=under.prompt if own.prompt == "file" else own.prompt,
    )


def _budget(own: Budget, under: Budget) -> Budget:
    return Budget(**{each.name: _first(getattr(own, each.name), getattr(under, each.name)) for each in fields(Budget)})


def _first(own: Any, under: Any) -> Any:
    return under if own is None else own
