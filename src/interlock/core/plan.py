"""The one brain: what is due, decided from a snapshot alone; carrying it out is the engine's and app's work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from interlock.core.agent import loops
from interlock.core.contract.loop import from_json as loop_from_json
from interlock.core.job.lifecycle import Job, State
from interlock.core.merge.order import train_order
from interlock.core.merge.train import TrainState, departed

ActionKind = Literal["isolate", "reproduce", "attempt", "verify", "publish", "train-open", "train-test", "train-land"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One bounded thing to do.  ``id`` says which, so that starting it twice is nothing."""

    id: str
    kind: ActionKind
    subject: str
    number: int = 0


def subject_of(action_id: str) -> str:
    """The job or train that an action's id speaks of."""
    kind, subject, *_ = action_id.split(":")
    return f"train:{subject}" if kind.startswith("train-") else subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All that the plan looks at: every job, the open train, what is paused, and how much this machine takes."""

    jobs: tuple[Job, ...]
    train: TrainState | None = None
    next_train: int = 1
    landed_slugs: frozenset[str] = frozenset()
    depends_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parallel_agents: int = 8


def plan(snapshot: Snapshot) -> tuple[Action, ...]:
    """What is due now, in the order in which it should be started.

    The answer depends on the snapshot alone and is the same however often it is asked.  Actions that are
    already being carried out appear again under the same id.
    """
    actions = [action for job in snapshot.jobs if (action := _for_job(job)) is not None]
    return (*_within_capacity(snapshot, actions), *_for_train(snapshot))


def _for_job(job: Job) -> Action | None:
    match job.state:
        case State.ADMITTED:
            return Action(id=f"isolate:{job.id}:{job.rev}", kind="isolate", subject=job.id)
        case State.ISOLATED:
            return _for_isolated(job)
        case State.RUNNING:
            again = f":{job.resumed}" if job.resumed else ""
            return Action(
                id=f"attempt:{job.id}:{job.attempt}{again}", kind="attempt", subject=job.id, number=job.attempt
            )
        case State.WORKED:
            return Action(id=f"verify:{job.id}:{job.rev}", kind="verify", subject=job.id, number=job.attempt)
        case State.VERIFIED:
            return Action(id=f"publish:{job.id}:{job.rev}", kind="publish", subject=job.id, number=job.attempt)
        case _:
            return None


def _for_isolated(job: Job) -> Action:
    """The next attempt; a loop looks at the base before that."""
    if loops.due(loop_from_json(job.card.get("loop")), job.loop, job.base):
        return Action(id=f"reproduce:{job.id}:{job.rev}", kind="reproduce", subject=job.id)
    number = job.attempt + 1
    return Action(id=f"attempt:{job.id}:{number}", kind="attempt", subject=job.id, number=number)


def _within_capacity(snapshot: Snapshot, actions: list[Action]) -> list[Action]:
    """Attempts that run come first; new ones only as far as the machine takes them."""
    running = {job.id for job in snapshot.jobs if job.state is State.RUNNING}
    room = snapshot.parallel_agents - len(running)
    kept: list[Action] = []
    for action in actions:
        if action.kind == "attempt" and action.subject not in running:
            if room <= 0:
                continue
            room -= 1
        kept.append(action)
    return kept


def _for_train(snapshot: Snapshot) -> tuple[Action, ...]:
    train = snapshot.train
    if train is None:
        return _open_train(snapshot)
    if train.phase == "testing" or (train.phase == "tested" and departed(train, snapshot.jobs)):
        return (_train_action("train-test", train),)
    if train.phase == "signed":
        return (_train_action("train-land", train),)
    return ()


def _open_train(snapshot: Snapshot) -> tuple[Action, ...]:
    if not train_order(snapshot.jobs, snapshot.landed_slugs, snapshot.depends_on):
        return ()
    number = snapshot.next_train
    return (Action(id=f"train-open:{number}", kind="train-open", subject=f"train:{number}", number=number),)


def _train_action(kind: Literal["train-test", "train-land"], train: TrainState) -> Action:
    return Action(
        id=f"{kind}:{train.number}:{train.rev}", kind=kind, subject=f"train:{train.number}", number=train.number
    )
