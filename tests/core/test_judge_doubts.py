"""Failures in doubt: of the base, flaky, listed only, moved tests, and findings behind an accepted one; refused first."""

from __future__ import annotations

from typing import Any

from interlock.core.contract.card import Check
from interlock.core.gate.accepted import excuse
from interlock.core.gate.flaky import narrowed, worth_another
from interlock.core.gate.judge import Beside, judge_check
from interlock.core.gate.tests_kept import Moves
from interlock.core.job.evidence import CaseState, CheckRun, TestReport, Verdict

CHECK = Check(run="pytest -q")


def run(exit_code: int | None = 0, tail: str = "", cases: dict[str, CaseState] | None = None, **more: Any) -> CheckRun:
    report = TestReport(cases=cases) if cases is not None else None
    return CheckRun(run=CHECK.run, exit_code=exit_code, seconds=0.1, log="x", tail=tail, report=report, **more)


GREEN = run(cases={"a": "passed", "b": "passed"})
RED = run(1, cases={"a": "failed", "b": "passed"})


def judged(head: CheckRun, base: CheckRun | None = None, **beside: Any) -> Verdict:
    return judge_check(CHECK, head, base, Beside(**beside))


# ---------------------------------------------------------------- base against head
def test_failures_of_the_base_are_told_apart() -> None:
    both = run(1, cases={"a": "failed", "b": "failed"})
    assert (judged(RED, GREEN).rule, judged(RED, None).rule) == ("tests-failed", "tests-failed")
    assert (judged(RED, RED).rule, judged(RED, RED).tests) == ("base-fails", ("a",))
    mixed = judged(both, RED)
    assert mixed.rule == "tests-failed"
    assert "New: b; failing on the base as well: a." in mixed.what


def test_a_command_without_tests_fails_like_the_base_when_it_says_the_same() -> None:
    check = Check(run="lint")
    said = run(1, "x.py:1 bad")
    assert judge_check(check, said, said).rule == "base-fails"
    assert judge_check(check, said, run(1, "y.py:1 bad")).rule == "check-failed"
    assert judge_check(check, run(1), run(1)).rule == "check-failed"
    assert judge_check(check, said, run(0)).rule == "check-failed"


def test_exactly_the_accepted_failures_are_let_go() -> None:
    verdict = judged(RED, RED)
    assert excuse([verdict], {"base-fails": "ana"}, ["a"])[0].state == "accepted"
    assert excuse([verdict], {"base-fails": "ana"}, ["b"])[0].state == "refused"
    assert excuse([judged(RED, GREEN)], {"tests-failed": "ana"}, ["a"])[0].state == "accepted", "asked before: WAIVABLE"


def test_what_stands_behind_an_accepted_finding_refuses_next() -> None:
    base = run(cases={"a": "passed", "b": "passed", "c": "passed"})
    verdict = judged(run(cases={"a": "passed", "b": "skipped"}), base)
    assert (verdict.rule, verdict.tests) == ("tests-removed", ("c",))
    (after,) = excuse([verdict], {"tests-removed": "ana"}, ["c"])
    assert (after.state, after.rule, after.tests) == ("refused", "tests-skipped", ("b",))
    (done,) = excuse([verdict], {"tests-removed": "ana", "tests-skipped": "bo"}, ["c", "b"])
    assert done.state == "accepted"
    assert "Accepted by ana" in done.what
    assert "Accepted by bo" in done.what


# ---------------------------------------------------------------- flaky
def test_a_new_test_that_is_flaky_is_refused_and_an_old_one_named() -> None:
    assert judged(GREEN, GREEN, earlier=(RED,)).state == "passed"
    assert judged(GREEN, GREEN, earlier=(RED,)).flaky == ("a",)
    assert "Flaky" in judged(GREEN, GREEN, earlier=(RED,)).notes[0]
    new = judged(GREEN, run(cases={"b": "passed"}), earlier=(RED,))
    assert (new.state, new.rule, new.tests) == ("refused", "flaky", ("a",))
    assert judged(GREEN, None, earlier=(RED,)).rule == "flaky", "Without a base nobody knows that it is old."


def test_what_failed_every_time_is_not_hidden() -> None:
    verdict = judged(RED, GREEN, earlier=(RED,))
    assert (verdict.rule, verdict.tests, verdict.flaky) == ("tests-failed", ("a",), ())


def test_a_command_that_passes_at_last_is_named_itself() -> None:
    assert judge_check(Check(run="lint"), run(0), run(0), Beside(earlier=(run(1),))).flaky == (CHECK.run,)


def test_only_few_new_failures_that_ended_by_themselves_are_worth_another_run() -> None:
    assert worth_another(RED, GREEN)
    assert worth_another(run(1), None)
    assert not worth_another(RED, RED)
    assert not worth_another(run(1), run(1))
    assert not worth_another(GREEN, None)
    assert not worth_another(run(None, timed_out=True, cases={"a": "failed"}), None)
    assert not worth_another(run(1, cases=dict.fromkeys(map(str, range(26)), "failed")), None)


def test_failed_tests_are_selected_by_name_where_that_is_possible() -> None:
    failed = run(1, cases={"t.a::test_x[1]": "failed", "t.B::test_y": "error", "t.c::test_z": "passed"})
    assert narrowed(CHECK, failed) == "pytest -q -k 'test_x or test_y'"
    assert narrowed(Check(run="pytest -q -k fast"), failed) is None
    assert narrowed(Check(run="make test"), failed) is None
    assert narrowed(CHECK, run(1, cases={"odd name": "failed"})) is None
    assert narrowed(CHECK, run(1)) is None


# ---------------------------------------------------------------- listed, moved
def test_listed_tests_are_no_run() -> None:
    listed = run(0, "a.py::test_1\n\n12 tests collected in 0.01s", cases={})
    assert judged(listed).rule == "planned-only"
    assert judged(run(0, "3/12 tests collected (9 deselected) in 0.01s")).rule == "planned-only"
    assert judged(run(0, "12 passed in 0.01s", cases={"a": "passed"})).state == "passed"


def test_a_test_that_moved_is_not_removed_when_what_took_its_place_passed() -> None:
    head = run(cases={"n::one": "passed", "n::two[1]": "passed", "b": "passed"})
    moved = {"a": (("n::one",), ("x::two", "n::two"))}
    assert judged(head, GREEN).rule == "tests-removed"
    assert judged(head, GREEN, moves=Moves(moved=moved)).state == "passed"
    assert (
        judged(run(cases={"n::one": "passed", "b": "passed"}), GREEN, moves=Moves(moved=moved)).rule == "tests-removed"
    )


def test_other_parameters_are_as_good_and_fewer_are_not() -> None:
    base = run(cases={"t::p[1]": "passed", "t::p[2]": "passed"})
    assert judged(run(cases={"t::p[1]": "passed", "t::p[3]": "passed"}), base).state == "passed"
    assert judged(run(cases={"t::p[3]": "passed"}), base).rule == "tests-removed"


def test_a_new_test_for_another_platform_is_no_hidden_skip() -> None:
    head = run(cases={"a": "passed", "b": "passed", "t::w": "skipped"})
    assert judged(head, GREEN).rule == "tests-skipped"
    assert judged(head, GREEN, moves=Moves(declared=frozenset({"t::w"}))).state == "passed"
    known = run(cases={"a": "passed", "b": "passed", "t::w": "passed"})
    assert judged(head, known, moves=Moves(declared=frozenset({"t::w"}))).rule == "tests-skipped"
