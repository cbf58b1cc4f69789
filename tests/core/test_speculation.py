"""What the train does next: refusals first (what it does not land, whom it does not blame), then what it tests and lands."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import pytest

from interlock.core.merge.queue import (
    Cancel,
    Land,
    Out,
    Queue,
    Queued,
    RedBase,
    Result,
    Set,
    Test,
    next_window,
    rebased,
    retries_for,
    stripped,
)
from interlock.core.merge.speculation import decide, in_line

GREEN, RED, RED2 = Result(green=True), Result(green=False, reds=1), Result(green=False, reds=2)
BASE: dict[Set, Result] = {(): GREEN}


def waiting(*jobs: str) -> tuple[Queued, ...]:
    return tuple(Queued(job=job, since=place) for place, job in enumerate(jobs))


def line(jobs: str, **parts: Any) -> Queue:
    return Queue(members=waiting(*jobs), **{"slots": 3, **parts})


def pair(names: Iterable[str]) -> frozenset[str]:
    return frozenset(names)


def played(queue: Queue, is_green) -> tuple[list[Set], list[Out], list[Set]]:
    """Run every set that is asked for, until nothing is; gives (landings, outs, runs)."""
    members, results = list(queue.members), dict(queue.results)
    runs: list[Set] = []
    lands: list[Set] = []
    outs: list[Out] = []
    landed: tuple[str, ...] = ()
    for _ in range(200):
        asked = Queue(
            members=tuple(members),
            results=results,
            suspects=queue.suspects,
            green_alone=queue.green_alone,
            slots=queue.slots,
            batch=queue.batch,
            retries=queue.retries,
        )
        moves = decide(asked)
        if not moves or any(isinstance(move, RedBase) for move in moves):
            return lands, outs, runs
        for move in moves:
            match move:
                case Test(members=tested):
                    runs.append(tested)
                    before = results.get(tested, Result(green=False))
                    green = is_green({*landed, *tested})
                    results[tested] = Result(green=green, reds=before.reds + (not green), under=before.under)
                case Land(members=done):
                    lands.append(done)
                    landed += done
                    results = rebased(results, done)
                    members = [each for each in members if each.job not in done]
                case Out(member=job):
                    outs.append(move)
                    members = [each for each in members if each.job != job]
                    results = {tested: result for tested, result in results.items() if job not in tested}
    raise AssertionError("It does not end.")


# ---------------------------------------------------------------- what it does not do
def test_a_green_prefix_of_another_order_never_lands():
    moves = decide(line("abc", results={**BASE, ("b",): GREEN, ("b", "a"): GREEN}, running=frozenset({("a",)})))
    assert not [move for move in moves if isinstance(move, Land)]


def test_nobody_is_blamed_for_one_red_run():
    moves = decide(line("a", results={**BASE, ("a",): RED}))
    assert (Test(("a",), "retry"),) == moves


def test_nobody_is_blamed_while_nothing_was_ever_green_on_this_base():
    moves = decide(line("a", results={("a",): RED2}))
    assert (Test((), "base"),) == moves


def test_a_red_base_is_said_after_as_many_runs_as_a_member_gets_and_nobody_leaves():
    assert (Test((), "retry"),) == decide(line("a", results={("a",): RED2, (): RED}))
    for slots in (1, 3):
        assert (RedBase(),) == decide(line("a", results={("a",): RED2, (): RED2}, slots=slots))


def test_a_change_that_mends_a_red_base_lands():
    assert (Land(("a",)),) == decide(line("a", results={("a",): GREEN, (): RED2}))


def test_nothing_speculates_across_a_solo_member_and_it_is_tested_by_itself():
    members = (*waiting("a", "b"), Queued(job="m", solo=True), *waiting("c"))
    assert ["a", "b"] == [member.job for member in in_line(members)]
    assert (Test(("a",)), Test(("a", "b"))) == decide(Queue(members=members, slots=4))
    assert (Test(("m",)),) == decide(Queue(members=members[2:], slots=4))


def test_one_that_needs_somebody_who_is_not_here_waits_and_holds_up_nobody():
    members = (Queued(job="a", after=frozenset({"x"})), Queued(job="b"))
    assert (Test(("b",)),) == decide(Queue(members=members, slots=2))
    assert () == decide(Queue(members=members[:1], slots=2))


def test_what_needs_one_in_doubt_is_not_tested_without_it():
    members = (Queued(job="a"), Queued(job="b", after=frozenset({"a"})), Queued(job="c"))
    moves = decide(Queue(members=members, slots=4, results={**BASE, ("a",): RED}))
    assert [("a",), ("c",)] == sorted(move.members for move in moves if isinstance(move, Test))


def test_an_older_one_in_doubt_is_not_passed_by():
    moves = decide(line("abc", results={**BASE, ("a",): RED, ("b",): GREEN, ("b", "c"): GREEN}))
    assert (Test(("a",), "retry"),) == moves


def test_no_more_than_the_slots_and_no_set_twice():
    moves = decide(line("abcdef", batch=1, running=frozenset({("a",), ("a", "b")})))
    assert (Test(("a", "b", "c")),) == tuple(move for move in moves if isinstance(move, Test))[:1]
    assert len(moves) == 1


# ---------------------------------------------------------------- two slots and more
def test_each_stands_on_those_before_it_and_a_green_one_lands_all_of_them_at_once():
    assert (Test(("a",)), Test(("a", "b")), Test(("a", "b", "c"))) == decide(line("abc"))
    moves = decide(line("abc", results={("a", "b"): GREEN}, running=frozenset({("a",), ("a", "b", "c")})))
    assert (Cancel(("a",)), Land(("a", "b"))) == moves


def test_the_next_ones_stand_on_the_nearest_that_does_not_fail():
    moves = decide(line("abc", results={**BASE, ("a", "b"): RED}, running=frozenset({("a",), ("a", "b", "c")})))
    assert Test(("a", "c")) in moves


def test_a_red_head_is_excused_by_a_green_one_that_holds_it_and_that_is_said():
    moves = decide(line("ab", results={**BASE, ("a",): RED, ("a", "b"): GREEN}))
    assert (Land(("a", "b"), flaked=(("a",),)),) == moves


def test_a_retry_that_is_green_lands_and_the_red_run_is_told_as_a_flake():
    moves = decide(line("a", results={**BASE, ("a",): Result(green=True, reds=1)}))
    assert (Land(("a",), flaked=(("a",),)),) == moves


def test_a_red_head_waits_for_the_run_that_may_excuse_or_accuse_it():
    moves = decide(line("ab", results={**BASE, ("a",): RED}, running=frozenset({("a", "b")})))
    assert (Test(("b",)),) == moves


def test_the_pair_is_named_where_the_older_lands():
    results: dict[Set, Result] = {**BASE, ("a",): GREEN, ("a", "b"): RED2}
    moves = decide(line("ab", results=results))
    assert (Land(("a",)), Out("b", ("a",), "red-together", ("a", "b"))) == moves


def test_a_predicted_partner_is_named_alone():
    results: dict[Set, Result] = {**BASE, ("a", "b", "c"): GREEN, ("a", "b", "c", "d"): RED2}
    moves = decide(line("abcd", results=results, suspects=frozenset({pair("bd")})))
    assert Out("d", ("b",), "red-together", ("a", "b", "c", "d")) in moves


def test_a_clash_leaves_once_those_it_does_not_merge_on_land():
    clashes: dict[Set, tuple[str, ...]] = {("a", "b"): ("x.py",)}
    assert (Test(("a",)), Test(("a", "c"))) == decide(line("abc", clashes=clashes))
    moves = decide(line("ab", clashes=clashes, results={("a",): GREEN}))
    assert (Land(("a",)), Out("b", ("a",), "text-conflict", ("a", "b"))) == moves


def test_nobody_is_stacked_on_one_that_is_predicted_to_break_with_one_ahead():
    moves = decide(line("abc", suspects=frozenset({pair("ab")})))
    assert (Test(("a",)), Test(("a", "b")), Test(("a", "c"))) == moves


def test_only_the_window_is_tested():
    moves = decide(line("abcdef", slots=6, window=3))
    assert [("a",), ("a", "b"), ("a", "b", "c")] == [move.members for move in moves if isinstance(move, Test)]


def test_more_than_the_slots_are_tested_in_steps_of_several():
    moves = decide(line("abcdef", slots=2))
    assert (Test(("a", "b", "c")), Test(tuple("abcde"))) == moves


def test_what_owners_sign_is_not_replaced_by_a_larger_set():
    results: dict[Set, Result] = {("a",): GREEN, ("a", "b"): GREEN}
    assert (Land(("a", "b")),) == decide(line("ab", results=results))
    assert (Land(("a",)),) == decide(line("ab", results=results, offered=("a",)))
    assert (Land(("a",)),) == decide(line("ab", results=results, offered=("a",), slots=1))


def test_a_run_of_one_that_left_is_cancelled():
    assert (Cancel(("a", "x")),) == decide(line("a", running=frozenset({("a",), ("a", "x")})))
    assert (Cancel(("x",)),) == decide(line("a", running=frozenset({("x",)}), slots=1))
    assert (Cancel(("x",)),) == decide(Queue(running=frozenset({("x",)})))


# ---------------------------------------------------------------- one slot
def test_one_slot_tests_a_batch_and_lands_it_at_once():
    assert (Test(tuple("abc")),) == decide(line("abcd", slots=1, batch=3))
    assert (Land(tuple("abc")),) == decide(line("abcd", slots=1, results={tuple("abc"): GREEN}))


@pytest.mark.parametrize(("first", "second"), list(combinations("abcde", 2)))
def test_a_predicted_pair_hidden_in_five_takes_three_runs_with_the_landing(first, second):
    queue = line("abcde", slots=1, suspects=frozenset({pair(first + second)}), results=BASE)
    lands, outs, runs = played(queue, lambda tree: not {first, second} <= tree)
    assert [Out(second, (first,), "red-together", (first, second))] == outs
    assert [tuple(job for job in "abcde" if job != second)] == lands
    assert len(runs) <= 3


@pytest.mark.parametrize(("first", "second"), list(combinations("abcde", 2)))
def test_a_pair_nobody_predicted_takes_five_where_all_are_green_alone_but_three_pairs_take_six(first, second):
    queue = line("abcde", slots=1, results=BASE, green_alone=frozenset("abcde"))
    lands, outs, runs = played(queue, lambda tree: not {first, second} <= tree)
    assert [(second, (first,))] == [(out.member, out.partners) for out in outs]
    assert ["abcde".replace(second, "")] == ["".join(done) for done in lands]
    assert len(runs) <= (6 if first + second in ("ab", "bc", "cd") else 5)


def test_one_red_of_five_takes_five_runs_at_most_but_the_fourth_takes_six():
    counts = {}
    for bad in "abcde":
        lands, outs, runs = played(line("abcde", slots=1, results=BASE), lambda tree, bad=bad: bad not in tree)
        assert [(bad, (), "red-alone")] == [(out.member, out.partners, out.rule) for out in outs]
        assert ["abcde".replace(bad, "")] == ["".join(done) for done in lands]
        counts[bad] = len(runs)
    assert {bad: many for bad, many in counts.items() if many > 5} == {"d": 6}


@pytest.mark.parametrize("false", [0, 3])
def test_a_predicted_pair_in_twenty_takes_eight_runs_at_most(false):
    jobs = [f"m{place:02}" for place in range(20)]
    wrong = [frozenset((jobs[place], jobs[place + 7])) for place in range(false)]
    queue = Queue(members=waiting(*jobs), batch=20, suspects=frozenset({*wrong, pair(("m05", "m16"))}), results=BASE)
    lands, outs, runs = played(queue, lambda tree: not {"m05", "m16"} <= tree)
    assert [("m16", ("m05",))] == [(out.member, out.partners) for out in outs]
    assert [19] == [len(done) for done in lands]
    assert len(runs) <= 8


def test_a_member_whose_accuser_left_is_tried_again_with_the_others():
    def is_green(tree):
        return "a" not in tree and not {"b", "d"} <= tree

    lands, outs, _ = played(line("abcd", slots=1, results=BASE, suspects=frozenset({pair("ab")})), is_green)
    assert {"a", "d"} == {out.member for out in outs}
    assert [("b", "c")] == lands


def test_while_others_wait_the_green_part_of_a_red_batch_lands_before_the_rest_is_searched():
    results: dict[Set, Result] = {**BASE, tuple("abcd"): RED, ("a", "b"): GREEN}
    assert (Test(tuple("abc"), "probe"),) == decide(line("abcd", slots=1, results=results))
    assert (Land(("a", "b")),) == decide(line("abcde", slots=1, results=results))


def test_a_stack_is_not_pulled_apart_when_its_batch_is_red():
    members = (Queued(job="a"), Queued(job="b", after=frozenset({"a"})), Queued(job="c"))
    assert (Test(("a", "b", "c")),) == decide(Queue(members=members))
    assert (Test(("a",), "first"),) == decide(Queue(members=members, results={("a", "b", "c"): RED}))


# ---------------------------------------------------------------- values
def test_results_are_known_by_their_trees_on_the_base_after_a_landing():
    results: dict[Set, Result] = {("a",): RED, ("a", "b"): GREEN, ("a", "b", "c"): RED, ("c",): GREEN}
    found = rebased(results, ("a", "b"))
    assert {(): Result(green=True, under=("a", "b")), ("c",): Result(green=False, reds=1, under=("a", "b"))} == found
    assert stripped(("b", "a"), ("a",)) is None


def test_the_window_grows_by_one_and_halves_and_keeps_its_floor():
    assert next_window(20, 3, "landed") == 21
    assert next_window(20, 3, "failed") == 10
    assert next_window(4, 3, "failed") == 3


def test_a_flaky_train_asks_once_more_and_a_calm_or_young_one_does_not():
    assert [retries_for(1, 700, flaked) for flaked in (0, 10, 11)] == [1, 1, 2]
    assert retries_for(1, 49, 40) == 1
    assert retries_for(0, 100, 40) == 0
