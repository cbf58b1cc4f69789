"""What a card needs by name must be in the policy: the nearest name is told, with its place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from interlock.core.contract.agents import Models
from interlock.core.contract.around import Browser, Secret, Service
from interlock.core.contract.card import Card, Check, Needs
from interlock.core.contract.ground import ground_of
from interlock.core.contract.needs_known import needs_known
from interlock.core.contract.places import Places
from interlock.core.contract.policy import Policy
from interlock.core.problems import Problem
from interlock.core.sandbox import Host

POLICY = Policy(
    secrets=(Secret(name="NPM_TOKEN", variable="NPM_TOKEN"), Secret(name="DB_PASSWORD", file="~/db")),
    services=(Service(name="web", run="npm start"),),
    browsers=(Browser(role="customer"),),
    network=(Host(name="pypi.org"), Host(name="*.npmjs.org"), Host(name="db.internal", address="10.0.0.1", port=5432)),
)


def found(policy: Policy = POLICY, /, **needs: Any) -> list[Problem]:
    card = Card(
        slug="a",
        class_name="slice",
        owned_paths=("a/**",),
        checks=(Check(run="true"),),
        stop_when=("x",),
        integration_owner="@ana",
        needs=Needs(**needs),
    )
    at = {"": (1, 1), **{f"needs.{key}[{number}]": (7, 10 + number) for key in needs for number in range(3)}}
    problems = list(needs_known(card, ground_of(policy, None), Places("tasks/a.yaml", at)))
    assert all(text.endswith(".") for problem in problems for text in (problem.what, problem.why, problem.fix))
    return problems


@pytest.mark.parametrize(
    ("key", "name", "guess"),
    [
        ("secrets", "NPM_TOKN", "NPM_TOKEN"),
        ("secrets", "npm_token", "NPM_TOKEN"),
        ("services", "webb", "web"),
        ("browser", "custmer", "customer"),
        ("network", "pypi.com", "pypi.org"),
    ],
)
def test_an_unknown_name_is_told_with_its_place_and_the_nearest_one(key: str, name: str, guess: str) -> None:
    known = {"secrets": "DB_PASSWORD", "services": "web", "browser": "customer", "network": "db.internal"}[key]
    asked: dict[str, Any] = {key: (known, name)}
    (problem,) = found(**asked)
    assert problem.kind == ("network" if key == "network" else "missing")
    assert name in problem.what
    assert problem.fix == f"Write {guess}."
    assert str(problem.where) == "tasks/a.yaml:7:11"


@pytest.mark.parametrize("key", ["secrets", "services", "browser", "network"])
def test_a_name_that_is_near_none_is_to_be_added(key: str) -> None:
    (problem,) = found(**{key: ("zzzzzz",)})
    under = "browsers" if key == "browser" else key
    assert f"under {under} in interlock.yaml: zzzzzz" in problem.fix
    (problem,) = found(Policy(network=()), **{key: ("zzzzzz",)})
    assert "none" in problem.why


def test_what_the_policy_has_is_no_problem() -> None:
    needs: dict[str, Any] = {"secrets": ("NPM_TOKEN", "DB_PASSWORD"), "services": ("web",), "browser": ("customer",)}
    assert (
        found(**needs, network=("pypi.org", "db.internal", "registry.npmjs.org", "*.npmjs.org", "*.x.npmjs.org")) == []
    )


@pytest.mark.parametrize("host", ["npmjs.org", "evilnpmjs.org", "*.org", "*.pypi.org", "sub.pypi.org"])
def test_a_host_beyond_what_the_policy_allows_is_refused(host: str) -> None:
    assert [problem.kind for problem in found(network=(host,))] == ["network"]


def test_a_policy_without_a_network_list_lets_cards_name_any_host() -> None:
    assert found(Policy(), network=("anything.example",)) == []
    assert [problem.kind for problem in found(Policy(network=()), network=("anything.example",))] == ["network"]


def test_every_unknown_name_is_told_at_once() -> None:
    assert len(found(secrets=("X", "Y"), services=("Z",), browser=("R",), network=("h.example",))) == 5


@pytest.mark.parametrize("policy", [Policy(), POLICY, Policy(network=())])
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("https://example.com", "example.com"),
        ("https://ana@Example.com:8443/x?y", "example.com"),
        ("example.com:443", "example.com"),
        ("example.com/path", "example.com"),
        ("*.*.com", None),
        ("https://localhost:1", None),
        ("a b", None),
    ],
)
def test_what_is_no_host_is_told_so_whatever_the_policy_allows(policy: Policy, text: str, meant: str | None) -> None:
    (problem,) = found(policy, network=(text,))
    assert problem.kind == "network"
    assert problem.what == f"{text} is no host."
    assert problem.fix == (f"Write {meant}." if meant else "Write its name alone, such as pypi.org.")


@pytest.mark.parametrize("policy", [Policy(), POLICY, Policy(network=(Host(name="localhost.example"),))])
@pytest.mark.parametrize("name", ["localhost", "db.localhost", "*.localhost"])
def test_localhost_is_never_advised(policy: Policy, name: str) -> None:
    (problem,) = found(policy, network=(name,))
    assert "cannot be reached" in problem.what
    assert problem.fix.startswith("Leave it out")
    assert "host: db.internal" in problem.fix
    assert "localhost" not in problem.fix


def test_the_key_of_a_vendor_of_models_is_handed_to_no_task() -> None:
    models = (Models(name="local", url="http://127.0.0.1:1", dialects=("chat",), key="NPM_TOKEN"),)
    (problem,) = found(replace(POLICY, models=models), secrets=("DB_PASSWORD", "NPM_TOKEN"))
    assert (problem.kind, str(problem.where)) == ("secret", "tasks/a.yaml:7:11")
    assert found(secrets=("DB_PASSWORD", "NPM_TOKEN")) == []
