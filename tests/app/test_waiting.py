"""Steps that look at what others move meanwhile: a run looks again under its own name, all else is decided anew."""

from __future__ import annotations

from typing import Any, cast

import pytest

from interlock.app.waiting import LOOKS, or_wait
from interlock.core.job.lifecycle import IllegalTransition
from interlock.core.problems import Stale
from interlock.ports.bundle import Ports

PORTS = cast(Ports, None)
"""Nothing is asked of the world when somebody else was faster."""
RUN = "run:1:09f4:1:job"


class Moving:
    """A step that finds its train moved so many times."""

    def __init__(self, times: int, fault: type[Exception] = Stale) -> None:
        self.left, self.fault, self.looks = times, fault, 0

    def __call__(self, ports: Ports, subject: str, number: int) -> Any:
        self.looks += 1
        if self.looks <= self.left:
            raise self.fault("The train stands at another revision.")
        return {"ran": True}


@pytest.mark.parametrize("fault", [Stale, IllegalTransition])
def test_a_run_whose_train_moved_under_it_looks_again_since_nobody_would_start_it_again(fault: type[Exception]) -> None:
    step = Moving(2, fault)
    assert or_wait(step)(PORTS, RUN, 1) == {"ran": True}
    assert step.looks == 3


def test_it_does_not_look_for_ever() -> None:
    step = Moving(10_000)
    assert or_wait(step)(PORTS, RUN, 1) == {"moved": True}
    assert step.looks == LOOKS


@pytest.mark.parametrize("subject", ["train:1", "e7d03dd4"])
def test_a_train_or_job_that_moved_is_left_to_the_next_look(subject: str) -> None:
    step = Moving(1)
    assert or_wait(step)(PORTS, subject, 1) == {"moved": True}
    assert step.looks == 1
