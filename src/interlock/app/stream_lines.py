"""What an agent's stream says, as one line each for a person; decoding it is the adapter's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from interlock.core.agent.seen import (
    Answered,
    Asked,
    Began,
    Denied,
    Ended,
    Retried,
    Said,
    Seen,
    Tool,
    Unknown,
    Used,
    Warned,
)

_MOST: Final = 400


def told(seen: Seen) -> str:
    """One line, as the agent wrote it and not yet fit for a terminal; empty for what says nothing to a person."""
    return " ".join(_WORDS[type(seen)](seen).split())[:_MOST]


def _asks(seen: Asked) -> str:
    return f"asks: {seen.what} ({', '.join(each.id for each in seen.choices)})"


def _used(seen: Used) -> str:
    total = seen.usage.total
    return "" if total is None else f"used {total:,} tokens ({seen.scope})"


_WORDS: Final[dict[type[Any], Callable[[Any], str]]] = {
    Began: lambda seen: f"began {seen.model} {seen.session}",
    Said: lambda seen: f"said: {seen.text}",
    Tool: lambda seen: f"{seen.kind} {seen.state}: {seen.what}",
    Asked: _asks,
    Answered: lambda seen: f"answered: {seen.choice} {f'by {seen.by}' if seen.by else ''}",
    Denied: lambda seen: f"refused to it: {seen.what} {seen.why}",
    Used: _used,
    Retried: lambda seen: f"tries again after {seen.fault}: {seen.message}",
    Warned: lambda seen: f"warning: {seen.text}",
    Ended: lambda seen: f"ended: {seen.how} {seen.message}",
    Unknown: lambda _: "",
}
