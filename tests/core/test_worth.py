"""Whether another try is worth it: dear ones and hopeless ones are refused, unknown ones are not."""

from __future__ import annotations

from interlock.core.agent.worth import Past, chance, expect

NONE: dict[str, float | None] = {"usd": None, "tokens": None}


def test_what_costs_more_than_is_left_is_refused() -> None:
    own = Past(tries=1, landed=False, usd=2.5)
    dear = expect(own, (), number=2, budget={"usd": 4.0, "tokens": None})
    assert "expected to cost $2.50, and $1.50 is left" in dear.fault()
    assert expect(own, (), number=2, budget={"usd": 6.0, "tokens": None}).fault() == ""


def test_what_hardly_ever_lands_is_refused() -> None:
    own = Past(tries=1, landed=False, usd=1.0)
    hopeless = [Past(tries=3, landed=False)] * 8
    found = expect(own, hopeless, number=2, budget={"usd": 4.0, "tokens": None})
    assert found.chance == 0.1
    assert "10% of such jobs" in found.fault()
    hopeful = [Past(tries=2, landed=True)] * 8
    assert expect(own, hopeful, number=2, budget={"usd": 4.0, "tokens": None}).fault() == ""


def test_the_chance_is_of_that_try_among_the_jobs_that_came_so_far() -> None:
    past = [Past(tries=1, landed=True)] * 5 + [Past(tries=2, landed=True), Past(tries=2, landed=False)]
    assert chance(past, 2) == (0.5, 2)
    assert chance(past, 3) == (0.5, 0), "Without a history it is the prior."
    assert chance(past, 1)[0] == (5 + 1) / (7 + 2)


def test_tokens_where_dollars_are_not_known_or_not_limited() -> None:
    own = Past(tries=2, landed=False, tokens=300_000)
    found = expect(own, (), number=3, budget={"usd": 4.0, "tokens": 400_000})
    assert (found.unit, found.cost, found.left) == ("tokens", 150_000, 100_000)
    assert "150000 tokens" in found.fault()
    both = Past(tries=2, landed=False, usd=0.1, tokens=300_000)
    assert expect(both, (), number=3, budget={"usd": None, "tokens": 400_000}).unit == "tokens"
    assert expect(both, (), number=3, budget={"usd": 1.0, "tokens": 400_000}).unit == "usd"


def test_the_class_speaks_where_the_job_has_not_cost_anything_known() -> None:
    past = [Past(tries=2, landed=True, usd=3.0), Past(tries=1, landed=True)]
    found = expect(Past(tries=1, landed=False), past, number=2, budget={"usd": 4.0, "tokens": None})
    assert (found.basis, found.cost) == ("class", 1.5)


def test_what_is_not_known_refuses_nothing() -> None:
    found = expect(Past(tries=1, landed=False), (), number=2, budget={"usd": 4.0, "tokens": None})
    assert (found.cost, found.basis, found.fault()) == (None, "unknown", "")
    assert expect(Past(tries=1, landed=False, usd=9.0), (), number=2, budget=NONE).fault() == ""
