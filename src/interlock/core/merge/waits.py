"""Why each ready change has not landed yet, and whether nothing has been started for too long; telling people is the app's work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from interlock.core.contract.policy import Train
from interlock.core.job.lifecycle import Job, State
from interlock.core.merge.train import TrainState

RED: Final = frozenset({"red-alone", "red-together", "red-base", "text-conflict", "check-failed", "tests-failed"})
_SHARE: Final = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """Nothing was started for ``seconds``, although something waits; ``why`` says of each change, by slug, what it waits for."""

    seconds: float
    limit: float
    since: float
    why: Mapping[str, str]


def reasons(
    jobs: Sequence[Job], trains: Iterable[TrainState], needs: Mapping[str, tuple[str, ...]], slots: int
) -> dict[str, str]:
    """Why each ready job waits, by its id; ``jobs`` are the open ones, ``trains`` the open ones, ``needs`` slugs by slug."""
    stopped = [job.slug for job in jobs if job.waiting and job.waiting.rule == "landed-otherwise"]
    of_train = {member.job: train for train in trains for member in train.members}
    by_slug = {job.slug: job for job in jobs}
    found: dict[str, str] = {}
    for job in jobs:
        if job.state is not State.READY:
            continue
        if job.held:
            found[job.id] = f"held: {job.held}"
        elif stopped:
            found[job.id] = f"stopped by what landed otherwise than tested: {', '.join(stopped)} (a person decides)"
        elif job.id in of_train:
            found[job.id] = _inside(job, of_train[job.id], slots)
        else:
            found[job.id] = _outside(job, by_slug, of_train.values(), needs)
    return found


def _inside(job: Job, train: TrainState, slots: int) -> str:
    if train.phase == "signed":
        return f"train {train.number} is green and lands"
    if train.phase == "tested":
        return f"waits for the sign-off of {', '.join(train.unsigned)}"
    slugs = {member.job: member.slug for member in train.members}
    mine = [run for run in train.running if job.id in run.members]
    if mine:
        others = [slugs.get(each, each) for each in mine[-1].members if each != job.id]
        return f"is in test with {', '.join(others)}" if others else "is in test by itself"
    red = next((run for run in reversed(train.ran) if job.id in run.members and not run.green), None)
    if red is not None:
        names = ", ".join(slugs.get(each, each) for each in red.members if each != job.id)
        return f"who makes the run with {names} red is being found" if names else "is red, and tested once more"
    if len(train.running) >= slots:
        return "waits for a slot"
    return f"is in train {train.number}, which is to be tested"


def _outside(
    job: Job, by_slug: Mapping[str, Job], trains: Iterable[TrainState], needs: Mapping[str, tuple[str, ...]]
) -> str:
    blockers = [by_slug[slug] for slug in needs.get(job.slug, ()) if slug in by_slug]
    for blocker in blockers:
        if blocker.waiting is not None:
            failing = "failing " if blocker.waiting.rule in RED else ""
            return f"blocked by {failing}{blocker.slug} ({blocker.waiting.rule})"
    if blockers:
        return f"waits for {', '.join(each.slug for each in blockers)} to land"
    in_test = next((train for train in trains if train.phase in ("testing", "signed")), None)
    if in_test is not None:
        return f"waits for a slot: train {in_test.number} is {in_test.phase}"
    return "waits for the next train: interlock run opens it"


def limit_of(trains: Iterable[TrainState], policy: Train) -> float:
    """Seconds without a start that are too long: twice what nearly every run took, and at least the policy's."""
    times = sorted(second for train in trains for second in train.times)
    usual = times[min(len(times) - 1, int(len(times) * _SHARE))] if times else 0.0
    return max(2 * usual, policy.stalled)


def stall(
    jobs: Sequence[Job], trains: Sequence[TrainState], needs: Mapping[str, tuple[str, ...]], policy: Train, now: float
) -> Stall | None:
    """Whether something waits and nothing was started for too long; ``trains`` are all, ended ones too.

    As long as no run has ended yet, one that is under way may take what its checks may take.
    """
    open_ones = [train for train in trains if train.open]
    waiting = [job for job in jobs if job.state is State.READY and not job.held]
    if not waiting:
        return None
    last = max([*(job.since for job in waiting), *(train.last for train in trains)])
    limit = limit_of(trains, policy)
    if any(train.running for train in open_ones) and not any(train.times for train in trains):
        limit = max(limit, sum(check.timeout for check in policy.checks))
    if now - last <= limit:
        return None
    why = reasons(jobs, open_ones, needs, policy.slots)
    told = {job.slug: why[job.id] for job in waiting}
    return Stall(seconds=now - last, limit=limit, since=last, why=told)
