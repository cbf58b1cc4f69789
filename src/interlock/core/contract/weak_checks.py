"""Checks that can pass although what they run fails, told from their text alone; running checks is the adapters' work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# Commands that succeed whatever happened before (case VG-01).
_HARMLESS: Final = frozenset({"true", ":", "echo", "printf", "exit", "return", "date", "pwd"})
_OPERATORS: Final = ("&&", "||", ";;", "|&", ";", "|", "&", "\n")


@dataclass(frozen=True, slots=True)
class Weakness:
    """Why a check is weak, and what to write instead."""

    why: str
    fix: str


def weakness(run: str) -> Weakness | None:
    """The first way in which a check's command can pass although what it runs fails, or None.

    A lint, not a proof: checks run as ``bash -eo pipefail``, which already ends at the first failing command
    and at a failing stage of a pipe; what is found here gets past that, or looks as if it were meant to.
    """
    steps = _steps(run)
    words = [word for _, word in steps]
    if steps and all(_harmless(word) for word in words):
        return Weakness("It runs nothing that can fail.", "Name the command that proves the work, such as the tests.")
    for before, command in steps:
        if before == "||" and _harmless(command):
            return Weakness(
                f"|| {command} makes a failure a success.",
                "Leave it out: a check ends with what its command says.",
            )
        if command.startswith("set +") and ("e" in command.split()[1] or "pipefail" in command):
            return Weakness(f"{command} turns the stop at the first failure off.", "Leave it out.")
    if run.rstrip().endswith("&"):
        return Weakness("Its last command goes on in the background, so its end is not waited for.", "Leave the & out.")
    if len(steps) > 1 and steps[-1][0] in (";", "\n") and _harmless(words[-1]):
        return Weakness(
            f'It ends with "{words[-1]}", which succeeds whatever came before.',
            "Let the command that proves the work be the last one.",
        )
    return None


def _harmless(command: str) -> bool:
    words = command.split()
    if not words or words[0] not in _HARMLESS:
        return False
    return words[0] not in ("exit", "return") or words[1:] in ([], ["0"])


def _steps(run: str) -> list[tuple[str, str]]:
    """The simple commands of a shell text with the operator before each, quotes and comments respected."""
    steps: list[tuple[str, str]] = []
    operator, word, quote, at = "", "", "", 0
    while at < len(run):
        char = run[at]
        if quote:
            step = 2 if char == "\\" and quote == '"' else 1
            quote = "" if char == quote else quote
        elif char == "\\":
            step = 2
        elif char in "'\"`":
            quote, step = char, 1
        elif char == "#" and (not word or word[-1].isspace()):
            end = run.find("\n", at)
            at = len(run) if end < 0 else end
            continue
        elif found := _operator(run, at, word):
            steps.append((operator, word.strip()))
            operator, word, at = found, "", at + len(found)
            continue
        else:
            step = 1
        word += run[at : at + step]
        at += step
    steps.append((operator, word.strip()))
    return [(before, command) for before, command in steps if command]


def _operator(run: str, at: int, word: str) -> str:
    """The operator that begins here; ``2>&1`` and ``&>file`` are no operators."""
    found = next((operator for operator in _OPERATORS if run.startswith(operator, at)), "")
    if found == "&" and (word.endswith(">") or run.startswith("&>", at)):
        return ""
    return "" if found == "|" and word.endswith(">") else found
