"""Reports against what the runner said last, and against the end of the command that was to write them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.checks.test_check_runner import GREEN, Bench

from interlock.adapters.checks.agreeing import said_failed
from interlock.core.contract.card import Check, Report
from interlock.core.job.evidence import TestReport

REWRITES = """
import atexit, os, re, sys
def _end():
    for word in sys.argv:
        if word.startswith("--junitxml="):
            path = word.partition("=")[2]
            text = re.sub(r"<failure.*?</failure>", "", open(path).read(), flags=re.S)
            open(path, "w").write(re.sub(r'failures="\\d+"', 'failures="0"', text))
    sys.stdout.flush()
    os._exit(0)
atexit.register(_end)
"""
OWN = Report(junit="rep.xml")
CASE = "<testsuite><testcase name='a'{}</testsuite>"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize("quiet", ["", " -q"])
def test_a_report_that_the_product_rewrites_at_its_exit_is_in_conflict_with_what_pytest_counted(
    bench: Bench, quiet: str
) -> None:
    bench.write("product.py", REWRITES)
    bench.write("test_a.py", "import product\ndef test_one(): assert False\ndef test_two(): pass\n")
    verdict = bench.judge(f"python -m pytest{quiet} test_a.py")
    assert (verdict.state, verdict.rule) == ("refused", "report-conflict")
    assert "1 failed" in verdict.what


def test_a_line_that_the_product_writes_behind_it_does_not_hide_it(bench: Bench) -> None:
    behind = REWRITES.replace("    sys.stdout.flush()", "    print('2 passed in 0.01s')\n    sys.stdout.flush()")
    bench.write("product.py", behind)
    bench.write("test_a.py", "import product\ndef test_one(): assert False\ndef test_two(): pass\n")
    assert bench.judge("python -m pytest -q test_a.py").rule == "report-conflict"


@pytest.mark.parametrize(
    "command",
    [
        "python -m pytest -q test_a.py; true",
        "python -m unittest -q test_u.py || true",
    ],
)
def test_a_check_without_a_report_whose_runner_counted_failures_has_not_passed(bench: Bench, command: str) -> None:
    bench.write("test_a.py", "def test_one(): assert False\n")
    bench.write("test_u.py", "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.fail()\n")
    verdict = bench.judge(command.replace("; true", " || true"))
    assert (verdict.state, verdict.rule) == ("refused", "report-conflict")


GOOD = TestReport(cases={"a": "passed"})


@pytest.mark.parametrize(
    ("run", "tail"),
    [
        ("pytest", "==== 3 passed, 1 skipped, 2 warnings in 0.12s ===="),
        ("pytest", "1 passed, 1 xfailed, 1 rerun in 0.1s"),
        ("pytest", "0 failed, 2 passed in 0.1s"),
        ("pytest -rA", "1 failed in 0.1s\n== 1 passed in 0.2s =="),
        ("pytest -xs", "1 failed in 0.1s\n== 1 passed in 0.2s =="),
        ("make test", "1 failed in 0.1s\n1 passed in 0.2s"),
        ("python -m unittest", "Ran 2 tests in 0.1s\n\nOK (skipped=1, expected failures=1)"),
        ("make test", "E   assert '1 failed in 0.1s' == 'x'"),
        ("make test", "FAILED (failures=1)\nRan 1 test\nOK"),
    ],
)
def test_what_a_runner_says_of_honest_runs_is_no_conflict(run: str, tail: str) -> None:
    assert said_failed(Check(run=run), tail, GOOD) == ""
    assert said_failed(Check(run=run), tail, None) == ""


@pytest.mark.parametrize(
    ("run", "tail"),
    [
        ("pytest", "=== 1 failed, 2 passed in 0.12s ==="),
        ("pytest", "2 passed, 1 error in 72.00s (0:01:12)"),
        ("pytest", "== 1 failed in 0.1s ==\n1 passed in 0.0s"),
        ("make test", "1 passed in 0.1s\n1 failed in 0.0s"),
        ("make test", "FAILED (errors=2)"),
        ("make test", "FAILED (unexpected successes=1)"),
    ],
)
def test_what_counts_failures_is_one(run: str, tail: str) -> None:
    assert said_failed(Check(run=run), tail, GOOD)
    assert said_failed(Check(run=run), tail, None)
    assert said_failed(Check(run=run), tail, TestReport(cases={"a": "failed"})) == ""


def test_a_report_that_something_left_behind_writes_is_none(bench: Bench) -> None:
    red, green = CASE.format("><failure/></testcase>"), CASE.format("/>")
    script = f"""printf '%s' "{red}" > rep.xml; (sleep 0.1; printf '%s' "{green}" > rep.xml) & true"""
    verdict = bench.judge(script, OWN)
    assert (verdict.state, verdict.rule) == ("refused", "bad-report")
    assert "after the command had ended" in verdict.what


def test_nor_is_one_that_comes_only_after_the_end(bench: Bench) -> None:
    script = f"""(sleep 0.1; printf '%s' "{CASE.format("/>")}" > rep.xml) & true"""
    assert bench.judge(script, OWN).rule == "bad-report"


def test_what_was_left_behind_and_leaves_the_report_alone_changes_nothing(bench: Bench) -> None:
    bench.write("test_a.py", GREEN)
    script = f"""printf '%s' "{CASE.format("/>")}" > rep.xml; sleep 30 >/dev/null 2>&1 & true"""
    assert bench.run(script, OWN).report_fault is None
