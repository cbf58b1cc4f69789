"""The queue that the brain decides on, as a train's state and the jobs make it; deciding is speculation's work, doing the app's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from interlock.core.contract.policy import Train
from interlock.core.job.lifecycle import Job
from interlock.core.merge.queue import Land, Move, Out, Queue, Queued, RedBase, Result, Set, Test, retries_for
from interlock.core.merge.train import Member, TrainState

NEW_MEMBERS = 64
"""How many changes one train lands before it takes nobody new, so that its history stays short enough to be read at each look."""


def queue_of(
    train: TrainState, jobs: Iterable[Job], needs: Mapping[str, tuple[str, ...]], policy: Train, running: frozenset[Set]
) -> Queue:
    """The queue of a train in test; ``needs`` are the slugs that must land before a slug, ``running`` sets on its present base."""
    open_jobs = {job.slug: job.id for job in jobs}
    members = tuple(
        Queued(
            job=member.job,
            since=member.since,
            solo=member.solo,
            after=frozenset(open_jobs[slug] for slug in needs.get(member.slug, ()) if slug in open_jobs),
        )
        for member in train.members
    )
    return Queue(
        members=members,
        results=results(train),
        running=running,
        clashes=dict(train.clashes),
        suspects=frozenset(frozenset((pair["a"], pair["b"])) for pair in train.suspects),
        green_alone=frozenset(train.alone),
        slots=policy.slots,
        batch=policy.batch,
        window=train.window or policy.window,
        retries=retries_for(policy.retries, *train.seen),
    )


def stranded(train: TrainState, jobs: Iterable[Job], needs: Mapping[str, tuple[str, ...]]) -> tuple[Member, ...]:
    """Members that need a change which has not landed and is not in the train, or which is itself such a member.

    They leave: a train that holds nobody else would never end, and no other one is opened beside it.
    """
    open_jobs = {job.slug for job in jobs}
    inside = {member.slug for member in train.members}
    while lost := {slug for slug in inside if not open_jobs.intersection(needs.get(slug, ())) <= inside}:
        inside -= lost
    return tuple(member for member in train.members if member.slug not in inside)


def results(train: TrainState) -> dict[Set, Result]:
    """What the runs on the train's present base said, set by set."""
    found: dict[Set, Result] = {}
    for run in train.ran:
        before = found.get(run.members)
        reds = (before.reds if before else 0) + (0 if run.green else 1)
        found[run.members] = Result(green=run.green, reds=reds, under=run.under)
    return found


def due(train: TrainState, moves: Collection[Move]) -> Move | None:
    """The first move to carry out now, or None where nothing is due but runs that are under way.

    Where owners are asked, they are asked once, for all that can land: who goes out goes first, then what is still to be
    tested is, and only then is it sealed.
    """
    asked = any(member.owner for member in train.members)
    order: tuple[type[Move], ...] = (Out, RedBase, Test, Land) if asked else (Land, Out, RedBase, Test)
    for kind in order:
        for move in moves:
            if isinstance(move, kind):
                return move
    return None


def tests(moves: Collection[Move]) -> tuple[Test, ...]:
    """The runs among the moves, in their order."""
    return tuple(move for move in moves if isinstance(move, Test))


def under_way(train: TrainState) -> frozenset[Set]:
    """The sets in test, as they are on the present base, as the train itself has it written down."""
    found = (present(train, each.base, each.members) for each in train.running)
    return frozenset(members for members in found if members is not None)


def present(train: TrainState, base: str, members: Set) -> Set | None:
    """A set that was put together on an earlier base of the train, as it is on the present one; None where it is void."""
    bases = [past for past, _ in train.past]
    if base == train.base:
        return members
    if base not in bases:
        return None
    rest = members
    for _, landed in train.past[bases.index(base) :]:
        if rest[: len(landed)] != landed:
            return None
        rest = rest[len(landed) :]
    return rest
