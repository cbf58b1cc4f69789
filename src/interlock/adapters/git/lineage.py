"""How heads stand to a base and to each other: whether they have an ancestor in common, and which share commits beyond it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from interlock.adapters.git.plumbing import GitDir


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """``rootless`` heads have no ancestor in common with the base; ``related`` pairs share commits that the base has not.

    ``within`` heads are part of the base's own history.
    """

    rootless: frozenset[str]
    within: frozenset[str]
    related: frozenset[tuple[str, str]]


def lineage(git: GitDir, base: str, heads: Sequence[str]) -> Lineage:
    """One walk over what the heads have and the base has not; pairs are in the order of their names."""
    asked = "\n".join([*heads, f"^{base}"]).encode()
    listed = git.text("rev-list", "--topo-order", "--parents", "--stdin", stdin=asked, seconds=300)
    lines = [line.split(" ") for line in listed.splitlines()]
    reached = _reached(lines)
    held: dict[str, int] = {head: 1 << number for number, head in enumerate(heads)}
    shared: set[int] = set()
    for commit, *parents in lines:  # children come before their parents
        mask = held.get(commit, 0)
        if mask & (mask - 1):
            shared.add(mask)
        for parent in parents:
            if parent in reached:
                held[parent] = held.get(parent, 0) | mask
    related = {pair for mask in shared for pair in combinations(sorted(_heads(mask, heads)), 2)}
    return Lineage(
        rootless=frozenset(head for head in heads if reached.get(head) is False),
        within=frozenset(head for head in heads if head not in reached),
        related=frozenset(related),
    )


def _reached(lines: Sequence[Sequence[str]]) -> Mapping[str, bool]:
    """Commits beyond the base, and whether a commit of the base lies behind them."""
    found: dict[str, bool] = {}
    for commit, *parents in reversed(lines):
        found[commit] = any(found.get(parent, True) for parent in parents)
    return found


def _heads(mask: int, heads: Sequence[str]) -> list[str]:
    return [head for number, head in enumerate(heads) if mask >> number & 1]
