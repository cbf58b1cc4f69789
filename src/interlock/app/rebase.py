"""Bringing a job's tree onto the present default branch before a retry, with clashes marked for the agent."""

from __future__ import annotations

from typing import Any

from interlock.app.base import fresh_view
from interlock.app.isolate import place_of
from interlock.core.job.lifecycle import Job
from interlock.ports.bundle import Ports


def onto_default_branch(ports: Ports, job: Job) -> dict[str, Any]:
    """Merge the job's work into the present default branch in its own tree; gives the new base for the record.

    Clashes are left in the files with their usual marks; the earlier tree stays reachable at a kept ref.
    """
    view = fresh_view(ports)
    if job.head is None or view.base.oid == job.base:
        return {}
    clashes = ports.repo.rebase_place(
        place_of(job),
        head=job.head,
        onto=view.base.oid,
        keep=f"refs/interlock/kept/{job.id}/before-{view.base.oid[:12]}",
    )
    return {"base": view.base.oid, "clashes": list(clashes)}
