"""Names of models as vendors send them, and which entry of a table they mean; the tables are others'."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from interlock.core.agent.usage import Price

_DATE: Final = re.compile(r"(?:[-@]20[0-9]{6}|-20[0-9]{2}-[0-9]{2}-[0-9]{2})(?:-v[0-9]+(?::[0-9]+)?)?$|-latest$")


def spellings(model: str) -> tuple[str, ...]:
    """The name as it was sent, without a date or ``-latest`` at its end, and both without a vendor before a slash.

    ``openai/gpt-5-2026-01-01`` is also ``openai/gpt-5``, ``gpt-5-2026-01-01`` and ``gpt-5``, in this order.
    """
    found = dict.fromkeys((model, _DATE.sub("", model)))
    for name in tuple(found):
        found[name.rpartition("/")[2]] = None
    return tuple(name for name in found if name)


def price_of(table: Mapping[str, Price], model: str) -> Price | None:
    """The price of a model, whatever its spelling; None when the table has none."""
    return next((table[name] for name in spellings(model) if name in table), None)
