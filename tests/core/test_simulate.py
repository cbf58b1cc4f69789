"""The simulated train: it counts what goes wrong when a brain is wrong, and finds nothing wrong with ours."""

from __future__ import annotations

import random

import pytest
from bench._simulated import Change, Setting, Track, arrivals, digest, is_red, simulate, truth

from interlock.core.merge.queue import Land, Move, Out, Queue, Test
from interlock.core.merge.speculation import decide

PAIR = (Change(job="a", at=0.0), Change(job="b", at=1.0, red_with=(frozenset({"a"}),)), Change(job="c", at=2.0))
CALM = Setting(flake=0.0)


def reckless(queue: Queue) -> tuple[Move, ...]:
    """Lands whatever was tested on any base: what a squash after the test does."""
    if queue.running or not queue.members:
        return ()
    job = queue.members[0].job
    return (Land((job,)),) if (job,) in queue.results else (Test((job,)),)


def hasty(queue: Queue) -> tuple[Move, ...]:
    """Puts everybody out."""
    return tuple(Out(member.job, (), "red-alone") for member in queue.members)


def test_a_break_that_lands_is_counted():
    assert simulate(reckless, PAIR, random.Random(1).random, CALM).escaped == 1


def test_a_landing_on_another_tree_is_counted():
    track = Track({each.job: each for each in PAIR}, CALM, decide, random.Random(1).random)
    for each in PAIR:
        track.arrive(each)
    run = track.start(("a",))
    assert run is not None
    track.finish(run)
    track.base ^= digest(["another"])
    track.land(("a",), Land(("a",)))
    assert track.outcome.mismatched == 1


def test_an_innocent_one_put_out_is_counted():
    assert simulate(hasty, PAIR, random.Random(1).random, CALM).wrong == 3


@pytest.mark.parametrize("slots", [1, 2, 8])
def test_the_brain_lands_the_older_of_a_pair_and_nothing_red(slots):
    done = simulate(decide, PAIR, random.Random(1).random, Setting(slots=slots, flake=0.0))
    assert ["a", "c"] == sorted(done.landed)
    assert ["b"] == [out.member for out in done.left]
    assert (done.escaped, done.mismatched, done.wrong) == (0, 0, 0)
    assert done.most <= slots


def test_the_same_draws_make_the_same_day():
    days = [arrivals(random.Random(7).random, rate=12, hours=5) for _ in range(2)]
    assert days[0] == days[1]
    outcomes = [simulate(decide, day, random.Random(8).random, Setting(slots=4)) for day in days]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].landed


def test_a_conflict_counts_from_both_sides():
    known = truth(PAIR)
    assert is_red(known, ("a",), {"b"})
    assert is_red(known, ("a", "b"), set())
    assert not is_red(known, ("a", "c"), set())


def test_a_base_that_others_move_loses_no_change_and_lands_no_other_tree():
    changes = arrivals(random.Random(3).random, rate=6, hours=20)
    done = simulate(decide, changes, random.Random(4).random, Setting(slots=2, moved_every=1800.0))
    assert len(done.landed) + len(done.left) == done.arrived == len(changes)
    assert (done.escaped, done.mismatched) == (0, 0)


@pytest.mark.long
def test_ten_thousand_landings_are_each_of_the_tree_that_was_tested_and_none_is_red():
    landed = 0
    for seed, (slots, rate) in enumerate(((1, 6), (2, 8), (4, 12), (8, 12), (8, 14))):
        changes = arrivals(random.Random(seed).random, rate=rate, hours=240, bad=0.05)
        setting = Setting(slots=slots, flake=0.02, moved_every=7200.0, recall=0.5)
        done = simulate(decide, changes, random.Random(seed + 50).random, setting)
        assert (done.escaped, done.mismatched, done.red_bases) == (0, 0, 0)
        assert len(done.landed) + len(done.left) == len(changes)
        assert done.wrong <= 0.002 * len(changes)
        landed += len(done.landed)
    assert landed >= 10_000
