"""Jobs and events for the tests of the core, with only what a test names differing."""

from __future__ import annotations

from itertools import count
from typing import Any

from interlock.core.job.events import Event
from interlock.core.job.lifecycle import Job, State, admit, apply

_seq = count(1)

DATA: dict[str, dict[str, Any]] = {
    "job.isolated": {"block": 1, "ports": {"APP_PORT": 3010}, "workspace": "/w", "level": "worktree"},
    "attempt.worked": {"head": "h1", "tree": "t1"},
    "attempt.ended": {"rule": "agent-failed", "what": "It ended with 1."},
    "job.waits": {"rule": "file-overlap", "what": "Both change a.py.", "ask": "Decide.", "detail": {"files": ["a.py"]}},
    "job.retry": {"hypothesis": "The port was taken."},
    "job.round": {"hypothesis": "The gate failed with seed 7."},
    "job.landed": {"landed_commit": "c1"},
    "job.abandoned": {"reason": "Not needed."},
    "job.reverted": {"by": "j-revert-a", "commit": "c2"},
}


def event(subject: str, kind: str, *, attempt: int = 0, actor: str = "interlock", **data: Any) -> Event:
    seq = next(_seq)
    shape = {**DATA.get(kind, {}), **data}
    return Event(
        seq=seq, at=float(seq), subject=subject, step=f"s{seq}", kind=kind, attempt=attempt, actor=actor, data=shape
    )


def admitted(slug: str = "a", **data: Any) -> Event:
    shape: dict[str, Any] = {
        "slug": slug,
        "class": "slice",
        "owner": "@ana",
        "branch": f"agent/{slug}",
        "base": "b1",
        "card_oid": "o1",
        "card": {"slug": slug},
        "slot": 1,
    }
    return event(f"j-{slug}", "job.admitted", **shape | data)


WAY: dict[State, tuple[str, ...]] = {
    State.ADMITTED: (),
    State.ISOLATED: ("job.isolated",),
    State.RUNNING: ("job.isolated", "attempt.started"),
    State.WORKED: ("job.isolated", "attempt.started", "attempt.worked"),
    State.VERIFIED: ("job.isolated", "attempt.started", "attempt.worked", "job.verified"),
    State.READY: ("job.isolated", "attempt.started", "attempt.worked", "job.verified", "job.published"),
    State.WAITING: ("job.isolated", "attempt.started", "attempt.ended"),
    State.LANDED: (
        "job.isolated",
        "attempt.started",
        "attempt.worked",
        "job.verified",
        "job.published",
        "job.landed",
    ),
    State.ABANDONED: ("job.abandoned",),
    State.REVERTED: (
        "job.isolated",
        "attempt.started",
        "attempt.worked",
        "job.verified",
        "job.published",
        "job.landed",
        "job.reverted",
    ),
}
"""The straight way from admission to each state."""


def job_in(state: State, slug: str = "a", **data: Any) -> Job:
    """A job that came straight to a state."""
    job = admit(admitted(slug, **data))
    for kind in WAY[state]:
        job = apply(job, event(job.id, kind, attempt=1))
    return job
