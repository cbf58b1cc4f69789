"""Which entry of a table a model's name means, as vendors spell it."""

import pytest

from interlock.core.agent.naming import price_of, spellings
from interlock.core.agent.usage import Price

TABLE = {
    "gpt-5": Price(input=1, output=2),
    "claude-opus-5-5": Price(input=3, output=4),
    "o3-2025-04-16": Price(input=5, output=6),
}


@pytest.mark.parametrize("name", ["", "gpt-5-mini", "gpt-55", "gpt-5-2026", "my-gpt-5", "gpt-5-20260101-x", "gpt-5/"])
def test_another_model_has_no_price(name):
    assert price_of(TABLE, name) is None


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("gpt-5", "gpt-5"),
        ("gpt-5-2026-01-01", "gpt-5"),
        ("openai/gpt-5", "gpt-5"),
        ("openai/gpt-5-2026-01-01", "gpt-5"),
        ("claude-opus-5-5-20260101", "claude-opus-5-5"),
        ("claude-opus-5-5@20260101", "claude-opus-5-5"),
        ("claude-opus-5-5-latest", "claude-opus-5-5"),
        ("o3-2025-04-16", "o3-2025-04-16"),
    ],
)
def test_a_spelling_means_the_model(name, known):
    assert price_of(TABLE, name) is TABLE[known]


def test_the_name_as_it_was_sent_comes_first():
    assert spellings("a/b-latest") == ("a/b-latest", "a/b", "b-latest", "b")
