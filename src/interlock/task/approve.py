"""Commands that a person must approve first: which approval one needs, and how an agent is told; it can never give one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from interlock.core.gate import approvals, guards


def needed(orders: Mapping[str, Any], argv: Sequence[str]) -> str | None:
    """The approval that the command waits for, by the orders of this attempt.  Raises KeyError or TypeError."""
    return approvals.command_needing(approvals.rules_from(orders["rules"]), orders["approved"], argv)


def refusal(name: str, argv: Sequence[str], slug: str) -> guards.Blocked:
    """What an agent reads instead; without a slug of its task there is no command in it."""
    command = f" with interlock decide {slug} --approve {name}" if slug else ""
    return guards.Blocked(
        what=f"{guards.shown(argv)} was refused: it needs the approval {name}.",
        why="It reaches beyond the task, and a person decides about that. The request is on the record.",
        would_change=f"A person approves it{command}; it holds from the next attempt on.",
    )
