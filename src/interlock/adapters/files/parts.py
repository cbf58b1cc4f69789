"""Small decoders that the agents' part of a policy is made of: named entries, words or lists of them, money; what they mean is core's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from interlock.adapters.files import reading as read
from interlock.adapters.files import shared
from interlock.adapters.files.reading import Decoder, Reading
from interlock.adapters.files.yaml_tree import Items, Keys, Node

NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,30}")
"""What agents and vendors of models may be called: it becomes a part of paths."""


def named(reading: Reading, node: Node, key: str, table: shared.Table, form: str) -> dict[str, dict[str, Any]]:
    """Entries with names of their own, each by one table; a name that cannot be used is told and left out."""
    found = {}
    for name, inner in reading.entries(node, key, form).items():
        if NAME.fullmatch(name):
            found[name] = shared.decode(reading, inner, f"{key}.{name}", table, form)
            continue
        what = f"The name {name} cannot be used under {key}."
        tell(reading, f"{key}.{name}", what, "Use small letters, digits and dashes, 31 at most.")
    return found


def lacks(reading: Reading, node: Node, key: str, name: str, form: str) -> None:
    """Tell that a mapping has no such key; one that is there and could not be read was told before."""
    if isinstance(node, Keys) and name not in node.values:
        what, why = f"{key} has no {name}.", "Nothing else says it."
        reading.tell("missing", (node.line, node.column), key, what=what, why=why, fix=f"Write {form}.")


def words(*allowed: str) -> Decoder[tuple[str, ...] | None]:
    """One word or a list of words; with ``allowed`` only those."""
    one = read.choice(*allowed) if allowed else read.filled
    form = f"[{', '.join(allowed[:2]) or 'first, second'}]"

    def decode(reading: Reading, node: Node, key: str) -> tuple[str, ...] | None:
        if isinstance(node, Items):
            return reading.items(node, key, one, form)
        value = one(reading, node, key)
        return None if value is None else (value,)

    return decode


def list_of(decode: Decoder[str | None], form: str) -> Callable[[Reading, Node, str], tuple[str, ...]]:
    return lambda reading, node, key: reading.items(node, key, decode, form)


def money(reading: Reading, node: Node, key: str) -> float | None:
    """Dollars: a number that is not below nothing."""
    value = read.number(reading, node, key)
    if value is not None and value < 0:
        reading.wrong(node, key, due="an amount of dollars", fix=f"Write {key.rpartition('.')[2]}: 4 or the like.")
        return None
    return value


def tell(reading: Reading, key: str, what: str, fix: str, why: str = "", kind: str = "shape") -> None:
    """Add a problem at the place of a key, or of the nearest part around it."""
    at = key
    while at and at not in reading.positions:
        at = at[: max(at.rfind("."), at.rfind("["), 0)]
    why = why or "It could not be carried out as it is written."
    reading.tell(kind, reading.positions[at], key, what=what, why=why, fix=fix)
