"""Jobs as a projection of their events: reading them, and recording one more event with the state it leads to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from interlock.adapters.store import changes, events, evidence, seals
from interlock.adapters.store.codec import job_from, plain
from interlock.adapters.store.engine import lock_history
from interlock.adapters.store.tables import job as table
from interlock.adapters.store.tables import slot
from interlock.core.job.audit import differing
from interlock.core.job.events import Event, NewEvent
from interlock.core.job.lifecycle import FINAL, TRANSITIONS, IllegalTransition, Job, State, apply, fold
from interlock.core.problems import Refusal, Refused, Stale, UnknownJob, refused
from interlock.ports.history import Signer

_OPEN: Final = [state.value for state in State if state not in FINAL]
# Put together once, since they are asked most; see events.
_ONE: Final = select(table.c.doc).where(table.c.id == bindparam("job"))
_ONE_LOCKED: Final = _ONE.with_for_update()
_SOME: Final = select(table.c.id, table.c.doc).where(table.c.id.in_(bindparam("jobs", expanding=True)))
_ALL: Final = select(table.c.doc).order_by(table.c.born)
_ALL_OPEN: Final = _ALL.where(table.c.state.in_(_OPEN))


def load(connection: Connection, job: str, *, lock: bool = False) -> Job:
    """One job by its id; with ``lock`` nobody else changes it until the transaction ends.  Raises UnknownJob."""
    doc = connection.execute(_ONE_LOCKED if lock else _ONE, {"job": job}).scalar_one_or_none()
    if doc is None:
        raise _unknown(job)
    return job_from(doc)


def some(connection: Connection, names: Sequence[str]) -> tuple[Job, ...]:
    """Jobs by their ids, in that order.  Raises UnknownJob."""
    found = {row.id: job_from(row.doc) for row in connection.execute(_SOME, {"jobs": list(names)})}
    if lost := [name for name in names if name not in found]:
        raise _unknown(lost[0])
    return tuple(found[name] for name in names)


def _unknown(job: str) -> UnknownJob:
    return UnknownJob(f"There is no job {job}.", hint="interlock status lists the jobs.")


def find(connection: Connection, name: str) -> Job | None:
    """The open job of a slug, else its newest; or the job of that id."""
    query = select(table.c.doc, table.c.state).where((table.c.slug == name) | (table.c.id == name))
    rows = connection.execute(query.order_by(table.c.born)).all()
    opened = [row for row in rows if row.state in _OPEN]
    chosen = (opened or rows)[-1:]
    return job_from(chosen[0].doc) if chosen else None


def listing(connection: Connection, *, open_only: bool) -> tuple[Job, ...]:
    """Jobs in the order of their admission."""
    return tuple(job_from(doc) for doc in connection.execute(_ALL_OPEN if open_only else _ALL).scalars())


def landed_slugs(connection: Connection) -> frozenset[str]:
    query = select(table.c.slug).where(table.c.state == State.LANDED.value)
    return frozenset(connection.execute(query).scalars())


def ends(connection: Connection, slugs: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Which of the slugs have landed, and which have not and were abandoned last."""
    query = select(table.c.slug, table.c.state).where(table.c.slug.in_(sorted(slugs))).order_by(table.c.born)
    rows = connection.execute(query).all()
    landed = frozenset(row.slug for row in rows if row.state == State.LANDED)
    newest = {row.slug: row.state for row in rows}
    abandoned = frozenset(slug for slug, state in newest.items() if state == State.ABANDONED)
    return landed, abandoned - landed


def begin(connection: Connection, job: Job, event: Event) -> None:
    """The row of a job that was just admitted, and its draft."""
    connection.execute(
        insert(table).values(
            {
                "id": job.id,
                "slug": job.slug,
                "class": job.class_name,
                "state": job.state.value,
                "rev": job.rev,
                "born": event.seq,
                "doc": plain(job),
            }
        )
    )
    changes.open_draft(connection, job)


def record(
    connection: Connection,
    new: NewEvent,
    at: float,
    expect: int | None,
    signer: Signer,
    listed: Collection[str] = (),
    barred: Refusal | None = None,
) -> Event:
    """Write an event of a job and what follows from it; ``barred`` is why this key may write none that could land.

    Raises as ports.Store.record says.
    """
    before = load(connection, new.subject, lock=True)
    lock_history(connection)
    known = events.find(connection, new.subject, new.attempt, new.step)
    if known is not None:
        return known
    check_revision(new.subject, before.rev, expect)
    if barred is not None and before.state not in FINAL and new.kind != "job.abandoned":
        raise Refused(barred)
    if new.kind == "job.landed":
        raise IllegalTransition("A landing is recorded with its evidence, by the train that landed.")
    if new.kind == "job.published":
        _require_proof(connection, before, new, signer, listed)
    if new.actor != "interlock":
        _refuse_landing(connection, before, new)
    return write(connection, before, new, at)


def write(connection: Connection, before: Job, new: NewEvent, at: float) -> Event:
    """Append the event and move the row from exactly the state that was read; the caller holds both locks."""
    event = events.append(connection, new, at)
    after = apply(before, event)
    guarded = update(table).where(table.c.id == before.id, table.c.rev == before.rev)
    moved = connection.execute(guarded.values(state=after.state.value, rev=after.rev, doc=plain(after)))
    if moved.rowcount != 1:
        check_revision(before.id, -1, before.rev)
    if after.state in FINAL:
        connection.execute(delete(slot).where(slot.c.job == before.id))
    if "approve" in new.data:
        changes.approve(connection, event)
    changes.follow(connection, after, event)
    return event


def born(connection: Connection, jobs: Sequence[str]) -> int:
    """The number of the event that began the first of these jobs."""
    return connection.execute(select(func.min(table.c.born)).where(table.c.id.in_(jobs))).scalar() or 0


def check_row(connection: Connection, job: Job) -> None:
    """Look whether a job's row is what its events make of it, what people accepted included.  Raises Refused (evidence-edited)."""
    events.check_count(connection, job.id, job.rev)
    try:
        other = differing(job, fold(events.listing(connection, job.id, 0)))
    except (IllegalTransition, LookupError, TypeError, ValueError, AttributeError):
        other = ("events",)
    if other:
        raise events.edited(f"The row of {job.slug} is not what its events make of it: {', '.join(other)}.")


def check_revision(subject: str, found: int, expected: int | None) -> None:
    """Raise Stale unless the subject stands where the caller saw it; None expects nothing."""
    if expected is not None and found != expected:
        raise Stale(f"{subject} moved on since it was read.", hint="The next look decides anew.")


def _refuse_landing(connection: Connection, job: Job, new: NewEvent) -> None:
    """A person does not take a change out of a signed train: its commit may be on the default branch already."""
    if job.state is not State.READY or TRANSITIONS[new.kind][1] in (None, State.READY):
        return
    from interlock.adapters.store import trains

    if (train := trains.landing_with(connection, job.id)) is not None:
        raise refused(
            rule="landing",
            what=f"{job.slug} is in train {train.number}, which is signed off and landing.",
            why="Its commit may be on the default branch already.",
            would_change="interlock run finishes the landing.",
            holders=tuple(member.slug for member in train.landing),
        )


def _require_proof(connection: Connection, job: Job, new: NewEvent, signer: Signer, listed: Collection[str]) -> None:
    """A change is published only on evidence of its head; the proof is derived here, whatever the caller says."""
    head = new.data.get("head", job.head)
    if head is None:
        raise IllegalTransition(f"{job.slug} has no commit that could be published.")
    events.check_chain(connection, born(connection, [job.id]))
    check_row(connection, job)
    evidence.prove(
        connection,
        job.id,
        signer=signer,
        commit=head,
        policy_digest=new.data.get("policy_digest"),
        card_oid=job.card_oid,
        tree=new.data.get("tree", job.tree),
        listed=listed,
    )
    seals.check(connection, [job.id], signer, listed)
