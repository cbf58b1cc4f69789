"""Tasks in which nothing moved for days: told with what they hold; taking them away is clean's work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from interlock.app.base import last_view
from interlock.app.isolate import place_of
from interlock.app.trail import stands
from interlock.core.job.lifecycle import FINAL, Job
from interlock.ports.bundle import Ports

DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """One task: ``since`` is the last movement of its files, refs, processes or history, in seconds since the epoch."""

    job: Job
    since: float
    now: float

    @property
    def holds_slot(self) -> bool:
        return self.job.state not in FINAL

    @property
    def days(self) -> float:
        return (self.now - self.since) / DAY

    @property
    def next(self) -> str:
        """The command that a person would copy."""
        if self.holds_slot:
            return f"interlock decide {self.job.slug} --abandon --reason 'idle for {self.days:.0f} days'"
        return f"interlock clean {self.job.slug}"

    def as_json(self) -> dict[str, Any]:
        return {
            "slug": self.job.slug,
            "job": self.job.id,
            "class": self.job.class_name,
            "state": str(self.job.state),
            "owner": self.job.owner,
            "level": self.job.level,
            "since": self.since,
            "days": round(self.days, 2),
            "holds_slot": self.holds_slot,
            "workspace": self.job.workspace,
            "next": self.next,
        }


def idle(ports: Ports, days: float | None = None) -> tuple[Idle, ...]:
    """Tasks whose tree stands and in which nothing moved for ``days`` (default: the policy's ``idle_days``), oldest first.

    What counts is the newest of files, refs, live processes and history: committer dates are the agent's to set.
    """
    limit = days if days is not None else float(last_view(ports).policy.idle_days)
    now = ports.clock.now()
    found = [
        Idle(job=job, since=since, now=now)
        for job in ports.store.jobs(open_only=False)
        if stands(ports, job) and (now - (since := last_moved(ports, job, now))) >= limit * DAY
    ]
    return tuple(sorted(found, key=lambda each: each.since))


def last_moved(ports: Ports, job: Job, now: float) -> float:
    """When anything of a job last moved; now, while its agent runs or a process lives in its tree."""
    attempt = ports.records.attempt(job.id, job.attempt) if job.attempt else None
    if attempt is not None and ports.runs.alive(attempt):
        return now
    place = place_of(job)
    if ports.workspaces.occupants(place):
        return now
    events = ports.store.events(job.id)
    told = max((event.at for event in events), default=job.admitted_at)
    return max(told, ports.workspaces.last_touched(place))
