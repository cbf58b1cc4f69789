"""The one append-only history: writing an event once, and reading it; what it does to a job is in jobs and trains."""

from __future__ import annotations

from sqlalchemy import Connection, Row, insert, or_, select

from interlock.adapters.store.codec import plain
from interlock.adapters.store.engine import lock_history
from interlock.adapters.store.tables import event as table
from interlock.core.job.events import Event, NewEvent


def append(connection: Connection, new: NewEvent, at: float) -> Event:
    """Write an event at the end; the caller holds the history's lock and knows that the step is new."""
    values = {
        "at": at,
        "subject": new.subject,
        "attempt": new.attempt,
        "step": new.step,
        "kind": new.kind,
        "actor": new.actor,
        "data": plain(new.data),
    }
    seq = connection.execute(insert(table).values(values)).inserted_primary_key
    assert seq is not None  # noqa: S101 -- one row was inserted
    return Event(seq=seq[0], **values)


def record(connection: Connection, new: NewEvent, at: float, expect: int | None) -> Event:  # noqa: ARG001 - it has no revision
    """Write an event of what is neither job nor train, and changes nothing else; a repeated step is there already."""
    lock_history(connection)
    return find(connection, new.subject, new.attempt, new.step) or append(connection, new, at)


def find(connection: Connection, subject: str, attempt: int, step: str) -> Event | None:
    query = select(table).where(table.c.subject == subject, table.c.attempt == attempt, table.c.step == step)
    row = connection.execute(query).one_or_none()
    return None if row is None else _event(row)


def listing(connection: Connection, subject: str | None, after: int) -> tuple[Event, ...]:
    """Events in their order, of one subject or of all, later than ``after``."""
    query = select(table).where(table.c.seq > after).order_by(table.c.seq)
    if subject is not None:
        query = query.where(table.c.subject == subject)
    return tuple(_event(row) for row in connection.execute(query))


def attempts(connection: Connection, since: float, until: float | None) -> tuple[Event, ...]:
    """Start and end of the attempts that started in that time; no other event is read."""
    start = table.alias()
    query = (
        select(table)
        .join(start, (start.c.subject == table.c.subject) & (start.c.attempt == table.c.attempt))
        .where(start.c.kind == "attempt.started", start.c.at >= since)
        .where(or_(table.c.seq == start.c.seq, table.c.step == "settle"))
        .order_by(table.c.seq)
    )
    if until is not None:
        query = query.where(start.c.at < until)
    return tuple(_event(row) for row in connection.execute(query))


def _event(row: Row[tuple[object, ...]]) -> Event:
    return Event(**row._asdict())
