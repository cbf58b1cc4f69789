"""The order of services: names that are none, circles, what is needed first, infrastructure before the rest."""

from __future__ import annotations

import pytest

from interlock.core.contract.around import Service
from interlock.core.contract.service_order import in_order
from interlock.core.problems import Refused


def service(name: str, *after: str, infrastructure: bool = False) -> Service:
    return Service(name=name, run="true", after=after, infrastructure=infrastructure)


def names(services: list[Service], *wanted: str) -> list[str]:
    return [each.name for each in in_order(services, wanted)]


def test_a_circle_is_told_whole() -> None:
    with pytest.raises(Refused, match="a → c → b → a") as refused:
        in_order([service("a", "c"), service("b", "a"), service("c", "b"), service("d")])
    assert refused.value.refusal.rule == "service"
    assert refused.value.refusal.holders == ("a", "c", "b")


def test_a_service_that_comes_after_itself_is_a_circle() -> None:
    with pytest.raises(Refused, match="a → a"):
        in_order([service("a", "a")])


def test_a_circle_of_infrastructure_is_refused_as_well() -> None:
    with pytest.raises(Refused, match="circle"):
        in_order([service("a", "b", infrastructure=True), service("b", "a", infrastructure=True)])


def test_a_name_that_is_no_service_is_refused_with_those_there_are() -> None:
    with pytest.raises(Refused, match="The card needs the service wbe") as refused:
        in_order([service("web"), service("api")], ("wbe",))
    assert "web, api" in refused.value.refusal.why
    with pytest.raises(Refused, match="The service web needs the service queue"):
        in_order([service("web", "queue")])


def test_what_is_named_brings_what_it_comes_after_and_nothing_else() -> None:
    there = [service("web", "api"), service("api", "queue"), service("queue"), service("mail")]
    assert names(there, "web") == ["queue", "api", "web"]
    assert names(there, "queue") == ["queue"]


def test_none_named_means_all_in_the_order_of_the_policy() -> None:
    assert names([service("b"), service("a"), service("c", "a")]) == ["b", "a", "c"]
    assert names([]) == []


def test_infrastructure_goes_first_with_what_it_needs_itself() -> None:
    there = [
        service("web", "api"),
        service("api"),
        service("tls", "keys", infrastructure=True),
        service("keys"),
        service("queue", infrastructure=True),
    ]
    assert names(there) == ["keys", "tls", "queue", "api", "web"]
