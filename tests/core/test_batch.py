"""Cards together: circles and unknown dependencies by name, order, overlaps only between unordered cards."""

from __future__ import annotations

import random

from interlock.core.contract.batch import check_batch, find_cycles
from interlock.core.contract.card import Card, Check
from interlock.core.contract.places import Places


def card(slug: str, *needs: str, owned: str = "") -> Card:
    return Card(
        slug=slug,
        class_name="vertical-slice",
        owned_paths=(owned or f"src/{slug}/**",),
        checks=(Check(run="npm test"),),
        stop_when=("a change outside owned_paths is needed",),
        integration_owner="@ana",
        depends_on=needs,
    )


def test_a_circle_is_named_on_each_of_its_cards_and_holds_nothing_else_up() -> None:
    batch = check_batch([card("a", "b"), card("b", "c"), card("c", "a"), card("x"), card("y", "x"), card("z", "a")])
    for slug in "abc":
        (problem,) = batch.problems[slug]
        assert problem.kind == "cycle"
        assert problem.what == "a -> b -> c -> a: each depends on the next, in a circle."
    assert batch.problems["x"] == batch.problems["y"] == batch.problems["z"] == ()
    assert batch.order == ("x", "y")


def test_a_card_that_depends_on_itself() -> None:
    batch = check_batch([card("d", "d"), card("e")])
    assert [problem.what for problem in batch.problems["d"]] == ["d depends on itself."]
    assert batch.order == ("e",)


def test_every_circle_is_named() -> None:
    graph = {"a": ("b",), "b": ("a", "c"), "c": ("b",), "d": ("d",), "e": ("a",)}
    assert sorted(find_cycles(graph)) == [("a", "b"), ("b", "c"), ("d",)]


def test_a_dependency_without_a_card_is_named_with_its_place() -> None:
    places = {"e": Places("tasks/e.yaml", {"depends_on": (4, 1), "depends_on[1]": (6, 5)})}
    batch = check_batch([card("e", "a", "no-such"), card("a")], places=places)
    (problem,) = batch.problems["e"]
    assert problem.kind == "unknown-dependency"
    assert "no-such" in problem.what
    assert str(problem.where) == "tasks/e.yaml:6:5"
    assert batch.order == ("a",)


def test_what_has_landed_or_cannot_be_read_yet_is_not_unknown() -> None:
    batch = check_batch(
        [card("a", "done"), card("b", "broken")], landed=frozenset({"done"}), unreadable=frozenset({"broken"})
    )
    assert batch.problems == {"a": (), "b": ()}
    assert batch.order == ("a",)


def test_order_is_dependencies_first_then_by_name_whatever_comes_in_first() -> None:
    cards = [card("c", "a"), card("b"), card("a", "d"), card("d"), card("e", "c", "b")]
    for seed in range(10):
        shuffled = cards[:]
        random.Random(seed).shuffle(shuffled)
        assert check_batch(shuffled).order == ("b", "d", "a", "c", "e")


def test_overlaps_count_only_between_cards_that_nothing_orders() -> None:
    both = [card("a", owned="src/**"), card("b", owned="src/x")]
    assert [(row.a, row.b, row.path) for row in check_batch(both).overlaps] == [("a", "b", "src/x")]
    ordered = [card("a", owned="src/**"), card("m", "a"), card("b", "m", owned="src/x")]
    assert all("m" in (row.a, row.b) for row in check_batch(ordered).overlaps)
    assert (
        check_batch([card("a", owned="lib/**"), card("m", "a", owned="m"), card("b", "m", owned="lib/x")]).overlaps
        == ()
    )


def test_random_graphs_are_ordered_soundly() -> None:
    dice = random.Random(5)
    for _ in range(200):
        names = [f"n{n}" for n in range(dice.randint(1, 9))]
        cards = [card(name, *dice.sample(names, k=dice.randint(0, min(2, len(names))))) for name in names]
        batch = check_batch(cards)
        place = {slug: n for n, slug in enumerate(batch.order)}
        by_slug = {each.slug: each for each in cards}
        for slug in batch.order:
            assert all(place[need] < place[slug] for need in by_slug[slug].depends_on)
        circled = {slug for circle in find_cycles({each.slug: each.depends_on for each in cards}) for slug in circle}
        assert circled.isdisjoint(place)
        assert bool(circled) == (len(place) < len(names))
