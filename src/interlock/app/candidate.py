"""A candidate of the train: the members merged in the policy's style with words for people, and the full suite on that tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from interlock.app.base import View
from interlock.app.cardjson import from_json
from interlock.app.known_pairs import hints
from interlock.app.members import members
from interlock.app.revert_effects import trailers
from interlock.app.stopping import OfNoUse, Usefulness
from interlock.app.together import check_together, train_level
from interlock.core.contract.levels import same_user
from interlock.core.gate.accepted import excuse
from interlock.core.job.events import NewEvent
from interlock.core.job.evidence import Evidence, Verdict
from interlock.core.job.lifecycle import Job
from interlock.core.merge.queue import Set
from interlock.core.merge.train import Member, Ran, TrainState
from interlock.core.problems import Refused
from interlock.ports.bundle import Ports
from interlock.ports.repository import Merged, TextConflict


def try_set(ports: Ports, view: View, train: TrainState, jobs: Set) -> bool:
    """Merge these members on the train's base and run the full suite on that tree; what came out is an event of the train.

    A set that was red is run again on the very same commit.  Tells a clash as an event, too, and a run that was ended since it was of
    no use any more: False for that one, since who left, the next look finds.
    """
    tried = train.tried(jobs) + 1
    begun = {"members": list(jobs), "base": train.base}
    _write(ports, train, f"runs:{train.base[:12]}:{_name(jobs)}:{tried}", "train.runs", begun)
    before = train.last_of(jobs)
    wanted = members(train, jobs)
    if before is not None and before.base == train.base and not before.under:
        merged: Merged | TextConflict = Merged(commit=before.commit, tree=before.tree, diff=before.diff)
    else:
        merged = build(ports, view, train.base, wanted)
    if isinstance(merged, TextConflict):
        heads = [member.head for member in wanted]
        clashing = jobs[: heads.index(merged.head) + 1]
        data = {"members": list(clashing), "tried": list(jobs), "paths": list(merged.paths), "base": train.base}
        _write(ports, train, f"clash:{train.base[:12]}:{_name(clashing)}", "train.clash", data)
        return True
    try:
        data = _run(ports, view, train, merged, jobs)
    except OfNoUse as why:
        ports.narrate(f"train {train.number}: the run of {_slugs(train, jobs)} is cancelled, since {why}.")
        cancel(ports, train, train.base, jobs, tried, str(why))
        return False
    _write(ports, train, f"ran:{train.base[:12]}:{_name(jobs)}:{tried}", "train.ran", data)
    return True


def cancel(ports: Ports, train: TrainState, base: str, jobs: Set, number: int, why: str) -> None:
    """Put on the record that the ``number``-th run of a set on a base says nothing, and never will."""
    data = {"members": list(jobs), "base": base, "why": why}
    _write(ports, train, f"cancelled:{base[:12]}:{_name(jobs)}:{number}", "train.cancelled", data)


def _run(ports: Ports, view: View, train: TrainState, merged: Merged, jobs: Set) -> dict[str, Any]:
    """The data of the event that tells what a run came to."""
    began = ports.clock.now()
    use = Usefulness(ports, view, train, jobs)
    with a_slot(ports, view.policy.train.slots) as slot:
        verdicts, made = check_together(ports, view, train, merged, jobs, slot=slot, stop=use.ask)
    use.check()
    verdicts = _excused(ports, verdicts, jobs)
    green = bool(verdicts) and all(verdict.state != "refused" for verdict in verdicts)
    number = ports.store.add_evidence(_evidence(ports, view, train, merged, jobs, verdicts))
    failed = _failed(verdicts)
    earlier = [name for run in train.ran if run.tree == merged.tree and not run.green for name in run.failed]
    data: dict[str, Any] = {
        "members": list(jobs),
        "green": green,
        "base": train.base,
        "commit": merged.commit,
        "tree": merged.tree,
        "diff": merged.diff,
        "evidence": number,
        "runs": made,
        "seconds": round(ports.clock.now() - began, 3),
        "flaky": list(dict.fromkeys(earlier)) if green else [],
        "failed": failed,
    }
    if green:
        return data
    ports.narrate(f"train {train.number}: {_slugs(train, jobs)} is red: {', '.join(failed) or 'no check ran'}")
    return data | hints(ports, view, train)


@contextmanager
def a_slot(ports: Ports, slots: int) -> Iterator[int]:
    """A slot that no other run of this repository has, by its number; more runs than slots wait for the last one."""
    for number in range(1, slots + 1):
        with ExitStack() as stack:
            try:
                stack.enter_context(ports.records.lock(f"train-slot-{number}", wait=None if number == slots else 0))
            except Refused:
                continue
            yield number
            return


def _failed(verdicts: Sequence[Verdict]) -> list[str]:
    """What is red, by name: tests where they are known, else the command."""
    refused = [verdict for verdict in verdicts if verdict.state == "refused"]
    return [name for verdict in refused for name in (verdict.tests or (verdict.run.run,))]


def _excused(ports: Ports, verdicts: tuple[Verdict, ...], jobs: Sequence[str]) -> tuple[Verdict, ...]:
    """What people accepted for each of these members, one by one, applied to the verdicts on their combined tree."""
    some = ports.store.jobs_of(jobs)
    waivers = {rule: by for job in some for rule, by in job.waivers.items()}
    return excuse(verdicts, waivers, {test for job in some for test in job.waived_tests})


def _evidence(
    ports: Ports, view: View, train: TrainState, merged: Merged, jobs: Set, verdicts: tuple[Verdict, ...]
) -> Evidence:
    level = train_level(ports, view, jobs)
    return Evidence(
        subject=f"train:{train.number}",
        attempt=train.rev,
        commit=merged.commit,
        tree=merged.tree,
        base=train.base,
        base_tree=ports.repo.tree_of(train.base),
        card_oid="",
        policy_digest=view.policy_digest,
        place="fresh",
        level=level,
        same_user=same_user(level),
        verdicts=verdicts,
    )


def _write(ports: Ports, train: TrainState, step: str, kind: str, data: dict[str, Any]) -> None:
    """Write what a run told; it is a fact of its base, whatever became of the train meanwhile."""
    ports.store.record(NewEvent(subject=f"train:{train.number}", step=step, kind=kind, data=data))


def _name(jobs: Set) -> str:
    return "+".join(jobs)


def _slugs(train: TrainState, jobs: Set) -> str:
    return ", ".join(member.slug for member in members(train, jobs)) or "the default branch"


# ---------------------------------------------------------------- merging
def build(ports: Ports, view: View, base: str, some: Sequence[Member]) -> Merged | TextConflict:
    """The members on a base in the policy's style, which is decided here, before anything is tested, and never after."""
    jobs = ports.store.jobs_of([member.job for member in some])
    told = [_Told.of(ports, member, job) for member, job in zip(some, jobs, strict=True)]
    each = [one.alone() for one in told]
    return ports.repo.merge(
        base,
        [member.head for member in some],
        message=each[0] if len(each) == 1 else _together(told),
        style=view.policy.train.style,
        each=each,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What the messages say of one member: what it is for, whose it is, and the lines at the end, which programs read."""

    slug: str
    goal: str
    owner: str
    asked: str
    trailers: tuple[str, ...]

    @classmethod
    def of(cls, ports: Ports, member: Member, job: Job) -> _Told:
        return cls(
            slug=member.slug,
            goal=from_json(job.card).subject,
            owner=job.owner,
            asked=member.owner or job.owner,
            trailers=_trailers(ports, job, member.head),
        )

    def alone(self) -> str:
        """The message of this member by itself."""
        return "\n".join([self.goal, "", f"{self.slug}, for {self.owner}", "", *self.trailers]) + "\n"


def _together(some: Sequence[_Told]) -> str:
    """The message of several."""
    names = ", ".join(one.slug for one in some)
    subject = f"Land {names}" if len(names) <= 60 else f"Land {len(some)} changes"
    body = [f"{one.slug}: {one.goal} ({one.asked})" for one in some]
    return "\n".join([subject, "", *body, "", *(line for one in some for line in one.trailers)]) + "\n"


def _trailers(ports: Ports, job: Job, head: str) -> tuple[str, ...]:
    rows = ports.store.evidence(job.id, commit=head)
    proof = [f"Interlock-Evidence: {job.slug} {rows[-1][0]}"] if rows else []
    told = job.reverts
    reverts = trailers(ports, ports.store.job(told["job"]), told["commit"]) if told else ()
    return (f"Interlock-Job: {job.id}", f"Interlock-Card: {job.slug}@{job.card_oid[:12]}", *reverts, *proof)


def green_run(train: TrainState, jobs: Set) -> Ran | None:
    """The newest run over a set, when it is green and its commit stands on the train's base."""
    run = train.last_of(jobs)
    return run if run is not None and run.green and not run.under and run.base == train.base else None
