"""The one append-only history: writing an event once, and reading it; what it does to a job is in jobs and trains."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, Row, bindparam, func, insert, or_, select

from interlock.adapters.store.codec import plain
from interlock.adapters.store.engine import lock_history
from interlock.adapters.store.tables import event as table
from interlock.core.job.chain import FIRST, Linked, breaks, digest_of
from interlock.core.job.events import Event, NewEvent
from interlock.core.job.kinds import KINDS
from interlock.core.job.lifecycle import IllegalTransition
from interlock.core.problems import Refused, refused

_APPENDED: Final = "interlock_appended"
_COLUMNS = tuple(column for column in table.c if column.name != "digest")
# What each transaction asks is put together once: making a statement costs more than SQLite needs to answer it.
_APPEND: Final = insert(table)
_HEAD: Final = select(table.c.seq, table.c.digest).order_by(table.c.seq.desc()).limit(1)
_AFTER: Final = select(*_COLUMNS).where(table.c.seq > bindparam("after")).order_by(table.c.seq)
_OF_SUBJECT: Final = _AFTER.where(table.c.subject == bindparam("of"))
_STEP: Final = select(*_COLUMNS).where(
    table.c.subject == bindparam("of"), table.c.attempt == bindparam("number"), table.c.step == bindparam("name")
)


def append(connection: Connection, new: NewEvent, at: float, end: tuple[int, str] | None = None) -> Event:
    """Write an event at the end; the caller holds the history's lock and knows that the step is new.  ``end`` is what ``head`` gave under that lock.

    Raises IllegalTransition for a kind that nothing knows.
    """
    if new.kind not in KINDS:
        raise IllegalTransition(f"{new.kind} is no kind of event.")
    seq, previous = head(connection) if end is None else end
    event = Event(
        seq=seq + 1,
        at=at,
        subject=new.subject,
        attempt=new.attempt,
        step=new.step,
        kind=new.kind,
        actor=new.actor,
        data=plain(new.data),
    )
    row = {column.name: getattr(event, column.name) for column in _COLUMNS}
    digest = digest_of(previous, event)
    connection.execute(_APPEND, row | {"digest": digest})
    connection.info.get(_APPENDED, []).append((event.seq, digest))
    return event


def watched(connection: Connection) -> list[tuple[int, str]]:
    """A list that from now on gets number and digest of each event that this transaction appends."""
    found: list[tuple[int, str]] = []
    connection.info[_APPENDED] = found
    return found


def head(connection: Connection) -> tuple[int, str]:
    """The number and digest of the last event; 0 and FIRST in an empty history."""
    last = connection.execute(_HEAD).one_or_none()
    return (0, FIRST) if last is None else (last.seq, last.digest or FIRST)


def chain(connection: Connection, after: int = 0, most: int | None = None) -> tuple[Linked, ...]:
    """Events with their digests in their order, later than ``after`` and at most so many."""
    query = select(table).where(table.c.seq > after).order_by(table.c.seq).limit(most)
    rows = (dict(row._asdict()) for row in connection.execute(query))
    return tuple(Linked(digest=row.pop("digest"), event=Event(**row)) for row in rows)


def check_chain(connection: Connection, since: int) -> None:
    """Look whether the chain holds from event ``since`` to its end.  Raises Refused (evidence-edited)."""
    query = select(table.c.seq, table.c.digest).where(table.c.seq < since).order_by(table.c.seq.desc()).limit(1)
    before = connection.execute(query).one_or_none()
    seq, digest = (0, FIRST) if before is None else (before.seq, before.digest)
    found = breaks(chain(connection, seq), digest, seq)
    if found:
        raise edited(found[0].what)


def check_count(connection: Connection, subject: str, count: int) -> None:
    """Look whether a subject has as many events as its row has counted.  Raises Refused (evidence-edited)."""
    found = connection.execute(select(func.count()).where(table.c.subject == subject)).scalar()
    if found != count:
        raise edited(f"{subject} has had {count} events, and the history holds {found}.")


def edited(what: str) -> Refused:
    """The refusal of what somebody changed in the history."""
    return refused(
        rule="evidence-edited",
        what=what,
        why="What is published or landed is decided from the history, and each event's digest covers all before it.",
        would_change="Somebody looks who changed the database; interlock audit names every place.",
    )


def record(connection: Connection, new: NewEvent, at: float) -> Event:
    """Write an event of what is neither job nor train, and changes nothing else; a repeated step is there already."""
    lock_history(connection)
    return find(connection, new.subject, new.attempt, new.step) or append(connection, new, at)


def find(connection: Connection, subject: str, attempt: int, step: str) -> Event | None:
    row = connection.execute(_STEP, {"of": subject, "number": attempt, "name": step}).one_or_none()
    return None if row is None else _event(row)


def newest(connection: Connection, kind: str) -> Event | None:
    """The last event of a kind."""
    query = select(*_COLUMNS).where(table.c.kind == kind).order_by(table.c.seq.desc()).limit(1)
    row = connection.execute(query).one_or_none()
    return None if row is None else _event(row)


def listing(connection: Connection, subject: str | None, after: int) -> tuple[Event, ...]:
    """Events in their order, of one subject or of all, later than ``after``."""
    query, given = (_AFTER, {"after": after}) if subject is None else (_OF_SUBJECT, {"after": after, "of": subject})
    return tuple(_event(row) for row in connection.execute(query, given))


def attempts(connection: Connection, since: float, until: float | None) -> tuple[Event, ...]:
    """Start and end of the attempts that started in that time; no other event is read."""
    start = table.alias()
    query = (
        select(*_COLUMNS)
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
