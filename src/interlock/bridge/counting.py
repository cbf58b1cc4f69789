"""Tokens of a turn as an agent's answer gives them, told apart where the numbers themselves allow it; else only kept.

The protocol leaves open whether a usage is of the turn or of its last call, and whether input holds what came from the
cache (facts/agents §2): the first is known for a few agents by name, the second follows from the total.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_OF_THE_TURN: Final = ("claude-agent-acp", "codex-acp")
"""Agents whose usage sums up the calls of the turn; that of opencode is of the last call alone."""


def is_of_turn(agent: str) -> bool:
    """Whether the usage of an agent of this name is known to be of the whole turn."""
    return agent.rpartition("/")[2] in _OF_THE_TURN


def tokens(usage: Mapping[str, Any] | None) -> dict[str, int | None] | None:
    """The counts, none of which holds another but that reasoning is a part of output; None where they do not add up."""
    if usage is None:
        return None
    names = ("totalTokens", "inputTokens", "outputTokens", "cachedReadTokens", "cachedWriteTokens", "thoughtTokens")
    total, given, output, read, write, thought = (_count(usage.get(name)) for name in names)
    if total is None or given is None or output is None:
        return None
    cached = (read or 0) + (write or 0)
    # What is left of the total for the thoughts: nothing when output holds them already.
    for extra in dict.fromkeys((0, thought or 0)):
        for inner in dict.fromkeys((given, given - cached)):
            if inner >= 0 and inner + cached + output + extra == total:
                return {
                    "uncached_input": inner,
                    "cache_read": read,
                    "cache_write": write,
                    "output": output + extra,
                    "reasoning": thought,
                }
    return None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
