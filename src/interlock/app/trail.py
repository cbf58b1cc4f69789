"""Where the tree of a job is by its history: standing, kept, taken away or half way back; moving it is clean's work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from interlock.app.isolate import place_of
from interlock.core.job.lifecycle import Job
from interlock.ports.bundle import Ports
from interlock.ports.isolation import SnapshotTaken

Phase = Literal["standing", "kept", "away", "returning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """``kept``: its snapshot is on the record and its removal may be half done; ``returning``: so may its way back.

    ``pending``: its database could not be released yet.
    """

    phase: Phase
    snapshot: SnapshotTaken | None
    pending: bool = False


def trail_of(ports: Ports, job: Job) -> Trail:
    """What the history of a job says of its tree, and the last snapshot of it."""
    phase: Phase = "standing"
    snapshot: SnapshotTaken | None = None
    pending = False
    for event in ports.store.events(job.id):
        if event.data.get("snapshot"):
            phase, snapshot = "kept", _snapshot(event.data)
        if "restoring" in event.data:
            phase = "returning"
        if "restored" in event.data:
            phase = "standing"
        if event.data.get("cleaned"):
            phase = "away"
            pending = bool(event.data.get("database_pending"))
    return Trail(phase=phase, snapshot=snapshot, pending=pending)


def kept(snapshot: SnapshotTaken) -> dict[str, Any]:
    """What an event says of a snapshot; its ignored paths, which may be very many, are in the snapshot alone."""
    return {
        "snapshot": snapshot.ref,
        "oid": snapshot.oid,
        "modified": list(snapshot.modified),
        "untracked": list(snapshot.untracked),
        "left_out": list(snapshot.left_out),
        "detached": list(snapshot.detached),
    }


def stands(ports: Ports, job: Job) -> bool:
    """Whether the folder of a job is there and holds this job's tree, not that of another job of the same name."""
    return job.workspace is not None and ports.workspaces.exists(place_of(job)) and holder(ports, job) is None


def holder(ports: Ports, job: Job) -> Job | None:
    """The other job that has this job's folder now: one whose tree is not away, and later unless this one's is."""
    if job.workspace is None:
        return None
    mine_is_away = trail_of(ports, job).phase == "away"
    for other in ports.store.jobs(open_only=False):
        if other.id == job.id or other.workspace != job.workspace:
            continue
        if (mine_is_away or other.admitted_at > job.admitted_at) and trail_of(ports, other).phase != "away":
            return other
    return None


def _snapshot(data: Mapping[str, Any]) -> SnapshotTaken:
    return SnapshotTaken(
        ref=data["snapshot"],
        oid=data.get("oid", ""),
        modified=tuple(data.get("modified", ())),
        untracked=tuple(data.get("untracked", ())),
        ignored=(),
        left_out=tuple(data.get("left_out", ())),
        detached=tuple(data.get("detached", ())),
    )
