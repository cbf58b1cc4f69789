"""Reverts of reverts, as often as anybody likes: record, default branch and those who stand on the change agree after each."""

from __future__ import annotations

import json

import pytest

from interlock.app.decide import hold
from interlock.app.revert import revert
from interlock.core.job.lifecycle import State

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]

NAMES = ("one", "revert-one", "revert-revert-one", "revert-revert-revert-one", "revert-revert-revert-revert-one")


@pytest.fixture
def begun(world, town):
    """A town in which one has landed, and needy, which stands on it, is held."""
    world.card("one", command="mkdir one; echo x > one/x")
    world.card("needy", needs='["one"]', command="mkdir needy; echo x > needy/x")
    world.push()
    made = town()
    made.dispatch("one")
    made.run()
    made.dispatch("needy")
    hold(made.ports, "needy", "ana", "not yet")
    made.run()
    return made


def test_each_revert_of_a_revert_turns_the_whole_chain(begun, world):
    assert begun.rule("needy") == "ready"
    for number, name in enumerate(NAMES[:-1], 1):
        made = revert(begun.ports, name, "ana", "x")
        there = number % 2 == 0  # whether the change is on the default branch after this one
        assert made.job.slug == NAMES[number]
        assert (begun.rule("needy"), made.dependants) == (
            ("ready", ("needy",)) if number == 1 else ("depends-on", () if there else ("needy",))
        )
        begun.run()
        assert ("one/x" in world.main_files()) is there
        chain = [begun.job(each).state for each in NAMES[: number + 1]]
        assert chain == [State.LANDED if (number - at) % 2 == 0 else State.REVERTED for at in range(number + 1)]
        slugs = begun.ports.repo.landed_slugs(begun.ports.repo.refresh().oid)
        assert slugs & set(NAMES) == {
            each for each in NAMES if begun.job(each) and begun.job(each).state is State.LANDED
        }
        assert begun.rule("needy") == "depends-on"
    assert "was reverted by revert-one." in json.dumps(begun.job("needy").waiting.what)
