"""A machine whose key the policy does not list beside one that it lists, on one store: it holds up nothing and spoils nothing of the other's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from interlock.app import attempt, decide
from interlock.app.audit import audit
from interlock.app.clean import clean
from interlock.app.dispatch import dispatch
from interlock.app.sign_off import sign_off
from interlock.app.supervise import supervise
from interlock.core.job.lifecycle import State
from interlock.core.problems import Refused
from interlock.ports.bundle import Ports
from interlock.testing.engine import DirectEngine
from interlock.testing.world import World
from interlock.wiring import open_ports

pytestmark = pytest.mark.long

RULES = "train: {checks: ['true'], sign_off: owner}\n"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World.make(tmp_path / "w", policy=RULES)
    for name, value in made.env.items():
        monkeypatch.setenv(name, value)
    made.card("a", command="mkdir -p a && echo a > a/x")
    made.card("b", command="mkdir -p b && echo b > b/x")
    made.push()
    return made


class Town:
    """The team's machine and a laptop, each with its own key."""

    def __init__(self, team: Ports, laptop: Ports, world: World) -> None:
        self.team, self.laptop, self.world = team, laptop, world
        self.told: list[str] = []

    def list_team(self, *more: str) -> None:
        keys = ", ".join((self.team.signer.key_id, *more))
        self.world.write("interlock.yaml", f"{RULES}evidence: {{keys: [{keys}]}}\n")
        self.world.push()
        self.team.repo.refresh()
        self.laptop.repo.refresh()

    def work(self, who: Ports) -> None:
        who = replace(who, narrate=self.told.append)
        supervise(who, DirectEngine(who))

    def finish(self) -> None:
        """The team's machine does what is due, and its owner signs it off."""
        self.work(self.team)
        sign_off(self.team, "@ana")
        self.work(self.team)
        assert self.landed() == ["a"]

    def landed(self) -> list[str]:
        return [row.slug for row in self.team.store.landings()]


@pytest.fixture
def town(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Town]:
    with ExitStack() as open_ones:
        made = []
        for name in ("team", "laptop"):
            monkeypatch.setenv("XDG_STATE_HOME", str(world.root / f"state-{name}"))
            ports = open_ports(world.repo)
            assert ports.signer.key_id
            open_ones.enter_context(closing(ports.store))
            made.append(ports)
        assert made[0].signer.key_id != made[1].signer.key_id
        yield Town(made[0], made[1], world)


def test_a_run_there_spoils_no_job(town: Town) -> None:
    town.list_team()
    dispatch(town.team, ("a",), "ana")
    before = town.team.store.events()
    town.work(town.laptop)
    assert town.team.store.events() == before
    assert town.laptop.signer.key_id in " ".join(town.told)
    town.finish()
    assert audit(town.team).findings == ()


def test_what_somebody_says_there_is_refused_before_it_is_written(town: Town) -> None:
    town.list_team()
    dispatch(town.team, ("a",), "ana")
    decide.stop(town.team, "a", "ana", "a look first")
    before = town.team.store.events()
    for said in (
        lambda: decide.resume(town.laptop, "a", "ben"),
        lambda: decide.stop(town.laptop, "a", "ben", "no"),
        lambda: decide.hold(town.laptop, "a", "ben", "later"),
    ):
        with pytest.raises(Refused) as caught:
            said()
        assert caught.value.refusal.rule == "evidence-key"
        assert town.laptop.signer.key_id in caught.value.hint
    (answer,) = dispatch(town.laptop, ("b",), "ben")
    assert answer.refusal is not None
    assert answer.refusal.rule == "evidence-key"
    assert town.team.store.events() == before
    decide.resume(town.team, "a", "ana")
    town.work(town.team)
    with pytest.raises(Refused) as caught:
        sign_off(town.laptop, "@ana")
    assert caught.value.refusal.rule == "evidence-key"
    town.finish()
    assert audit(town.team).findings == ()


def test_a_job_can_be_given_up_there(town: Town) -> None:
    """It does not land any more, so that nobody has to believe it."""
    town.list_team()
    dispatch(town.team, ("a",), "ana")
    assert decide.abandon(town.laptop, "a", "ben", "not wanted").state is State.ABANDONED


def test_what_was_dispatched_there_before_the_list_costs_no_attempt_and_tells_the_way_on(town: Town) -> None:
    dispatch(town.laptop, ("a",), "ana")
    town.list_team()
    town.work(town.team)
    job = town.team.store.find("a")
    assert job is not None
    assert job.waiting is not None
    assert (job.waiting.rule, job.attempt) == ("evidence-key", 0)
    assert "evidence.keys" in job.waiting.ask
    assert "dispatch it again" in job.waiting.ask
    town.list_team(town.laptop.signer.key_id)
    decide.resume(town.team, "a", "ana")
    town.finish()


def test_or_it_is_given_up_and_dispatched_again(town: Town) -> None:
    dispatch(town.laptop, ("a",), "ana")
    town.list_team()
    town.work(town.team)
    decide.abandon(town.team, "a", "ana", "dispatched on a laptop")
    clean(town.team, "a", "ana")
    (answer,) = dispatch(town.team, ("a",), "ana")
    assert answer.refusal is None
    town.finish()


def test_what_was_signed_off_there_before_the_list_does_not_land_and_tells_the_way_on(town: Town) -> None:
    dispatch(town.team, ("a",), "ana")
    town.work(town.team)
    sign_off(town.laptop, "@ana")
    town.list_team()
    town.work(town.team)
    assert town.landed() == []
    job = town.team.store.find("a")
    assert job is not None
    assert job.waiting is not None
    assert "evidence.keys" in job.waiting.ask
    town.list_team(town.laptop.signer.key_id)
    decide.resume(town.team, "a", "ana")
    town.finish()


def test_a_stop_ends_the_agent_although_nothing_may_be_written(town: Town) -> None:
    dispatch(town.team, ("a",), "ana")
    job = town.team.store.find("a")
    assert job is not None
    attempt.start(town.team, job.id, 1)
    town.list_team()
    ended: list[Path] = []
    runs = SimpleNamespace(cancel=ended.append)
    with pytest.raises(Refused):
        decide.stop(replace(town.laptop, runs=runs), "a", "ben", "it costs too much")
    assert ended == [town.laptop.records.attempt(job.id, 1)]
