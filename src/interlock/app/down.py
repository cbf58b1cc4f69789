"""``down``: end the services beside a task in reverse order, with their trees; tree, ports and database stay the task's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from interlock.app.base import last_view
from interlock.core.contract.service_order import in_order
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import Job
from interlock.core.problems import BadInput, Misuse, Refused
from interlock.ports.bundle import Ports

_WAIT_SECONDS = 60.0


def down(ports: Ports, slug: str, actor: str) -> tuple[Job, tuple[str, ...]]:
    """End the services of a job's task; gives their names in the order in which they ended.  Idempotent.

    Raises Misuse for a slug without a job, Refused (locked) while another up or down is at work.
    """
    job = ports.store.find(slug)
    if job is None:
        raise Misuse(f"{slug} has no job.", hint="interlock status lists the jobs.")
    with alone(ports, job):
        stopped = _stop(ports, job)
        if stopped:
            note(ports, job, actor, "down", f"Services ended: {', '.join(stopped)}.")
    return job, stopped


def stop_services(ports: Ports, job: Job) -> tuple[str, ...]:
    """End what still runs beside a task; gives the names.  Waits for an ``up`` that is going on, as long as it takes."""
    with ports.records.lock(f"services-{job.id}", wait=None):
        return _stop(ports, job)


@contextmanager
def alone(ports: Ports, job: Job) -> Iterator[None]:
    """While this is held, nobody else starts or ends services of the job.  Raises Refused (locked)."""
    with ports.records.lock(f"services-{job.id}", wait=_WAIT_SECONDS):
        yield


def note(ports: Ports, job: Job, actor: str, step: str, text: str) -> None:
    """Write what was done, and by whom, on the job's record."""
    rev = ports.store.job(job.id).rev
    ports.store.record(
        NewEvent(subject=job.id, step=f"{step}:{rev}", kind="job.note", actor=actor, data={"text": text})
    )


def _stop(ports: Ports, job: Job) -> tuple[str, ...]:
    folder = ports.records.job(job.id)
    there = [each.name for each in ports.services.list(folder)]
    order = _order(ports, there) if there else []
    for name in order:
        ports.narrate(f"{job.slug}: ending {name}.")
        ports.services.stop(folder, name)
    return tuple(order)


def _order(ports: Ports, there: list[str]) -> list[str]:
    """Those that run, last started first; a policy that cannot be used any more keeps nothing from ending."""
    try:
        known = [service.name for service in in_order(last_view(ports).policy.services)]
    except (Refused, BadInput):
        known = []
    return sorted(there, key=lambda name: known.index(name) if name in known else len(known), reverse=True)
