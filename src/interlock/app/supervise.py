"""The loop: ask the plan, have the engine carry it out, repeat until nothing is due; the plan decides, not this loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from interlock.app.base import landed_slugs, last_view
from interlock.app.blame import make_wait
from interlock.app.integrate import depends_on
from interlock.app.leftover import sweep
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import OPEN
from interlock.core.plan import Action, Snapshot, plan, subject_of
from interlock.ports import Engine, Ports

TICK = 5.0


def snapshot(ports: Ports) -> Snapshot:
    """All that the plan looks at, read from the store and the last fetched policy."""
    view = last_view(ports)
    jobs = ports.store.jobs()
    trains = ports.store.trains()
    return Snapshot(
        jobs=jobs,
        train=ports.store.train(),
        next_train=max((train.number for train in trains), default=0) + 1,
        landed_slugs=landed_slugs(ports, view),
        depends_on=depends_on(jobs),
        parallel_agents=view.policy.parallel_agents,
    )


def supervise(ports: Ports, engine: Engine, *, watch: bool = False, stop: Callable[[], bool] = lambda: False) -> None:
    """Do what is due until nothing is, or for ever with watch; may be ended and started again at any moment.

    One action at a time is carried out for each job and for the train.  First, what killed commands left is put away.
    """
    sweep(ports)
    started: set[str] = set()
    while not stop():
        running = engine.running()
        _record_failures(ports, engine.failures())
        busy = {subject_of(name) for name in running}
        due = [action for action in plan(snapshot(ports)) if action.subject not in busy]
        _record_failures(ports, {action.id: _NO_PROGRESS for action in due if action.id in started})
        fresh = [action for action in due if action.id not in started]
        for action in fresh:
            _tell(ports, action)
            started.add(action.id)
            engine.start(action)
        if not fresh and not running and not watch:
            return
        engine.wait(TICK)


_NO_PROGRESS = "It ended without a fault and left everything as it was."


def _tell(ports: Ports, action: Action) -> None:
    name = action.subject
    if not name.startswith("train:"):
        name = ports.store.job(action.subject).slug
    number = f" {action.number}" if action.kind == "attempt" else ""
    ports.narrate(f"{name}: {action.kind}{number}")


def _record_failures(ports: Ports, failures: Mapping[str, str]) -> None:
    """An action that ended with a fault makes its job wait for a person, or the loop would start it for ever."""
    for name, text in failures.items():
        kind, subject = name.partition(":")[0], subject_of(name)
        ports.narrate(f"{name} failed: {text}")
        if subject.startswith("train:"):
            _dissolve(ports, subject, text)
            continue
        job = ports.store.job(subject)
        if job.state in OPEN:
            data = {
                "rule": "internal",
                "what": f"{kind} ended with a fault of ours: {text}",
                "ask": "Mend the cause, or report it with these words, then resume the job.",
            }
            ports.store.record(NewEvent(subject=subject, step=f"fault:{job.rev}", kind="job.waits", data=data))


def _dissolve(ports: Ports, subject: str, text: str) -> None:
    train = ports.store.train()
    if train is None or f"train:{train.number}" != subject or train.phase == "signed":
        return  # a signed train may have landed: the next run asks the remote
    for member in train.members:
        make_wait(
            ports, member, "internal", f"The train ended with a fault of ours: {text}", "Mend the cause, then resume."
        )
    ports.store.record(NewEvent(subject=subject, step=f"fault:{train.rev}", kind="train.dissolved", data={"why": text}))
