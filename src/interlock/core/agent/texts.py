"""Texts of an agent's stream made fit to be stored: whole characters and a bounded length; what a terminal may show is host.text's."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Final

from interlock.core.agent.seen import Seen

MOST: Final = 262_144
"""Characters of one text: four times what a pack may have."""

_RAW_MOST: Final = 4096


def clean(seen: Seen) -> Seen:
    """The same without half characters, which no file and no database takes, and without what is larger than anybody reads.

    A raw object that is too large is told as that.
    """
    changed: dict[str, Any] = {}
    for each in fields(seen):
        value = getattr(seen, each.name)
        if isinstance(value, str) and (better := _text(value)) != value:
            changed[each.name] = better
        elif isinstance(value, dict) and len(repr(value)) > _RAW_MOST:
            changed[each.name] = {"too large": len(repr(value))}
    return replace(seen, **changed) if changed else seen


def _text(value: str) -> str:
    return value[:MOST].encode("utf-8", "replace").decode()
