"""Care: take a task's tree away after a snapshot that can be undone, and bring it back; nothing is ever forced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from interlock.app.database import release_of_job
from interlock.app.down import stop_services
from interlock.app.isolate import place_of
from interlock.app.return_tree import bring_back
from interlock.app.trail import Trail, holder, kept, stands, trail_of
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import FINAL, Job, State
from interlock.core.problems import InterlockError, Misuse, refused
from interlock.ports.bundle import Ports
from interlock.ports.isolation import SnapshotTaken

_NONE: Final = SnapshotTaken(ref="", oid="", modified=(), untracked=(), ignored=(), left_out=(), detached=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """What was taken away, where its snapshot is, and the command that brings it back."""

    job: Job
    snapshot: SnapshotTaken

    def as_json(self) -> dict[str, Any]:
        return {
            "slug": self.job.slug,
            "job": self.job.id,
            "snapshot": self.snapshot.ref,
            "kept": [*self.snapshot.modified, *self.snapshot.untracked, *self.snapshot.ignored],
            "left_out": list(self.snapshot.left_out),
        }


def clean(ports: Ports, slug: str, actor: str, *, approve: bool = False) -> Cleaned:
    """Take the tree of a closed job away, after a snapshot of everything in it.

    The snapshot is on the record before anything is removed, so the same call after a kill goes on, and restore
    finds it.  Refused (alive) while a process lives in it, (in-flight) while the job is open, (unsaved) when it
    holds uncommitted work or files too large for the snapshot and nobody approved by name.
    """
    with _care(ports, _closed(ports, slug)) as job:
        trail = trail_of(ports, job)
        stop_services(ports, job)
        if stands(ports, job):
            if trail.phase == "returning":
                raise Misuse(f"The tree of {slug} is half way back.", hint=f"interlock restore {slug}, then clean it.")
            snapshot = _keep(ports, job, actor, approve=approve)
        elif trail.phase == "away" and not trail.pending:
            return Cleaned(job=job, snapshot=trail.snapshot or _NONE)
        else:
            snapshot = _kept_before(trail)
        _take_away(ports, job, snapshot, actor)
        return Cleaned(job=job, snapshot=snapshot)


def restore(ports: Ports, slug: str, actor: str) -> Job:
    """Bring the tree of a cleaned job back, with branch, uncommitted and ignored files, and ports that are its own.

    The same call after a kill goes on.  Raises Misuse without a snapshot or where a tree stands, Refused
    (name-taken, ports, locked).
    """
    found = ports.store.find(slug)
    if found is None:
        raise _no_snapshot(slug)
    with _care(ports, found) as job:
        trail = trail_of(ports, job)
        if trail.snapshot is None:
            raise _no_snapshot(slug)
        _refuse_standing(ports, job, trail)
        if trail.phase == "kept":
            _take_away(ports, job, trail.snapshot, actor)
        bring_back(ports, job, trail.snapshot.ref, actor, again=trail.phase == "returning")
        return ports.store.job(job.id)


@contextmanager
def _care(ports: Ports, found: Job) -> Iterator[Job]:
    """The job as it is while nobody else takes its tree away or brings it back.  Raises Refused (locked)."""
    with ports.records.lock(f"care-{found.id}", wait=0):
        yield ports.store.job(found.id)


def _keep(ports: Ports, job: Job, actor: str, *, approve: bool) -> SnapshotTaken:
    """A snapshot of a tree that stands, on the record."""
    _refuse_occupied(ports, job)
    snapshot = ports.workspaces.snapshot(place_of(job), _ref(job))
    _refuse_unsaved(job, snapshot, approve=approve)
    text = f"Snapshot taken; the removal is approved by {actor}." if approve else "Snapshot taken; nothing is unsaved."
    data = {"text": text, **kept(snapshot)}
    ports.store.record(NewEvent(subject=job.id, step=f"snapshot:{job.rev}", kind="job.note", actor=actor, data=data))
    return snapshot


def _kept_before(trail: Trail) -> SnapshotTaken:
    """Of a tree that is gone: the snapshot that its removal, killed half way, had taken; else none."""
    return trail.snapshot if trail.phase == "kept" and trail.snapshot else _NONE


def _take_away(ports: Ports, job: Job, snapshot: SnapshotTaken, actor: str) -> None:
    """Remove the tree, or finish that; of one that was gone before, only the registration.  Idempotent up to its event."""
    if job.workspace is not None and holder(ports, job) is None:
        ports.workspaces.remove(place_of(job), snapshot.ref or _ref(job))
    pending = _release_database(ports, job)
    ports.blocks.release(job.id)
    gone = "The folder was gone; its registration was taken away."
    data: dict[str, Any] = {"text": "Tree taken away." if snapshot.ref else gone, "cleaned": True, **pending}
    rev = ports.store.job(job.id).rev
    ports.store.record(NewEvent(subject=job.id, step=f"clean:{rev}", kind="job.note", actor=actor, data=data))


def _release_database(ports: Ports, job: Job) -> dict[str, Any]:
    """Archive or drop the job's database; where that cannot be done now, the rest goes on and clean tries it again."""
    try:
        kept_at = release_of_job(ports, job)
    except InterlockError as fault:
        ports.narrate(
            f"{job.slug}: its database stays for now: {fault.message} interlock clean {job.slug} tries again."
        )
        return {"database_pending": fault.message}
    return {"database": kept_at} if kept_at else {}


def _ref(job: Job) -> str:
    return f"refs/interlock/trash/{job.slug}/{job.id}-{job.rev}"


def _no_snapshot(slug: str) -> Misuse:
    return Misuse(f"There is no snapshot of {slug}.", hint="interlock status --all lists the jobs.")


def _refuse_standing(ports: Ports, job: Job, trail: Trail) -> None:
    place = place_of(job)
    if (other := holder(ports, job)) is not None:
        raise Misuse(
            f"{place.path} is the folder of job {other.id} now, so {job.id} cannot come back there.",
            hint=f"interlock clean {other.id}, then restore again.",
        )
    if trail.phase != "returning" and ports.workspaces.exists(place):
        raise Misuse(f"The tree of {job.slug} is there already: {place.path}.", hint=f"interlock show {job.slug}")


def _closed(ports: Ports, slug: str) -> Job:
    job = ports.store.find(slug)
    if job is None:
        raise Misuse(f"There is no job of {slug}.", hint="interlock status --all lists the jobs.")
    if job.state not in FINAL:
        raise refused(
            rule="in-flight",
            what=f"The job {job.id} of {job.slug} is {job.state}, so its tree is in use.",
            why="A tree is taken away only after its change landed or was abandoned.",
            would_change=f"Land it, or interlock decide {job.slug} --abandon --reason TEXT.",
            holders=(job.id,),
        )
    return job


def _refuse_occupied(ports: Ports, job: Job) -> None:
    place = place_of(job)
    living = ports.workspaces.occupants(place)
    if not living:
        return
    raise refused(
        rule="alive",
        what=f"A process lives in {place.path}.",
        why="Taking the tree away would pull it from under that process.",
        would_change="End the process, or leave its shell, then clean again.",
        holders=living,
    )


def _refuse_unsaved(job: Job, snapshot: SnapshotTaken, *, approve: bool) -> None:
    unsaved = (*snapshot.modified, *snapshot.untracked, *snapshot.left_out, *snapshot.detached)
    if approve or not unsaved:
        return
    raise refused(
        rule="unsaved",
        what=f"The tree of {job.slug} holds work that is not committed: {', '.join(unsaved[:10])}.",
        why=f"Discarding work is a person's decision, on the record. A snapshot was taken at {snapshot.ref}.",
        would_change=f"Approve it by name: interlock clean {job.slug} --approve. It can be undone with restore.",
        number=len(unsaved),
    )


def evict(ports: Ports) -> None:
    """Take away prepared trees that nothing stands on and the policy does not keep; told, and nothing of a task's."""
    for name in ports.workspaces.evict():
        ports.narrate(f"The base {name} was taken away: nothing stands on it, and the policy does not keep it.")


def closed_with_tree(ports: Ports) -> tuple[Job, ...]:
    """Jobs that landed, and were taken back or not since, whose tree still stands: for ``clean --landed``."""
    jobs = ports.store.jobs(open_only=False)
    return tuple(job for job in jobs if job.state in (State.LANDED, State.REVERTED) and stands(ports, job))
