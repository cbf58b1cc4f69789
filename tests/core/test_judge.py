"""The judgement on a check run, rule by rule: first what is refused, then what passes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.contract.card import Check, Report
from interlock.core.gate.judge import judge_check
from interlock.core.job.evidence import CaseState, CheckRun, TestReport
from interlock.core.rules import RULES

STATES: tuple[CaseState, ...] = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
PYTEST = "pytest -q"


def report(**cases: CaseState) -> TestReport:
    return TestReport(cases=cases)


def run_of(check: Check, exit_code: int | None = 0, **more: Any) -> CheckRun:
    return CheckRun(run=check.run, exit_code=exit_code, seconds=0.1, log="x", tail="", **more)


def judged(
    run: str = "make test",
    exit_code: int | None = 0,
    base: TestReport | None = None,
    asked: Report | None = None,
    **more: Any,
) -> tuple[str | None, tuple[str, ...]]:
    """The rule that refuses (None: passed) and the tests it names; every test of the head is green on the base."""
    check = Check(run=run, report=asked)
    base_run = run_of(check, report=base) if base is not None else None
    verdict = judge_check(check, run_of(check, exit_code, **more), base_run)
    assert (verdict.state == "passed") == (verdict.rule is None)
    assert verdict.rule is None or verdict.rule in RULES
    assert verdict.rule is None or verdict.what.endswith(".")
    return verdict.rule, verdict.tests


# ---------------------------------------------------------------- refused
def test_a_check_that_did_not_end_is_refused_by_its_own_name() -> None:
    green = report(a="passed")
    assert judged(exit_code=None, timed_out=True, report=green)[0] == "check-timeout"
    assert judged(exit_code=None, report=green)[0] == "check-interrupted"
    assert judged(exit_code=0, timed_out=True, report=green)[0] == "check-timeout"


def test_a_status_other_than_0_is_refused() -> None:
    assert judged(exit_code=1)[0] == "check-failed"
    assert judged(exit_code=2, report=report())[0] == "check-failed"
    assert judged(exit_code=5)[0] == "check-failed"


@pytest.mark.parametrize("exit_code", [4, 5])
def test_pytest_says_by_its_status_that_nothing_ran(exit_code: int) -> None:
    assert judged(PYTEST, exit_code)[0] == "no-tests"
    assert judged(PYTEST, exit_code, report=report())[0] == "no-tests"
    assert judged(PYTEST, exit_code, report_fault=("no-report", "None was written."))[0] == "no-tests"


def test_a_report_without_executed_tests_is_refused() -> None:
    assert judged(report=report())[0] == "no-tests"
    assert judged(report=report(a="skipped", b="skipped"))[0] == "no-tests"


def test_fewer_tests_than_demanded_are_refused() -> None:
    two = report(a="passed", b="passed")
    assert judged(report=two, base=two, asked=Report(at_least=3))[0] == "too-few-tests"
    assert judged(report=two, base=two, asked=Report(at_least=2))[0] is None


def test_failed_tests_are_named() -> None:
    assert judged(exit_code=1, report=report(a="passed", b="failed", c="error")) == ("tests-failed", ("b", "c"))


def test_status_and_report_must_agree() -> None:
    assert judged(exit_code=0, report=report(a="passed", b="failed")) == ("report-conflict", ("b",))
    assert judged(exit_code=1, report=report(a="passed"))[0] == "report-conflict"


def test_a_report_that_is_missing_or_unreadable_is_refused() -> None:
    assert judged(expected_report=True, report_fault=("no-report", "None was written."))[0] == "no-report"
    assert judged(expected_report=True, report_fault=("bad-report", "It is cut."))[0] == "bad-report"
    assert judged(exit_code=1, report_fault=("bad-report", "It is cut."))[0] == "bad-report"
    assert judged(exit_code=3, report_fault=("no-report", "None was written."))[0] == "check-failed"


def test_tests_that_pass_on_the_base_and_are_gone_are_named() -> None:
    base = report(a="passed", b="passed", c="xpassed", d="failed", e="skipped")
    assert judged(report=report(a="passed"), base=base) == ("tests-removed", ("b", "c"))


@pytest.mark.parametrize("state", ["skipped", "xfailed"])
def test_tests_that_are_newly_set_aside_are_named(state: CaseState) -> None:
    base = report(a="passed", b="passed", old=state)
    head = report(a="passed", b=state, new=state, old=state)
    assert judged(report=head, base=base) == ("tests-skipped", ("b", "new"))
    assert judged(report=head, base=base, asked=Report(allow_skipped=True))[0] is None


def test_without_a_base_every_skip_is_new() -> None:
    assert judged(report=report(a="passed", b="skipped")) == ("tests-skipped", ("b",))


def test_every_name_is_kept_and_the_sentence_names_three() -> None:
    cases: dict[str, CaseState] = {f"t{number:03}": "failed" for number in range(50)}
    check = Check(run="x")
    verdict = judge_check(check, run_of(check, 1, report=TestReport(cases=cases)), None)
    assert verdict.tests == tuple(sorted(cases))
    assert verdict.what == "50 tests failed: t000, t001, t002 and 47 more."


# ---------------------------------------------------------------- passed
def test_a_plain_command_passes_by_its_status_and_says_that_nothing_was_counted() -> None:
    check = Check(run="make lint")
    verdict = judge_check(check, run_of(check), None)
    assert verdict.state == "passed"
    assert verdict.as_json()["tests"] is None


def test_green_tests_pass() -> None:
    base = report(a="passed", b="failed", c="skipped")
    assert judged(PYTEST, report=report(a="passed", b="passed", c="passed", d="passed"), base=base)[0] is None


def test_a_failing_test_of_the_base_may_go_and_an_old_skip_may_stay() -> None:
    assert judged(report=report(a="passed", s="skipped"), base=report(a="passed", b="failed", s="skipped"))[0] is None


def test_no_tests_are_allowed_only_when_the_card_says_so() -> None:
    zero = Report(at_least=0)
    assert judged(PYTEST, 5, report=report(), asked=zero)[0] is None
    assert judged(PYTEST, 0, report=report(), asked=zero)[0] is None
    assert judged(PYTEST, 4, asked=zero)[0] == "no-tests"
    assert judged("make test", 5, report=report(), asked=zero)[0] == "check-failed"


CASES = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(STATES), max_size=6)


@given(head=CASES, base=CASES, exit_code=st.sampled_from([0, 1, 2, 4, 5, None]), at_least=st.sampled_from([None, 1, 3]))
def test_nothing_passes_that_is_not_green_in_every_respect(
    head: dict[str, CaseState], base: dict[str, CaseState], exit_code: int | None, at_least: int | None
) -> None:
    asked = Report(at_least=at_least)
    rule, _ = judged(PYTEST, exit_code, TestReport(cases=base), asked, report=TestReport(cases=head))
    green = {"passed", "xpassed"}
    ran = [state for state in head.values() if state != "skipped"]
    good = (
        exit_code == 0
        and not {"failed", "error"} & set(ran)
        and len(ran) >= (at_least or 1)
        and all(case in head for case, state in base.items() if state in green)
        and all(
            base.get(case) in {"skipped", "xfailed", "failed", "error"}
            for case, state in head.items()
            if state in {"skipped", "xfailed"}
        )
    )
    assert (rule is None) == good
