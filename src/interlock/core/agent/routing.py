"""Which agent, model and effort a run gets, and why; what a route looks like in a file is adapters.files.routes'."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from interlock.core.contract.agents import TIERS, Phase, Route, Tier, TierOf
from interlock.core.contract.card import AgentChoice, Card
from interlock.core.contract.defaults import with_defaults
from interlock.core.contract.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Default:
    """One row of the table that decides where no route of the policy does; the first that matches counts."""

    route: Route
    why: str


DEFAULTS: Final = (
    Default(
        route=Route(phases=("research", "summarise"), tier="cheap"),
        why="finding and summing up are bounded, and read again by who goes on",
    ),
    Default(route=Route(risks=("high",), tier="frontier"), why="a mistake in it costs more than the model"),
    Default(
        route=Route(phases=("plan", "review-tests"), tier="frontier"),
        why="everything after it stands on this judgement",
    ),
    Default(
        route=Route(classes=("shared-contract", "migration", "cross-cutting"), tier="frontier"),
        why="others stand on what it changes",
    ),
    Default(route=Route(phases=("test-plan",), tier="cheap"), why="it is a draft, and can be reviewed"),
    Default(route=Route(classes=("tests",), tier="cheap"), why="fixtures and tests are bounded, and run at once"),
    Default(route=Route(risks=("low",), tier="cheap"), why="it is a bounded first pass"),
    Default(route=Route(tier="standard"), why="nothing says that it is small or risky"),
)
"""Source: seed 004 (cheap models for bounded work, the best for ambiguity, architecture and high risk)."""

DEFAULT_TIERS: Final = (
    TierOf(agent="claude", tier="cheap", model="haiku"),
    TierOf(agent="claude", tier="standard", model="sonnet"),
    TierOf(agent="claude", tier="frontier", model="opus"),
    TierOf(agent="codex", tier="cheap", effort="low"),
    TierOf(agent="codex", tier="standard", effort="medium"),
    TierOf(agent="codex", tier="frontier", effort="high"),
)
"""What tiers mean without a word of the policy: names that the clients take, and that do not age with a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """The decision for one run.  ``tier`` is None where the model was named outright; ``why`` is a whole sentence."""

    choice: AgentChoice
    tier: Tier | None
    why: str


@dataclass(frozen=True, slots=True)
class _Given:
    """A value and who gave it."""

    value: str | None
    by: str


def route(card: Card, policy: Policy, phase: Phase | str, attempt: int = 1) -> Routed:
    """The agent, model and effort of one run of a card as it stands in its file, each looked for by itself.

    The card's own word counts first, then the first route of the policy that matches, then the agent of the class or
    the policy, then what the tier of the default table means for the agent.  ``attempt`` counts from 1; each retry
    goes one tier up.
    """
    own, under = card.agent, with_defaults(card, policy).agent
    number, chosen = _first_match(policy, card, phase)
    by_route = f"route {number} of the policy"
    use = _first(_Given(own.use, "the card"), _Given(chosen.use, by_route), _Given(under.use, "the class or policy"))
    same_agent = use.value == under.use
    tier, tier_why = _tier(chosen, by_route, card, phase, attempt)
    means = tier_of(policy, use.value, tier)
    model = _named(own.model, chosen.model, under.model if same_agent else None, by_route)
    effort = _named(own.effort, chosen.effort, under.effort if same_agent else None, by_route)
    choice = replace(
        under if same_agent else AgentChoice(),
        use=use.value,
        model=model.value or means.model,
        effort=effort.value or means.effort,
    )
    why = _sentence(tier, tier_why, means, model, effort, use)
    return Routed(choice=choice, tier=tier if model.value is None else None, why=why)


def tier_of(policy: Policy, agent: str | None, tier: Tier) -> TierOf:
    """What a tier means for an agent: by the policy, else by default, else nothing."""
    name = agent or ""
    found = (each for each in (*policy.tiers, *DEFAULT_TIERS) if (each.agent, each.tier) == (name, tier))
    return next(found, TierOf(agent=name, tier=tier))


def matches(wanted: Route, card: Card, phase: str) -> bool:
    """Whether a route is meant for a card's phase."""
    return (
        (not wanted.classes or card.class_name in wanted.classes)
        and (not wanted.phases or phase in wanted.phases)
        and (not wanted.risks or card.risk in wanted.risks)
    )


def _first_match(policy: Policy, card: Card, phase: str) -> tuple[int, Route]:
    for number, each in enumerate(policy.routes, start=1):
        if matches(each, card, phase):
            return number, each
    return 0, Route()


def _tier(chosen: Route, by_route: str, card: Card, phase: str, attempt: int) -> tuple[Tier, str]:
    if chosen.tier is not None:
        tier, why = chosen.tier, f"{by_route} says so"
    else:
        row = next(each for each in DEFAULTS if matches(each.route, card, phase))
        tier, why = row.route.tier or "standard", row.why
    raised = TIERS[min(TIERS.index(tier) + max(0, attempt - 1), len(TIERS) - 1)]
    if raised != tier:
        why = f"attempt {attempt} goes {'one tier' if attempt == 2 else 'further'} up from {tier}"
    return raised, why


def _first(*given: _Given) -> _Given:
    return next((each for each in given if each.value is not None), given[-1])


def _named(own: str | None, chosen: str | None, under: str | None, by_route: str) -> _Given:
    return _first(_Given(own, "the card"), _Given(chosen, by_route), _Given(under, "the class or policy"))


def _sentence(tier: Tier, tier_why: str, means: TierOf, model: _Given, effort: _Given, use: _Given) -> str:
    """Why the run gets what it gets, in one sentence."""
    named = [f"{what} {each.value} by {each.by}" for what, each in (("model", model), ("effort", effort)) if each.value]
    parts = [f"Agent {use.value} by {use.by}" if use.value else "No agent is named"]
    parts += named
    taken = [
        f"{what} {value}"
        for what, value, given in (("model", means.model, model), ("effort", means.effort, effort))
        if value and given.value is None
    ]
    if model.value is None:
        parts.append(f"{tier}, since {tier_why}" + (f": {' and '.join(taken)}" if taken else ""))
    elif taken:
        parts.append(f"{' and '.join(taken)} of the {tier} tier")
    return "; ".join(parts) + "."
