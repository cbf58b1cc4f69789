"""What an agent is told: the card, its paths and stop rules, and what was decided since; how it is handed over is the adapter's."""

from __future__ import annotations

from typing import Final

from interlock.core.contract.card import Card
from interlock.core.job.lifecycle import Job

_HOW: Final = """\
Work in the current folder, on its branch. You need not commit: the harness does. `interlock-task card` shows the
card, `interlock-task may-i PATH` tells whether a path is yours."""


def prompt_for(card: Card, job: Job, number: int) -> str:
    """The text for one attempt, whole and without any earlier conversation (seed 004: short, fresh contexts)."""
    parts = [
        f"# Task {card.slug}",
        _goal(card),
        _list("You own these paths, and may change nothing else", card.owned_paths),
        _list("You may read these, and must not change them", card.read_only_paths),
        _list("You must not touch", card.prohibited_paths),
        _list("It is done when", card.done_when),
        _list("These checks will be run on your tree by the harness", tuple(check.run for check in card.checks)),
        _list("Stop, with `interlock-task stop --reason … [--question …]`, when", card.stop_when),
        _list("Decided so far", job.hypotheses),
        _HOW,
        f"This is attempt {number}.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _goal(card: Card) -> str:
    lines = [card.goal or "", f"The accepted plan is {card.accepted_plan}." if card.accepted_plan else ""]
    return "\n".join(line for line in lines if line)


def _list(title: str, items: tuple[str, ...]) -> str:
    if not items:
        return ""
    return f"{title}:\n" + "\n".join(f"- {item}" for item in items)
