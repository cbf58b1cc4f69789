"""The judgement on one check run: exit status, report and the base's run, each rule with its own name; pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from interlock.core.contract.card import Check
from interlock.core.gate.recognise import pytest_command
from interlock.core.gate.tests_kept import removed, set_aside
from interlock.core.job.evidence import CheckRun, TestReport, Verdict

# Exit statuses of pytest: a usage error such as a path that is not there, and no test collected.
_USAGE, _NONE_COLLECTED = 4, 5

Found = tuple[str, str, tuple[str, ...]] | None
Rule = Callable[[Check, CheckRun, CheckRun | None], Found]


def judge_check(check: Check, run: CheckRun, base_run: CheckRun | None) -> Verdict:
    """The verdict on a run; the first rule that objects names it.

    The verdict names every test that the rule objects to, since an acceptance is bound to these names; its sentence
    names three.  ``base_run`` is the same check on the base: tests that pass there must still run.  Without it, or without its
    report, every skipped test counts as newly skipped (facts/peers §6.3: no signal is not green).
    """
    for rule in _RULES:
        found = rule(check, run, base_run)
        if found is not None:
            name, what, tests = found
            return Verdict(run=run, state="refused", rule=name, what=what, tests=tests)
    return Verdict(run=run, state="passed")


def _unfinished(check: Check, run: CheckRun, _base: CheckRun | None) -> Found:
    if run.timed_out:
        return "check-timeout", f"The check ran into its limit of {check.timeout:g} s: {check.run}.", ()
    if run.exit_code is None:
        return "check-interrupted", f"The check did not end by itself: {check.run}.", ()
    return None


def _no_test(check: Check, run: CheckRun, _base: CheckRun | None) -> Found:
    """The status of pytest says that nothing ran, with or without a report."""
    if pytest_command(check.run) is None:
        return None
    if run.exit_code == _NONE_COLLECTED and not _allows_none(check):
        return "no-tests", f"No test ran: pytest collected none for {check.run}.", ()
    if run.exit_code == _USAGE:
        return "no-tests", f"No test ran: pytest could not use its arguments in {check.run}.", ()
    return None


def _report_fault(_check: Check, run: CheckRun, _base: CheckRun | None) -> Found:
    if run.report_fault is None:
        return None
    rule, what = run.report_fault
    return None if rule == "no-report" and run.exit_code != 0 else (rule, what, ())


def _failed(check: Check, run: CheckRun, _base: CheckRun | None) -> Found:
    report = run.report
    bad = _names(report, "failed", "error")
    if bad and run.exit_code == 0:
        what = f"The check ended with 0 although its report holds {_count(bad)} that failed: {_list(bad)}."
        return "report-conflict", what, bad
    if bad:
        return "tests-failed", f"{_count(bad)} failed: {_list(bad)}.", bad
    if run.exit_code == 0 or (run.exit_code == _NONE_COLLECTED and pytest_command(check.run) is not None):
        return None
    if report is not None and report.ran:
        what = f"The check ended with {run.exit_code} although none of its {report.ran} tests failed."
        return "report-conflict", what, ()
    return "check-failed", f"The check ended with {run.exit_code}: {check.run}.", ()


def _too_few(check: Check, run: CheckRun, _base: CheckRun | None) -> Found:
    report = run.report
    if report is None or _allows_none(check):
        return None
    if report.ran == 0:
        idle = report.count("skipped")
        why = f"all {idle} of its report were skipped" if idle else "its report holds none"
        return "no-tests", f"No test ran in {check.run}: {why}.", ()
    least = check.report.at_least if check.report and check.report.at_least is not None else 1
    if report.ran < least:
        return "too-few-tests", f"{report.ran} tests ran, and the check demands {least}.", ()
    return None


def _lost(_check: Check, run: CheckRun, base: CheckRun | None) -> Found:
    gone = removed(base.report if base else None, run.report) if run.report else ()
    if not gone:
        return None
    return "tests-removed", f"{_count(gone)} that passed on the base did not run: {_list(gone)}.", gone


def _skipped(check: Check, run: CheckRun, base: CheckRun | None) -> Found:
    if run.report is None or (check.report and check.report.allow_skipped):
        return None
    idle = set_aside(base.report if base else None, run.report)
    if not idle:
        return None
    known = "skipped or expected to fail, and not so on the base"
    return "tests-skipped", f"{_count(idle)} are {known}: {_list(idle)}.", idle


def _allows_none(check: Check) -> bool:
    """``at_least: 0`` is the explicit allowance for a check without tests."""
    return check.report is not None and check.report.at_least == 0


def _names(report: TestReport | None, *states: str) -> tuple[str, ...]:
    return tuple(sorted(case for case, state in report.cases.items() if state in states)) if report else ()


def _count(tests: Sequence[str]) -> str:
    return "1 test" if len(tests) == 1 else f"{len(tests)} tests"


def _list(tests: Sequence[str]) -> str:
    shown = ", ".join(tests[:3])
    return shown if len(tests) <= 3 else f"{shown} and {len(tests) - 3} more"


_RULES: tuple[Rule, ...] = (_unfinished, _no_test, _report_fault, _failed, _too_few, _lost, _skipped)
