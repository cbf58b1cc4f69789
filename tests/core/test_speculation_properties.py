"""The train's brain in worlds it does not know: whatever is guilty, flakes, clashes, joins, leaves or dies, it lands only what was proven."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import pytest
from bench._simulated import Change, Setting, Track
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.core.merge.queue import Cancel, Land, Out, Queue, RedBase, Test
from interlock.core.merge.speculation import decide, in_line

FOREVER = 2000


@dataclass
class World:
    """A hidden truth and a shuffled order of what happens; the brain sees only its queue."""

    changes: list[Change]
    setting: Setting
    chance: random.Random
    flakes: int = 0
    leaves: int = 0
    crashes: int = 0
    moves: int = 0
    suspects: frozenset[frozenset[str]] = frozenset()
    asked: int = 0
    gone: set[str] = field(default_factory=set)

    def brain(self, queue: Queue):
        queue = replace(queue, suspects=self.suspects)
        moves = decide(queue)
        assert moves == decide(queue), "The same queue, the same moves."
        check(queue, moves)
        self.asked += 1
        assert self.asked < 60, "It comes to rest without anything happening."
        return moves

    def run(self) -> Track:
        """Let it all happen, in any order, until nothing waits or nothing can go on."""
        track = Track({each.job: each for each in self.changes}, self.setting, self.brain, self.chance.random)
        left = list(self.changes)
        for _ in range(FOREVER):
            self.asked = 0
            for run in track.decide():
                if run.green and self.flakes and self.chance.random() < 0.3:
                    run.green, self.flakes = False, self.flakes - 1
            self.asked = 0
            self.drop_orphans(track)
            if not track.decide() and not left and not track.running:
                break
            self.happen(track, left)
        return track

    def happen(self, track: Track, left: list[Change]) -> None:
        what = self.chance.random()
        if left and (what < 0.4 or not track.running):
            track.arrive(left.pop(0))
        elif what < 0.5 and self.crashes:
            self.crashes -= 1
            for members in list(track.running):
                track.cancel(members)
        elif what < 0.55 and self.moves:
            self.moves -= 1
            track.move_base()
        elif what < 0.6 and self.leaves and track.waiting:
            self.leaves -= 1
            job = self.chance.choice(sorted(track.waiting))
            self.gone.add(job)
            track.forget(job)
        elif track.running:
            track.finish(track.running[self.chance.choice(sorted(track.running))])

    def drop_orphans(self, track: Track) -> None:
        """Who needs one that left waits for a person, as the app has it."""
        lost = self.gone | {out.member for out in track.outcome.left}
        while orphans := [job for job, each in track.waiting.items() if each.after & lost]:
            for job in orphans:
                track.forget(job)
                self.gone.add(job)
                lost.add(job)


def check(queue: Queue, moves) -> None:
    """What holds for every single decision."""
    jobs = [member.job for member in queue.members]
    line = [member.job for member in in_line(queue.members)]
    solo = {member.job for member in queue.members if member.solo}
    outs = {move.member for move in moves if isinstance(move, Out)}
    tests = [move.members for move in moves if isinstance(move, Test)]
    cancels = [move.members for move in moves if isinstance(move, Cancel)]
    lands = [move.members for move in moves if isinstance(move, Land)]
    assert set(cancels) <= queue.running
    assert len(set(cancels)) == len(cancels)
    assert queue.running.isdisjoint(tests), "Never the same set twice at once."
    assert len(set(tests)) == len(tests)
    assert len(queue.running) - len(cancels) + len(tests) <= queue.slots or not tests
    for members in tests:
        assert not solo.intersection(members) or len(members) == 1, "A solo one is tested by itself."
        assert list(members) == [job for job in jobs if job in members], "In their order."
        assert not (queue.results.get(members) and queue.results[members].green), "What is green is not tested again."
    assert len(lands) <= 1
    for members in lands:
        assert queue.results[members].green, "Never the unproven."
        passed = line[: max(line.index(job) for job in members)]
        assert set(passed) <= {*members, *lost(queue, outs)}, "Nobody is passed by but who leaves."
        for member in queue.members:
            assert member.job not in members or member.after <= set(members), "Never before what it needs."
    if line and not queue.running:
        assert moves, "Something waits and nothing runs: there is a move."
    if any(isinstance(move, RedBase) for move in moves):
        assert queue.results[()].reds > queue.retries


def lost(queue: Queue, outs: set[str]) -> set[str]:
    """Who leaves, and who needs one that leaves."""
    found = set(outs)
    for member in queue.members:
        if member.after & found:
            found.add(member.job)
    return found


def greedy(world: World) -> tuple[list[str], set[str]]:
    """Who lands and who leaves when each is tried on all that landed before, in order, by one who knows the truth."""
    landed: list[str] = []
    out: set[str] = set()
    for each in world.changes:
        red = any(others <= set(landed) for others in each.red_with) or each.clashes_with & set(landed)
        if red or not each.after <= set(landed):
            out.add(each.job)
        else:
            landed.append(each.job)
    return landed, out


@st.composite
def worlds(draw, *, flakes=0, leaves=0, crashes=0, moves=0):
    names = [f"j{place}" for place in range(draw(st.integers(1, 9)))]
    changes = []
    for place, name in enumerate(names):
        older = names[:place]
        red: list[frozenset[str]] = [frozenset()] if draw(st.integers(0, 7)) == 0 else []
        if older and draw(st.integers(0, 3)) == 0:
            red.append(frozenset(draw(st.lists(st.sampled_from(older), min_size=1, max_size=2))))
        clash = frozenset({draw(st.sampled_from(older))}) if older and draw(st.integers(0, 7)) == 0 else frozenset()
        after = frozenset({draw(st.sampled_from(older))}) if older and draw(st.integers(0, 7)) == 0 else frozenset()
        solo = draw(st.integers(0, 9)) == 0
        changes.append(Change(job=name, at=place, red_with=tuple(red), clashes_with=clash, after=after, solo=solo))
    pairs = (
        st.frozensets(st.frozensets(st.sampled_from(names), min_size=2, max_size=2), max_size=4)
        if names[1:]
        else st.just(frozenset())
    )
    setting = Setting(
        slots=draw(st.sampled_from([1, 1, 2, 3, 5])),
        batch=draw(st.sampled_from([1, 2, 4, 8, 8])),
        window=draw(st.sampled_from([3, 20])),
        retries=flakes or draw(st.sampled_from([0, 1, 2])),
        flake=0.0,
    )
    return World(
        changes,
        setting,
        random.Random(draw(st.integers(0, 9999))),
        flakes=flakes,
        leaves=leaves,
        crashes=crashes,
        moves=moves,
        suspects=draw(pairs),
    )


def ended(world: World) -> Track:
    track = world.run()
    assert not track.waiting, f"{list(track.waiting)} wait for ever."
    assert not track.running
    assert track.outcome.escaped == track.outcome.mismatched == track.outcome.red_bases == 0
    return track


@settings(max_examples=80, deadline=None)
@given(worlds(crashes=2))
def test_without_flakes_exactly_the_guilty_leave_and_all_others_land(world) -> None:
    exactly_the_guilty_leave(world)


@pytest.mark.long
@settings(max_examples=500, deadline=None)
@given(worlds(crashes=3))
def test_in_a_thousand_worlds_exactly_the_guilty_leave(world) -> None:
    exactly_the_guilty_leave(world)


def exactly_the_guilty_leave(world: World) -> None:
    track = ended(world)
    landed, out = greedy(world)
    assert landed == track.outcome.landed
    assert out == {move.member for move in track.outcome.left} | world.gone
    for move in track.outcome.left:
        assert set(move.partners) <= set(landed), "The older ones land."


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 2).flatmap(lambda many: worlds(flakes=many, crashes=1)))
def test_as_many_flakes_as_retries_put_nobody_innocent_out(world) -> None:
    track = ended(world)
    assert track.outcome.wrong == 0
    out = {move.member for move in track.outcome.left} | world.gone
    assert {each.job for each in world.changes} - out == set(track.outcome.landed)


@settings(max_examples=50, deadline=None)
@given(worlds(leaves=2, crashes=2, moves=2))
def test_members_that_leave_runs_that_die_and_a_base_that_moves_change_nothing_of_what_is_proven(world) -> None:
    track = ended(world)
    assert track.outcome.wrong == 0
    names = [*track.outcome.landed, *(move.member for move in track.outcome.left), *world.gone]
    assert sorted(names) == sorted(each.job for each in world.changes), "Each once."


@settings(max_examples=50, deadline=None)
@given(worlds())
def test_it_ends_in_few_runs(world) -> None:
    track = ended(world)
    assert track.outcome.runs <= 12 * len(world.changes) + 4
