"""A train as its events make it: members, candidate, sign-offs, end; building and testing it is the app's work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from interlock.core.job.events import Event
from interlock.core.job.lifecycle import Job, State

Phase = Literal["testing", "tested", "signed", "landed", "dissolved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A change in a train: its job, the exact head, and the owner whose sign-off it needs (None: nobody's)."""

    job: str
    slug: str
    head: str
    owner: str | None

    def as_json(self) -> dict[str, Any]:
        return {"job": self.job, "slug": self.slug, "head": self.head, "owner": self.owner}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainState:
    """A train after the events so far.

    ``testing``: a candidate is to be built and tested; ``tested``: it is green and waits for sign-offs;
    ``signed``: it may land; ``landed`` and ``dissolved`` are ends.  ``base`` is the default branch's commit
    that the candidate stands on; ``diff`` identifies the merged difference that owners sign; ``runs`` counts
    suite runs; ``rebuilds`` how often the base moved away.
    """

    number: int
    rev: int
    phase: Phase
    members: tuple[Member, ...]
    since: float
    base: str = ""
    candidate: str = ""
    tree: str = ""
    diff: str = ""
    evidence: int = 0
    signed: Mapping[str, str] = field(default_factory=dict)
    runs: int = 0
    rebuilds: int = 0
    landed: tuple[Mapping[str, Any], ...] = ()

    @property
    def unsigned(self) -> tuple[str, ...]:
        """Owners whose sign-off of the present difference is missing, each once, in the members' order."""
        owners = dict.fromkeys(member.owner for member in self.members if member.owner)
        return tuple(owner for owner in owners if self.signed.get(owner) != self.diff)


def departed(train: TrainState, jobs: Iterable[Job]) -> tuple[Member, ...]:
    """Members whose job is not ready at the member's head any more, or is held; ``jobs`` need not hold closed ones.

    A train that waits for sign-offs does not wait with them: what they would sign cannot land.
    """
    heads = {job.id: job.head for job in jobs if job.state is State.READY and not job.held}
    return tuple(member for member in train.members if heads.get(member.job) != member.head)


def fold_train(events: Iterable[Event]) -> TrainState:
    """The train that a whole history makes; the first event must be ``train.opened``."""
    history = iter(events)
    train = _opened(next(history))
    for event in history:
        train = apply_train(train, event)
    return train


def _opened(event: Event) -> TrainState:
    members = tuple(Member(**member) for member in event.data["members"])
    number = int(event.subject.partition(":")[2])
    return TrainState(number=number, rev=1, phase="testing", members=members, since=event.at, base=event.data["base"])


def apply_train(train: TrainState, event: Event) -> TrainState:
    """The train after one more event."""
    data = event.data
    match event.kind:
        case "train.tested":
            fresh = {name: data[name] for name in ("base", "candidate", "tree", "diff", "evidence")}
            runs = train.runs + data.get("runs", 0)
            train = _signed_or_not(replace(train, phase="tested", runs=runs, **fresh))
        case "train.left":
            gone = set(data["jobs"])
            members = tuple(member for member in train.members if member.job not in gone)
            runs = train.runs + data.get("runs", 0)
            train = replace(train, phase="testing" if members else "dissolved", members=members, runs=runs)
        case "train.rebuild":
            train = replace(train, phase="testing", base=data["base"], rebuilds=train.rebuilds + 1)
        case "train.signed":
            train = _signed_or_not(replace(train, signed={**train.signed, event.actor: data["diff"]}))
        case "train.landed":
            train = replace(train, phase="landed", landed=tuple(data["landed"]))
        case "train.dissolved":
            train = replace(train, phase="dissolved")
        case _:
            pass
    return replace(train, rev=train.rev + 1)


def _signed_or_not(train: TrainState) -> TrainState:
    if train.phase in ("tested", "signed"):
        return replace(train, phase="tested" if train.unsigned else "signed")
    return train
