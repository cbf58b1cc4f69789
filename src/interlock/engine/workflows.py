"""The bounded workflows, one for each kind of action, step by step over the same app functions; what is due is core.plan's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlock.app import attempt, integrate, isolate, publish, verify
from interlock.core.plan import Action
from interlock.ports import Ports

Step = tuple[str, Callable[[Ports, str, int], Any]]

# A train goes on by itself as far as it can; each step looks whether it is due, and does nothing when it is not.
_OPEN: Step = ("open", lambda ports, _, number: integrate.open_train(ports, number))
_TEST: Step = ("test", lambda ports, _, number: integrate.prove_train(ports, number))
_LAND: Step = ("land", lambda ports, _, number: integrate.land_train(ports, number))

# Each step takes and gives plain JSON only (facts/engine: a dataclass raises after its side effect).
STEPS: dict[str, tuple[Step, ...]] = {
    "isolate": (("isolate", lambda ports, subject, _: isolate.isolate_step(ports, subject)),),
    "attempt": (
        ("start", attempt.start),
        ("run", attempt.follow),
        ("settle", attempt.settle),
    ),
    "verify": (("verify", lambda ports, subject, _: verify.verify_step(ports, subject)),),
    "publish": (("publish", lambda ports, subject, _: publish.publish_step(ports, subject)),),
    "train-open": (_OPEN, _TEST, _LAND),
    "train-test": (_TEST, _LAND),
    "train-land": (_LAND,),
}


def steps_of(action: Action) -> tuple[Step, ...]:
    """The named steps that carry an action out, in order."""
    return STEPS[action.kind]
