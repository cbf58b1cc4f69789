"""The loop: ask the plan, have the engine carry it out, repeat until nothing is due; the plan decides, not this loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from interlock.app.base import fresh_view, last_view
from interlock.app.clones import ours, tell_theirs
from interlock.app.dependants import tell_needy
from interlock.app.leftover import sweep
from interlock.app.members import queue_snapshot, tell_unknown_classes
from interlock.app.train_exit import make_wait
from interlock.app.train_show import stall_text
from interlock.app.waiting import passed_at
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import OPEN
from interlock.core.merge.waits import stall
from interlock.core.plan import Action, Snapshot, plan, run_of, subject_of
from interlock.core.problems import BrokenRules, InterlockError, Refused
from interlock.ports.bundle import Engine, Ports

TICK = 5.0
AGAIN = 30.0
"""Seconds after which a supervisor that stays tries again what a passing fault kept from being done."""


def snapshot(ports: Ports, running: frozenset[str] = frozenset()) -> Snapshot:
    """All that the plan looks at, read from the store and the last fetched policy; ``running`` are ids of actions."""
    return queue_snapshot(ports, last_view(ports), running=running)


def supervise(ports: Ports, engine: Engine, *, watch: bool = False) -> None:
    """Do what is due until nothing is, or for ever with watch; may be ended and started again at any moment.

    One action at a time is carried out for each job and for the train.  First, what killed commands left is put away.  While
    the rules on the default branch cannot be read nothing is started, and what runs goes on.
    """
    sweep(ports)
    started: dict[str, float] = {}
    told: set[str] = set()
    look = _Look(ports)
    while True:
        running = engine.running()
        _record_failures(ports, engine.failures())
        busy = {subject_of(name) for name in running}
        seen = look.snapshot(running)
        if seen is None:
            if not running and not watch:
                return
            engine.wait(TICK)
            continue
        planned = plan(seen)
        tell_theirs(ports, seen.jobs, planned, told)
        due = [action for action in ours(ports, seen.jobs, planned) if action.subject not in busy]
        later = _later(ports, due, started)
        stuck = [action for action in due if action.id in started and action not in later]
        _record_failures(ports, {action.id: _NO_PROGRESS for action in stuck})
        again = [action for action in later if watch and ports.clock.now() - started[action.id] > AGAIN]
        fresh = [*(action for action in due if action.id not in started), *again]
        for action in fresh:
            _tell(ports, action)
            started[action.id] = ports.clock.now()
            engine.start(action)
        if not fresh:
            _tell_stall(ports, seen, told)
            look.tell()
        if not fresh and not running and not watch:
            return
        engine.wait(TICK)


class _Look:
    """A supervisor's look at what there is; it says once of each commit that its rules cannot be read, and then looks again for others."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._new = True
        self._broken = ""
        self._fetched = ports.clock.now()

    def snapshot(self, running: frozenset[str]) -> Snapshot | None:
        """All that the plan looks at; None while the rules cannot be read.  Readable ones are first asked who cannot go on by them."""
        try:
            self._ports.signer.check()
            if self._new:
                self.tell()
            seen = snapshot(self._ports, running)
        except BrokenRules as fault:
            self._tell_broken(fault.told)
            return None
        except Refused as barred:  # what it wrote into others' jobs would keep them from landing
            if barred.code != "evidence-key":
                raise
            self._tell_broken(f"{barred.message} {barred.hint}")
            return None
        self._new, self._broken = False, ""
        return seen

    def tell(self) -> None:
        """Make ready changes wait that no train takes by the rules as they are now."""
        with suppress(BrokenRules):  # the next look tells
            tell_unknown_classes(self._ports, last_view(self._ports))
            tell_needy(self._ports)

    def _tell_broken(self, why: str) -> None:
        self._new = True
        if why != self._broken:
            self._broken = why
            self._ports.narrate(
                f"Nothing is started, checked or landed until this is mended on the default branch: {why}"
            )
        if self._ports.clock.now() - self._fetched > AGAIN:
            self._fetched = self._ports.clock.now()
            with suppress(InterlockError):  # the same, or a remote that is away: the next look tells
                fresh_view(self._ports)


def left_undone(ports: Ports) -> tuple[str, ...]:
    """What is due all the same after a look that found nothing more to start: ids of actions that could not be carried out.

    Nothing is due while the rules cannot be read; that is told by the status.
    """
    try:
        seen = snapshot(ports)
    except BrokenRules:
        return ()
    return tuple(action.id for action in ours(ports, seen.jobs, plan(seen)))


def _later(ports: Ports, due: Sequence[Action], started: Mapping[str, float]) -> list[Action]:
    """Actions that met a fault which passes by itself when they were made; the next run tries them, or this one when it stays."""
    met = {action.id: passed_at(ports, action.subject) for action in due if action.id in started}
    return [action for action in due if (at := met.get(action.id)) is not None and at >= started[action.id]]


def _tell_stall(ports: Ports, seen: Snapshot, told: set[str]) -> None:
    """Say once of each stall that nothing was started for too long, and what each change waits for."""
    if not seen.owners:
        return  # nothing is ready
    found = stall(seen.jobs, ports.store.trains(), seen.depends_on, seen.policy, ports.clock.now())
    if found is not None and (key := str(sorted(found.why.items()))) not in told:
        told.add(key)
        ports.narrate(f"stalled: {stall_text(found)}")


_NO_PROGRESS = "It ended without a fault and left everything as it was."


def _tell(ports: Ports, action: Action) -> None:
    name = action.subject
    if name.startswith("run:"):
        _, _, jobs = run_of(name)
        name = f"train:{action.number}: {', '.join(ports.store.job(job).slug for job in jobs) or 'the base'}"
    elif not name.startswith("train:"):
        name = ports.store.job(action.subject).slug
    number = f" {action.number}" if action.kind == "attempt" else ""
    ports.narrate(f"{name}: {action.kind}{number}")


def _record_failures(ports: Ports, failures: Mapping[str, str]) -> None:
    """An action that ended with a fault makes its job wait for a person, or the loop would start it for ever."""
    for name, text in failures.items():
        kind, subject = name.partition(":")[0], subject_of(name)
        ports.narrate(f"{name} failed: {text}")
        if subject.startswith("run:"):
            subject = f"train:{run_of(subject)[0]}"
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
            try:
                ports.store.record(NewEvent(subject=subject, step=f"fault:{job.rev}", kind="job.waits", data=data))
            except Refused as barred:  # the next look tells
                if barred.code != "evidence-key":
                    raise


def _dissolve(ports: Ports, subject: str, text: str) -> None:
    train = ports.store.train(int(subject.partition(":")[2]))
    if train is None or not train.open or train.phase == "signed":
        return  # a signed train may have landed: the next run asks the remote
    for member in train.members:
        make_wait(
            ports, member, "internal", f"The train ended with a fault of ours: {text}", "Mend the cause, then resume."
        )
    ports.store.record(NewEvent(subject=subject, step=f"fault:{train.rev}", kind="train.dissolved", data={"why": text}))
