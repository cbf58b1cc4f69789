"""One transaction that looks, decides and takes the slot; the decision itself is core.gate.admission's."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row

from interlock.adapters.store import events, jobs, slots
from interlock.adapters.store.engine import lock_history, unanswered
from interlock.core.gate.admission import admitted, decide, event_data
from interlock.core.gate.request import Admitted, Lanes, Request
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import admit as begin_job
from interlock.core.problems import Refusal, Refused

STEP = "admitted"


def admit(connection: Connection, request: Request, at: float) -> Admitted:
    """Admit the job of a request: slot, job, draft and event together, or none of them.

    A job that was admitted before is answered again.  Raises Refused.
    """
    locked = slots.lock(connection)
    known = events.find(connection, request.job, 0, STEP)
    if known is not None:
        return admitted(begin_job(known))
    lanes = _look(connection, request, locked)
    decision = decide(request, lanes)
    if isinstance(decision, Refusal):
        raise Refused(decision)
    data = event_data(request, lanes, decision)
    lock_history(connection)
    new = NewEvent(subject=request.job, step=STEP, kind="job.admitted", actor=request.actor, data=data)
    head = events.head(connection)
    with unanswered(connection):
        event = events.append(connection, new, at, head)
        jobs.begin(connection, begin_job(event), event)
        slots.take(connection, decision, data["kind"], request.actor)
    return decision


def _look(connection: Connection, request: Request, locked: Row[Any]) -> Lanes:
    """The slots as this transaction sees them, and how the slugs ended that the rules ask for."""
    caps = slots.in_force(connection, locked)
    name = request.task_class.name
    landed, abandoned = jobs.ends(connection, frozenset({request.card.slug, *request.card.depends_on}))
    return Lanes(
        cap=caps.caps.get(name),
        paused_by=caps.paused_by.get(name),
        holders=slots.holders(connection),
        landed=(landed - request.gone) | request.landed,
        abandoned=abandoned,
        ceiling=caps.ceiling,
        kinds=caps.kinds,
    )
