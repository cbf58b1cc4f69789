"""The one brain, asked again after every event of simulated lives: the same answer, never too many agents, and an end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.lives import admitted, event, job_in

from interlock.core.agent import loops
from interlock.core.contract.loop import Loop, LoopGate
from interlock.core.contract.policy import Train
from interlock.core.job.events import Event
from interlock.core.job.lifecycle import Job, State, Waiting, fold
from interlock.core.merge.queue import Land, Out, RedBase, Set, Test
from interlock.core.merge.speculation import decide
from interlock.core.merge.standing import due, present, queue_of, stranded
from interlock.core.merge.train import Member, TrainState, departed, fold_train
from interlock.core.plan import Action, Snapshot, joining, opening, plan, run_of, subject_of

BASE: dict[str, Any] = {"base": "b1", "candidate": "c1", "tree": "t1", "diff": "d1", "evidence": 1, "runs": 1}
LOOP = Loop(gate=LoopGate(kind="reproduce", run="x"), rounds=3)
LOOPING: dict[str, Any] = {"slug": "s", "loop": {"gate": {"kind": "reproduce", "run": "x", "same_output": None}}}
MOST_TROUBLE = 3  # interruptions of a job, and rebuilds of a train, before a person is asked


@dataclass
class World:
    """Histories of jobs and trains, and what becomes of the actions that the plan asks for."""

    needs: dict[str, tuple[str, ...]]
    agents: int
    policy: Train
    owners: dict[str, str | None]
    bad: frozenset[Set]
    draw: st.DrawFn
    jobs: dict[str, list[Event]] = field(default_factory=dict)
    trains: list[list[Event]] = field(default_factory=list)

    def snapshot(self) -> Snapshot:
        jobs = tuple(fold(history) for history in self.jobs.values())
        trains = [fold_train(history) for history in self.trains]
        open_jobs = tuple(job for job in jobs if job.state not in (State.LANDED, State.ABANDONED))
        return Snapshot(
            jobs=open_jobs,
            trains=tuple(train for train in trains if train.open),
            next_train=len(trains) + 1,
            landed_slugs=frozenset(job.slug for job in jobs if job.state is State.LANDED),
            depends_on=self.needs,
            owners={job.id: self.owners[job.id] for job in jobs if job.state is State.READY},
            policy=self.policy,
            parallel_agents=self.agents,
        )

    def train(self, number: int) -> TrainState:
        return fold_train(self.trains[number - 1])

    def write(self, subject: str, kind: str, attempt: int = 0, actor: str = "interlock", **data: object) -> None:
        history = self.trains[int(subject[6:]) - 1] if subject.startswith("train:") else self.jobs[subject]
        history.append(event(subject, kind, attempt=attempt, actor=actor, **data))

    def carry_out(self, action: Action) -> None:
        """Write what a real action may write: its success, or the trouble that chance makes of it."""
        match action.kind:
            case "isolate":
                self.write(action.subject, "job.isolated")
            case "reproduce":
                self.reproduce(action)
            case "attempt":
                self.attempt(action)
            case "verify":
                self.verify(action)
            case "publish":
                self.write(action.subject, self.choose("job.published", "job.published", "job.waits"))
            case "train-open":
                self.open(action)
            case "train-test":
                self.advance(action)
            case "train-run":
                number, base, jobs = run_of(action.subject)
                now = present(self.train(number), base, jobs)
                if now is not None:
                    self.run(self.train(number), now)
            case "train-land":
                self.land(action)

    def reproduce(self, action: Action) -> None:
        if self.choose("seen", "seen", "nothing") == "nothing":
            self.write(action.subject, "job.waits", rule="not-reproduced", what="It never failed.")
            return
        state = {"base": "b1", "gate": ["reproduce", "x", None], "seed": 1, "failed": []}
        self.write(action.subject, "job.reproduced", loop=state)

    def verify(self, action: Action) -> None:
        """A loop's gate comes first, and may give another round."""
        job = fold(self.jobs[action.subject])
        if job.card.get("loop") and self.choose("passed", "failed") == "failed":
            made = loops.Failure(signature=self.choose("a", "b"), what="It failed.", seed=2)
            failed = loops.with_failure(job.loop, made, job.worked)
            following = loops.after(LOOP, failed, began=0.0, now=1.0)
            assert len(failed) <= LOOP.rounds, "No loop has more rounds than its card allows."
            if following.kind == "round":
                self.write(job.id, "job.round", hypothesis=following.what, loop={"failed": failed})
                return
            self.write(job.id, "job.waits", rule=following.rule, what=following.what, loop={"failed": failed})
            return
        self.write(action.subject, self.choose("job.verified", "job.verified", "job.waits"))

    def attempt(self, action: Action) -> None:
        job = fold(self.jobs[action.subject])
        if job.state is State.ISOLATED:
            self.write(job.id, "attempt.started", action.number)
            return
        outcomes = ["attempt.worked", "attempt.worked", "attempt.ended", "attempt.interrupted"]
        kind = self.choose(*outcomes[: 3 if job.interruptions >= MOST_TROUBLE else 4])
        self.write(job.id, kind, action.number)

    def member(self, job: Job) -> dict[str, Any]:
        solo = job.slug == "s3"
        return Member(job=job.id, slug=job.slug, head=job.head or "", owner=self.owners[job.id], solo=solo).as_json()

    def open(self, action: Action) -> None:
        order = opening(self.snapshot())
        assert order, "A train is opened only for somebody."
        assert len({self.owners[job.id] for job in order}) == 1, "Nobody waits for another's owner."
        members = [self.member(job) for job in order]
        self.trains.append([event(action.subject, "train.opened", base="b1", members=members)])

    def advance(self, action: Action) -> None:
        """What the app does with a train in test: who is not ready leaves, others join, and one move is carried out."""
        seen = self.snapshot()
        train = self.train(action.number)
        if gone := departed(train, seen.jobs):
            self.write(action.subject, "train.left", jobs=[member.job for member in gone])
            return
        if lost := stranded(train, seen.jobs, seen.depends_on):
            self.write(action.subject, "train.left", jobs=[member.job for member in lost])
            return
        if fresh := joining(seen, train):
            self.write(action.subject, "train.joined", members=[self.member(job) for job in fresh])
            return
        match due(train, decide(queue_of(train, seen.jobs, seen.depends_on, seen.policy, frozenset()))):
            case Test(members=jobs):
                self.run(train, jobs)
            case Land(members=jobs):
                self.seal(train, jobs)
            case Out(member=job):
                self.write(job, "job.waits", rule="red-alone", what="It is red.")
                self.write(action.subject, "train.left", jobs=[job])
            case RedBase():
                for member in train.members:
                    self.write(member.job, "job.waits", rule="red-base", what="The base is red.")
                self.write(action.subject, "train.dissolved")

    def run(self, train: TrainState, jobs: Set) -> None:
        """A run tells the truth but for a flake now and then, and a base that fails never."""
        truth = not any(set(each) <= set(jobs) for each in self.bad)
        green = truth and (not jobs or self.choose("so", "so", "so", "flaky") == "so")
        data: dict[str, Any] = {
            "commit": f"c{len(self.trains[train.number - 1])}",
            "tree": "+".join(jobs),
            "diff": "d",
            "evidence": 1,
        }
        self.write(f"train:{train.number}", "train.ran", members=list(jobs), green=green, base=train.base, **data)

    def seal(self, train: TrainState, jobs: Set) -> None:
        run = train.last_of(jobs)
        assert run is not None, "Only what ran is sealed."
        assert run.green, "Only what is green is sealed."
        assert not any(set(each) <= set(jobs) for each in self.bad), "Nothing red is ever sealed."
        slugs = [member.slug for member in train.members if member.job in jobs]
        landed = self.snapshot().landed_slugs
        assert all(set(self.needs.get(slug, ())) <= landed | set(slugs) for slug in slugs), (
            "What it needs lands before."
        )
        assert len(jobs) == 1 or "j-s3" not in jobs, "A solo change is by itself."
        rest = [member.job for member in train.members if member.job not in jobs]
        if self.owners[jobs[0]] and rest:  # and it is sealed in the same look, before others may join
            self.write(f"train:{train.number}", "train.left", jobs=rest)
        data: dict[str, Any] = {
            "base": run.base,
            "candidate": run.commit,
            "tree": run.tree,
            "diff": run.diff,
            "evidence": 1,
        }
        self.write(f"train:{train.number}", "train.tested", lands=list(jobs), **data)
        if owner := self.owners[jobs[0]]:
            self.write(f"train:{train.number}", "train.signed", actor=owner, diff=run.diff)

    def land(self, action: Action) -> None:
        train = self.train(action.number)
        assert train.phase == "signed"
        if train.rebuilds < MOST_TROUBLE and self.choose("moved", "landed", "landed") == "moved":
            self.write(action.subject, "train.rebuild", base=f"m{train.rev}")
            return
        landing = train.landing
        self.write(action.subject, "train.landed", landed=[{"job": member.job} for member in landing])
        for member in landing:
            self.write(member.job, "job.landed")

    def choose(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    slugs = [f"s{number}" for number in range(draw(st.integers(0, 6)))]
    needs = {
        slug: tuple(draw(st.lists(st.sampled_from(slugs[:place]), max_size=2, unique=True)))
        for place, slug in enumerate(slugs)
        if place
    }
    policy = Train(batch=draw(st.integers(1, 4)), slots=draw(st.integers(1, 3)), window=draw(st.integers(1, 6)))
    owners = {f"j-{slug}": draw(st.sampled_from(["@ana", "@ben", None, None])) for slug in slugs}
    ids = list(owners)
    bad = (
        draw(st.frozensets(st.lists(st.sampled_from(ids), min_size=1, max_size=2, unique=True).map(tuple), max_size=2))
        if ids
        else frozenset()
    )
    world = World(needs=needs, agents=draw(st.integers(1, 4)), policy=policy, owners=owners, bad=bad, draw=draw)
    for place, slug in enumerate(slugs, 1):
        card = LOOPING if draw(st.booleans()) else {"slug": slug}
        world.jobs[f"j-{slug}"] = [admitted(slug, slot=place, card=card)]
    return world


def check(seen: Snapshot) -> tuple[Action, ...]:
    """What holds of every plan, whatever the snapshot."""
    actions = plan(seen)
    assert plan(seen) == actions, "Asked twice, it answers the same."
    assert len({action.id for action in actions}) == len(actions)
    running = [job.id for job in seen.jobs if job.state is State.RUNNING]
    agents = {action.subject for action in actions if action.kind == "attempt"}
    assert set(running) <= agents, "What runs is always carried on."
    assert len(agents) <= max(seen.parallel_agents, len(running))
    return actions


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_every_simulated_life_comes_to_an_end_without_ever_being_over(data: st.DataObject) -> None:
    world = data.draw(worlds())
    world.draw = data.draw  # type: ignore[assignment]
    left = 80 * len(world.jobs) + 5
    while actions := check(world.snapshot()):
        left -= 1
        assert left > 0, "It does not end."
        world.carry_out(data.draw(st.sampled_from(actions)))
    end = world.snapshot()
    assert all(job.state in (State.WAITING, State.READY) for job in end.jobs)
    for job in end.jobs:
        if job.state is State.READY:
            assert not set(world.needs[job.slug]) <= end.landed_slugs, "Nobody who could land is left standing."


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_an_action_keeps_its_name_until_it_moved_its_subject(data: st.DataObject) -> None:
    """Whatever else happens, an action that was not carried out is asked for again under the same id."""
    world = data.draw(worlds())
    world.draw = data.draw  # type: ignore[assignment]
    for _ in range(25):
        before = check(world.snapshot())
        if not before:
            return
        chosen = data.draw(st.sampled_from(before))
        world.carry_out(chosen)
        after = {action.id for action in check(world.snapshot())}
        if not chosen.kind.startswith("train"):
            others = [action for action in before if action.subject != chosen.subject and action.kind != "attempt"]
            assert {action.id for action in others} <= after


def test_new_attempts_wait_for_room_and_the_oldest_is_first() -> None:
    jobs = (job_in(State.RUNNING, "a"), job_in(State.ISOLATED, "b"), job_in(State.ISOLATED, "c"))
    for agents, expected in ((1, ["j-a"]), (2, ["j-a", "j-b"]), (9, ["j-a", "j-b", "j-c"])):
        actions = check(Snapshot(jobs=jobs, parallel_agents=agents))
        assert [action.subject for action in actions] == expected
    assert [action.id for action in check(Snapshot(jobs=jobs, parallel_agents=9))] == [
        "attempt:j-a:1",
        "attempt:j-b:1",
        "attempt:j-c:1",
    ]


def test_more_agents_than_the_machine_takes_are_carried_on_and_no_new_one_starts() -> None:
    jobs = (*(job_in(State.RUNNING, slug) for slug in "abc"), job_in(State.ISOLATED, "d"))
    assert [action.subject for action in check(Snapshot(jobs=jobs, parallel_agents=2))] == ["j-a", "j-b", "j-c"]


def test_nothing_is_due_for_who_waits_or_has_ended() -> None:
    jobs: tuple[Job, ...] = tuple(
        job_in(state, state.value) for state in (State.WAITING, State.LANDED, State.ABANDONED)
    )
    assert check(Snapshot(jobs=jobs)) == ()


def test_a_tested_train_waits_for_its_owners_and_holds_up_nobody_else() -> None:
    job = job_in(State.READY)
    member = Member(job=job.id, slug=job.slug, head="h1", owner="@ana").as_json()
    history = [event("train:1", "train.opened", base="b1", members=[member]), event("train:1", "train.tested", **BASE)]
    owners = {job.id: "@ana", "j-late": "@ben"}
    alone = Snapshot(jobs=(job,), trains=(fold_train(history),), next_train=2, owners=owners)
    assert check(alone) == ()
    (action,) = check(replace(alone, jobs=(job, job_in(State.READY, "late"))))
    assert action.id == "train-open:2", "A further train is opened for who needs another's sign-off."
    history.append(event("train:1", "train.signed", actor="@ana", diff="d1"))
    (action,) = check(replace(alone, trains=(fold_train(history),)))
    assert (action.kind, action.id, action.subject, action.number) == ("train-land", "train-land:1:3", "train:1", 1)


def test_what_is_not_what_was_tested_stops_every_train() -> None:
    odd = job_in(State.READY, "odd")
    odd = replace(odd, state=State.WAITING, waiting=Waiting(rule="landed-otherwise", what="It differs.", ask="Look."))
    late = job_in(State.READY, "late")
    seen = Snapshot(jobs=(odd, late), owners={late.id: None})
    assert check(seen) == ()
    assert [action.id for action in check(replace(seen, jobs=(late,)))] == ["train-open:1"]


def test_a_change_whose_class_is_gone_opens_no_train() -> None:
    assert check(Snapshot(jobs=(job_in(State.READY),), owners={})) == ()


def test_an_id_says_whom_its_action_is_about() -> None:
    jobs = tuple(job_in(state, state.value) for state in (State.ADMITTED, State.ISOLATED, State.WORKED, State.READY))
    actions = check(Snapshot(jobs=jobs, owners={job.id: None for job in jobs}))
    assert {action.kind for action in actions} == {"isolate", "attempt", "verify", "train-open"}
    assert [subject_of(action.id) for action in actions] == [action.subject for action in actions]


def test_a_tested_train_is_looked_at_again_once_a_member_is_closed_held_or_at_another_head() -> None:
    """An abandoned member would block everybody else's change until somebody signs what cannot land."""
    jobs = (job_in(State.READY, "a"), job_in(State.READY, "b"))
    members = [Member(job=job.id, slug=job.slug, head="h1", owner="@ana").as_json() for job in jobs]
    train = fold_train(
        [event("train:1", "train.opened", base="b1", members=members), event("train:1", "train.tested", **BASE)]
    )
    assert check(Snapshot(jobs=jobs, trains=(train,), next_train=2)) == ()
    gone = ((), (job_in(State.ABANDONED, "b"),), (replace(jobs[1], held="later"),), (replace(jobs[1], head="h2"),))
    for left in gone:
        (action,) = check(Snapshot(jobs=(jobs[0], *left), trains=(train,), next_train=2))
        assert (action.kind, action.id) == ("train-test", "train-test:1:2")
        assert [member.slug for member in departed(train, (jobs[0], *left))] == ["b"]


@pytest.mark.parametrize("slots", [1, 2])
def test_a_member_that_needs_one_that_left_leaves_as_well_and_others_open_a_train(slots: int) -> None:
    """The train would hold nobody that can be tested, and hold up all others for ever."""
    jobs = (job_in(State.WAITING, "a"), job_in(State.READY, "b"), job_in(State.READY, "late"))
    member = Member(job="j-b", slug="b", head="h1", owner=None).as_json()
    train = fold_train([event("train:1", "train.opened", base="b1", members=[member])])
    seen = Snapshot(
        jobs=jobs,
        trains=(train,),
        next_train=2,
        depends_on={"b": ("a",)},
        owners={"j-b": None, "j-late": "@ben"},
        policy=Train(slots=slots),
    )
    assert [each.slug for each in stranded(train, jobs, seen.depends_on)] == ["b"]
    assert [action.id for action in check(seen)] == ["train-test:1:1"]
    left = fold_train(
        [
            event("train:1", "train.opened", base="b1", members=[member]),
            event("train:1", "train.left", jobs=["j-b"]),
        ]
    )
    assert not left.open
    assert [action.id for action in check(replace(seen, trains=()))] == ["train-open:2"]


def test_where_many_runs_were_flakes_a_red_head_is_tried_once_more() -> None:
    member = Member(job="j-a", slug="a", head="h1", owner=None).as_json()
    for earlier, retries in (([0, 0], 1), ([70, 1], 1), ([69, 1], 2)):
        train = fold_train([event("train:1", "train.opened", base="b1", members=[member], earlier=earlier)])
        assert queue_of(train, (), {}, Train(retries=1), frozenset()).retries == retries
