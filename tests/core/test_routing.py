"""Routing: the card's word, then the policy's routes, then the table; every decision says why, and a retry goes up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.agent.routing import Routed, route
from interlock.core.contract.agents import PHASES, TIERS, Route, TierOf
from interlock.core.contract.card import AgentChoice, Card, Check
from interlock.core.contract.classes import DEFAULT_CLASSES
from interlock.core.contract.policy import Policy

CARD = Card(
    slug="x",
    class_name="vertical-slice",
    owned_paths=("src/**",),
    checks=(Check(run="true"),),
    stop_when=("never",),
    integration_owner="@ana",
)
POLICY = Policy(classes=DEFAULT_CLASSES, agent=AgentChoice(use="claude"))


def go(phase: str = "implement", attempt: int = 1, policy: Policy = POLICY, **card: Any) -> Routed:
    return route(replace(CARD, **card), policy, phase, attempt)


@pytest.mark.parametrize(
    ("phase", "changes", "tier"),
    [
        ("research", {}, "cheap"),
        ("research", {"class_name": "migration", "risk": "high"}, "cheap"),
        ("summarise", {}, "cheap"),
        ("test-plan", {}, "cheap"),
        ("plan", {}, "frontier"),
        ("review-tests", {}, "frontier"),
        ("implement", {}, "standard"),
        ("verify", {}, "standard"),
        ("implement", {"class_name": "tests"}, "cheap"),
        ("implement", {"class_name": "bug-fix"}, "standard"),
        ("implement", {"class_name": "shared-contract"}, "frontier"),
        ("implement", {"class_name": "migration"}, "frontier"),
        ("implement", {"class_name": "cross-cutting"}, "frontier"),
        ("implement", {"class_name": "tests", "risk": "high"}, "frontier"),
        ("implement", {"risk": "low"}, "cheap"),
    ],
)
def test_the_table_without_a_word_of_the_policy(phase: str, changes: dict[str, Any], tier: str) -> None:
    found = go(phase, **changes)
    assert found.tier == tier
    assert found.choice.model == {"cheap": "haiku", "standard": "sonnet", "frontier": "opus"}[tier]


def test_a_retry_goes_one_tier_up_and_no_further_than_there_is() -> None:
    assert [go(class_name="tests", attempt=n).tier for n in (1, 2, 3, 4)] == [
        "cheap",
        "standard",
        "frontier",
        "frontier",
    ]
    assert [go(attempt=n).tier for n in (1, 2, 3)] == ["standard", "frontier", "frontier"]
    assert "attempt 2 goes one tier up from standard" in go(attempt=2).why


def test_the_cards_own_word_is_never_overruled() -> None:
    policy = replace(POLICY, routes=(Route(use="codex", model="gpt", effort="high"),))
    found = go(policy=policy, agent=AgentChoice(model="opus-5"))
    assert (found.choice.use, found.choice.model, found.choice.effort) == ("codex", "opus-5", "high")
    assert found.tier is None
    assert (
        found.why
        == "Agent codex by route 1 of the policy; model opus-5 by the card; effort high by route 1 of the policy."
    )
    own = AgentChoice(use="command", command="mine")
    assert go(policy=policy, agent=own).choice == replace(own, model="gpt", effort="high")


def test_the_first_route_that_matches_decides() -> None:
    routes = (
        Route(classes=("tests",), tier="frontier"),
        Route(phases=("plan",), risks=("low",), model="small"),
        Route(phases=("plan", "implement"), tier="cheap"),
    )
    policy = replace(POLICY, routes=routes)
    assert go("plan", policy=policy).tier == "cheap"
    assert go("plan", policy=policy, risk="low").choice.model == "small"
    assert go("plan", policy=policy, class_name="tests").tier == "frontier"
    assert go("verify", policy=policy).tier == "standard"
    assert "route 3 of the policy says so" in go("plan", policy=policy).why


def test_the_model_of_the_class_stands_before_the_table_and_behind_the_routes() -> None:
    policy = replace(POLICY, agent=AgentChoice(use="claude", model="sonnet-4"))
    assert go("research", policy=policy).choice.model == "sonnet-4"
    routed = replace(policy, routes=(Route(phases=("research",), model="haiku-3"),))
    assert go("research", policy=routed).choice.model == "haiku-3"


def test_another_agent_takes_nothing_of_the_first_ones() -> None:
    agent = AgentChoice(use="command", command="mine", model="m", effort="e", prompt="stdin")
    policy = replace(POLICY, agent=agent, routes=(Route(phases=("plan",), use="codex"),))
    assert go("plan", policy=policy).choice == AgentChoice(use="codex", effort="high")
    assert go("implement", policy=policy).choice == agent


def test_tiers_of_the_policy_take_the_place_of_the_built_in_ones() -> None:
    policy = replace(POLICY, tiers=(TierOf(agent="claude", tier="standard", model="opus", effort="low"),))
    assert go(policy=policy).choice == AgentChoice(use="claude", model="opus", effort="low")
    assert go("research", policy=policy).choice.model == "haiku"
    assert go(policy=replace(POLICY, agent=AgentChoice(use="acp", command="x"))).choice == AgentChoice(
        use="acp", command="x"
    )


def test_without_an_agent_nothing_is_made_up() -> None:
    found = go(policy=Policy(classes=DEFAULT_CLASSES))
    assert found.choice == AgentChoice()
    assert found.why.startswith("No agent is named")


WORDS = st.none() | st.sampled_from(["a", "b"])
ROUTES = st.builds(
    Route,
    classes=st.lists(st.sampled_from(["tests", "migration", "vertical-slice"]), max_size=2).map(tuple),
    phases=st.lists(st.sampled_from(PHASES), max_size=3).map(tuple),
    risks=st.lists(st.sampled_from(["low", "normal", "high"]), max_size=2).map(tuple),
    tier=st.none() | st.sampled_from(TIERS),
    use=st.none() | st.sampled_from(["codex", "claude"]),
    model=WORDS,
    effort=WORDS,
)
CHOICES = st.builds(AgentChoice, use=st.none() | st.sampled_from(["claude", "codex"]), model=WORDS, effort=WORDS)


@given(
    st.lists(ROUTES, max_size=4).map(tuple),
    CHOICES,
    CHOICES,
    st.sampled_from(["tests", "migration", "vertical-slice", "gone"]),
    st.sampled_from(["low", "normal", "high"]),
    st.sampled_from(PHASES),
    st.integers(1, 6),
)
def test_whatever_is_configured(
    routes: tuple[Route, ...],
    own: AgentChoice,
    under: AgentChoice,
    class_name: str,
    risk: Any,
    phase: str,
    attempt: int,
) -> None:
    policy = Policy(classes=DEFAULT_CLASSES, agent=under, routes=routes)
    card = replace(CARD, agent=own, class_name=class_name, risk=risk)
    found = route(card, policy, phase, attempt)
    for name in ("use", "model", "effort"):
        said = getattr(own, name)
        assert said is None or getattr(found.choice, name) == said
    assert found.why.endswith(".")
    assert found.why[0].isupper()
    assert found.tier is None or found.tier in TIERS
    assert found == route(card, policy, phase, attempt)
    if found.tier is not None:
        later = route(card, policy, phase, attempt + 1)
        assert later.tier is not None
        assert TIERS.index(later.tier) >= TIERS.index(found.tier)
