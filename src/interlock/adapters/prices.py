"""Dollars by model: the team's own prices, then the table of genai-prices where it is installed; who has to pay is others' work.

A model or a count that is not known has no price, and never the price nothing (facts/agents §4).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from interlock.core.agent.naming import price_of, spellings
from interlock.core.agent.usage import Price, Usage
from interlock.host import files

_PACKAGE: Final = "genai-prices"
_FIRST: Final = ("anthropic", "openai", "google", "mistral", "x-ai", "deepseek", "moonshotai", "zai", "meta", "cohere")
"""Vendors of their own models, whose price a name means before that of anybody who resells them."""

_MOST: Final = 4 << 20
_FORM: Final = 1


def _nothing() -> Mapping[str, Price]:
    return {}


class KnownPrices:
    """Prices of this machine (ports.Prices).

    ``own`` gives the team's own prices.  ``cache`` is the folder of the file that spares a process the
    import of the whole table (by default the user's cache folder).
    """

    def __init__(self, own: Callable[[], Mapping[str, Price]] = _nothing, *, cache: Path | None = None) -> None:
        self._own = own
        self._cache = cache

    def of(self, model: str, usage: Usage) -> float | None:
        """What the tokens cost, by the price of long contexts where there is one; None when model or tokens are unknown."""
        if usage.total is None:
            return None
        price = price_of(self._own(), model)
        if price is not None:
            return price.of(usage)
        flat, tiered = self._known
        name = next((name for name in spellings(model) if name in flat), None)
        if name is None or name in tiered:
            return _calculated(model, usage)
        return flat[name].of(usage)

    def table(self) -> Mapping[str, Price]:
        """One flat price for each model's name; where long contexts cost more, the price of short ones."""
        return {**self._known[0], **self._own()}

    @cached_property
    def _known(self) -> tuple[dict[str, Price], frozenset[str]]:
        """All that the package knows, and which of it is not flat; nothing when it is not installed."""
        from importlib.metadata import PackageNotFoundError, version  # as long to load as a quick verb

        try:
            release = version(_PACKAGE)
        except PackageNotFoundError:
            return {}, frozenset()
        path = (self._cache or _cache_folder()) / f"prices-{release}-{_FORM}.json"
        shape = _kept(path)
        if shape is None:
            shape = _collected()
            with suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                files.write_whole(path, json.dumps(shape).encode())
        try:
            flat = {
                name: Price(input=a, output=b, cache_read=c, cache_write=d) for name, (a, b, c, d, _) in shape.items()
            }
        except (ValueError, TypeError):
            return {}, frozenset()
        return flat, frozenset(name for name, each in shape.items() if each[4])


def _cache_folder() -> Path:
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "interlock"


def _kept(path: Path) -> dict[str, Any] | None:
    with suppress(OSError, ValueError), path.open("rb") as file:
        shape = json.loads(file.read(_MOST))
        return shape if isinstance(shape, dict) else None
    return None


def _calculated(model: str, usage: Usage) -> float | None:
    """The package's own sum, which knows tiers and dates; None where it does not know the model."""
    try:
        from genai_prices import Usage as Counted
        from genai_prices import calc_price
    except ImportError:
        return None
    read, written = usage.cache_read or 0, usage.cache_write or 0
    counted = Counted(
        input_tokens=(usage.uncached_input or 0) + read + written,
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=usage.output or 0,
    )
    for name in spellings(model):
        with suppress(LookupError, ValueError):
            return float(calc_price(counted, name).total_price)
    return None


def _collected() -> dict[str, list[Any]]:
    """Every model's name with input, output, cache read, cache write and whether it is not flat; the first vendor wins."""
    from datetime import UTC, datetime

    from genai_prices import data_snapshot

    now = datetime.now(UTC)
    found: dict[str, list[Any]] = {}
    rank = {name: place for place, name in enumerate(_FIRST)}
    for provider in sorted(data_snapshot.get_snapshot().providers, key=lambda each: rank.get(each.id, len(rank))):
        for model in provider.models:
            price = _flat(model.get_prices(now), conditional=isinstance(model.prices, list))
            if price is not None:
                for name in {model.id, model.id.removesuffix("-latest")}:
                    found.setdefault(name, price)
    return found


def _flat(prices: Any, *, conditional: bool) -> list[Any] | None:
    """One model's prices as plain numbers; None for what is not paid by the text token."""
    parts = [getattr(prices, f"{kind}_mtok", None) for kind in ("input", "output", "cache_read", "cache_write")]
    if parts[0] is None or parts[1] is None:
        return None
    numbers = [None if part is None else float(getattr(part, "base", part)) for part in parts]
    return [*numbers, conditional or any(hasattr(part, "tiers") for part in parts)]
