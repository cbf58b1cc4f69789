"""Which prices the gateway of an attempt is given: of the table, what its vendors may sell, and before that the team's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from interlock.core.agent.naming import price_of
from interlock.core.agent.usage import UNKNOWN, Price
from interlock.core.contract.agents import Models
from interlock.core.contract.policy import Policy
from interlock.ports.bundle import Ports

_SOLD: Final = {"api.anthropic.com": ("claude",), "api.openai.com": ("gpt", "o1", "o3", "o4", "codex", "computer")}
"""How the models of two vendors are called; of any other, the whole table is taken along."""


def prices_for(
    ports: Ports, policy: Policy, vendors: Sequence[Models], model: str | None, *, table: bool
) -> Mapping[str, Price]:
    """The team's own prices; with ``table``, those too that the vendors' models and the one named may need.

    The order of a run is held in memory for as long as it lasts, so the table is not taken whole.
    """
    return {
        **(_of_table(ports, vendors, model) if table else {}),
        **{each.model: each.price for each in policy.prices},
    }


def _of_table(ports: Ports, vendors: Sequence[Models], model: str | None) -> dict[str, Price]:
    table = ports.prices.table()
    sold = [_SOLD.get(urlsplit(each.url).hostname or "") for each in vendors]
    kept = {
        name: price
        for name, price in table.items()
        if any(families is None or name.startswith(families) for families in sold)
        and ("/" not in name or name.rpartition("/")[2] not in table)
    }
    if model and price_of(kept, model) is None and (price := _flat(ports, model)) is not None:
        kept[model] = price
    return kept


def _flat(ports: Ports, model: str) -> Price | None:
    """A flat price out of what single counts cost, for names that the table matches by rules of its own."""
    parts = ("uncached_input", "output", "cache_read", "cache_write")
    costs = [ports.prices.of(model, replace(UNKNOWN, **{part: 1000})) for part in parts]
    if costs[0] is None or costs[1] is None:
        return None
    numbers = [None if cost is None else cost * 1000 for cost in costs]
    return Price(input=numbers[0] or 0.0, output=numbers[1] or 0.0, cache_read=numbers[2], cache_write=numbers[3])
