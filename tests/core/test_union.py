"""What the cards of a train need together, and what each of them may reach."""

from __future__ import annotations

from dataclasses import replace

from tests.core.test_readiness import READY

from interlock.core.contract.card import Needs
from interlock.core.contract.union import in_all, together


def test_hosts_are_those_that_every_list_holds() -> None:
    assert in_all([("a", "b", "c"), ("c", "a"), ("a",)]) == ("a",)
    assert in_all([("a",), ()]) == ()
    assert in_all([]) == ()


def test_needs_are_united_and_no_host_comes_of_it() -> None:
    one = replace(READY, needs=Needs(secrets=("A",), browser=("x",), network=("a",), services=("web",)))
    two = replace(READY, needs=Needs(secrets=("B", "A"), database="app", network=("a",)))
    assert together([one, two]) == Needs(ports=10, database="app", browser=("x",), secrets=("A", "B"))
