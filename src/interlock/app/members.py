"""Who is in a train: what a ready change is as a member, whose proof still holds, and who has to leave; testing is candidate's work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from interlock.app import branches
from interlock.app.base import View, card_file, landed_slugs
from interlock.app.publish import prove
from interlock.app.train_exit import leave
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import Job, State
from interlock.core.merge.queue import Set
from interlock.core.merge.train import Member, TrainState
from interlock.core.plan import Snapshot
from interlock.core.problems import Refusal
from interlock.ports.bundle import Ports


def depends_on(jobs: Sequence[Job]) -> dict[str, tuple[str, ...]]:
    """The slugs that must land before each job, by the job's slug, as its card said when the job took it over."""
    return {job.slug: tuple(job.card["depends_on"]) for job in jobs}


def member_of(view: View, job: Job) -> Member:
    """A ready job as a member; its owner is asked unless its class or the train says that nobody is."""
    its_class = view.task_class(job.class_name)
    asked = its_class.sign_off or view.policy.train.sign_off
    return Member(
        job=job.id,
        slug=job.slug,
        head=job.head or "",
        owner=job.owner if asked == "owner" else None,
        solo=its_class.solo,
        since=job.admitted_at,
    )


def as_judged(ports: Ports, view: View, jobs: Sequence[Job]) -> tuple[Member, ...]:
    """Jobs as members that join a train, with where their branches stood when they were judged."""
    return tuple(replace(member_of(view, job), stood=branches.stood(ports, job)) for job in jobs)


def queue_snapshot(
    ports: Ports, view: View, *, trains: tuple[TrainState, ...] | None = None, running: frozenset[str] = frozenset()
) -> Snapshot:
    """All that the plan looks at, read from the store, under the policy of a view."""
    jobs = ports.store.jobs()
    known = ports.store.trains() if trains is None else trains
    ready = [job for job in jobs if job.state is State.READY and view.policy.find_class(job.class_name)]
    return Snapshot(
        jobs=jobs,
        trains=tuple(train for train in known if train.open),
        next_train=max((train.number for train in known), default=0) + 1,
        landed_slugs=landed_slugs(ports, view),
        depends_on=depends_on(jobs),
        owners={job.id: member_of(view, job).owner for job in ready},
        approved={row.job: row.ready_at for row in ports.store.changes() if row.ready_at is not None},
        policy=view.policy.train,
        running=running,
        parallel_agents=view.policy.parallel_agents,
    )


def tell_unknown_classes(ports: Ports, view: View) -> None:
    """Make ready changes wait whose class the policy has no more; they hold up nobody else."""
    for job in ports.store.jobs():
        if job.state is State.READY and not view.policy.find_class(job.class_name):
            what = f"The class {job.class_name} of {job.slug} is no longer in the policy."
            ask = f"Put {job.class_name} back into interlock.yaml on the default branch, then resume."
            data = {"rule": "class", "what": what, "ask": ask}
            ports.store.record(NewEvent(subject=job.id, step=f"no-class:{job.rev}", kind="job.waits", data=data))


def members(train: TrainState, jobs: Set) -> list[Member]:
    """The members of these jobs, in the set's order."""
    known = {member.job: member for member in train.members}
    return [known[job] for job in jobs]


def doubtful(ports: Ports, view: View, some: Sequence[Member], *, fetched: bool = True) -> dict[Member, str]:
    """Members that are not ready at that head any more, are held, or whose proof does not hold any more, with the why.

    What stands on their branches is looked at only when it was ``fetched`` just now; else see ``elsewhere``.
    """
    asked = [(view.base.oid, card_file(member.slug)) for member in some]
    cards = [blob.oid if blob else None for blob in ports.repo.read_many(asked)]
    moved = branches.moved(ports, some) if fetched else {}
    found = {
        member: moved.get(member) or _why_not(ports, view, member, card_oid)
        for member, card_oid in zip(some, cards, strict=True)
    }
    return {member: why for member, why in found.items() if why}


def elsewhere(ports: Ports, view: View, some: Sequence[Member]) -> bool:
    """Whether the remote says at this moment that the default branch or a member's own branch stands elsewhere than known."""
    own = [job.branch for job in ports.store.jobs_of([member.job for member in some])]
    stands = ports.repo.stand([view.base.branch, *own])
    if stands.get(view.base.branch) != view.base.oid:
        return True
    tips = zip(some, (stands.get(branch) for branch in own), strict=True)
    return any(tip not in (None, member.head, member.stood) for member, tip in tips)


def _why_not(ports: Ports, view: View, member: Member, card_oid: str | None) -> str:
    job = ports.store.job(member.job)
    if job.state is not State.READY or job.held or job.head != member.head:
        return "changed"
    if not view.policy.find_class(job.class_name):
        return "changed"
    return _stale(ports, view, job, card_oid)


def _stale(ports: Ports, view: View, job: Job, card_oid: str | None) -> str:
    """Why a ready job has to be verified again, or nothing."""
    if (card_oid or "") != job.card_oid and not job.reverts:
        return "card-changed"
    if job.base != view.base.oid and not ports.repo.is_ancestor(job.base, view.base.oid):
        return "base-rewound"
    return "stale-evidence" if isinstance(prove(ports, view, job), Refusal) else ""


def put_out(ports: Ports, train: TrainState, doubts: Mapping[Member, str]) -> None:
    """Take members out of the train; those whose proof no longer holds are verified again."""
    for member, why in doubts.items():
        job = ports.store.job(member.job)
        if why in (branches.NEW_COMMITS, branches.REPLACED):
            branches.tell(ports, member, why)
        elif why != "changed" and job.state is State.READY:
            step = f"{why}:{job.rev}"
            ports.store.record(NewEvent(subject=job.id, step=step, kind="job.verify-again", data={"why": why}))
    leave(ports, train, tuple(doubts), "changed")
