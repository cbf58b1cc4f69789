"""Counts and lists read as sentences do, at both sides of each border."""

from __future__ import annotations

import pytest

from interlock.core.counting import count, some


@pytest.mark.parametrize(("number", "told"), [(0, "0 pairs"), (1, "1 pair"), (2, "2 pairs")])
def test_a_count_has_its_plural(number: int, told: str) -> None:
    assert count(number, "pair") == told


def test_a_count_takes_the_plural_that_it_is_given() -> None:
    told = [count(number, "row of evidence", "rows of evidence") for number in (0, 1, 2)]
    assert told == ["0 rows of evidence", "1 row of evidence", "2 rows of evidence"]


@pytest.mark.parametrize(
    ("texts", "told"), [((), ""), (("a",), "a"), (("a", "b"), "a, b"), (("a", "b", "c", "d"), "a, b and 2 more")]
)
def test_a_list_says_how_much_it_leaves_out(texts: tuple[str, ...], told: str) -> None:
    assert some(texts, 2) == told


def test_a_list_of_sentences_is_parted_as_it_asks_for() -> None:
    assert some(("a, b", "c", "d"), 2, "; ") == "a, b; c and 1 more"
