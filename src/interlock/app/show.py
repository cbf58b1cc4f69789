"""One job as values for a screen or a script: its state, evidence, history and record; reads only."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from interlock.app.isolate import place_of
from interlock.core.job.events import Event
from interlock.core.job.lifecycle import FINAL, Job, State
from interlock.core.problems import Misuse
from interlock.ports.bundle import Ports


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A job with everything on its record, and the paths that its tree has changed at this moment, while it is open.

    ``refused`` are the last refusals of network and gate in its attempts.
    """

    job: Job
    evidence: tuple[Mapping[str, Any], ...]
    history: tuple[Mapping[str, Any], ...]
    record: str
    changed: tuple[str, ...] = ()
    refused: tuple[Mapping[str, Any], ...] = ()
    attempts: tuple[Mapping[str, Any], ...] = ()

    def as_json(self) -> dict[str, Any]:
        return asdict(self.job) | {
            "evidence": list(self.evidence),
            "history": list(self.history),
            "record": self.record,
            "changed": list(self.changed),
            "refused": [dict(each) for each in self.refused],
            "attempts": [dict(each) for each in self.attempts],
        }


def known_job(ports: Ports, slug: str) -> Job:
    """A slug's open or newest job.  Raises Misuse when there is none."""
    job = ports.store.find(slug)
    if job is None:
        raise Misuse(f"There is no job of {slug}.", hint=f"interlock dispatch {slug} starts one.")
    return job


def show(ports: Ports, slug: str) -> Shown:
    """Everything on the record of a slug's open or newest job.  Raises Misuse when there is none."""
    job = known_job(ports, slug)
    evidence = tuple(
        {
            "id": number,
            "commit": row.commit,
            "tree": row.tree,
            "place": row.place,
            "level": row.level,
            "same_user": row.same_user,
            "waived": dict(row.waived),
            "checks": [verdict.as_json() for verdict in row.verdicts],
        }
        for number, row in ports.store.evidence(job.id)
    )
    events = ports.store.events(job.id)
    history = tuple(_line(event) for event in events)
    record = str(ports.records.job(job.id))
    changed, refused = _changed(ports, job), ports.records.decisions(job.id)
    return Shown(
        job=job,
        evidence=evidence,
        history=history,
        record=record,
        changed=changed,
        refused=refused,
        attempts=attempts_of(events, running=job.attempt if job.state is State.RUNNING else 0),
    )


def attempts_of(events: Iterable[Event], *, running: int) -> tuple[Mapping[str, Any], ...]:
    """Each attempt of a job in one row: what was started and why, how it came out, what it cost and handed on.

    ``running`` is the number of the one that goes on (0: none); another that nothing says the outcome of is not settled.
    """
    rows: dict[int, dict[str, Any]] = {}
    for event in events:
        if event.kind == "attempt.started":
            rows[event.attempt] = {"attempt": event.attempt, "at": event.at}
            rows[event.attempt] |= {"state": "running" if event.attempt == running else "not settled"}
            rows[event.attempt] |= {name: event.data.get(name) for name in _STARTED}
        elif event.attempt in rows and event.kind.startswith("attempt."):
            rows[event.attempt] |= {"state": event.kind.removeprefix("attempt.")}
            rows[event.attempt] |= {name: event.data.get(name) for name in _SETTLED}
    return tuple(rows.values())


_STARTED: Final = ("agent", "model", "effort", "tier", "why", "phase", "hypothesis", "handed", "resumes")
_SETTLED: Final = (
    "outcome",
    "rule",
    "seconds",
    "usage",
    "usd",
    "calls",
    "models",
    "usage_from",
    "tools",
    "denied",
    "retries",
    "lines",
    "unknown_lines",
    "leftovers",
    "beside",
    "pack",
)


def _changed(ports: Ports, job: Job) -> tuple[str, ...]:
    if job.state in FINAL or job.workspace is None or not ports.workspaces.exists(place_of(job)):
        return ()
    return ports.workspaces.changed(place_of(job))


def _line(event: Event) -> dict[str, Any]:
    data = event.data
    text = data.get("what") or data.get("text") or data.get("reason") or data.get("hypothesis") or ""
    if not text and "approve" in data:
        text = f"signed off {str(data['approve'])[:12]}"
    return {
        "seq": event.seq,
        "at": event.at,
        "when": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(event.at)) + "Z",
        "kind": event.kind,
        "attempt": event.attempt,
        "actor": event.actor,
        "text": str(text),
    }
