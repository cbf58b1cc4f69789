"""Failed tests that are worth another run, and what the runs together say; running them is the app's work."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from interlock.core.contract.card import Check
from interlock.core.gate.recognise import pytest_command
from interlock.core.gate.tests_kept import function_of
from interlock.core.job.evidence import CheckRun, TestReport

MOST_FAILED: Final = 25
"""More failed tests than that are no accident, so nothing is run again."""

LEAST_SECONDS: Final = 60.0
"""What the second runs of a suite may take together at least; beyond it, as long as the first ones took."""


def failed_tests(report: TestReport | None) -> tuple[str, ...]:
    """The tests of a report that failed or broke, sorted."""
    return tuple(sorted(case for case, state in report.cases.items() if state in ("failed", "error"))) if report else ()


def worth_another(run: CheckRun, base: CheckRun | None) -> bool:
    """Whether a failed run may have failed by accident: it ended by itself, few tests failed, and not all of them on the base too."""
    if run.timed_out or run.exit_code in (None, 0):
        return False
    bad = failed_tests(run.report)
    if not bad:
        return run.report_fault is None and not _red_as_well(run, base)
    known = set(failed_tests(base.report)) if base is not None else set()
    return len(bad) <= MOST_FAILED and not set(bad) <= known


def _red_as_well(run: CheckRun, base: CheckRun | None) -> bool:
    return base is not None and base.exit_code == run.exit_code


def narrowed(check: Check, run: CheckRun) -> str | None:
    """The check's command for the failed tests alone, or None where single tests cannot be named.

    Only of a plain pytest command that selects none by -k or -m itself; ``-k`` may select more than the failed tests, never fewer.
    """
    words = _words(check.run)
    if pytest_command(check.run) is None or any(word.startswith(("-k", "-m=", "--deselect")) for word in words):
        return None
    names = sorted({function_of(case).rpartition("::")[2] for case in failed_tests(run.report)})
    if not names or not all(name.isascii() and name.isidentifier() for name in names):
        return None
    return f"{check.run.rstrip()} -k {shlex.quote(' or '.join(names))}"


def _words(run: str) -> list[str]:
    try:
        return shlex.split(run)
    except ValueError:
        return run.split()


def shaken(runs: Sequence[CheckRun]) -> tuple[str, ...]:
    """Tests that failed in an earlier run and passed in the last one, sorted; the command where no test can be named."""
    last = runs[-1]
    earlier = [run for run in runs[:-1] if run.exit_code != 0]
    if not earlier or last.exit_code != 0:
        return ()
    named = {case for run in earlier for case in failed_tests(run.report)}
    return tuple(sorted(named)) if named else (last.run,)
