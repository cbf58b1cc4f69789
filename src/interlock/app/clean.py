"""Care: take a task's tree away after a snapshot that can be undone, and bring it back; nothing is ever forced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from interlock.app.isolate import environment_of, place_of, write_environment
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import FINAL, Job, State
from interlock.core.problems import Misuse, Refusal, Refused
from interlock.ports import Ports, SnapshotTaken


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

    Refused (alive) while a process lives in it, (in-flight) while the job is open, (unsaved) when it holds
    uncommitted work or files too large for the snapshot and nobody approved by name.
    """
    job = _closed(ports, slug)
    place = place_of(job)
    if not ports.workspaces.exists(place):
        return _clean_missing(ports, job, actor)
    _refuse_occupied(ports, job)
    ref = f"refs/interlock/trash/{job.slug}/{job.id}-{job.rev}"
    snapshot = ports.workspaces.snapshot(place, ref)
    _refuse_unsaved(job, snapshot, approve=approve)
    ports.workspaces.remove(place, ref)
    ports.blocks.release(job.id)
    data = {
        "text": f"Tree taken away; approved by {actor}." if approve else "Tree taken away; nothing unsaved in it.",
        "snapshot": snapshot.ref,
        "oid": snapshot.oid,
        "left_out": list(snapshot.left_out),
        "cleaned": True,
    }
    ports.store.record(NewEvent(subject=job.id, step=f"clean:{job.rev}", kind="job.note", actor=actor, data=data))
    return Cleaned(job=job, snapshot=snapshot)


def restore(ports: Ports, slug: str, actor: str) -> Job:
    """Bring the tree of a cleaned job back, with branch, uncommitted and ignored files."""
    job = ports.store.find(slug)
    ref = _last_snapshot(ports, job) if job else None
    if job is None or ref is None:
        raise Misuse(f"There is no snapshot of {slug}.", hint="interlock status --all lists the jobs.")
    place = place_of(job)
    if ports.workspaces.exists(place):
        raise Misuse(f"The tree of {slug} is there already: {place.path}.", hint=f"interlock show {slug}")
    ports.workspaces.restore(ref, place)
    write_environment(ports, job, place, environment_of(ports, job))
    ports.store.record(
        NewEvent(
            subject=job.id,
            step=f"restore:{job.rev}",
            kind="job.note",
            actor=actor,
            data={"text": "Tree brought back.", "restored": ref},
        )
    )
    return job


def _closed(ports: Ports, slug: str) -> Job:
    job = ports.store.find(slug)
    if job is None:
        raise Misuse(f"There is no job of {slug}.", hint="interlock status --all lists the jobs.")
    if job.state not in FINAL:
        raise Refused(
            Refusal(
                rule="in-flight",
                what=f"The job {job.id} of {job.slug} is {job.state}, so its tree is in use.",
                why="A tree is taken away only after its change landed or was abandoned.",
                would_change=f"Land it, or interlock decide {job.slug} --abandon --reason TEXT.",
                holders=(job.id,),
            )
        )
    return job


def _refuse_occupied(ports: Ports, job: Job) -> None:
    place = place_of(job)
    living = ports.workspaces.occupants(place.path)
    if not living:
        return
    raise Refused(
        Refusal(
            rule="alive",
            what=f"A process lives in {place.path}.",
            why="Taking the tree away would pull it from under that process.",
            would_change="End the process, or leave its shell, then clean again.",
            holders=living,
        )
    )


def _refuse_unsaved(job: Job, snapshot: SnapshotTaken, *, approve: bool) -> None:
    unsaved = (*snapshot.modified, *snapshot.untracked, *snapshot.left_out, *snapshot.detached)
    if approve or not unsaved:
        return
    raise Refused(
        Refusal(
            rule="unsaved",
            what=f"The tree of {job.slug} holds work that is not committed: {', '.join(unsaved[:10])}.",
            why=f"Discarding work is a person's decision, on the record. A snapshot was taken at {snapshot.ref}.",
            would_change=f"Approve it by name: interlock clean {job.slug} --approve. It can be undone with restore.",
            number=len(unsaved),
        )
    )


def _clean_missing(ports: Ports, job: Job, actor: str) -> Cleaned:
    """The folder is gone already: only its registration is taken away, and the branch stays unless it is kept elsewhere."""
    place = place_of(job)
    ref = f"refs/interlock/trash/{job.slug}/{job.id}-{job.rev}"
    ports.workspaces.remove(place, ref)
    ports.blocks.release(job.id)
    data = {"text": "The folder was gone; its registration was taken away.", "cleaned": True}
    ports.store.record(NewEvent(subject=job.id, step=f"clean:{job.rev}", kind="job.note", actor=actor, data=data))
    empty = SnapshotTaken(ref="", oid="", modified=(), untracked=(), ignored=(), left_out=(), detached=())
    return Cleaned(job=job, snapshot=empty)


def _last_snapshot(ports: Ports, job: Job) -> str | None:
    refs = [event.data["snapshot"] for event in ports.store.events(job.id) if event.data.get("snapshot")]
    return refs[-1] if refs else None


def closed_with_tree(ports: Ports) -> tuple[Job, ...]:
    """Closed jobs whose tree still stands, for ``clean --landed``."""
    jobs = ports.store.jobs(open_only=False)
    return tuple(job for job in jobs if job.state is State.LANDED and ports.workspaces.exists(place_of(job)))
