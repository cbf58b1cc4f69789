"""The one brain: what is due, decided from a snapshot alone; carrying it out is the engine's and app's work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from interlock.core.agent import loops
from interlock.core.contract.loop import from_json as loop_from_json
from interlock.core.contract.policy import Train
from interlock.core.job.lifecycle import Job, State
from interlock.core.merge.order import train_order
from interlock.core.merge.queue import Land, Set
from interlock.core.merge.speculation import decide
from interlock.core.merge.standing import NEW_MEMBERS, due, present, queue_of, stranded, tests
from interlock.core.merge.train import TrainState, departed

ActionKind = Literal[
    "isolate", "reproduce", "attempt", "verify", "publish", "train-open", "train-test", "train-run", "train-land"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One bounded thing to do.  ``id`` says which, so that starting it twice is nothing."""

    id: str
    kind: ActionKind
    subject: str
    number: int = 0


def subject_of(action_id: str) -> str:
    """The job, train or run that an action's id speaks of."""
    kind, subject, *_ = action_id.split(":")
    if kind == "train-run":
        return f"run:{action_id.partition(':')[2]}"
    return f"train:{subject}" if kind.startswith("train-") else subject


def run_id(train: TrainState, members: Set) -> str:
    """The id of one run over members: of which train, on which base, the how-manieth, and of whom."""
    return f"train-run:{train.number}:{train.base}:{train.tried(members) + 1}:{'+'.join(members)}"


def run_of(subject: str) -> tuple[int, str, Set]:
    """The train, base and members that a run's subject names."""
    _, number, base, _, members = subject.split(":")
    return int(number), base, tuple(members.split("+")) if members else ()


def try_of(subject: str) -> int:
    """The how-manieth run of its set a run's subject names."""
    return int(subject.split(":")[3])


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All that the plan looks at: every open job, the open trains, what runs, what the policy says, how much this machine takes.

    ``running`` are ids of actions that are being carried out.  ``owners`` maps ready jobs to whose sign-off each needs
    (None: nobody's); a job that it does not hold has no class any more, and no train takes it.  ``approved`` is when each was
    first ready to land, in seconds since the epoch.
    """

    jobs: tuple[Job, ...]
    trains: tuple[TrainState, ...] = ()
    next_train: int = 1
    landed_slugs: frozenset[str] = frozenset()
    depends_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    owners: Mapping[str, str | None] = field(default_factory=dict)
    approved: Mapping[str, float] = field(default_factory=dict)
    policy: Train = field(default_factory=Train)
    running: frozenset[str] = frozenset()
    parallel_agents: int = 8


def plan(snapshot: Snapshot) -> tuple[Action, ...]:
    """What is due now, in the order in which it should be started.

    The answer depends on the snapshot alone and is the same however often it is asked.  Actions that are
    already being carried out appear again under the same id, but for runs of a train, which ``running`` tells.
    """
    actions = [action for job in snapshot.jobs if (action := _for_job(job)) is not None]
    return (*_within_capacity(snapshot, actions), *_for_trains(snapshot))


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


def _for_trains(snapshot: Snapshot) -> tuple[Action, ...]:
    """What is due for the trains; nothing at all while a person is asked about a landing that is not what was tested."""
    if any(job.waiting and job.waiting.rule == "landed-otherwise" for job in snapshot.jobs):
        return ()
    actions: list[Action] = []
    in_test = next((train for train in snapshot.trains if train.phase == "testing"), None)
    for train in snapshot.trains:
        if train.phase == "signed":
            actions.append(_train_action("train-land", train))
        elif train.phase == "tested" and departed(train, snapshot.jobs):
            actions.append(_train_action("train-test", train))
    if in_test is not None:
        return (*actions, *_in_test(snapshot, in_test))
    if any(train.phase == "signed" for train in snapshot.trains):
        return tuple(actions)  # what is opened now would be tested on a default branch that moves at once
    return (*actions, *_open_train(snapshot))


def _in_test(snapshot: Snapshot, train: TrainState) -> tuple[Action, ...]:
    """One slot tests inside of the train's own action; with more each run is an action of its own."""
    step = _train_action("train-test", train)
    gone = departed(train, snapshot.jobs) or stranded(train, snapshot.jobs, snapshot.depends_on)
    if snapshot.policy.slots == 1 or not train.members or train.outs or gone:
        return (step,)
    running = running_sets(train, snapshot.running)
    valid = frozenset(members for members in running.values() if members is not None)
    moves = decide(queue_of(train, snapshot.jobs, snapshot.depends_on, snapshot.policy, valid))
    first = due(train, moves)
    room = snapshot.policy.slots - len(running)
    runs = [
        Action(id=name, kind="train-run", subject=subject_of(name), number=train.number)
        for test in tests(moves)
        if (name := run_id(train, test.members)) not in running
    ]
    waits = isinstance(first, Land) and bool(valid) and any(member.owner for member in train.members)
    advance = joining(snapshot, train) or not (first is None or first in tests(moves) or waits)
    return (*((step,) if advance else ()), *runs[: max(0, room)])


def running_sets(train: TrainState, running: frozenset[str]) -> dict[str, Set | None]:
    """The runs of a train that are under way: their id, and the set as it is on the present base (None: void by now)."""
    mine = [name for name in sorted(running) if name.startswith(f"train-run:{train.number}:")]
    found = {name: run_of(subject_of(name)) for name in mine}
    return {name: present(train, base, members) for name, (_, base, members) in found.items()}


def joining(snapshot: Snapshot, train: TrainState) -> tuple[Job, ...]:
    """Ready changes that may join a train that is in test: of the same owner, as far as its window reaches."""
    room = (train.window or snapshot.policy.window) - len(train.members)
    if snapshot.policy.slots == 1 or room <= 0 or not train.members or len(train.landed) >= NEW_MEMBERS:
        return ()
    inside = {member.job: member.slug for member in train.members}
    landed = snapshot.landed_slugs | set(inside.values())
    mine = [job for job in _free(snapshot) if snapshot.owners[job.id] == train.members[0].owner]
    inside_jobs = [job for job in snapshot.jobs if job.id in inside]
    order = train_order([*inside_jobs, *mine], landed, snapshot.depends_on, approved=snapshot.approved)
    return tuple(job for job in order if job.id not in inside)[:room]


def opening(snapshot: Snapshot) -> tuple[Job, ...]:
    """Who the next train takes: of the ready changes that may land, those of the oldest one's owner, or those that need nobody.

    So nobody waits for the sign-off of another's owner.  Who is taken is decided by the first approval, so that nobody is passed by;
    among those, the oldest is first.
    """
    free = _free(snapshot)
    first = next(iter(_in_order(snapshot, free)), None)
    if first is None:
        return ()
    mine = [job for job in free if snapshot.owners[job.id] == snapshot.owners[first.id]]
    most = snapshot.policy.batch if snapshot.policy.slots == 1 else snapshot.policy.window
    return train_order(_in_order(snapshot, mine)[:most], snapshot.landed_slugs, snapshot.depends_on)


def _in_order(snapshot: Snapshot, jobs: list[Job]) -> tuple[Job, ...]:
    return train_order(jobs, snapshot.landed_slugs, snapshot.depends_on, approved=snapshot.approved)


def _free(snapshot: Snapshot) -> list[Job]:
    """Jobs that are in no open train, and whose class the policy knows."""
    taken = {member.job for train in snapshot.trains for member in train.members}
    return [job for job in snapshot.jobs if job.id not in taken and job.id in snapshot.owners]


def _open_train(snapshot: Snapshot) -> tuple[Action, ...]:
    if not opening(snapshot):
        return ()
    number = snapshot.next_train
    return (Action(id=f"train-open:{number}", kind="train-open", subject=f"train:{number}", number=number),)


def _train_action(kind: Literal["train-test", "train-land"], train: TrainState) -> Action:
    return Action(
        id=f"{kind}:{train.number}:{train.rev}", kind=kind, subject=f"train:{train.number}", number=train.number
    )
