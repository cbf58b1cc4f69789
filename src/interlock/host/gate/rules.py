"""What the gate says about the refs of a push, before anything of it is looked at; the pushed commits are pushed's work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from interlock.core.sandbox import Gate
from interlock.host.gate.packets import Command

RULE: Final = "gate"
HEADS: Final = "refs/heads/"
TRACKED: Final = "refs/remotes/origin/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """Why a push is not taken, and what would change it; whole sentences."""

    rule: str
    what: str
    why: str
    change: str

    @property
    def message(self) -> str:
        return f"interlock: Refused by the rule {self.rule}: {self.what}\n  Why: {self.why}\n  What would change it: {self.change}\n"


def judge_refs(gate: Gate, commands: Sequence[Command]) -> Objection | None:
    """The first objection to what a push wants to move, or None: exactly the task's own branch, and not away."""
    own = f"{HEADS}{gate.branch}"
    change = f"git push origin HEAD:{own}"
    for each in commands:
        if each.ref != own.encode("utf-8", "surrogateescape"):
            return Objection(
                rule=RULE,
                what=f"{_printable(each.name)} is not this task's branch.",
                why=f"A task pushes to {gate.branch} alone; what lands is decided by the train.",
                change=f"{change}.",
            )
        if each.deletes:
            return Objection(
                rule=RULE,
                what=f"{gate.branch} may not be deleted.",
                why="What was pushed may have been looked at already.",
                change="Push a commit that takes the change back.",
            )
    if len(commands) > 1:
        return Objection(rule=RULE, what="One branch is pushed twice.", why="It has one tip.", change=f"{change}.")
    return None


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text[:200])
