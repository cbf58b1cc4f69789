"""What an agent is told: the card, its phase, what was found out and decided before, and the rules; how it is handed over is the adapter's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from interlock.core.agent.loops import briefing, last_failure
from interlock.core.agent.packs import Pack, fitted, for_phase
from interlock.core.agent.rules import Handed
from interlock.core.contract.agents import WRITING
from interlock.core.contract.card import Card
from interlock.core.job.events import Event
from interlock.core.job.lifecycle import Job

_LOOP: Final = """\
Work in this order: inspect what is there; plan briefly; implement; verify with the checks above; summarise what you
did and why; stop. If a check stays red, say what you tried and stop: another attempt starts with a new hypothesis."""

_HAND_ON: Final = (
    "Hand it on with `interlock-task pack -`, which reads standard input: others see nothing else of this run."
)
_READ_ONLY: Final = f"Change no file in this phase. {_HAND_ON}"

_PHASES: Final = {
    "research": f"""\
Phase: research. Find out what the task needs to know, and nothing more: where the code is, what calls it, how it is
tested, what could break; each fact with file and line, and what you looked for and did not find. Keep it short.
{_READ_ONLY}""",
    "plan": f"""\
Phase: plan. Decide how the goal is reached within these paths: steps, files, risks, and how each condition is checked.
If it cannot be reached within them, stop and ask. {_READ_ONLY}""",
    "test-plan": f"""\
Phase: test plan. Say for each condition of the card which behaviour has to be tested, with inputs, expected results
and the edge cases; not how the code will look. {_READ_ONLY}""",
    "review-tests": f"""\
Phase: review of the test plan, by the card alone. Would a wrong implementation pass these tests? Is a condition not
covered, or a test not called for? The first line of what you hand on is exactly `verdict: accept` or
`verdict: object`; after an objection follow the reasons. Anything else counts as an objection. {_READ_ONLY}""",
    "verify": f"""\
Phase: verify. The work of an earlier phase is in the tree. Look at it as somebody who did not write it: run the checks,
try the edge cases of the card, and mend what is wrong. Then say what you ran and what came out. {_HAND_ON}""",
    "summarise": f"""\
Phase: summary. Say for the person who signs it off what was changed and why, what proves it, and what is left open.
{_READ_ONLY}""",
}

_HOW: Final = """\
Work in the current folder, on its branch. You need not commit: the harness does. `interlock-task card` shows the
card, `interlock-task may-i PATH` tells whether a path is yours."""

_LAYERED: Final = """\
A folder that the base has cannot be renamed in one step here: move it with `mv`, which copies, and not with `git mv`."""

_CLASH: Final = """\
The tree stands on the present default branch. Where it could be, the clash is marked; a file without marks that is named
here stands as on the default branch, and what the work made of it has to be done again."""

_OWNED: Final = "You own these paths, and may change nothing else"
_TO_OWN: Final = "The work may change these paths, and nothing else"


def prompt_for(
    card: Card,
    job: Job,
    number: int,
    *,
    phase: str = "implement",
    packs: Sequence[Pack] = (),
    handed: Sequence[Handed] = (),
    log: str = "",
    resolution: str = "",
    back: str = "",
    layered: bool = False,
) -> str:
    """The text for one attempt, whole and without any earlier conversation (seed 004: short, fresh contexts).

    ``packs`` are what earlier phases handed on, ``handed`` the rules of the team, ``log`` the end of what a loop's gate wrote,
    ``resolution`` the briefing of a run that brings two changes together, which stands in the place of a phase's, ``back`` why the
    work before came back (``came_back``), ``layered`` that the tree is an overlay over the base.
    """
    parts = [
        f"# Task {card.slug}",
        _goal(card),
        *_scope(card, phase),
        _list("It is done when", card.done_when),
        _list("Bring these files", tuple(f"{each.path} ({each.kind})" for each in card.artifacts)),
        _checks(card),
        _stop(card),
        resolution or _PHASES.get(phase, _LOOP),
        back,
        _list("Decided so far", job.hypotheses),
        _gate(card, job, log),
        *_packs(phase, packs),
        *rules_of(handed),
        _HOW,
        _LAYERED if layered else "",
        f"This is attempt {number}.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def resumed_prompt(card: Card, job: Job, number: int, *, phase: str = "implement") -> str:
    """The text with which a session goes on that was stopped for an answer: what was decided, and what binds it now.

    The answer may have changed the card, so that its paths, checks and stop rules are told again; the rest is not.
    """
    parts = [
        job.hypotheses[-1] if job.hypotheses else "Go on.",
        f"Go on with the task {card.slug} where you stopped. This is what its card says now, whatever it said before.",
        *_scope(card, phase),
        _checks(card),
        _stop(card),
        f"This is attempt {number}.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def came_back(events: Iterable[Event]) -> str:
    """Why the work before was put back, for the run that a retry starts; nothing after an answer, which says it itself."""
    why = back = ""
    for event in events:
        if event.kind in ("job.waits", "attempt.ended"):
            why = f"The work before this did not go through ({event.data['rule']}): {event.data['what']}"
            if event.data["rule"] == "text-conflict":
                why += f" {_CLASH}"
        elif event.kind in ("job.retry", "job.round"):
            back = "" if event.data.get("answer") or event.kind == "job.round" else why
    return back


def _goal(card: Card) -> str:
    lines = [card.goal or "", f"The accepted plan is {card.accepted_plan}." if card.accepted_plan else ""]
    return "\n".join(line for line in lines if line)


def _scope(card: Card, phase: str) -> tuple[str, ...]:
    return (
        _list(_OWNED if phase in WRITING else _TO_OWN, card.owned_paths),
        _list("You may read these, and must not change them", card.read_only_paths),
        _list("You must not touch", card.prohibited_paths),
    )


def _checks(card: Card) -> str:
    return _list("These checks will be run on your tree by the harness", tuple(check.run for check in card.checks))


def _stop(card: Card) -> str:
    return _list("Stop, with `interlock-task stop --reason … [--question …]`, when", card.stop_when)


def _list(title: str, items: Sequence[str]) -> str:
    if not items:
        return ""
    return f"{title}:\n" + "\n".join(f"- {item}" for item in items)


def _packs(phase: str, packs: Sequence[Pack]) -> list[str]:
    """What earlier phases handed on, each under its name."""
    given = for_phase(phase, packs)
    return [
        f"## From the phase {each.phase} (attempt {each.attempt}, {each.size} bytes)\n\n{text}"
        for each, text in zip(given, fitted(given), strict=True)
    ]


def rules_of(handed: Sequence[Handed]) -> list[str]:
    """The rules of the team that are put into a prompt, each under its path."""
    return [f"## Rules of the team: {each.path}\n\n{each.text.strip()}" for each in handed if each.how == "prompt"]


def _gate(card: Card, job: Job, log: str) -> str:
    """What decides about a loop's work: its gate, what was seen on the base, how the last round failed, and the log's end."""
    if card.loop is None:
        return ""
    parts = [briefing(card.loop, job.loop)]
    if last := last_failure(job.loop):
        seed = f" with INTERLOCK_SEED={last['seed']}" if last.get("seed") is not None else ""
        parts.append(f"The work of attempt {last.get('attempt')} failed it{seed}: {last.get('what')}")
    if log:
        quoted = log.replace("```", "'''")
        parts.append(f"The end of its log:\n\n```\n{quoted}\n```")
    return "\n\n".join(parts)
