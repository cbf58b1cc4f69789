"""Can the agent that a card, a class or the policy names be started at all: known names, and commands where they belong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from interlock.core.contract.agents import AGENTS, COMMANDED, LOGGED_IN
from interlock.core.contract.card import AgentChoice
from interlock.core.contract.suggest import nearest

_COMMAND: Final = "Write agent: {use: command, command: <the shell command that runs your agent>}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong with a choice: the key in it (empty: the choice as a whole), the rule, and whole sentences."""

    key: str
    kind: str
    what: str
    why: str
    fix: str


def fault_of(choice: AgentChoice, known: tuple[str, ...]) -> Fault | None:
    """Why the choice cannot be carried out, or None; ``known`` are the names of the agents that can be started."""
    use, command = choice.use, (choice.command or "").strip()
    if use is None:
        return None if choice.command is None else _no_use()
    if use not in known:
        return unknown(use, known)
    if use in COMMANDED and not command:
        return _no_command(use)
    if use in AGENTS and use not in COMMANDED and choice.command is not None:
        what = f"The agent {use} has a command."
        why = f"{use} is found on PATH and started in its own way; the command would be ignored."
        return Fault(
            key="command", kind="shape", what=what, why=why, fix="Leave the command out, or write use: command."
        )
    return None


def no_login(use: str) -> Fault | None:
    """Why a login cannot be given to a known agent, or None."""
    if use not in AGENTS or use in LOGGED_IN:
        return None
    return Fault(
        key="",
        kind="shape",
        what=f"The agent {use} takes no login.",
        why="Where its client keeps credentials is not known here, so that the login would be ignored.",
        fix=f"Leave it out; a login is for {' or '.join(sorted(LOGGED_IN))}.",
    )


def unknown(use: str, known: tuple[str, ...], key: str = "use") -> Fault:
    """The fault of a name that no agent here has, with the names that there are."""
    guess = nearest(use, known)
    return Fault(
        key=key,
        kind="no-agent",
        what=f"The agent {use} is not known here.",
        why=f"Known here: {', '.join(known)}.",
        fix=f"Write use: {guess}, or install the plug-in that brings {use}."
        if guess
        else f"Write one of them, or install the plug-in that brings {use}.",
    )


def _no_use() -> Fault:
    what = "The agent has a command and does not say use: command."
    why = "A command belongs to use: command and use: acp alone."
    return Fault(key="", kind="missing", what=what, why=why, fix=_COMMAND)


def _no_command(use: str) -> Fault:
    what = f"The agent is {'a command' if use == 'command' else use}, and the command is missing."
    fix = _COMMAND if use == "command" else 'Write agent: {use: acp, command: "claude-agent-acp"} or the like.'
    return Fault(key="", kind="missing", what=what, why="There is nothing that could be started.", fix=fix)
