"""Keys of interlock.yaml that are known and not built yet; those of a card are core.contract.not_built's."""

from __future__ import annotations

from typing import Final

from interlock.adapters.files.parts import tell
from interlock.adapters.files.reading import Reading
from interlock.adapters.files.yaml_tree import Items, Keys, Node, Refused, Text
from interlock.core.contract.policy import Policy

LATER: Final = (
    "review",
    "forge",
    "metrics",
    "retention",
)
"""Top keys of later steps."""


def later(reading: Reading, node: Node, key: str) -> None:
    """Refuse the value of a key of a later step, unless it says nothing or the default."""
    empty = (
        isinstance(node, Refused)
        or (isinstance(node, Items) and not node.items)
        or (isinstance(node, Keys) and not node.at)
        or (isinstance(node, Text) and node.meaning == "empty")
    )
    if not empty:
        _tell(reading, key, f"{key} is known but not built yet.", "Leave it out.")


def check_built(reading: Reading, policy: Policy) -> None:
    """Refuse values of built keys that ask for what is not there yet."""
    if policy.workspaces is not None:
        _tell(reading, "workspaces", "workspaces is known but not built yet.", "Leave it out.")


def _tell(reading: Reading, key: str, what: str, fix: str) -> None:
    why = "It would be ignored, and the policy would promise what nothing keeps."
    tell(reading, key, what, fix, why, "not-built")
