"""The local forge: each job's change as a row that follows the job, and approvals of exact commits."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, insert, select, update

from interlock.adapters.store.tables import approval, change
from interlock.core.job.events import Event
from interlock.core.job.lifecycle import Job, State
from interlock.core.merge.forge import Approval, ChangeRow

_STATES: Final = {State.READY: "ready", State.LANDED: "landed", State.ABANDONED: "closed"}
_OPEN: Final = ("draft", "ready")


def open_draft(connection: Connection, job: Job) -> None:
    """The draft that a job begins with, labelled with its class."""
    connection.execute(
        insert(change).values(
            job=job.id,
            slug=job.slug,
            branch=job.branch,
            label=f"class:{job.class_name}",
            state="draft",
            head=job.head,
            opened_at=job.admitted_at,
        )
    )


def follow(connection: Connection, job: Job, event: Event) -> None:
    """Move the change to where the job is after this event.

    A job that waits leaves its change as it is; one that works again makes it a draft again.  The time of the
    first publishing stays, since it is when the change began to wait for its reviewers.
    """
    values: dict[str, Any] = {"head": job.head}
    if job.state is not State.WAITING:
        values["state"] = _STATES.get(job.state, "draft")
    if job.state is State.REVERTED:
        return  # it landed, and that stays so
    if job.state in (State.LANDED, State.ABANDONED):
        values["closed_at"] = job.since
    connection.execute(update(change).where(change.c.job == job.id).values(values))
    if event.kind == "job.published":
        first = update(change).where(change.c.job == job.id, change.c.ready_at.is_(None))
        connection.execute(first.values(ready_at=event.at))


def listing(connection: Connection, *, open_only: bool) -> tuple[ChangeRow, ...]:
    query = select(change).order_by(change.c.opened_at, change.c.job)
    if open_only:
        query = query.where(change.c.state.in_(_OPEN))
    return tuple(ChangeRow(**row._asdict()) for row in connection.execute(query))


def approve(connection: Connection, event: Event) -> None:
    """Keep the approval that an event speaks of."""
    connection.execute(
        insert(approval).values(job=event.subject, commit=event.data["approve"], by=event.actor, at=event.at)
    )


def approvals(connection: Connection, job: str) -> tuple[Approval, ...]:
    query = select(approval).where(approval.c.job == job).order_by(approval.c.at)
    return tuple(Approval(**row._asdict()) for row in connection.execute(query))
