"""Changes that need another one which is not on the default branch: who that is, and that they are told; their order is core.merge's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from interlock.app.base import View, landed_slugs
from interlock.app.train_exit import leave, make_wait
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import Job, State
from interlock.core.merge.train import Member, TrainState
from interlock.ports.bundle import Ports

_ASK = "Land it again (dispatch its card), or take it out of depends_on on the default branch, then resume; or abandon this one."


def unmet(ports: Ports, view: View, members: Sequence[Member]) -> dict[Member, tuple[str, ...]]:
    """Members that need slugs which neither stand in the default branch's history nor before them, with those slugs."""
    before = set(landed_slugs(ports, view))
    found: dict[Member, tuple[str, ...]] = {}
    jobs = ports.store.jobs_of([member.job for member in members])
    for member, job in zip(members, jobs, strict=True):
        missing = tuple(slug for slug in _needs(job) if slug not in before)
        if missing:
            found[member] = missing
        else:
            before.add(member.slug)
    return found


def put_out(ports: Ports, train: TrainState, found: Mapping[Member, tuple[str, ...]]) -> None:
    """Take such members out of a train; one that needs what nobody works on waits for a person, the others for that work."""
    at_work = {job.slug for job in ports.store.jobs()}
    leave(ports, train, tuple(found), "depends-on")
    for member, missing in found.items():
        if lost := tuple(slug for slug in missing if slug not in at_work):
            make_wait(ports, member, "depends-on", _what(member.slug, lost), _ASK, missing=list(lost))


def tell_needy(ports: Ports) -> None:
    """Make ready changes in no train wait that need what neither stands on the default branch nor is being worked on."""
    inside = {member.job for train in ports.store.open_trains() for member in train.members}
    jobs = ports.store.jobs()
    landed = ports.repo.landed_slugs(ports.repo.last_base().oid)  # read after the jobs: what landed meanwhile is in it
    known = landed | {job.slug for job in jobs}
    for job in jobs:
        lost = tuple(slug for slug in _needs(job) if slug not in known)
        if lost and job.state is State.READY and job.id not in inside:
            data = {"rule": "depends-on", "what": _what(job.slug, lost), "ask": _ASK, "detail": {"missing": list(lost)}}
            ports.store.record(NewEvent(subject=job.id, step=f"needs:{job.rev}", kind="job.waits", data=data))


def _needs(job: Job) -> tuple[str, ...]:
    return tuple(job.card.get("depends_on", ()))


def _what(slug: str, missing: tuple[str, ...]) -> str:
    return f"{slug} needs {', '.join(missing)}, which is not on the default branch: it was taken back, or never landed."
