"""The isolation levels, and what each does not cover, in the words that the doctor and the job record use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # the levels are named at each start, cards are not
    from interlock.core.contract.card import Level

LEVELS: Final[tuple[Level, ...]] = ("sealed", "snapshot", "worktree")
"""Best first."""

COVERS: Final[Mapping[Level, str]] = {
    "sealed": (
        "its own tree, private repository and branch, ports, database and environment, behind a sandbox of files, "
        "processes and network, with a gate for git and no secret but those that its card was given"
    ),
    "snapshot": "its own tree, private repository and branch, ports, database and environment",
    "worktree": "its own tree and branch, ports, database and environment",
}


def same_user(level: Level) -> bool:
    """Whether an agent at this level runs as the user who judges it, and could have tampered with the evidence."""
    return level != "sealed"


def strictest(levels: Iterable[Level]) -> Level | None:
    """The best of several levels; None of none."""
    found = set(levels)
    return next((level for level in LEVELS if level in found), None)


NOT_COVERED: Final[Mapping[Level, str]] = {
    "sealed": (
        "faults of the kernel itself, which only a VM covers; what the hosts that the card may reach do with what they "
        "are sent; time and load that tasks of one machine take from each other"
    ),
    "snapshot": (
        "what an agent does outside its folder: files of the same user, the network, secrets in reach, other processes. "
        "Evidence is marked same-user"
    ),
    "worktree": (
        "what an agent does outside its folder: files of the same user, the network, secrets in reach, other processes, "
        "and the shared .git. Evidence is marked same-user"
    ),
}
"""Levels are branch, tree, sandbox, VM: this is what the next one would add."""
