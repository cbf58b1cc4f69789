"""What became of the night: landed, failed with evidence, escalated with the smallest missing decision, still running; reads only.

Source: seed 004 (overnight work is boring when it is read the next morning), product D10.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from interlock.app.asking import RESUMED
from interlock.app.costs import Spent, ended_in, sum_of
from interlock.app.status import Status, status
from interlock.core.job.events import Event
from interlock.core.job.lifecycle import OPEN, Job, State
from interlock.ports.bundle import Ports

_LAST_LINES: Final = 10
_FAILED_KINDS: Final = frozenset({"stop", "loop"})
_SKIPPED: Final = "loop-skipped"
"""A loop that found nothing to do is neither a failure nor a question; it is there to be closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Morning:
    """The report from ``since`` to ``until`` (seconds since the epoch); each row is plain JSON.

    ``skipped`` are loops that found nothing to do.
    """

    since: float
    until: float
    finished: tuple[Mapping[str, Any], ...]
    skipped: tuple[Mapping[str, Any], ...]
    failed: tuple[Mapping[str, Any], ...]
    escalated: tuple[Mapping[str, Any], ...]
    running: tuple[Mapping[str, Any], ...]
    loops: tuple[Mapping[str, Any], ...]
    totals: Spent

    @property
    def first(self) -> Mapping[str, Any] | None:
        """The first decision to take: of what only a person's word is missing to, then of what failed, then to close."""
        return next(iter((*self.escalated, *(row for row in self.failed if row["options"]), *self.skipped)), None)

    def as_json(self) -> dict[str, Any]:
        return {
            "since": self.since,
            "until": self.until,
            "finished": [dict(row) for row in self.finished],
            "skipped": [dict(row) for row in self.skipped],
            "failed": [dict(row) for row in self.failed],
            "escalated": [dict(row) for row in self.escalated],
            "running": [dict(row) for row in self.running],
            "loops": [dict(row) for row in self.loops],
            "totals": self.totals.as_json(),
        }


def morning(ports: Ports, seconds: float) -> Morning:
    """The report on the last so many seconds; what waits or runs is told whenever it began."""
    until = ports.clock.now()
    since = until - seconds
    now = status(ports, everything=True)
    told = [job for job in now.jobs if job.state in OPEN or job.since >= since]
    events = {job.id: ports.store.events(job.id) for job in told}
    by_id = {job.id: job for job in told}
    items = [_item(ports, item, by_id, events) for item in now.asked]
    night = [cost for job in told for cost in ended_in(job, (each for each in events[job.id] if each.at >= since))]
    return Morning(
        since=since,
        until=until,
        finished=tuple(_finished(job, events[job.id]) for job in told if job.state is State.LANDED),
        skipped=tuple(item for item in items if item["rule"] == _SKIPPED),
        failed=(
            *(item for item in items if item["failed"]),
            *(_abandoned(job, events[job.id]) for job in told if job.state is State.ABANDONED),
        ),
        escalated=tuple(item for item in items if not item["failed"] and item["rule"] != _SKIPPED),
        running=tuple(_running(now, job) for job in told if job.state in OPEN and job.state is not State.WAITING),
        loops=tuple(_loop(job) for job in told if job.card.get("loop")),
        totals=sum_of(night),
    )


def _cost(job: Job, events: Iterable[Event]) -> dict[str, Any]:
    """What the attempts of a job that ended in these events cost."""
    return sum_of(ended_in(job, events)).as_json()


def _finished(job: Job, events: tuple[Event, ...]) -> dict[str, Any]:
    cost = _cost(job, events)
    return {"slug": job.slug, "job": job.id, "commit": job.landed_commit, "at": job.since, "cost": cost}


def _item(
    ports: Ports, item: Mapping[str, Any], jobs: Mapping[str, Job], events: Mapping[str, tuple[Event, ...]]
) -> dict[str, Any]:
    """One thing of the inbox: whether the work failed, or only a person's word is missing; with its log."""
    job = jobs.get(item["job"] or "")
    failed = item["kind"] in _FAILED_KINDS and item["rule"] not in RESUMED and item["rule"] != _SKIPPED
    found = {**item, "failed": failed, "log": None, "cost": None}
    if job is None:
        return found
    tail = "\n".join(str(item["tail"]).splitlines()[-_LAST_LINES:])
    return found | {"tail": tail, "log": _log(ports, job), "cost": _cost(job, events[job.id])}


def _log(ports: Ports, job: Job) -> str | None:
    """The log to open first: of the check or gate that refused, else of the last attempt."""
    detail = job.waiting.detail if job.waiting else {}
    record = ports.records.job(job.id)
    named = [check.get("log") for check in detail.get("checks", ()) if check.get("state") == "refused"]
    if detail.get("log"):
        named.append(detail["log"])
    path = next((record / str(each) for each in named if each), None)
    if path is None and job.attempt:
        path = Path(ports.records.attempt(job.id, job.attempt)) / "output.log"
    return str(path) if path is not None else None


def _abandoned(job: Job, events: tuple[Event, ...]) -> dict[str, Any]:
    last = next((each for each in reversed(events) if each.kind == "job.abandoned"), None)
    return {
        "kind": "abandoned",
        "slug": job.slug,
        "job": job.id,
        "rule": "abandoned",
        "what": f"Closed by {last.actor if last else 'a person'}: {(last.data if last else {}).get('reason') or ''}".strip(),
        "ask": "",
        "owner": job.owner,
        "since": job.since,
        "tail": "",
        "options": [],
        "failed": True,
        "log": None,
        "cost": _cost(job, events),
    }


def _running(now: Status, job: Job) -> dict[str, Any]:
    return {
        "slug": job.slug,
        "job": job.id,
        "state": str(job.state),
        "since": job.since,
        "attempt": job.attempt,
        "agent_alive": job.id in now.alive,
    }


def _loop(job: Job) -> dict[str, Any]:
    """A loop's rounds and why it stopped, or that its gate passed."""
    loop, known = job.card["loop"], job.loop
    failed = len(known.get("failed") or ())
    passed = known.get("passed")
    stopped = job.waiting.rule if job.waiting else ""
    reason = stopped or (f"passed: {passed['what']}" if passed else "goes on" if job.state in OPEN else "closed")
    return {
        "slug": job.slug,
        "job": job.id,
        "gate": loop["gate"]["run"],
        "rounds": failed + bool(passed),
        "most": loop["rounds"],
        "reproduced": known.get("signature"),
        "seed": known.get("seed"),
        "reason": reason,
        "state": str(job.state),
    }
