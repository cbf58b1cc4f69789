"""What a run showed beside its tests: each rule refusing, and the nearest run that it lets pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from interlock.core.contract.card import Check, Report
from interlock.core.contract.check_json import check_from_json
from interlock.core.contract.surfaces import CoverageLimits, Limit, Picture, Wait, given_document
from interlock.core.gate.judge import judge_check
from interlock.core.gate.surfaces import (
    demand_of,
    explains_exit,
    is_readable,
    wants_base,
    with_demands_of,
)
from interlock.core.job.evidence import CheckRun
from interlock.core.job.surface import Number, Shot, Surface, ToolFinding

A = ToolFinding(rule="E1", file="a.py", line=3, text="bad thing")


def run(exit_code: int | None = 0, **surface: Any) -> CheckRun:
    return CheckRun(
        run="x", exit_code=exit_code, seconds=1, log="l", tail="", expected_report=True, surface=Surface(**surface)
    )


def check(**more: Any) -> Check:
    return Check(run="x", **more)


def rule(asked: Check, head: CheckRun, base: CheckRun | None = None) -> str | None:
    return judge_check(asked, head, base).rule


# ---------------------------------------------------------------- findings
def test_a_finding_that_the_base_does_not_have_is_refused_and_named() -> None:
    found = judge_check(check(kind="lint"), run(findings=(A,)), run(findings=()))
    assert (found.rule, found.tests) == ("findings", ("a.py:3 E1: bad thing",))
    assert "a.py:3 E1: bad thing" in found.what


def test_known_findings_pass_wherever_they_stand_now() -> None:
    assert rule(check(kind="lint"), run(findings=(replace(A, line=90),)), run(findings=(A,))) is None
    assert rule(check(kind="lint"), run(findings=(replace(A, file="b.py"),)), run(findings=(A,))) == "findings"
    assert rule(check(kind="lint"), run(findings=(A, replace(A, line=9))), run(findings=(A,))) == "findings"


def test_without_a_base_every_finding_counts() -> None:
    assert rule(check(kind="lint"), run(findings=(A,))) == "findings"
    assert rule(check(kind="lint"), run(findings=())) is None


def test_the_exit_status_of_a_tool_that_found_something() -> None:
    """A status of 1 only says that there are findings; it stands for nothing else, and no other status does."""
    lint = check(kind="lint")
    known = run(findings=(A,))
    assert rule(lint, run(1, findings=(A,)), known) is None
    assert rule(lint, run(2, findings=(A,)), known) == "check-failed"
    assert rule(replace(lint, found_exit=2), run(2, findings=(A,)), known) is None
    assert rule(lint, run(1, findings=()), known) == "check-failed"
    assert rule(lint, run(None, findings=(A,)), known) == "check-interrupted"
    assert not explains_exit(lint, replace(run(1, findings=(A,)), report_fault=("bad-report", "x")))


def test_lower_levels_pass_unless_they_are_asked_for() -> None:
    note = run(findings=(replace(A, level="note"),))
    assert rule(check(kind="lint"), note) is None
    assert rule(check(kind="lint", least_level="note"), note) == "findings"
    warning = run(findings=(A,))
    assert rule(check(kind="lint", least_level="error"), warning) is None


def test_silencing_a_finding_is_one() -> None:
    silent = replace(A, suppressed=True)
    assert rule(check(kind="lint"), run(findings=(silent,)), run(findings=())) == "findings"
    assert rule(check(kind="lint"), run(findings=(silent,)), run(findings=(A,))) is None
    assert rule(check(kind="lint"), run(findings=(A,)), run(findings=(silent,))) == "findings"
    allowed = check(kind="lint", report=Report(sarif="r.sarif", allow_suppressed=True))
    assert rule(allowed, run(findings=(silent,)), run(findings=())) is None


# ---------------------------------------------------------------- coverage
def covered(hit: int, of: int = 100) -> CheckRun:
    return run(coverage={"a.py": (hit, of)})


def test_coverage_below_its_limit_or_below_the_base() -> None:
    floor = check(coverage=CoverageLimits(at_least=80))
    assert rule(floor, covered(79)) == "too-low"
    assert rule(floor, covered(80)) is None
    assert rule(floor, covered(80), covered(82)) == "too-low"
    assert rule(floor, covered(80), covered(81)) is None
    assert rule(check(coverage=CoverageLimits(drop=0)), covered(80), covered(81)) == "too-low"
    each = check(coverage=CoverageLimits(each=50))
    head = run(coverage={"a.py": (90, 100), "b.py": (4, 10)})
    assert judge_check(each, head, None).tests == ("b.py",)


def test_coverage_that_nothing_is_known_of_is_no_proof() -> None:
    assert rule(check(), covered(100)) == "too-low"
    assert rule(check(), covered(100), covered(100)) is None
    assert rule(check(coverage=CoverageLimits(at_least=1)), run(coverage={"a.py": (0, 0)})) == "too-low"


# ---------------------------------------------------------------- numbers
def measured(value: float, rounds: int | None = None, name: str = "parse") -> CheckRun:
    return run(numbers={name: Number(value=value, rounds=rounds)})


@pytest.mark.parametrize(
    ("limit", "value", "base", "refused"),
    [
        ({"at_most": 0.2}, 0.21, None, "above 0.2"),
        ({"at_most": 0.2}, 0.2, None, None),
        ({"at_most": 0.2}, 0.2, 0.01, None),
        ({"at_most": 0.2, "factor": 2}, 0.2, 0.01, "lower is better"),
        ({"at_least": 3}, 2, None, "below 3"),
        ({"at_least": 3}, 3, None, None),
        ({"factor": 1.2}, 1.21, 1.0, "1.2 times"),
        ({"factor": 1.2}, 1.2, 1.0, None),
        ({"better": "higher"}, 60, 100, "higher is better"),
        ({"better": "higher"}, 70, 100, None),
        ({"better": "higher"}, 900, 100, None),
        ({}, 1.6, 1.0, "1.5 times"),
        ({}, 1.5, 1.0, None),
        ({}, 7.0, 0.0, None),
    ],
)
def test_numbers_against_limits_and_the_base(
    limit: dict[str, Any], value: float, base: float | None, refused: str | None
) -> None:
    asked = check(kind="benchmark", limits=(Limit(name="parse", **limit),))
    found = judge_check(asked, measured(value), None if base is None else measured(base))
    assert (found.rule == "too-low") is (refused is not None)
    assert (refused or "") in found.what


def test_too_few_rounds_a_number_that_is_gone_and_nothing_to_compare_with() -> None:
    asked = check(kind="benchmark", limits=(Limit(name="parse", at_most=9),))
    assert "4 times, and 5" in judge_check(asked, measured(1, 4), None).what
    assert rule(asked, measured(1, 5)) is None
    assert "parse was not measured" in judge_check(asked, measured(1, name="other"), None).what
    assert rule(check(kind="benchmark"), measured(1, name="b"), measured(1, name="a")) == "too-low"
    assert rule(check(kind="benchmark"), measured(1)) == "too-low"
    assert rule(check(kind="benchmark"), measured(1), measured(1)) is None


# ---------------------------------------------------------------- lines, programs, migrations
def test_lines_that_must_and_must_not_be_there() -> None:
    asked = check(expects=("ready",), refuses=("panic",))
    assert rule(asked, run(lines={"ready": 4, "panic": 0})) is None
    assert "lacks" in judge_check(asked, run(lines={"ready": 0, "panic": 0}), None).what
    assert "in line 7" in judge_check(asked, run(lines={"ready": 4, "panic": 7}), None).what
    assert rule(asked, run()) == "log-line"


def test_a_program_that_ended_before_it_was_up() -> None:
    asked = check(kind="smoke", wait=Wait(line="listening"))
    assert rule(asked, run(up=False)) == "service"
    assert rule(asked, run(up=True)) is None


def test_migrations_that_change_something_twice_leave_nothing_or_have_two_heads() -> None:
    asked = check(kind="migrations", state="show")
    assert rule(asked, run(schema=("a\nb", "a\nb"))) is None
    twice = judge_check(asked, run(schema=("a\nb", "a\nb\nc")), None)
    assert (twice.rule, "2 lines and has 3" in twice.what) == ("migrations", True)
    assert 'was "b" and is "c"' in judge_check(asked, run(schema=("a\nb", "a\nc")), None).what
    assert rule(asked, run(schema=("\n", "\n"))) == "migrations"
    assert rule(asked, run(schema=("a", "a"), migrations=("Two heads.",))) == "migrations"


# ---------------------------------------------------------------- pictures
HOME = Picture(image="out/home.png", against="expected.png", tolerance=0.01)
SHOT = Shot(width=4, height=4, blank=False, differs=0.0, expected="d1")


def shown(shot: Shot | None) -> CheckRun:
    return run(
        shots={} if shot is None else {"out/home.png": shot}, expected={"expected.png": shot.expected if shot else ""}
    )


@pytest.mark.parametrize(
    ("shot", "why"),
    [
        (None, "took no picture"),
        (replace(SHOT, blank=True), "one colour"),
        (replace(SHOT, differs=0.011), "1.100% of its pixels"),
        (replace(SHOT, differs=None, fault="It has 4 x 4 pixels."), "cannot be compared"),
        (replace(SHOT, expected=""), "not in the tree"),
        (replace(SHOT, expected="d2"), "may_renew"),
    ],
)
def test_pictures_that_are_not_as_expected(shot: Shot | None, why: str) -> None:
    found = judge_check(check(kind="visual", pictures=(HOME,)), shown(shot), shown(SHOT))
    assert (found.rule, why in found.what) == ("picture", True), found.what


def test_pictures_that_are() -> None:
    asked = check(kind="visual", pictures=(HOME,))
    assert rule(asked, shown(replace(SHOT, differs=0.01)), shown(SHOT)) is None
    assert rule(asked, shown(SHOT), run()) == "picture", "what is expected came with the work"
    assert rule(asked, shown(SHOT), run(1, expected={"expected.png": "d1"})) is None, (
        "the base knows it and took no picture"
    )
    assert rule(replace(asked, may_renew=True), shown(SHOT), run()) is None
    plain = check(kind="browser", pictures=(Picture(image="out/home.png"),))
    assert rule(plain, shown(replace(SHOT, differs=None, expected="")), None) is None


# ---------------------------------------------------------------- interfaces
OLD: dict[str, dict[str, Any]] = {
    "GET /a": {},
    "GET /a < 200": {},
    "GET /a < 200 application/json": {"media": True, "types": ["object"]},
}
NEW: dict[str, dict[str, Any]] = {"GET /a": {}}


def test_an_interface_keeps_what_the_base_has() -> None:
    asked = check(kind="api", document="o.json")
    found = judge_check(asked, run(interface=NEW), run(interface=OLD))
    assert (found.rule, found.tests) == ("api-broken", ("GET /a < 200: removed",))
    assert rule(asked, run(interface=OLD), run(interface=NEW)) is None
    assert rule(asked, run(interface=NEW), run()) is None, "the base has no interface that could break"


def test_an_interface_against_a_document_that_the_work_may_not_bring() -> None:
    asked = check(kind="api", document="o.json", against="v1.json")
    base = run(interface=OLD, against=OLD, expected={"v1.json": "d1"})
    assert rule(asked, run(interface=NEW, against=OLD, expected={"v1.json": "d1"}), base) == "api-broken"
    renewed = run(interface=NEW, against=NEW, expected={"v1.json": "d2"})
    assert "may_renew" in judge_check(asked, renewed, base).what
    assert rule(replace(asked, may_renew=True), renewed, base) is None


# ---------------------------------------------------------------- around
def test_what_changes_a_run_and_what_only_its_judgement() -> None:
    one = check(kind="lint", report=Report(sarif="r"))
    assert demand_of(one) == demand_of(replace(one, least_level="note", found_exit=2, tier="slow"))
    other = (
        replace(one, kind="types"),
        replace(one, report=Report(sarif="s")),
        replace(one, expects=("x",)),
        replace(one, timeout=1.0),
        replace(one, wait=Wait(line="a")),
        replace(one, pictures=(HOME,)),
        replace(one, report=Report(sarif="r", at_least=1)),
        replace(one, run="y"),
    )
    assert len({str(demand_of(each)) for each in (one, *other)}) == len(other) + 1
    assert demand_of(check(pictures=(HOME,))) == demand_of(check(pictures=(replace(HOME, tolerance=0.5),)))


def test_two_demands_of_one_command_become_one_of_both() -> None:
    one = check(kind="lint", report=Report(sarif="r", allow_suppressed=True), expects=("a",))
    other = check(expects=("b",), least_level="note", coverage=CoverageLimits(at_least=9), report=Report(lcov="l"))
    both = with_demands_of(one, one, other)
    assert (both.kind, both.expects, both.least_level) == ("lint", ("a", "b"), "note")
    assert both.report == Report(sarif="r", lcov="l", allow_suppressed=False)
    assert both.coverage == other.coverage


def test_a_run_is_compared_where_it_showed_something_that_a_base_can_have() -> None:
    nothing = replace(run(), surface=None)
    assert wants_base(run(findings=(A,)))
    assert wants_base(covered(1))
    assert wants_base(shown(SHOT))
    assert not any(map(wants_base, (nothing, run(), run(findings=()), run(up=True), run(lines={"a": 1}))))
    assert (is_readable(run()), is_readable(nothing)) == (True, False)
    assert is_readable(replace(nothing, expected_report=False))


def test_what_was_measured_in_few_words() -> None:
    assert run(findings=(A, replace(A, suppressed=True)), coverage={"a.py": (1, 3)}).surface.as_json() == {  # type: ignore[union-attr]
        "findings": 1,
        "coverage": 33.33,
    }
    whole = run(interface=OLD, lines={"up": 4, "no": 0}, schema=("a", "a"), up=True, numbers={"p": Number(value=1.5)})
    assert whole.surface.as_json() == {  # type: ignore[union-attr]
        "numbers": {"p": 1.5},
        "operations": 1,
        "lines": {"up": 4},
        "unchanged": True,
        "up": True,
    }


def test_a_check_goes_to_json_and_back_and_an_old_one_comes_back() -> None:
    from dataclasses import asdict

    full = check(
        kind="visual",
        report=Report(sarif="r"),
        expects=("a",),
        coverage=CoverageLimits(drop=1),
        limits=(Limit(name="p", at_most=1),),
        pictures=(replace(HOME, mask=((0, 0, 1, 1),)),),
        wait=Wait(url="http://127.0.0.1/"),
    )
    assert check_from_json(asdict(full)) == full
    assert check_from_json({"run": "x", "report": None, "timeout": 600.0, "tier": "fast"}) == check()
    assert given_document("a b.json") == "test -s 'a b.json'"
