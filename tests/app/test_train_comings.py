"""Members that leave a train and come back while its runs are being made: no run is taken for a fault, and all land."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interlock.app import decide
from interlock.app.supervise import supervise
from interlock.core.plan import Action
from interlock.testing.engine import DirectEngine

SLOTS = "train: {checks: ['true'], slots: 2, sign_off: none}\n"


class Meddling(DirectEngine):
    """An engine with one run that goes on for some looks, and somebody beside it who meddles with the first run of two changes."""

    def __init__(self, ports, before: Callable[[], object], after: Callable[[], object]) -> None:
        super().__init__(ports)
        self.before, self.after, self.looks = before, after, 0
        self.slow: Action | None = None

    def start(self, action: Action) -> None:
        if action.kind != "train-run":
            super().start(action)
        elif "+" not in action.subject:
            self.slow = self.slow or action
        elif any("+" in name for name in self.started):
            super().start(action)
        else:
            self.before()
            super().start(action)
            self.after()

    def running(self) -> frozenset[str]:
        return frozenset() if self.slow is None else frozenset({self.slow.id})

    def wait(self, timeout: float) -> None:
        self.looks += 1
        if self.slow is not None and self.looks > 6:
            slow, self.slow = self.slow, None
            super().start(slow)


def held(world, town, *slugs: str) -> None:
    world.write("interlock.yaml", SLOTS)
    for slug in slugs:
        world.card(slug, command=f"mkdir -p {slug} && echo x > {slug}/x")
    world.push()
    town().dispatch(*slugs)
    for slug in slugs:
        decide.hold(town().ports, slug, "ana", "together")
    town().run()
    for slug in slugs:
        decide.hold(town().ports, slug, "ana", None)


@pytest.mark.long
def test_a_run_that_looked_in_vain_since_its_member_was_away_is_made_when_it_is_back(world, town):
    held(world, town, "a", "b")
    ports = town().ports
    engine = Meddling(
        ports,
        lambda: decide.hold(ports, "b", "ana", "wait a moment"),
        lambda: decide.hold(ports, "b", "ana", None),
    )
    supervise(ports, engine)
    assert ["landed", "landed"] == [town().rule("a"), town().rule("b")]
    runs = [name for name in engine.started if name.startswith("train-run") and "+" in name]
    assert len(runs) == len(set(runs)) == 2, (
        "A name is carried out once by an engine that remembers, and the second one is made."
    )
