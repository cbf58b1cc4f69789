"""The judgement on one check run: exit status, report, the base's run and other runs, each rule with its own name; pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from interlock.core.contract.card import Check
from interlock.core.counting import count, some
from interlock.core.gate.accepted import BY_NAME
from interlock.core.gate.flaky import failed_tests, shaken
from interlock.core.gate.recognise import pytest_command
from interlock.core.gate.surfaces import Found, explains_exit, judge_findings
from interlock.core.gate.tests_kept import STILL, Moves, removed, set_aside
from interlock.core.job.evidence import CheckRun, Finding, TestReport, Verdict

# Exit statuses of pytest: a usage error such as a path that is not there, and no test collected.
_USAGE, _NONE_COLLECTED = 4, 5
# What pytest ends with when it listed tests and ran none.
_LISTED: Final = re.compile(r"^=*\s*\d+(?:/\d+)? tests? collected\b.* in [\d.]+s", re.MULTILINE)

Rule = Callable[[Check, CheckRun, CheckRun | None], Found]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What is known beside a run: what took the place of tests, and earlier runs on the same tree, oldest first."""

    moves: Moves = STILL
    earlier: tuple[CheckRun, ...] = ()


ALONE: Final = Beside()


def judge_check(check: Check, run: CheckRun, base_run: CheckRun | None, beside: Beside = ALONE) -> Verdict:
    """The verdict on a run; the first rule that objects names it.

    The verdict names every test that the rule objects to, since an acceptance is bound to these names; its sentence
    names three.  Behind a finding that can be accepted the further ones are told as well, so that accepting one hides
    none.  ``base_run`` is the same check on the base: tests that pass there must still run.  Without it, or without its
    report, every skipped test counts as newly skipped (facts/peers §6.3: no signal is not green).
    """
    flaky = shaken((*beside.earlier, run))
    notes = (f"Flaky, failed and then passed on this tree: {some(flaky, 3)}.",) if flaky else ()
    found = _findings(check, run, base_run, beside, flaky)
    if not found:
        return Verdict(run=run, state="passed", flaky=flaky, notes=notes, reruns=beside.earlier)
    first, *others = found
    return Verdict(
        run=run,
        state="refused",
        rule=first.rule,
        what=first.what,
        tests=first.tests,
        also=tuple(others),
        flaky=flaky,
        notes=notes,
        reruns=beside.earlier,
    )


def _findings(
    check: Check, run: CheckRun, base: CheckRun | None, beside: Beside, flaky: tuple[str, ...]
) -> list[Finding]:
    """All findings up to the first that nobody can accept."""
    found: list[Finding] = []
    rules: tuple[Callable[[], Found], ...] = (
        *((lambda rule=rule: rule(check, run, base)) for rule in _RULES),
        lambda: _lost(run, base, beside.moves),
        lambda: _skipped(check, run, base, beside.moves),
        lambda: _new_and_flaky(run, base, flaky),
    )
    for rule in rules:
        one = rule()
        if one is not None:
            name, what, tests = one
            found.append(Finding(rule=name, what=what, tests=tests))
            if name not in BY_NAME or not tests:
                break
    return found


def _unfinished(check: Check, run: CheckRun, _base: CheckRun | None) -> Found:
    if run.timed_out:
        return "check-timeout", f"The check ran into its limit of {check.timeout:g} s: {check.run}.", ()
    if run.exit_code is None and not _never_ran(run):
        return "check-interrupted", f"The check did not end by itself: {check.run}.", ()
    return None


def _never_ran(run: CheckRun) -> bool:
    """Whether the check was refused before anything of it was started."""
    return run.exit_code is None and run.report_fault is not None and not run.argv and not run.started


def _planned(check: Check, run: CheckRun, _base: CheckRun | None) -> Found:
    """Tests that pytest lists and does not run are no proof, whatever it ends with."""
    if pytest_command(check.run) is None or run.exit_code != 0 or (run.report is not None and run.report.cases):
        return None
    if _LISTED.search(run.tail):
        return "planned-only", f"Tests were listed and none was run: {check.run}.", ()
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
    ended_badly = run.exit_code != 0 and not _never_ran(run)
    return None if rule == "no-report" and ended_badly else (rule, what, ())


def _failed(check: Check, run: CheckRun, base: CheckRun | None) -> Found:
    report = run.report
    bad = failed_tests(report)
    if bad and run.exit_code == 0:
        what = (
            f"The check ended with 0 although its report holds {count(len(bad), 'test')} that failed: {some(bad, 3)}."
        )
        return "report-conflict", what, bad
    if bad:
        return _against(bad, base)
    none_collected = run.exit_code == _NONE_COLLECTED and pytest_command(check.run) is not None
    if run.exit_code == 0 or none_collected or explains_exit(check, run):
        return None
    if report is not None and report.ran:
        what = f"The check ended with {run.exit_code} although none of its {report.ran} tests failed."
        return "report-conflict", what, ()
    return _bad_status(check, run, base)


def _bad_status(check: Check, run: CheckRun, base: CheckRun | None) -> Found:
    """A status other than 0 without a test to name; the same words on the base are the same failure."""
    what = f"The check ended with {run.exit_code}: {check.run}."
    if base is None or base.exit_code in (0, None) or failed_tests(base.report):
        return "check-failed", what, ()
    if base.exit_code == run.exit_code and run.tail and base.tail == run.tail:
        return "base-fails", f"{what} It does so on the base, with the same words.", ()
    return "check-failed", f"{what} On the base it ends with {base.exit_code}.", ()


def _against(bad: tuple[str, ...], base: CheckRun | None) -> Found:
    """Failed tests, told apart by whether they fail on the base as well."""
    known = set(failed_tests(base.report)) if base is not None else set()
    old = [case for case in bad if case in known]
    if len(old) == len(bad):
        return "base-fails", f"{count(len(bad), 'test')} failed, and on the base as well: {some(bad, 3)}.", bad
    new = [case for case in bad if case not in known]
    what = f"{count(len(bad), 'test')} failed: {some(bad, 3)}."
    if old:
        what += f" New: {some(new, 3)}; failing on the base as well: {some(old, 3)}."
    return "tests-failed", what, bad


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


def _lost(run: CheckRun, base: CheckRun | None, moves: Moves) -> Found:
    gone = removed(base.report if base else None, run.report, moves) if run.report else ()
    if not gone:
        return None
    return "tests-removed", f"{count(len(gone), 'test')} that passed on the base did not run: {some(gone, 3)}.", gone


def _skipped(check: Check, run: CheckRun, base: CheckRun | None, moves: Moves) -> Found:
    if run.report is None or (check.report and check.report.allow_skipped):
        return None
    idle = set_aside(base.report if base else None, run.report, moves)
    if not idle:
        return None
    known = "skipped or expected to fail, and not so on the base"
    return "tests-skipped", f"{count(len(idle), 'test is', 'tests are')} {known}: {some(idle, 3)}.", idle


def _new_and_flaky(run: CheckRun, base: CheckRun | None, flaky: tuple[str, ...]) -> Found:
    """A test that the work brings has to pass each time: nobody else can know yet that it does not."""
    report = run.report
    if not flaky or report is None:
        return None
    known: TestReport | None = base.report if base is not None else None
    new = tuple(case for case in flaky if known is None or case not in known.cases)
    if not new:
        return None
    return (
        "flaky",
        f"{count(len(new), 'test')} of this work failed and then passed on the same tree: {some(new, 3)}.",
        new,
    )


def _allows_none(check: Check) -> bool:
    """``at_least: 0`` is the explicit allowance for a check without tests."""
    return check.report is not None and check.report.at_least == 0


_RULES: tuple[Rule, ...] = (_unfinished, _planned, _no_test, _report_fault, _failed, _too_few, judge_findings)
