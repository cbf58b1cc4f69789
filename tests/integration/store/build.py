"""Cards, requests, evidence and whole lives for the store's tests, with only what a test names differing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from interlock.adapters.store import SqlStore
from interlock.core.contract.card import Card, Check
from interlock.core.contract.policy import Cap, Kind, TaskClass
from interlock.core.gate.request import Request
from interlock.core.job.events import NewEvent
from interlock.core.job.evidence import CheckRun, Evidence, TestReport, Verdict
from interlock.core.job.lifecycle import Job
from interlock.ports.history import LandingRow

KINDS: Mapping[str, Kind] = {"slice": "parallel", "fix": "parallel", "migration": "serial", "sweep": "alone"}
BASE = "b" * 40


class Ticks:
    """A clock that moves on by one second each time it is read."""

    def __init__(self, start: float = 1_000.0) -> None:
        self.at = start

    def __call__(self) -> float:
        self.at += 1
        return self.at


class Kept(dict[str, str]):
    """Checkpoints by history, kept outside of the database (ports.Anchor)."""

    def keep(self, history: str, checkpoint: str) -> None:
        self[history] = checkpoint

    def kept(self, history: str) -> str | None:
        return self.get(history)


def card(slug: str, class_name: str = "slice", **parts: Any) -> Card:
    shape: dict[str, Any] = {
        "slug": slug,
        "class_name": class_name,
        "owned_paths": (f"{slug}/**",),
        "checks": (Check(run="true"),),
        "stop_when": ("a change outside owned_paths is needed",),
        "integration_owner": "@ana",
        "goal": f"Do {slug}.",
    }
    return Card(**shape | parts)


def request(slug: str, class_name: str = "slice", *, job: str | None = None, **parts: Any) -> Request:
    """A request for a card; names of a Request's fields go there, all others to the card."""
    own = {name: parts.pop(name) for name in ("foreign", "adopt", "actor", "card_oid") if name in parts}
    asked = card(slug, class_name, **parts)
    shape: dict[str, Any] = {
        "job": job or f"j-{slug}",
        "card": asked,
        "card_oid": "c" * 40,
        "card_json": asdict(asked),
        "task_class": TaskClass(name=class_name, kind=KINDS[class_name]),
        "base": BASE,
        "actor": "ana",
    }
    return Request(**shape | own)


def set_caps(
    store: SqlStore, caps: Mapping[str, int], *, ceiling: int | None = None, kinds: Mapping[str, Kind] = KINDS
) -> bool:
    """Bring caps into force as one dispatcher does that nobody disturbs."""
    lines = [Cap(class_name=name, cap=cap, line=number) for number, (name, cap) in enumerate(caps.items(), 1)]
    return store.sync_caps(store.begin_sync(), BASE, lines, kinds, ceiling)


def commit_of(job: str) -> str:
    return f"{job:0<40}".replace("-", "0")


def evidence(subject: str, commit: str, *, state: str = "passed", **parts: Any) -> Evidence:
    report = TestReport(cases={"t::one": "passed" if state == "passed" else "failed"})
    run = CheckRun(run="pytest", exit_code=0, seconds=1.5, log="log", tail="ok", expected_report=True, report=report)
    rule = None if state == "passed" else "tests-failed"
    shape: dict[str, Any] = {
        "subject": subject,
        "attempt": 1,
        "commit": commit,
        "tree": f"t{commit[1:]}",
        "base": BASE,
        "card_oid": "c" * 40,
        "policy_digest": "p1",
        "place": "fresh",
        "level": "worktree",
        "same_user": True,
        "verdicts": (Verdict(run=run, state=state, rule=rule, what="" if rule is None else "One test failed."),),  # type: ignore[arg-type]
    }
    return Evidence(**shape | parts)


def steps(job: str, through: str) -> Sequence[NewEvent]:
    """The events of a job's straight way, up to and with the named kind."""
    commit = commit_of(job)
    made = {"head": commit, "tree": f"t{commit[1:]}"}
    place = {"block": 1, "ports": {"APP_PORT": 3010}, "workspace": f"/w/{job}", "level": "worktree"}
    way = (
        NewEvent(subject=job, step="isolate", kind="job.isolated", data=place),
        NewEvent(subject=job, step="started", kind="attempt.started", attempt=1),
        NewEvent(subject=job, step="worked", kind="attempt.worked", attempt=1, data=made),
        NewEvent(subject=job, step="verified", kind="job.verified", attempt=1),
        NewEvent(subject=job, step="published", kind="job.published", attempt=1, data={"policy_digest": "p1", **made}),
    )
    last = next(number for number, event in enumerate(way) if event.kind == through)
    return way[: last + 1]


def live(store: SqlStore, slug: str, through: str, class_name: str = "slice", **parts: Any) -> Job:
    """Admit a card and take its job along the straight way, evidence included."""
    job = store.admit(request(slug, class_name, **parts)).job
    for event in steps(job, through):
        if event.kind == "job.verified":
            store.add_evidence(evidence(job, commit_of(job)))
        store.record(event)
    return store.job(job)


def open_train(store: SqlStore, *jobs: Job, number: int = 1) -> str:
    """A train of these ready jobs that was tested and signed; gives its subject."""
    subject = f"train:{number}"
    members = [{"job": job.id, "slug": job.slug, "head": job.head, "owner": job.owner} for job in jobs]
    opened = {"base": BASE, "members": members}
    store.record(NewEvent(subject=subject, step="open", kind="train.opened", data=opened))
    return subject


def test_and_sign(store: SqlStore, subject: str, commit: str, **parts: Any) -> int:
    """Evidence of the combined run and the owner's sign-off; gives the evidence's number."""
    row = evidence(subject, commit, card_oid="", **parts)
    number = store.add_evidence(row)
    data = {"base": BASE, "candidate": commit, "tree": row.tree, "diff": "d1", "evidence": number, "runs": 1}
    store.record(NewEvent(subject=subject, step="tested", kind="train.tested", data=data))
    store.record(NewEvent(subject=subject, step="sign", kind="train.signed", actor="@ana", data={"diff": "d1"}))
    return number


test_and_sign.__test__ = False  # type: ignore[attr-defined]


def landing(job: Job, commit: str, number: int, /, **parts: Any) -> LandingRow:
    tree = f"t{commit[1:]}"
    shape: dict[str, Any] = {
        "job": job.id,
        "slug": job.slug,
        "train": 1,
        "commit": commit,
        "tree": tree,
        "tested_tree": tree,
        "evidence": number,
        "at": 0.0,
    }
    return LandingRow(**shape | parts)


def landed_event(subject: str, rows: Sequence[LandingRow]) -> NewEvent:
    landed = [{"slug": row.slug, "job": row.job, "commit": row.commit, "tree": row.tree} for row in rows]
    return NewEvent(subject=subject, step="landed", kind="train.landed", data={"landed": landed})


def land(store: SqlStore, *jobs: Job, number: int = 1) -> None:
    """Test, sign and land ready jobs together."""
    subject = open_train(store, *jobs, number=number)
    commit = f"{number:0>40}"
    proof = test_and_sign(store, subject, commit)
    rows = [landing(job, commit, proof, train=number) for job in jobs]
    store.land(landed_event(subject, rows), rows)
