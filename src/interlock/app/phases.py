"""Phases of a job: which one is due, what it handed on, and what a retry keeps; how packs are bounded and read is core.agent.packs'."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from interlock.app.base import View
from interlock.app.redacting import Redaction
from interlock.core.agent.packs import MOST_BYTES, Pack, pack, verdict
from interlock.core.agent.seen import Summary
from interlock.core.contract.agents import ONE_RUN, PHASES, Phase
from interlock.core.job.events import Event
from interlock.core.job.lifecycle import Job
from interlock.core.problems import Misuse
from interlock.ports.bundle import Ports

_JUDGED: Final = ("attempt.worked", "attempt.phased", "attempt.ended")
_NOT_GOOD_ENOUGH: Final = frozenset(
    {"empty-diff", "agent-failed", "idle-limit", "wall-limit", "startup-limit", "turn-limit", "denied", "no-end"}
    | {"phase-wrote", "no-pack", "head-moved", "api-context"}
)

PACK_FILE: Final = "pack.md"
"""The pack's text in the record folder of its attempt."""


def of_class(view: View, class_name: str) -> tuple[Phase, ...]:
    """The phases of a class; one run for a class that the policy does not know any more."""
    known = view.policy.find_class(class_name)
    return known.phases if known is not None else ONE_RUN


def due(job: Job, view: View) -> Phase:
    """The phase of the job's next attempt: the first of its class that is not done; a resolution is one run."""
    if job.resolving:
        return "resolve"
    return next((each for each in of_class(view, job.class_name) if each not in job.phases), "implement")


def is_last(job: Job, view: View, phase: str) -> bool:
    """Whether the work is to be judged when this phase ends well."""
    phases = of_class(view, job.class_name)
    return not any(_rank(each) > _rank(phase) and each not in job.phases for each in phases)


def pack_of(ports: Ports, job: Job, number: int, seen: Summary, hidden: Redaction) -> Pack | None:
    """What an attempt handed on, kept in its record folder: the last pack it handed in, else the last text it wrote.

    None also where its texts are withheld: the next phase, and a review of the test plan, would be handed what nobody said.
    """
    said = [message.text for message in ports.records.messages(job.id, number) if message.verb == "pack"]
    text = "" if hidden.unknown else hidden.text(said[-1] if said else seen.last_text)
    found = pack(job.phase or "implement", number, text, "pack" if said else "last-text")
    if found is not None:
        _file(ports, job, number).write_bytes(found.text.encode())
    return found


def packs(ports: Ports, job: Job) -> tuple[Pack, ...]:
    """What the phases that are done handed on, the last of each; a file that is gone is left out."""
    found = {}
    for event in ports.store.events(job.id):
        known: dict[str, Any] | None = event.data.get("pack") if event.kind == "attempt.phased" else None
        if known is not None and known["phase"] in job.phases and (text := _text(ports, job, event.attempt)):
            found[known["phase"]] = Pack(
                phase=known["phase"], attempt=event.attempt, text=text, source=known.get("from", "pack")
            )
    return tuple(found[phase] for phase in sorted(found, key=_rank))


def objection(phase: str, found: Pack | None) -> str:
    """What a review of the test plan objects, in whole sentences; empty for any other phase and for a clean review."""
    if phase != "review-tests":
        return ""
    return verdict(found.text if found is not None else "")


def tries(events: Iterable[Event], phase: str) -> int:
    """The number of a job's next attempt at a phase for routing, from 1: earlier ones whose work was not good enough count.

    What was interrupted, asked something, met a limit of money or a fault of the model's interface says nothing
    about the model.
    """
    began: dict[int, str] = {}
    spent = 0
    for event in events:
        if event.kind == "attempt.started":
            began[event.attempt] = str(event.data.get("phase") or "implement")
        elif event.kind in _JUDGED and began.get(event.attempt) == phase and _counts(event):
            spent += 1
    return spent + 1


def _counts(event: Event) -> bool:
    return event.kind != "attempt.ended" or event.data.get("rule") in _NOT_GOOD_ENOUGH


def kept(job: Job, *, start: str | None = None) -> tuple[str, ...]:
    """The phases that need not be done again when the job goes on, for the ``phases`` of ``job.retry`` and ``job.round``.

    A job goes on with the phase that ended; where there was work already, the work begins again and what was found
    out before it is kept; after an objection the test plan is written anew.  ``start`` is the phase that a person
    wants to begin with.  Raises Misuse when that is none, or when the job never came to it.
    """
    if start is not None:
        return _from(job, start)
    if job.waiting is not None and job.waiting.rule == "test-plan":
        return _before("test-plan", job)
    nothing = job.waiting is not None and job.waiting.rule == "empty-diff"
    return _before("implement", job) if job.worked or nothing else job.phases


def _before(phase: str, job: Job) -> tuple[str, ...]:
    return tuple(each for each in job.phases if _rank(each) < _rank(phase))


def _from(job: Job, start: str) -> tuple[str, ...]:
    if start not in PHASES:
        raise Misuse(f"{start} is no phase.", hint=f"The phases are: {', '.join(PHASES)}.")
    if start not in job.phases and start != job.phase:
        done = ", ".join(job.phases) or "none"
        raise Misuse(f"{job.slug} never came to the phase {start}.", hint=f"Phases that are done: {done}.")
    return _before(start, job)


def _file(ports: Ports, job: Job, number: int) -> Path:
    return ports.records.attempt(job.id, number) / PACK_FILE


def _text(ports: Ports, job: Job, number: int) -> str:
    with suppress(OSError), _file(ports, job, number).open("rb") as stream:
        return stream.read(MOST_BYTES).decode("utf-8", "replace")
    return ""


def _rank(phase: str) -> int:
    return PHASES.index(phase) if phase in PHASES else len(PHASES)
