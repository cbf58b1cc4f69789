"""How members leave a train and how it ends without a landing, as events; who has to, and why, is blame's and members' to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import State
from interlock.core.merge.train import Member, TrainState, departed
from interlock.ports.bundle import Ports


def make_wait(ports: Ports, member: Member, rule: str, what: str, ask: str, **detail: Any) -> None:
    """Make a member's job wait for a person, unless it is no longer ready."""
    job = ports.store.job(member.job)
    if job.state is State.READY:
        data = {"rule": rule, "what": what, "ask": ask, "detail": detail}
        ports.store.record(NewEvent(subject=job.id, step=f"left-train:{job.rev}", kind="job.waits", data=data))


def leave(ports: Ports, train: TrainState, members: Sequence[Member], why: str, *, window: int | None = None) -> None:
    """Take members out; the rest of the train is tested again, as far as no run has told of it yet."""
    data: dict[str, Any] = {"jobs": [member.job for member in members], "why": why}
    record(ports, train, "left", "train.left", data | ({} if window is None else {"window": window}))


def without_departed(ports: Ports) -> None:
    """Take members that are not ready any more out of trains that wait for sign-offs; the rest is tested anew.

    Raises Stale when a train moved meanwhile; the next look decides anew.
    """
    for train in ports.store.open_trains():
        if train.phase == "tested" and (gone := departed(train, ports.store.jobs())):
            leave(ports, train, gone, "changed")


def dissolve(ports: Ports, train: TrainState, rule: str, what: str, ask: str, **detail: Any) -> None:
    """End the train without landing; every member waits for a person, or it would be opened again at once."""
    for member in train.members:
        make_wait(ports, member, rule, what, ask, **detail)
    record(ports, train, "dissolve", "train.dissolved", {"rule": rule, "what": what})


def record(ports: Ports, train: TrainState, step: str, kind: str, data: dict[str, Any]) -> None:
    """Write an event of the train as it stands; a train that moved meanwhile refuses it."""
    ports.store.record(
        NewEvent(subject=f"train:{train.number}", step=f"{step}:{train.rev}", kind=kind, data=data), expect=train.rev
    )
