"""A step that is refused, or fails for a reason a person can mend, makes its job or train wait under that rule's own name."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final
from weakref import WeakKeyDictionary

from interlock.app.train_exit import dissolve
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import OPEN, IllegalTransition, State
from interlock.core.problems import BadInput, BrokenRules, InterlockError, Refused, Stale
from interlock.core.rules import RULES
from interlock.ports.bundle import Ports
from interlock.ports.history import Store

Step = Callable[[Ports, str, int], Any]
TRAINS: Final = ("train:", "run:")
LOOKS: Final = 20
"""How often a run looks at a train that moves under it, before it counts as one that did nothing; each time somebody else did something."""

_PASSED: Final[WeakKeyDictionary[Store, dict[str, float]]] = WeakKeyDictionary()
"""By the store of each supervisor in this process, which subjects met a passing fault, and when; a new process tries anew."""


def or_wait(step: Step) -> Step:
    """The step, with an InterlockError written down as what the job waits for; other faults are the engine's to tell.

    A job or train that a person moved meanwhile is left as it is: the next look decides anew, under another name.  A run keeps its
    name while others move its train, and would not be started again: it looks again itself.  A train at a fault that passes by itself,
    such as a remote that is away for a moment, is left as it is too, and so is anything while the rules on the default branch cannot
    be read: nothing is written down, and the next look or run tries again.
    """

    @wraps(step)
    def run(ports: Ports, subject: str, number: int) -> Any:
        for _ in range(LOOKS if subject.startswith("run:") else 1):
            try:
                return step(ports, subject, number)
            except (Stale, IllegalTransition):
                continue
            except InterlockError as fault:
                if fault.passing and (subject.startswith(TRAINS) or isinstance(fault, BrokenRules)):
                    _passed(ports, subject, fault)
                else:
                    _wait_or_pass(ports, subject, fault)
                return {"waits": fault.code}
        return {"moved": True}

    return run


def passed_at(ports: Ports, subject: str) -> float | None:
    """When a train or run met a fault in this process that passes by itself, in seconds since the epoch; None when it did not."""
    return _PASSED.get(ports.store, {}).get(subject)


def _passed(ports: Ports, subject: str, fault: InterlockError) -> None:
    name = f"train:{subject.split(':')[1]}" if subject.startswith(TRAINS) else ports.store.job(subject).slug
    told = fault.told if isinstance(fault, BrokenRules) else fault.message
    if fault.code == "evidence-key":  # a person lists the key, or another machine goes on
        told += f" {fault.hint}"
    ports.narrate(f"{name} goes on later: {told} Nothing is put out; interlock run tries again.")
    _PASSED.setdefault(ports.store, {})[subject] = ports.clock.now()


def _wait_or_pass(ports: Ports, subject: str, fault: InterlockError) -> None:
    """Where this machine's key may write nothing, it leaves the job as it is: a listed one, or this one once it is listed, goes on."""
    try:
        _wait(ports, subject, fault)
    except Refused as barred:
        if barred.code != "evidence-key":
            raise
        _passed(ports, subject, barred)


def _wait(ports: Ports, subject: str, fault: InterlockError) -> None:
    rule = fault.code if fault.code in RULES else "internal"
    what = "; ".join(f"{p.where}: {p.what}" for p in fault.problems) if isinstance(fault, BadInput) else fault.message
    hint = (fault.hint or "Mend the cause.").strip()
    itself = "then resume" in hint.lower() or rule == "approval"  # an approval alone lets the job go on
    ask = hint if itself else f"{hint} Then resume."
    if subject.startswith(TRAINS):
        number = int(subject.split(":")[1])
        train = ports.store.train(number)
        if train is not None and train.phase == "signed":
            ports.narrate(f"train:{number} could not land: {what} It stays signed; run again.")
        elif train is not None and train.open:
            dissolve(ports, train, rule, what, ask)
        return
    job = ports.store.job(subject)
    if job.state in OPEN and job.state is not State.WAITING:
        data = {"rule": rule, "what": what, "ask": ask, "detail": _detail(fault)}
        ports.store.record(NewEvent(subject=subject, step=f"fault:{job.rev}", kind="job.waits", data=data))


def _detail(fault: InterlockError) -> dict[str, Any]:
    """What the job waits with: who holds it, and what else the refusal tells as data."""
    if not isinstance(fault, Refused):
        return {}
    holders = list(fault.refusal.holders)
    return {**({"holders": holders} if holders else {}), **fault.detail}
