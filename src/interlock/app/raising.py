"""A person raises one budget of one job, on the record, and the job goes on when it waited for that; what is spent is spending's."""

from __future__ import annotations

import re
from typing import Final

from interlock.app.base import last_view
from interlock.app.cardjson import from_json
from interlock.app.ceilings import in_force
from interlock.app.costs import Spent, spent
from interlock.app.decide import find_open, go_on, refuse_alive
from interlock.core.agent.worth import amount
from interlock.core.contract.defaults import with_defaults
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import Job, State
from interlock.core.problems import Misuse, Refusal, Refused
from interlock.ports.bundle import Ports

_FORM: Final = re.compile(r"((?:attempt\.)?(?:usd|tokens))=(\d+(?:\.\d+)?)([kKmM]?)")
_TIMES: Final = {"": 1, "k": 1_000, "m": 1_000_000}
_GOES_ON: Final = frozenset({"budget", "not-worth"})


def raised(text: str) -> tuple[str, float]:
    """``usd=4``, ``tokens=400k`` or ``attempt.usd=1`` as the budget's name and its value.  Raises Misuse."""
    found = _FORM.fullmatch(text.strip())
    if found is None or (found[1].endswith("usd") and found[3]):
        raise Misuse(f"{text} names no budget.", hint="Write --raise usd=4, tokens=400k or attempt.usd=1.")
    return found[1].replace(".", "_"), float(found[2]) * _TIMES[found[3].lower()]


def raise_budget(ports: Ports, slug: str, text: str, actor: str) -> Job:
    """Raise a limit of the job, or of each of its attempts, to a value; a job that waits for it goes on where it was.

    Raises Misuse for a job without such a limit, Refused (budget) for a value that is no more than the limit in
    force or than what the job has spent, Refused (alive).
    """
    job = find_open(ports, slug)
    name, value = raised(text)
    limit = getattr(with_defaults(from_json(job.card), last_view(ports).policy).budget, name)
    if limit is None:
        raise Misuse(
            f"{job.slug} has no limit in {_said(name)}, so there is nothing to raise.",
            hint=f"Set budget.{_said(name)} in the card, its class or interlock.yaml on the default branch.",
        )
    before = in_force(job, name, limit) or 0.0
    unit = "usd" if name.endswith("usd") else "tokens"
    used = Spent() if name.startswith("attempt") else spent(ports, job)  # each attempt has its own anew
    known = used.known if unit == "usd" else used.usage.total
    floor = max(before, known or 0)
    if value <= floor:
        raise Refused(_no_raise(job, name, value, before, known))
    if job.state is State.WAITING:
        refuse_alive(ports, job)
    said = f"{actor} raised {_said(name)} from {amount(unit, before)} to {amount(unit, value)}."
    data = {"text": said, "raised": {name: value}}
    ports.store.record(NewEvent(subject=job.id, step=f"raise:{job.rev}", kind="job.note", actor=actor, data=data))
    if job.state is State.RUNNING:
        ports.narrate(f"{job.slug}: the attempt that runs has its limits already; the new one counts from the next on.")
    job = ports.store.job(job.id)
    waits = job.waiting.rule if job.state is State.WAITING and job.waiting else ""
    return go_on(ports, job, actor) if waits in _GOES_ON else job


def _no_raise(job: Job, name: str, value: float, before: float, known: float | None) -> Refusal:
    unit = "usd" if name.endswith("usd") else "tokens"
    used = f", and {amount(unit, known)} are spent" if known else ""
    return Refusal(
        rule="budget",
        what=f"{amount(unit, value)} is no raise for {job.slug}: the limit is {amount(unit, before)}{used}.",
        why="A budget that is raised has to leave something to spend.",
        would_change=f"Say a higher one: interlock decide {job.slug} --raise {_said(name)}=N.",
        number=int(before),
    )


def _said(name: str) -> str:
    """The budget as a card and ``--raise`` write it."""
    return name.replace("attempt_", "attempt.")
