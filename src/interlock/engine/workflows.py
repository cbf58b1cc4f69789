"""The bounded workflows, one for each kind of action, step by step over the same app functions; what is due is core.plan's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlock.app import attempt, integrate, isolate, loop, publish, verify
from interlock.app.waiting import or_wait
from interlock.core.plan import Action
from interlock.ports.bundle import Ports

Step = tuple[str, Callable[[Ports, str, int], Any]]


def _step(name: str, carry_out: Callable[[Ports, str, int], Any]) -> Step:
    return name, or_wait(carry_out)


# A train goes on by itself as far as it can; each step looks whether it is due, and does nothing when it is not.
_OPEN = _step("open", lambda ports, _, number: integrate.open_train(ports, number))
_TEST = _step("test", lambda ports, _, number: integrate.prove_train(ports, number))
_LAND = _step("land", lambda ports, _, number: integrate.land_train(ports, number))

# Each step takes and gives plain JSON only: a dataclass would raise after its side effect.
STEPS: dict[str, tuple[Step, ...]] = {
    "isolate": (_step("isolate", lambda ports, subject, _: isolate.isolate_step(ports, subject)),),
    "reproduce": (_step("reproduce", lambda ports, subject, _: loop.reproduce_step(ports, subject)),),
    "attempt": (_step("start", attempt.start), _step("run", attempt.follow), _step("settle", attempt.settle)),
    "verify": (_step("verify", lambda ports, subject, _: verify.verify_step(ports, subject)),),
    "publish": (_step("publish", lambda ports, subject, _: publish.publish_step(ports, subject)),),
    "train-open": (_OPEN, _TEST, _LAND),
    "train-test": (_TEST, _LAND),
    "train-run": (_step("run", lambda ports, subject, _: integrate.run_train(ports, subject)),),
    "train-land": (_LAND,),
}


def steps_of(action: Action) -> tuple[Step, ...]:
    """The named steps that carry an action out, in order."""
    return STEPS[action.kind]
