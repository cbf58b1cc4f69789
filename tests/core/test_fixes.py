"""A bug-fix's test: the half that is wrong is named, whichever way the test is written."""

from __future__ import annotations

import pytest

from interlock.core.gate.fixes import Work, as_reported, cases_of, file_of, judge_fix
from interlock.core.job.evidence import CaseState, CheckRun, TestReport

ID = "tests/test_a.py::test_x"
CASE = "tests.test_a::test_x"


def run(tail: str = "", **cases: CaseState) -> CheckRun:
    named = {name.replace("__", "::").replace("_dot_", "."): state for name, state in cases.items()}
    return CheckRun(run="pytest", exit_code=0, seconds=1.0, log="x", tail=tail, report=TestReport(cases=named))


def of(state: CaseState, tail: str = "") -> CheckRun:
    return CheckRun(run="pytest", exit_code=1, seconds=1.0, log="x", tail=tail, report=TestReport(cases={CASE: state}))


def said(head: CheckRun | None, before: CheckRun | None, *asked: str) -> str:
    verdict = judge_fix(asked or (ID,), head, before)
    assert (verdict.rule == "not-a-fix") == (verdict.state == "refused")
    return verdict.what


GREEN = of("passed")


@pytest.mark.parametrize(
    ("head", "before", "part"),
    [
        (None, None, "is not among the tests"),
        (run(a="passed"), None, "is not among the tests"),
        (of("failed"), of("failed"), "does not pass on the work"),
        (of("skipped"), of("failed"), "does not pass on the work"),
        (of("xfailed"), of("failed"), "does not pass on the work"),
        (GREEN, None, "could not be tried"),
        (GREEN, of("passed"), "passes on the base too"),
        (GREEN, of("error"), "breaks there before it is tried"),
        (GREEN, of("skipped"), "it is skipped there"),
        (GREEN, run(a="passed"), "was not found on the base"),
        (GREEN, run(a="error", tail="E   ImportError: no x"), "could not be loaded (ImportError)"),
        (GREEN, of("failed", "FAILED tests/test_a.py::test_x - ImportError: cannot import name 'x'"), "another reason"),
    ],
)
def test_the_half_that_is_wrong_is_said(head: CheckRun | None, before: CheckRun | None, part: str) -> None:
    assert part in said(head, before)


def test_a_test_that_fails_without_the_work_and_passes_with_it_is_a_fix() -> None:
    before = of("failed", "FAILED tests/test_a.py::test_x - AssertionError: 1 != 2")
    verdict = judge_fix((ID,), GREEN, before)
    assert (verdict.state, verdict.rule) == ("passed", None)
    assert verdict.reruns == (before,)
    assert judge_fix((CASE,), GREEN, before).state == "passed"


LONG = """=== FAILURES ===
____________ test_other ____________
tests/test_a.py:3: NameError
_____________ test_x ______________

    def test_x():
>       go(2)

tests/test_a.py:3:
_ _ _ _ _ _ _ _ _

    def go(a):
>       {source}
E       {said}

{place}
=== short test summary info ===
FAILED tests/test_a.py::test_x - {said}
"""
SHORT = """=== FAILURES ===
_____________ TestA.test_x[1-2] ______________
tests/test_a.py:3: in test_x
    go(2)
{place}
    {source}
E   {said}
=== short test summary info ===
FAILED tests/test_a.py::TestA::test_x[1-2] - {said}
"""
NAME, MODULE = "NameError: name 'aa' is not defined", "ModuleNotFoundError: No module named 'calc.fix'"
PART = "ImportError: cannot import name 'fix' from 'calc' (/x/calc/__init__.py)"
WORK = Work(
    files=("src/calc/nb.py", "tests/test_a.py", "tests/helping.py"), written=("src/calc/fix.py", "tests/test_a.py")
)


@pytest.mark.parametrize("shape", [LONG, SHORT])
@pytest.mark.parametrize(
    ("said_", "place", "is_fix"),
    [
        (NAME, "src/calc/nb.py:2: NameError", True),
        (NAME, "calc/nb.py:2: in go", True),
        ("ModuleNotFoundError: No module named 'zz'", "src/calc/nb.py:1: ModuleNotFoundError", True),
        ("ModuleNotFoundError: No module named 'zz'", "src/calc/nb.py:1: in go\n/usr/lib/importlib/x.py:9: in y", True),
        (NAME, "tests/test_a.py:3: NameError", False),
        (NAME, "tests/helping.py:3: in go", False),
        (NAME, "/usr/lib/python3/ast.py:3: in go", False),
        (MODULE, "tests/test_a.py:4: ModuleNotFoundError", True),
        (PART, "tests/test_a.py:4: ImportError", True),
        ("ModuleNotFoundError: No module named 'other'", "tests/test_a.py:4: ModuleNotFoundError", False),
        ("ModuleNotFoundError: No module named 'x'", "tests/test_a.py:4: ModuleNotFoundError", False),
        ("ModuleNotFoundError: No module named 'tests.helping'", "tests/test_a.py:4: ModuleNotFoundError", False),
        ("ImportError: cannot import name 'zz' from 'json'", "tests/test_a.py:4: ImportError", False),
    ],
)
def test_what_is_missing_is_the_fault_where_the_product_misses_it(
    shape: str, said_: str, place: str, is_fix: bool
) -> None:
    tail = shape.format(source="aa", said=said_, place=place)
    assert (judge_fix((ID,), GREEN, of("failed", tail), WORK).state == "passed") == is_fix
    assert judge_fix((ID,), GREEN, of("failed", tail)).state == "refused", "Nothing tells whose file that is."


def test_one_of_several_that_is_no_fix_refuses() -> None:
    assert "other::test_y" in said(GREEN, of("failed"), ID, "other::test_y")


def test_a_table_fails_when_one_of_its_rows_does() -> None:
    def rows(one: CaseState, two: CaseState) -> CheckRun:
        cases = {f"{CASE}[1]": one, f"{CASE}[a::b]": two}
        return CheckRun(run="p", exit_code=0, seconds=1, log="", tail="", report=TestReport(cases=cases))

    assert judge_fix((ID,), rows("passed", "passed"), rows("passed", "failed")).state == "passed"
    assert judge_fix((f"{ID}[1]",), rows("passed", "passed"), rows("passed", "failed")).state == "refused"
    assert judge_fix((ID,), rows("passed", "failed"), rows("failed", "failed")).state == "refused"


@pytest.mark.parametrize(
    ("asked", "case"),
    [
        ("tests/test_a.py::test_x", "tests.test_a::test_x"),
        ("./tests/test_a.py::TestB::test_x[1-a::b]", "tests.test_a.TestB::test_x[1-a::b]"),
        ("src/a.test.ts::adds > one", "src/a.test.ts::adds > one"),
        ("tests.test_a::test_x", "tests.test_a::test_x"),
    ],
)
def test_ids_are_turned_into_those_of_reports(asked: str, case: str) -> None:
    assert as_reported(asked) == case
    assert cases_of(asked, TestReport(cases={case: "passed"})) == {case: "passed"}


def test_the_file_of_a_test_is_found_by_either_name() -> None:
    files = ("tests/test_a.py", "src/a.test.ts")
    assert file_of(ID, files) == "tests/test_a.py"
    assert file_of("tests.test_a.TestB::test_x", files) == "tests/test_a.py"
    assert file_of("src/a.test.ts::adds", files) == "src/a.test.ts"
    assert file_of("nowhere::x", files) is None
