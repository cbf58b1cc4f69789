"""Prices of models: the team's own first, then the table that is installed; what is not known has no price and is never nothing."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from interlock.adapters.prices import KnownPrices
from interlock.core.agent.naming import price_of
from interlock.core.agent.usage import UNKNOWN, Price, Usage

CALL = Usage(uncached_input=800, cache_read=200, output=50)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prices")


def test_what_is_not_known_has_no_price(cache: Path) -> None:
    known = KnownPrices(cache=cache)
    assert known.of("some-model-of-ours", CALL) is None
    assert known.of("claude-opus-5-5", UNKNOWN) is None
    assert price_of(known.table(), "some-model-of-ours") is None


def test_without_the_package_only_the_own_prices_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    own = {"ours": Price(input=2, output=4)}
    known = KnownPrices(lambda: own, cache=tmp_path)
    assert known.of("claude-opus-5-5", CALL) is None
    assert known.of("ours-20260101", CALL) == pytest.approx((1000 * 2 + 50 * 4) / 1e6)
    assert known.table() == own


def test_a_call_costs_what_the_vendor_says(cache: Path) -> None:
    """Claude Code's own figure for this call (facts/agents §4)."""
    known = KnownPrices(cache=cache)
    assert known.of("claude-opus-5-5", CALL) == pytest.approx(0.00424)
    assert known.of("claude-opus-5-5-20260101", CALL) == pytest.approx(0.00424)
    assert known.of("openai/gpt-5", CALL) == known.of("gpt-5", CALL)
    flat = price_of(known.table(), "claude-opus-5-5-20260101")
    assert flat is not None
    assert flat.of(CALL) == pytest.approx(0.00424)
    assert (
        KnownPrices(lambda: {"claude-opus-5-5": Price(input=0, output=0)}, cache=cache).of("claude-opus-5-5", CALL) == 0
    )


def test_a_long_context_has_its_own_price_and_the_table_that_of_a_short_one(cache: Path) -> None:
    known = KnownPrices(cache=cache)
    short, long = Usage(uncached_input=1000, output=0), Usage(uncached_input=300_000, output=0)
    flat = known.table()["claude-sonnet-4-5"]
    assert known.of("claude-sonnet-4-5", short) == pytest.approx(flat.of(short) or 0)
    assert (known.of("claude-sonnet-4-5", long) or 0) > 1.5 * (flat.of(long) or 0)


def test_the_table_is_kept_in_a_file_and_a_broken_one_is_made_anew(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = KnownPrices(cache=cache).table()
    (file,) = cache.glob("prices-*.json")
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "genai_prices", None)
        assert KnownPrices(cache=cache).table() == first
    file.write_text(json.dumps([])[:1])
    assert KnownPrices(cache=cache).table() == first
    assert json.loads(file.read_text())
