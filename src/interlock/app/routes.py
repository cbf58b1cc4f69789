"""The routing that is in force, as rows for a screen: each phase of a class or a card, what it gets and why; deciding is core.agent.routing's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from interlock.core.agent.routing import Routed, route
from interlock.core.contract.agents import ONE_RUN
from interlock.core.contract.card import Card
from interlock.core.contract.policy import Policy
from interlock.core.problems import BadInput, Misuse
from interlock.ports.contract import CardFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one phase gets in its first attempt, and in the next one."""

    class_name: str
    phase: str
    first: Routed
    retry: Routed

    def as_json(self) -> dict[str, Any]:
        return {"class": self.class_name, "phase": self.phase, **_shape(self.first), "retry": _shape(self.retry)}


def in_force(policy: Policy) -> tuple[Row, ...]:
    """A row for each phase of each class, for cards that say nothing themselves."""
    return tuple(row for each in policy.classes for row in _rows(_silent(each.name), policy))


def of_card(policy: Policy, cards: Sequence[CardFile], slug: str) -> tuple[Row, ...]:
    """A row for each phase of one card.  Raises Misuse when there is none, BadInput when it cannot be read."""
    found = next((each for each in cards if each.slug == slug), None)
    if found is None or any(problem.kind == "unknown-card" for problem in found.problems):
        raise Misuse(
            f"There is no card {slug} on the default branch.", hint="interlock policy routes shows the classes."
        )
    if found.card is None:
        raise BadInput(found.problems)
    return _rows(found.card, policy)


def agents_named(policy: Policy) -> tuple[str, ...]:
    """Agents that the policy, its classes or its routes name, each once."""
    named = [policy.agent.use, *(each.agent.use for each in policy.classes), *(each.use for each in policy.routes)]
    return tuple(dict.fromkeys(each for each in named if each is not None))


def _rows(card: Card, policy: Policy) -> tuple[Row, ...]:
    known = policy.find_class(card.class_name)
    return tuple(
        Row(
            class_name=card.class_name,
            phase=phase,
            first=route(card, policy, phase, 1),
            retry=route(card, policy, phase, 2),
        )
        for phase in (known.phases if known else ONE_RUN)
    )


def _silent(class_name: str) -> Card:
    return Card(slug="", class_name=class_name, owned_paths=(), checks=(), stop_when=(), integration_owner="")


def _shape(routed: Routed) -> dict[str, Any]:
    choice = routed.choice
    return {
        "agent": choice.use,
        "model": choice.model,
        "effort": choice.effort,
        "tier": routed.tier,
        "why": routed.why,
    }
