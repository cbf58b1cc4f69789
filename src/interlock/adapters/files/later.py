"""Keys of interlock.yaml that are known and not built yet; those of a card are core.contract.not_built's."""

from __future__ import annotations

from typing import Final

from interlock.adapters.files.reading import Reading
from interlock.adapters.files.yaml_tree import Items, Keys, Node, Refused, Text
from interlock.core.contract.card import AgentChoice, Budget
from interlock.core.contract.policy import Policy

LATER: Final = (
    "review",
    "flakes",
    "forge",
    "metrics",
    "retention",
)
"""Top keys of later steps."""

_AGENT: Final = "Write agent: {use: command, command: <the shell command that runs your agent>}."
_WALL: Final = "Limit the time instead: budget: {wall: 45m}."


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
    if policy.train.slots != 1:
        _tell(reading, "train.slots", "More than one slot of the train is not built yet.", "Write slots: 1.")
    if policy.workspaces is not None:
        _tell(reading, "workspaces", "workspaces is known but not built yet.", "Leave it out.")
    _agent(reading, policy.agent, "agent")
    _budget(reading, policy.budget, "budget")
    for each in policy.classes:
        _agent(reading, each.agent, f"classes.{each.name}.agent")
        _budget(reading, each.budget, f"classes.{each.name}.budget")


def _agent(reading: Reading, agent: AgentChoice, key: str) -> None:
    if agent.use not in (None, "command"):
        _tell(reading, f"{key}.use", f"The agent {agent.use} is known but not built yet.", _AGENT)
    elif (agent.use is None) != (agent.command is None):
        at, why = _place(reading, key), "A command is started by use: command, and by nothing else."
        reading.tell("missing", at, key, what=f"{key} is half said.", why=why, fix=_AGENT)


def _budget(reading: Reading, budget: Budget, key: str) -> None:
    for name in ("tokens", "usd"):
        if getattr(budget, name) is not None:
            _tell(reading, f"{key}.{name}", f"{key}.{name} is known but not built yet.", _WALL)


def _tell(reading: Reading, key: str, what: str, fix: str) -> None:
    why = "It would be ignored, and the policy would promise what nothing keeps."
    reading.tell("not-built", _place(reading, key), key, what=what, why=why, fix=fix)


def _place(reading: Reading, key: str) -> tuple[int, int]:
    while key not in reading.positions:
        key = key.rpartition(".")[0]
    return reading.positions[key]
