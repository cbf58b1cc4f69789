"""Use cases over real git, a real SQLite store and real processes, carried out in this thread."""

from __future__ import annotations

import pytest

from interlock.app.dispatch import dispatch
from interlock.app.supervise import supervise
from interlock.testing.engine import DirectEngine
from interlock.testing.world import World
from interlock.wiring import open_ports


class Town:
    """A world whose use cases are called directly."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.said: list[str] = []
        self.ports = open_ports(world.repo, narrate=self.said.append)

    def dispatch(self, *slugs: str):
        results = dispatch(self.ports, slugs, "ana")
        return results[0] if len(slugs) == 1 else results

    def run(self):
        supervise(self.ports, DirectEngine(self.ports))
        for job in self.ports.store.jobs():
            if job.waiting:
                self.said.append(f"{job.slug} waits: {job.waiting}")

    def job(self, slug: str):
        return self.ports.store.find(slug)

    def rule(self, slug: str) -> str:
        waiting = self.job(slug).waiting
        return waiting.rule if waiting else str(self.job(slug).state)


@pytest.fixture
def world(tmp_path, monkeypatch):
    made = World.make(tmp_path / "w")
    for name, value in made.env.items():
        monkeypatch.setenv(name, value)
    return made


@pytest.fixture
def town(world):
    """Opened when first asked for, after the test pushed its base; what was said is printed when a test fails."""
    box: list[Town] = []

    def open_town() -> Town:
        if not box:
            box.append(Town(world))
        return box[0]

    yield open_town
    for made in box:
        print("\n".join(made.said))
