"""Carries a shape through the product: dispatched, worked by its agent, verified; what came of it as a value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.app.conftest import Town
from tests.cases.shapes import Shape, town_of

from interlock.app.decide import abandon


@dataclass(frozen=True)
class Outcome:
    """Where the job stands, every rule that refused it, and all of it in words."""

    state: str
    rules: frozenset[str]
    told: str
    notes: str


class Trial:
    """One world in which shapes are tried one after the other."""

    def __init__(self, town: Town) -> None:
        self.town = town

    def of(self, shape: Shape) -> Outcome:
        result = self.town.dispatch(shape.name)
        assert result.refusal is None, result.refusal
        self.town.run()
        job = self.town.job(shape.name)
        waiting = job.waiting
        checks = waiting.detail.get("checks", ()) if waiting else ()
        rules = {each["rule"] for each in checks if each["state"] == "refused"} | ({waiting.rule} if waiting else set())
        evidence = self.town.ports.store.evidence(job.id)
        notes = " ".join(note for _, row in evidence for verdict in row.verdicts for note in verdict.notes)
        told = "\n".join([str(waiting), *self.town.said[-12:]])
        if job.landed_commit is None:
            abandon(self.town.ports, shape.name, "ana", "tried")
        return Outcome(state=str(job.state), rules=frozenset(rules), told=told, notes=notes)


def trial_of(root: Path, shapes: tuple[Shape, ...]) -> Iterator[Trial]:
    world = town_of(root, shapes)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in world.env.items():
            patch.setenv(name, value)
        yield Trial(Town(world))
