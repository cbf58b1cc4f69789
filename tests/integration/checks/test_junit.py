"""JUnit reports as values: identity, states, and everything that makes a report unusable."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.adapters.checks import junit
from interlock.adapters.checks.junit import BadReport, parse
from interlock.core.job.evidence import TestReport


def suite(*cases: str, **attributes: str) -> bytes:
    head = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<testsuite{head}>{''.join(cases)}</testsuite>".encode()


PASS = '<testcase classname="m" name="a"/>'


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b" \n\t ", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"not xml", "not XML"),
        (suite(PASS)[:-5], "not XML"),
        (suite(PASS) + suite(PASS), "not XML"),
        (b"<html><testcase name='a'/></html>", "begins with <html>"),
        (b"<testcase name='a'/>", "begins with <testcase>"),
        (b'<!DOCTYPE t [<!ENTITY a "b">]><testsuite>&a;</testsuite>', "entities"),
        (b'<!DOCTYPE t [<!ENTITY a SYSTEM "file:///etc/passwd">]><testsuite>&a;</testsuite>', "entities"),
        (b"<testsuite>" * 100 + b"</testsuite>" * 100, "nested"),
        (b"<?xml version='1.0' encoding='no-such-code'?><testsuite><a></testsuite>", "not XML"),
        (b"<?xml version='1.0' encoding='utf-16'?>" + suite(PASS), "not"),
    ],
)
def test_what_is_no_report_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(BadReport, match=why):
        parse(data)


def test_a_report_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junit, "MOST_BYTES", 100)
    with pytest.raises(BadReport, match="100 are allowed"):
        parse(suite(*[PASS] * 10))


def test_states_are_told_apart() -> None:
    report = parse(
        suite(
            '<testcase name="pass"/>',
            '<testcase name="fail"><failure message="x"/></testcase>',
            '<testcase name="err"><error/></testcase>',
            '<testcase name="skip"><skipped type="pytest.skip"/></testcase>',
            '<testcase name="xfail"><skipped type="pytest.xfail" message="later"/></testcase>',
            '<testcase name="xpass"><skipped message="xfail-marked test passes unexpectedly"/></testcase>',
            '<testcase name="out"><system-out>failure</system-out><properties/></testcase>',
            name="s",
        )
    )
    assert {name.removeprefix("s::"): state for name, state in report.cases.items()} == {
        "pass": "passed",
        "fail": "failed",
        "err": "error",
        "skip": "skipped",
        "xfail": "xfailed",
        "xpass": "xpassed",
        "out": "passed",
    }


def test_a_name_that_appears_twice_is_one_test_with_the_worse_state() -> None:
    failed = PASS.replace("/>", "><failure/></testcase>")
    for cases in ((PASS, failed), (failed, PASS)):
        report = parse(suite(*cases, tests="2"))
        assert report.cases == {"m::a": "failed"}
        assert "says 2 tests, and 1 were counted" in report.note


def test_files_tell_tests_apart_and_a_tree_does_not(tmp_path: Path) -> None:
    one = '<testcase file="{}/a/x.js" classname="adds" name="n"/><testcase file="{}/b/x.js" classname="adds" name="n"/>'
    first, second = tmp_path / "one", tmp_path / "two"
    reports = [parse(suite(one.format(tree, tree)), tree=tree) for tree in (first, second)]
    assert reports[0].cases.keys() == reports[1].cases.keys() == {"a/x.js::adds::n", "b/x.js::adds::n"}


def test_a_file_that_the_class_names_already_is_left_out() -> None:
    report = parse(suite('<testcase file="tests/test_a.py" classname="tests.test_a.TestB" name="n"/>'))
    assert set(report.cases) == {"tests.test_a.TestB::n"}


def test_a_test_without_a_name_has_not_passed() -> None:
    report = parse(suite("<testcase/>", "<testcase name=' '/>", "<testcase><skipped/></testcase>", PASS))
    assert report.cases == {
        "unnamed test 1": "error",
        "unnamed test 2": "error",
        "unnamed test 3": "error",
        "m::a": "passed",
    }


@pytest.mark.parametrize(
    "data",
    [
        suite(PASS, tests="0"),
        b"<testsuites tests='0'>" + suite(PASS, tests="0") + b"</testsuites>",
        b"<testsuites>" + suite(PASS, tests="0") + suite(PASS, tests="0") + b"</testsuites>",
        b"<testsuites tests='0'>" + suite(PASS) + b"</testsuites>",
    ],
)
def test_tests_that_the_header_does_not_count_did_not_run(data: bytes) -> None:
    with pytest.raises(BadReport, match=r"0 tests ran, and \d are listed"):
        parse(data)


def test_pytest_counts_every_test_that_it_ran() -> None:
    two = (PASS, PASS.replace('"a"', '"b"'))
    with pytest.raises(BadReport, match="1 tests ran, and 2 are listed"):
        parse(suite(*two, name="pytest", tests="1"))
    with pytest.raises(BadReport, match="1 tests ran, and 2 are listed"):
        parse(b"<testsuites name='pytest tests'>" + suite(*two, name="own", tests="1") + b"</testsuites>")
    assert len(parse(suite(*two, name="other", tests="1")).cases) == 2
    assert len(parse(suite(*two, name="pytest", tests="3")).cases) == 2


def test_a_header_that_counts_wrongly_and_not_zero_is_a_note() -> None:
    data = b"<testsuites tests='0'>" + suite(PASS, tests="2") + suite(tests="0") + b"</testsuites>"
    assert parse(data).cases == {"m::a": "passed"}
    assert "says 2 tests, and 1 were counted" in parse(data).note


@pytest.mark.parametrize(
    ("case", "state"),
    [
        ("<testcase name='a' status='notrun'/>", "skipped"),
        ("<testcase name='a' status='NotRun' result='suppressed'/>", "skipped"),
        ("<testcase name='a' status='disabled'/>", "skipped"),
        ("<testcase name='a'><disabled/></testcase>", "skipped"),
        ("<testcase name='a' status='run' result='skipped'/>", "skipped"),
        ("<testcase name='a' status='fail'/>", "failed"),
        ("<testcase name='a' status='notrun'><error/></testcase>", "error"),
        ("<testcase name='a' status='run' result='completed'/>", "passed"),
        ("<testcase name='a' status='passed' result='Success'/>", "passed"),
        ("<testcase name='a' result='Broken'/>", "error"),
        ("<testcase name='a' status='timed out'/>", "error"),
        ("<testcase name='a'><rerunFailure message='x'/></testcase>", "failed"),
        ("<testcase name='a'><rerunError/></testcase>", "error"),
        ("<testcase name='a'><flakyFailure/></testcase>", "passed"),
    ],
)
def test_what_a_tool_says_in_an_attribute_alone_counts(case: str, state: str) -> None:
    assert parse(suite(case)).cases == {"a": state}


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (suite(PASS, "<error message='setup'/>", name="s"), "suite s (<error> outside its tests)"),
        (suite("<failure/>", PASS), "suite (<failure> outside its tests)"),
        (b"<testsuites>" + suite(PASS) + b"<error/></testsuites>", "suite (<error> outside its tests)"),
        (suite(PASS, name="s", tests="1", failures="2"), "suite s (its header counts failures: 2)"),
        (suite(PASS, name="s", tests="1", errors="1"), "suite s (its header counts errors: 1)"),
        (suite(PASS, name="s", failures="-1"), "suite s (its header counts failures: -1)"),
        (suite(PASS, name="s", errors="some"), "suite s (its header counts errors: some)"),
        (b"<testsuites errors='1'>" + suite(PASS) + b"</testsuites>", "suite (its header counts errors: 1)"),
    ],
)
def test_a_suite_that_broke_or_counts_failures_has_not_passed(data: bytes, fault: str) -> None:
    assert parse(data).cases == {"m::a": "passed", fault: "error"}


@pytest.mark.parametrize("none", ["", "0", "00", "0.0", " 0 "])
def test_a_header_that_counts_no_failures_is_fine(none: str) -> None:
    assert parse(suite(PASS, name="s", tests="1", failures=none, errors=none)).cases == {"m::a": "passed"}


def test_a_header_whose_failures_the_tests_show_says_nothing_more() -> None:
    failed = PASS.replace("/>", "><failure/></testcase>")
    assert parse(suite(failed, tests="1", failures="1", errors="1")).cases == {"m::a": "failed"}


def test_identities_hold_neither_the_tree_nor_an_address(tmp_path: Path) -> None:
    def names(tree: Path, address: str) -> set[str]:
        cases = (
            f"<testcase classname='m' name='t[{tree}/data/a.json]'/>",
            f"<testcase classname='m' name='t[{tree.resolve()}/data/b.json]'/>",
            f"<testcase classname='m' name='t[{tree}-other/c.json]'/>",
            f"<testcase classname='m' name='t[file://{tree}]'/>",
            f"<testcase classname='{tree}/x.c' name='n'/>",
            f"<testcase classname='m' name='t[&lt;object object at 0x{address}0&gt;]'/>",
            f"<testcase classname='m' name='t[&lt;object object at 0x{address}8&gt;]'/>",
        )
        return set(parse(suite(*cases), tree=tree).cases)

    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    found = names(tmp_path / "link", "7f1a")
    assert found == {
        "m::t[data/a.json]",
        "m::t[data/b.json]",
        f"m::t[{tmp_path}/link-other/c.json]",
        "m::t[file://]",
        "x.c::n",
        "m::t[<object object at 0x0>]",
        "m::t[<object object at 0x0>] #2",
    }
    other = names(tmp_path / "real", "55AB")
    assert {name for name in found if "other" not in name} == {name for name in other if "other" not in name}


def test_a_report_without_tests_is_readable_and_empty() -> None:
    for data in (suite(tests="0"), b"<testsuites/>", b"<testsuites><testsuite name='x' tests='0'/></testsuites>"):
        assert parse(data).cases == {}


def test_other_encodings_are_read() -> None:
    text = '<testsuite><testcase classname="m" name="größe"/></testsuite>'
    for code in ("utf-8", "iso-8859-1", "utf-16"):
        data = f"<?xml version='1.0' encoding='{code}'?>{text}".encode(code)
        assert set(parse(data).cases) == {"m::größe"}
    broken = f"<?xml version='1.0' encoding='iso-8859-1'?>{text}".encode("iso-8859-1").replace(
        b" name=", b" x='\x1b' name="
    )
    assert set(parse(broken).cases) == {"m::größe"}


@given(st.binary(max_size=400))
def test_any_bytes_are_a_report_or_a_bad_one(data: bytes) -> None:
    assert isinstance(outcome(data), TestReport) or str(outcome(data)).endswith(".")


def outcome(data: bytes) -> TestReport | str:
    try:
        return parse(data)
    except BadReport as fault:
        return str(fault)


@given(st.integers(0, 300), st.binary(min_size=1, max_size=3))
def test_a_report_with_some_bytes_broken_never_hides_a_failure(at: int, junk: bytes) -> None:
    whole = suite(
        PASS, '<testcase classname="m" name="b"><failure message="it broke">why</failure></testcase>', name="s"
    )
    data = whole[: at % len(whole)] + junk + whole[at % len(whole) :]
    try:
        report = parse(data)
    except BadReport:
        return
    lost = b"failure" not in data or b"testcase" not in data
    assert lost or report.count("failed") == 1 or _renamed(data)


def _renamed(data: bytes) -> bool:
    """The junk fell into the word itself, or made a comment of it."""
    return data.count(b"<failure") != 1 or data.count(b"<testcase") != 2 or b"<!--" in data
