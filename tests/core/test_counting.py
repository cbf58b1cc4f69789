"""Counts and lists read as sentences do, at both sides of each border."""

from __future__ import annotations

import pytest

from interlock.core.counting import count, some


@pytest.mark.parametrize(("number", "told"), [(0, "0 pairs"), (1, "1 pair"), (2, "2 pairs")])
def test_a_count_has_its_plural(number: int, told: str) -> None:
    assert count(number, "pair") == told


@pytest.mark.parametrize(
    ("texts", "told"), [((), ""), (("a",), "a"), (("a", "b"), "a, b"), (("a", "b", "c", "d"), "a, b and 2 more")]
)
def test_a_list_says_how_much_it_leaves_out(texts: tuple[str, ...], told: str) -> None:
    assert some(texts, 2) == told
