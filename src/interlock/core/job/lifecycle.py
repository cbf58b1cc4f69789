"""The life of a job: states, the transitions between them, and the fold of events into a job; storing is the store's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from interlock.core.job.events import Event


class State(StrEnum):
    """Where a job is between admission and its end."""

    ADMITTED = "admitted"
    ISOLATED = "isolated"
    RUNNING = "running"
    WORKED = "worked"
    VERIFIED = "verified"
    READY = "ready"
    WAITING = "waiting"
    LANDED = "landed"
    ABANDONED = "abandoned"
    REVERTED = "reverted"


FINAL: Final = frozenset({State.LANDED, State.ABANDONED, State.REVERTED})
OPEN: Final = frozenset(State) - FINAL

# kind → (states it may start from, state it leads to; None keeps the state)
TRANSITIONS: Final[dict[str, tuple[frozenset[State], State | None]]] = {
    "job.isolated": (frozenset({State.ADMITTED, State.ISOLATED, State.WAITING}), State.ISOLATED),
    "attempt.started": (frozenset({State.ISOLATED}), State.RUNNING),
    "attempt.resumed": (frozenset({State.WAITING}), State.RUNNING),
    "attempt.worked": (frozenset({State.RUNNING}), State.WORKED),
    "attempt.phased": (frozenset({State.RUNNING}), State.ISOLATED),
    "attempt.interrupted": (frozenset({State.RUNNING}), State.ISOLATED),
    "attempt.ended": (frozenset({State.RUNNING}), State.WAITING),
    "job.verified": (frozenset({State.WORKED}), State.VERIFIED),
    "job.published": (frozenset({State.VERIFIED}), State.READY),
    "job.waits": (OPEN, State.WAITING),
    "job.reproduced": (frozenset({State.ISOLATED}), None),
    "job.round": (frozenset({State.WORKED}), State.ISOLATED),
    "job.retry": (frozenset({State.WAITING}), State.ISOLATED),
    "job.verify-again": (frozenset({State.WAITING, State.VERIFIED, State.READY}), State.WORKED),
    "job.landed": (frozenset({State.READY}), State.LANDED),
    "job.abandoned": (OPEN, State.ABANDONED),
    "job.reverted": (frozenset({State.LANDED}), State.REVERTED),
    "job.restored": (frozenset({State.REVERTED}), State.LANDED),
    "job.note": (frozenset(State), None),
}


class IllegalTransition(ValueError):
    """An event does not fit the state that the job is in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Why a job waits for a person: the rule, what happened, what is asked, and the evidence to look at."""

    rule: str
    what: str
    ask: str
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as its events make it; ``rev`` counts the events that were folded in.

    ``attempt`` is the number of the last attempt started, ``worked`` that of the one whose work ``head`` is (0: the
    head is of an attempt that was given up); ``interruptions`` counts attempts in a row that
    were ended from outside; ``hypotheses`` holds one entry for each retry; ``waivers`` maps a rule to the
    person who accepted it for the present head; ``approved`` maps an approval to the person who gave it, for this
    job whatever its head; ``adopt`` names a branch whose work is taken over as the first attempt; ``reverts`` is what it takes back ({job, slug, commit}), and its card
    is then made of what landed; ``resolving`` is what it is brought together with ({job, slug, alone, clashes}).  ``phases`` are
    those that are done and need not be done again, ``phase`` that of the last attempt; ``raised`` are budgets that
    a person raised, by name; ``loop`` is what a loop knows so far: what its gate showed on the base ({base, gate,
    began, kind, log} with {seed, signature} or {p95, output}), {failed} by attempt, and {passed}.  ``session`` is what the last attempt could be gone on with ({agent, id, attempt, phase, usage, usd}).
    """

    id: str
    slug: str
    class_name: str
    state: State
    rev: int
    owner: str
    branch: str
    base: str
    card_oid: str
    card: Mapping[str, Any]
    since: float
    admitted_at: float
    slot: int
    block: int | None = None
    ports: Mapping[str, int] = field(default_factory=dict)
    workspace: str | None = None
    level: str | None = None
    attempt: int = 0
    interruptions: int = 0
    hypotheses: tuple[str, ...] = ()
    head: str | None = None
    tree: str | None = None
    worked: int = 0
    waivers: Mapping[str, str] = field(default_factory=dict)
    waived_tests: tuple[str, ...] = ()
    approved: Mapping[str, str] = field(default_factory=dict)
    waiting: Waiting | None = None
    landed_commit: str | None = None
    held: str | None = None
    adopt: str | None = None
    reverts: Mapping[str, str] | None = None
    resolving: Mapping[str, Any] | None = None
    phase: str = ""
    phases: tuple[str, ...] = ()
    raised: Mapping[str, float] = field(default_factory=dict)
    loop: Mapping[str, Any] = field(default_factory=dict)
    session: Mapping[str, Any] | None = None
    resumed: int = 0


def admit(event: Event) -> Job:
    """The job that a ``job.admitted`` event begins."""
    data = event.data
    return Job(
        id=event.subject,
        slug=data["slug"],
        class_name=data["class"],
        state=State.ADMITTED,
        rev=1,
        owner=data["owner"],
        branch=data["branch"],
        base=data["base"],
        card_oid=data["card_oid"],
        card=data["card"],
        slot=data["slot"],
        adopt=data.get("adopt"),
        reverts=data.get("reverts"),
        since=event.at,
        admitted_at=event.at,
    )


def apply(job: Job, event: Event) -> Job:
    """The job after one more event.

    Raises IllegalTransition when the event does not fit the job's state; the store turns that into a refused write.
    """
    if event.kind not in TRANSITIONS:
        raise IllegalTransition(f"{event.kind} is not an event of a job that exists.")
    sources, target = TRANSITIONS[event.kind]
    if job.state not in sources:
        raise IllegalTransition(f"{event.kind} does not fit a job that is {job.state}.")
    changed = _apply_data(job, event)
    state = job.state if target is None else target
    waiting = _waiting(event) if state is State.WAITING and target is not None else None
    if target is None:
        waiting = job.waiting
    since = event.at if state is not job.state else job.since
    return replace(changed, state=state, rev=job.rev + 1, since=since, waiting=waiting)


def fold(events: Iterable[Event]) -> Job:
    """The job that a whole history makes; the first event must be ``job.admitted``."""
    history = iter(events)
    job = admit(next(history))
    for event in history:
        job = apply(job, event)
    return job


# What an event that was written does to a job never changes: its row, written by whatever version, is compared with it.
_KEEP: Final = (
    "owner",
    "block",
    "ports",
    "workspace",
    "level",
    "head",
    "tree",
    "base",
    "card",
    "card_oid",
    "landed_commit",
    "held",
)


_SETTLED: Final = frozenset({"attempt.worked", "attempt.phased", "attempt.ended"})


def _apply_data(job: Job, event: Event) -> Job:
    """Take over what the event says about the job, field by field."""
    fresh: dict[str, Any] = {name: event.data[name] for name in _KEEP if name in event.data}
    fresh |= _of_attempt(job, event) | _of_retry(job, event) | _of_person(job, event)
    if "loop" in event.data:
        fresh["loop"] = {**job.loop, **event.data["loop"]}
    return replace(job, **fresh)


def _of_attempt(job: Job, event: Event) -> dict[str, Any]:
    fresh: dict[str, Any] = {}
    if event.kind == "attempt.started":
        fresh = {"attempt": event.attempt, "phase": event.data.get("phase", ""), "worked": 0, "resumed": 0}
    elif event.kind == "attempt.resumed":
        fresh = {"resumed": job.resumed + 1}
    elif event.kind == "job.isolated":
        fresh = {"session": None}  # only an answer goes on with it; a tree made anew is another place
    elif event.kind == "attempt.interrupted":
        fresh = {"interruptions": job.interruptions + 1}
    elif event.kind in _SETTLED:
        fresh = {"interruptions": 0, "session": event.data.get("session")}
    if event.kind == "attempt.worked" or (event.kind == "attempt.ended" and event.data.get("worked")):
        fresh["worked"] = event.attempt
    if event.kind == "attempt.phased":
        fresh["phases"] = (*job.phases, job.phase)
    if event.kind in ("attempt.worked", "attempt.started"):
        fresh |= {"waivers": {}, "waived_tests": ()}
    return fresh


def _of_retry(job: Job, event: Event) -> dict[str, Any]:
    if event.kind not in ("job.retry", "job.round"):
        return {}
    return {
        "interruptions": 0,
        "worked": 0,
        "hypotheses": (*job.hypotheses, event.data["hypothesis"]),
        "phases": tuple(event.data.get("phases", job.phases)),
        "session": job.session if event.data.get("resume") else None,
        "resolving": event.data.get("resolving", job.resolving),
    }


def _of_person(job: Job, event: Event) -> dict[str, Any]:
    fresh: dict[str, Any] = {}
    if "waive" in event.data:
        fresh["waivers"] = {**job.waivers, event.data["waive"]: event.actor}
        fresh["waived_tests"] = (*job.waived_tests, *event.data.get("tests", ()))
    if event.kind == "job.note" and "approved" in event.data:
        fresh["approved"] = {**job.approved, event.data["approved"]: event.actor}
    if "raised" in event.data:
        fresh["raised"] = {**job.raised, **event.data["raised"]}
    return fresh


def _waiting(event: Event) -> Waiting:
    data = event.data
    return Waiting(rule=data["rule"], what=data["what"], ask=data.get("ask", ""), detail=data.get("detail", {}))
