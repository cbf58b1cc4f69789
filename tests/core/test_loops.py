"""What a loop decides: it always ends, never has more rounds than its card allows, and says why."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.lives import event, job_in

from interlock.core.agent import loops
from interlock.core.agent.loops import Failure
from interlock.core.contract.loop import Loop, LoopGate
from interlock.core.job.evidence import CheckRun, TestReport
from interlock.core.job.lifecycle import State, apply
from interlock.core.plan import Snapshot, plan

RACE = LoopGate(kind="reproduce", run="pytest -q tests/test_race.py", within=20, clean=5)
SEARCH = LoopGate(kind="benchmark", run="python bench.py", name="search", p95=0.2, runs=4)


def run(exit_code: int | None = 1, tail: str = "AssertionError: lost", **more: Any) -> CheckRun:
    return CheckRun(run="x", exit_code=exit_code, seconds=0.1, log="loop/x.log", tail=tail, **more)


def report(**cases: Any) -> dict[str, Any]:
    return {"expected_report": True, "report": TestReport(cases=cases)}


@given(
    rounds=st.integers(1, 6),
    wall=st.none() | st.floats(1, 1000),
    signatures=st.lists(st.sampled_from("abc"), min_size=40, max_size=40),
    each=st.floats(0, 300),
)
def test_every_loop_ends_within_its_rounds_and_with_a_reason(
    rounds: int, wall: float | None, signatures: list[str], each: float
) -> None:
    loop = Loop(gate=RACE, rounds=rounds, wall=wall)
    state: dict[str, Any] = {"seed": 7, "failed": []}
    for used, signature in enumerate(signatures, 1):
        failure = Failure(signature=signature, what="It failed.", seed=30 + used, log="loop/x.log")
        state["failed"] = loops.with_failure(state, failure, attempt=used)
        following = loops.after(loop, state["failed"], began=0.0, now=used * each)
        if following.kind == "wait":
            assert following.rule in {"loop-limit", "loop-stuck"}
            assert following.what
            assert following.ask
            return
        assert used < rounds, "Another round is only given while there is one left."
        assert wall is None or used * each < wall
    pytest.fail("The loop did not end.")


def test_the_same_failure_twice_in_a_row_ends_it_and_another_one_in_between_does_not() -> None:
    loop = Loop(gate=RACE, rounds=9)
    made = [Failure(signature=mark, what="It failed.", seed=1).as_json(n) for n, mark in enumerate("aba", 1)]
    assert loops.after(loop, made, began=0, now=1).kind == "round"
    stuck = loops.after(loop, [*made, made[-1] | {"attempt": 4}], began=0, now=1)
    assert (stuck.kind, stuck.rule) == ("wait", "loop-stuck")


def test_judging_the_same_attempt_again_counts_once() -> None:
    first = Failure(signature="a", what="It failed.")
    state = {"failed": loops.with_failure({}, first, 1)}
    again = loops.with_failure(state, Failure(signature="b", what="It failed."), 1)
    assert [each["signature"] for each in again] == ["b"]
    assert len(loops.with_failure({"failed": again}, first, 2)) == 2


def test_what_counts_as_the_failure_on_the_base() -> None:
    assert loops.failed(run(1))
    assert loops.failed(run(None)), "A crash by a signal is one."
    assert loops.failed(run(None, timed_out=True)), "So is a hang."
    assert not loops.failed(run(0))
    assert loops.unusable(run(127)), "A command that is not there reproduces nothing."
    assert loops.failed(run(1, **report(a="passed", b="failed")))
    assert loops.unusable(run(4, **report())), "Nor does a test run that ran no test."
    assert loops.unusable(run(5, expected_report=True))
    assert not loops.unusable(run(0))


def test_a_signature_names_the_kind_of_failure_and_not_the_run() -> None:
    one = run(1, "seed 7\n/tmp/a/b/test_race.py:12: AssertionError: lost 3 of 8 at 0xfe3\n1 failed in 0.02s")
    two = run(1, "seed 9\n/tmp/c/test_race.py:12: AssertionError: lost 5 of 8 at 0x11\n1 failed in 0.4s")
    assert loops.signature(one) == loops.signature(two)
    assert "AssertionError" in loops.signature(one)
    assert loops.signature(one) != loops.signature(run(2, one.tail))
    assert loops.signature(one) != loops.signature(run(1, "KeyError: 'id'"))
    assert loops.signature(run(1, "x", **report(a="failed"))) != loops.signature(run(1, "x", **report(b="failed")))


def test_seeds_that_failed_come_first_and_the_others_are_new_for_each_attempt() -> None:
    state = {"seed": 7, "failed": [Failure(signature="a", what="", seed=23).as_json(1)]}
    first, second = loops.seeds_of_work(RACE, {"seed": 7}, 1), loops.seeds_of_work(RACE, state, 2)
    assert first == (7, 21, 22, 23, 24, 25)
    assert second == (7, 23, 26, 27, 28, 29, 30)
    assert not set(first[1:]) & set(loops.seeds_of_base(RACE))


def test_p95_is_by_nearest_rank_and_a_tenth_is_progress() -> None:
    assert loops.p95([0.1] * 19 + [9.0]) == 0.1
    assert loops.p95([0.1] * 18 + [9.0, 9.0]) == 9.0
    assert loops.p95([0.3]) == 0.3
    assert loops.too_slow(SEARCH, [0.2] * 4, "log") is None
    slow, faster, same = (loops.too_slow(SEARCH, [each] * 4, "log") for each in (0.4, 0.3, 0.301))
    assert slow is not None
    assert faster is not None
    assert same is not None
    assert slow.signature != faster.signature == same.signature
    assert "400 ms" in slow.what
    assert "200 ms" in slow.what


def test_the_base_is_looked_at_once_before_the_first_attempt() -> None:
    card = {"slug": "a", "loop": {"gate": {"kind": "reproduce", "run": "x", "same_output": None}}}
    job = job_in(State.ISOLATED, card=card)
    (action,) = plan(Snapshot(jobs=(job,)))
    assert action.kind == "reproduce"
    seen = apply(job, event(job.id, "job.reproduced", loop={"base": "b1", "gate": ["reproduce", "x", None], "seed": 7}))
    assert [each.kind for each in plan(Snapshot(jobs=(seen,)))] == ["attempt"]
    moved = apply(seen, event(job.id, "job.note", base="b2"))
    assert [each.kind for each in plan(Snapshot(jobs=(moved,)))] == ["reproduce"], "A new base is looked at anew."
    assert [each.kind for each in plan(Snapshot(jobs=(job_in(State.ISOLATED),)))] == ["attempt"]


def test_a_round_takes_the_job_back_to_its_work() -> None:
    job = apply(job_in(State.WORKED), event("j-a", "job.round", hypothesis="Round 1 failed.", loop={"failed": [1]}))
    assert (job.state, job.hypotheses, job.loop["failed"], job.worked) == (State.ISOLATED, ("Round 1 failed.",), [1], 0)


def test_the_agent_is_told_the_gate_and_what_was_seen() -> None:
    told = loops.briefing(Loop(gate=RACE), {"seed": 7, "signature": "exit N; lost"})
    assert "INTERLOCK_SEED=7" in told
    assert RACE.run in told
    assert "310 ms" in loops.briefing(Loop(gate=SEARCH), {"p95": 0.31})
