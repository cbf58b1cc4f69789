"""Trains, folded from their events, and the landings that they make; building and testing a train is the app's work."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import Connection, insert, select, update

from interlock.adapters.store import events, evidence, jobs, seals
from interlock.adapters.store.engine import lock_history
from interlock.adapters.store.tables import landing
from interlock.adapters.store.tables import train as table
from interlock.core.job.events import Event, NewEvent
from interlock.core.job.lifecycle import IllegalTransition, Job, State
from interlock.core.job.reverting import moved
from interlock.core.merge.train import TrainState, fold_train
from interlock.core.problems import Refusal, Refused, UnknownJob, refused
from interlock.ports.history import LandingRow, Signer

PREFIX = "train:"
_ENDED = ("landed", "dissolved")


def number_of(subject: str) -> int:
    return int(subject.removeprefix(PREFIX))


def load(connection: Connection, number: int) -> TrainState:
    """The train that its events make.  Raises UnknownJob."""
    history = events.listing(connection, f"{PREFIX}{number}", 0)
    if not history:
        raise UnknownJob(f"There is no train {number}.", hint="interlock train show lists the trains.")
    return fold_train(history)


def current(connection: Connection) -> TrainState | None:
    """The oldest train that has neither landed nor dissolved."""
    return next(iter(open_ones(connection)), None)


def open_ones(connection: Connection) -> tuple[TrainState, ...]:
    """Trains that have neither landed nor dissolved, the oldest first."""
    query = select(table.c.number).where(table.c.phase.not_in(_ENDED)).order_by(table.c.number)
    return tuple(load(connection, number) for number in connection.execute(query).scalars().all())


def find(connection: Connection, number: int) -> TrainState | None:
    """The train of that number, ended or not."""
    known = connection.execute(select(table.c.number).where(table.c.number == number)).scalar_one_or_none()
    return None if known is None else load(connection, number)


def landing_with(connection: Connection, job: str) -> TrainState | None:
    """The signed train whose sealed candidate holds the job: its commit may be on the default branch already."""
    signed = (train for train in open_ones(connection) if train.phase == "signed")
    return next((train for train in signed if job in {member.job for member in train.landing}), None)


def listing(connection: Connection) -> tuple[TrainState, ...]:
    numbers = connection.execute(select(table.c.number).order_by(table.c.number)).scalars().all()
    return tuple(load(connection, number) for number in numbers)


def record(
    connection: Connection, new: NewEvent, at: float, expect: int | None, barred: Refusal | None = None
) -> Event:
    """Write an event of a train and the phase it leads to; ``barred`` is why this key may not.  Raises as ports.Store.record says."""
    known = _locked(connection, new)
    if known is not None:
        return known
    if barred is not None:
        raise Refused(barred)
    if new.kind == "train.landed":
        raise IllegalTransition("A landing is recorded with its evidence, by land.")
    if new.kind == "train.opened":
        jobs.check_revision(new.subject, _rev(connection, new.subject), expect)
        return _open(connection, new, at)
    before = load(connection, number_of(new.subject))
    jobs.check_revision(new.subject, before.rev, expect)
    return _write(connection, before, new, at)


def land(
    connection: Connection,
    new: NewEvent,
    rows: Sequence[LandingRow],
    at: float,
    signer: Signer,
    listed: Collection[str] = (),
) -> bool:
    """Record that a train's sealed candidate landed, with each landing and each job's end.

    Gives whether it was written now, and not before.  Raises as ports.Store.land says.
    """
    before = {row.job: jobs.load(connection, row.job, lock=True) for row in sorted(rows, key=lambda row: row.job)}
    if _locked(connection, new) is not None:
        return False
    train = _checked(connection, before, new, rows, signer, listed)
    _write(connection, train, new, at)
    for row in rows:
        end = NewEvent(
            subject=row.job,
            step=f"landed:{train.number}",
            kind="job.landed",
            actor=new.actor,
            data={"landed_commit": row.commit, "train": train.number},
        )
        jobs.write(connection, before[row.job], end, at)
        connection.execute(insert(landing).values({**_columns(row), "at": at}))
        _take_back(connection, before[row.job], row, at)
    return True


def check(
    connection: Connection, new: NewEvent, rows: Sequence[LandingRow], signer: Signer, listed: Collection[str]
) -> None:
    """Whether ``land`` would write this now, or did.  Raises as it does."""
    if events.find(connection, new.subject, new.attempt, new.step) is not None:
        return
    before = {row.job: jobs.load(connection, row.job) for row in rows}
    _checked(connection, before, new, rows, signer, listed)


def _checked(
    connection: Connection,
    before: Mapping[str, Job],
    new: NewEvent,
    rows: Sequence[LandingRow],
    signer: Signer,
    listed: Collection[str],
) -> TrainState:
    """The train, when all that its landing rests on is as it was written: sign-offs, events, rows and evidence."""
    train = load(connection, number_of(new.subject))
    _check_train(train, rows)
    _check_whole(train, rows, new)
    events.check_chain(connection, jobs.born(connection, list(before)))
    for job in before.values():
        jobs.check_row(connection, job)
    for row in rows:
        _check_tested(train, row)
    proofs = {(row.commit, row.tree, row.evidence): row for row in rows}  # one for all that rest on it
    for row in proofs.values():
        _prove(connection, train, row, new, signer, listed)
    seals.check(connection, (new.subject, *before), signer, listed)
    return train


def _take_back(connection: Connection, by: Job, row: LandingRow, at: float) -> None:
    """What a landed revert takes back is not landed any more, what that had taken back is again, and so on, in the same transaction."""
    if not by.reverts:
        return
    first = jobs.load(connection, by.reverts["job"], lock=True)
    for of, off in moved(first, lambda job: jobs.load(connection, job, lock=True)):
        state, word, at_commit = (
            (State.LANDED, "reverted", "commit") if off else (State.REVERTED, "restored", "landed_commit")
        )
        if of.state is state:
            event = NewEvent(
                subject=of.id, step=f"{word}:{by.id}", kind=f"job.{word}", data={"by": by.id, at_commit: row.commit}
            )
            jobs.write(connection, of, event, at)


def landings(connection: Connection) -> tuple[LandingRow, ...]:
    query = select(landing).order_by(landing.c.at, landing.c.train, landing.c.job)
    return tuple(LandingRow(**row._asdict()) for row in connection.execute(query))


def _locked(connection: Connection, new: NewEvent) -> Event | None:
    """Lock the train and the history; the event that this step wrote before, if any."""
    connection.execute(select(table.c.rev).where(table.c.number == number_of(new.subject)).with_for_update())
    lock_history(connection)
    return events.find(connection, new.subject, new.attempt, new.step)


def _rev(connection: Connection, subject: str) -> int:
    return connection.execute(select(table.c.rev).where(table.c.number == number_of(subject))).scalar() or 0


def _open(connection: Connection, new: NewEvent, at: float) -> Event:
    if _rev(connection, new.subject):
        raise IllegalTransition(f"{new.subject} is open already.")
    event = events.append(connection, new, at)
    train = fold_train([event])
    connection.execute(insert(table).values(number=train.number, phase=train.phase, rev=train.rev))
    return event


def _write(connection: Connection, before: TrainState, new: NewEvent, at: float) -> Event:
    if before.phase in _ENDED and new.kind != "train.cancelled":  # its last run may end after it
        raise IllegalTransition(f"{new.kind} does not fit a train that is {before.phase}.")
    event = events.append(connection, new, at)
    after = load(connection, before.number)
    guarded = update(table).where(table.c.number == before.number, table.c.rev == before.rev)
    moved = connection.execute(guarded.values(phase=after.phase, rev=after.rev))
    if moved.rowcount != 1:
        jobs.check_revision(new.subject, -1, before.rev)
    return event


def _check_train(train: TrainState, rows: Sequence[LandingRow]) -> None:
    """The train waits for nobody any more, and what lands is what it holds."""
    if train.phase != "signed":
        unsigned = ", ".join(train.unsigned)
        raise refused(
            rule="sign-off",
            what=f"Train {train.number} is {train.phase} and cannot land.",
            why=f"It waits for the sign-off of {unsigned}." if unsigned else "Only a signed train lands.",
            would_change="The combined result is tested and signed off.",
            holders=train.unsigned,
        )
    if sorted(member.job for member in train.landing) != sorted(row.job for row in rows):
        raise Refused(_mismatch(f"Train {train.number} holds other changes than those that would land."))


def _check_whole(train: TrainState, rows: Sequence[LandingRow], new: NewEvent) -> None:
    """Each member's change was found whole in what lands, where the event says what was looked at."""
    whole = new.data.get("whole")
    missing = sorted(row.slug for row in rows if whole is not None and row.job not in whole)
    if missing:
        raise refused(
            rule="landed-otherwise",
            what=f"The change of {', '.join(missing)} is not whole in the commit of train {train.number}.",
            why="What lands holds each member's change, or somebody's work would be undone without a word.",
            would_change="A person looks at the commit, and the train is built and tested again.",
            holders=tuple(missing),
        )


def _check_tested(train: TrainState, row: LandingRow) -> None:
    if row.train != train.number or row.commit != train.candidate or row.tree != row.tested_tree:
        raise Refused(_mismatch(f"{row.slug} would land as {row.commit[:12]}, which is not what was tested."))


def _prove(
    connection: Connection,
    train: TrainState,
    row: LandingRow,
    new: NewEvent,
    signer: Signer,
    listed: Collection[str],
) -> None:
    """Derive again that exactly this commit and tree passed: the row that is cited is of it, and its newest row proves it."""
    known = [number for number, _ in evidence.listing(connection, new.subject, row.commit)]
    if row.evidence not in known:
        raise refused(
            rule="stale-evidence",
            what=f"Evidence {row.evidence} is not of commit {row.commit[:12]} of train {train.number}.",
            why="A landing cites evidence of exactly what lands.",
            would_change="The combined result is tested again.",
        )
    evidence.prove(
        connection,
        new.subject,
        signer=signer,
        commit=row.commit,
        policy_digest=new.data.get("policy_digest"),
        card_oid=None,
        tree=row.tree,
        base=train.base,
        listed=listed,
    )


def _mismatch(what: str) -> Refusal:
    return Refusal(
        rule="tree-mismatch",
        what=what,
        why="Only exactly what was tested may land.",
        would_change="The train is built and tested again.",
    )


def _columns(row: LandingRow) -> dict[str, object]:
    return {
        "job": row.job,
        "slug": row.slug,
        "train": row.train,
        "commit": row.commit,
        "tree": row.tree,
        "tested_tree": row.tested_tree,
        "evidence": row.evidence,
    }
