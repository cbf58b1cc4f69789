"""Cases VG: what looks like success and is none, with real pytest runs and the reports that tools really write."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from interlock.adapters.checks.junit import BadReport, parse
from interlock.adapters.checks.runner import CheckRunner
from interlock.core.contract.card import Check, Report
from interlock.core.gate.judge import judge_check
from interlock.core.job.evidence import CheckRun, Evidence, TestReport, Verdict
from interlock.ports.isolation import Room

# Without the plug-ins of our own environment, whose start takes longer than these tests.
ENV = {
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}
QUIET = "-q -p no:cacheprovider"


def room(tree: Path) -> Room:
    return Room(path=tree, written=tree)


def run(tree: Path, command: str, report: Report | None = None) -> CheckRun:
    return CheckRunner().run(Check(run=command, report=report), room(tree), ENV, tree.parent / "log" / "check.log")


def judge(tree: Path, command: str, report: Report | None = None, base: CheckRun | None = None) -> Verdict:
    return judge_check(Check(run=command, report=report), run(tree, command, report), base)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    return folder


# ---------------------------------------------------------------- VG-01
@pytest.mark.parametrize(
    "command",
    [
        "false | tee out.txt",
        "false | cat",
        "false; echo ok",
        "false\necho ok",
        "echo one\nfalse\necho two",
        "(false); true",
    ],
)
def test_vg_01_a_red_stage_turns_the_check_red(tree: Path, command: str) -> None:
    assert judge(tree, command).rule == "check-failed"


def test_vg_01_the_shell_stops_at_the_first_error(tree: Path) -> None:
    judge(tree, "false\ntouch went-on")
    assert not (tree / "went-on").exists()


def test_vg_01_a_swallowed_status_cannot_be_seen_and_its_tests_can(tree: Path) -> None:
    """``|| true`` is for readiness to refuse on the card; where tests are demanded it does not pass here either."""
    (tree / "test_a.py").write_text("def test_a(): assert False\n")
    demanded = Report(junit="r.xml", at_least=1)
    assert judge(tree, f"pytest {QUIET} --junitxml=r.xml || true", demanded).rule == "report-conflict"
    assert judge(tree, "false || true", Report(at_least=1)).rule == "no-report"


# ---------------------------------------------------------------- VG-02
SKIPS = "import pytest\npytestmark = pytest.mark.skip\ndef test_a(): pass\ndef test_b(): pass\n"


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        (f"pytest {QUIET} -k nope", "no-tests"),
        (f"pytest {QUIET} no_such_dir", "no-tests"),
        (f"pytest {QUIET} --collect-only", "planned-only"),
        (f"pytest {QUIET} test_skips.py", "no-tests"),
        (f"pytest {QUIET} test_a.py::test_gone", "no-tests"),
        (f"pytest {QUIET} broken.py", "tests-failed"),
        (f"pytest {QUIET} --no-such-option", "no-tests"),
    ],
)
def test_vg_02_no_test_ran_is_never_success(tree: Path, command: str, rule: str) -> None:
    (tree / "test_a.py").write_text("def test_a(): pass\n")
    (tree / "test_skips.py").write_text(SKIPS)
    (tree / "broken.py").write_text("import no_such_module\ndef test_c(): pass\n")
    verdict = judge(tree, command)
    assert (verdict.state, verdict.rule) == ("refused", rule)


def test_vg_02_a_report_of_zero_tests_is_no_success(tree: Path) -> None:
    zero = "echo '<testsuite tests=\"0\"/>' > r.xml"
    assert judge(tree, zero, Report(junit="r.xml")).rule == "no-tests"
    assert judge(tree, zero, Report(junit="r.xml", at_least=0)).rule is None


def test_vg_02_a_smallest_number_can_be_set(tree: Path) -> None:
    (tree / "test_a.py").write_text("def test_a(): pass\ndef test_b(): pass\n")
    assert judge(tree, f"pytest {QUIET}", Report(at_least=3)).rule == "too-few-tests"
    assert judge(tree, f"pytest {QUIET}", Report(at_least=2)).rule is None


def test_vg_02_no_tests_pass_only_where_the_card_allows_it(tree: Path) -> None:
    assert judge(tree, f"pytest {QUIET}").rule == "no-tests"
    assert judge(tree, f"pytest {QUIET}", Report(at_least=0)).rule is None


PLANNED = "def pytest_configure(config): config.option.{} = True\n"
AFTER_ONE = "def pytest_runtest_teardown(item): item.config.option.setuponly = True\n"
ENDED = "import pytest\ndef test_a(): pytest.exit('enough', 0)\ndef test_b(): pass\n"


@pytest.mark.parametrize(
    ("files", "options", "rule"),
    [
        ({}, "--setup-plan", "planned-only"),
        ({}, "--setup-only", "planned-only"),
        ({"pytest.ini": "[pytest]\naddopts = --setup-plan\n"}, "", "planned-only"),
        ({"conftest.py": PLANNED.format("setuponly")}, "", "planned-only"),
        ({"conftest.py": AFTER_ONE, "test_0.py": "def test_ok(): pass\n"}, "", "planned-only"),
        ({"test_a.py": ENDED}, "", "planned-only"),
        ({"test_0.py": "def test_ok(): pass\n", "test_a.py": ENDED}, "", "report-conflict"),
    ],
)
def test_vg_02_tests_that_are_listed_and_never_ran_are_none(
    tree: Path, files: dict[str, str], options: str, rule: str
) -> None:
    (tree / "test_a.py").write_text("def test_a(): assert False\n")
    for name, text in files.items():
        (tree / name).write_text(text)
    verdict = judge(tree, f"pytest {QUIET} {options}")
    assert (verdict.rule, verdict.run.exit_code) == (rule, 0), verdict.what


SUBTESTS = """
import unittest, pytest
def test_sub(subtests):
    for i in range(3):
        with subtests.test(i=i): pass
class Test(unittest.TestCase):
    def test_each(self):
        for i in range(3):
            with self.subTest(i=i): pass
@pytest.mark.xfail
def test_xpass(): pass
@pytest.mark.parametrize("n", [1, 2, 3])
def test_three(n): pass
"""


@pytest.mark.parametrize(
    "more", ["", "-p xdist -n 2", "-o junit_family=xunit1 -o junit_suite_name=own", "--junit-prefix=p"]
)
def test_vg_06_honest_reports_whose_header_counts_otherwise_pass(tree: Path, more: str) -> None:
    (tree / "test_a.py").write_text(SUBTESTS)
    verdict = judge(tree, f"pytest {QUIET} {more}")
    assert verdict.state == "passed", verdict.what
    assert verdict.run.report is not None
    assert len(verdict.run.report.cases) == 6


IDS = """
import glob, os, pytest
@pytest.mark.parametrize("path", glob.glob(os.path.dirname(__file__) + "/*.json"))
def test_file(path): pass
@pytest.mark.parametrize("thing", [object(), object()], ids=repr)
def test_thing(thing): pass
"""


def test_vg_06_tests_of_two_trees_have_the_same_identities(tmp_path: Path) -> None:
    trees = [tmp_path / "base" / "one", tmp_path / "head" / "two"]
    for tree in trees:
        tree.mkdir(parents=True)
        (tree / "test_a.py").write_text(IDS)
        (tree / "a.json").touch()
    (trees[0] / "b.json").touch()
    base = run(trees[0], f"pytest {QUIET}")
    refused = judge(trees[1], f"pytest {QUIET}", base=base)
    assert refused.tests == ("test_a::test_file[b.json]",)
    (trees[1] / "b.json").touch()
    assert judge(trees[1], f"pytest {QUIET}", base=base).rule is None


# ---------------------------------------------------------------- VG-03
LEAVES = "import os\ndef test_a(): pass\ndef test_b(): os._exit(0)\ndef test_c(): assert False\n"
PASSING = '<testsuite tests="3"><testcase name="a"/><testcase name="b"/><testcase name="c"/></testsuite>'


@pytest.mark.parametrize("declared", [True, False])
def test_vg_03_an_exit_without_an_end_is_no_success(tree: Path, declared: bool) -> None:
    (tree / "test_a.py").write_text(LEAVES)
    (tree / "out.xml").write_text(PASSING)
    option, report = (" --junitxml=out.xml", Report(junit="out.xml", at_least=1)) if declared else ("", None)
    verdict = judge(tree, f"pytest {QUIET}{option}", report)
    assert (verdict.run.exit_code, verdict.rule) == (0, "no-report")


def test_vg_03_a_limit_leaves_no_success_even_with_a_passing_report(tree: Path) -> None:
    command = f"echo '{PASSING}' > out.xml; sleep 600"
    check = Check(run=command, report=Report(junit="out.xml"), timeout=1.5)
    ran = CheckRunner().run(check, room(tree), ENV, tree.parent / "log" / "check.log")
    assert ran.report is not None
    assert judge_check(check, ran, None).rule == "check-timeout"


def test_vg_03_a_report_that_ends_in_the_middle_is_no_success(tree: Path) -> None:
    verdict = judge(tree, f"echo '{PASSING[:60]}' > out.xml", Report(junit="out.xml"))
    assert verdict.rule == "bad-report"


# ---------------------------------------------------------------- VG-04
def test_vg_04_evidence_without_a_verdict_or_with_a_refused_one_never_passes() -> None:
    """The part that is ours: nothing is skipped or neutral here; what a forge says comes with the forges."""
    shape = {
        "subject": "j1",
        "attempt": 1,
        "commit": "c",
        "tree": "t",
        "base": "b",
        "card_oid": "o",
        "policy_digest": "p",
        "place": "fresh",
        "level": "worktree",
        "same_user": True,
    }
    green = Verdict(run=CheckRun(run="x", exit_code=0, seconds=0.0, log="", tail=""), state="passed")
    red = Verdict(
        run=CheckRun(run="y", exit_code=1, seconds=0.0, log="", tail=""), state="refused", rule="check-failed"
    )
    assert not Evidence(verdicts=(), **shape).passed  # type: ignore[arg-type]
    assert not Evidence(verdicts=(green, red), **shape).passed  # type: ignore[arg-type]
    assert Evidence(verdicts=(green,), **shape).passed  # type: ignore[arg-type]


def test_vg_04_a_skip_needs_an_explicit_allowance(tree: Path) -> None:
    (tree / "test_a.py").write_text("import pytest\ndef test_a(): pass\ndef test_b(): pass\n")
    base = run(tree, f"pytest {QUIET}")
    (tree / "test_a.py").write_text("import pytest\ndef test_a(): pass\n@pytest.mark.skip\ndef test_b(): pass\n")
    refused = judge(tree, f"pytest {QUIET}", base=base)
    assert (refused.rule, refused.tests) == ("tests-skipped", ("test_a::test_b",))
    assert judge(tree, f"pytest {QUIET}", Report(allow_skipped=True), base=base).rule is None


# ---------------------------------------------------------------- VG-05
HEAD = b"<?xml version='1.0' encoding='utf-8'?>"
FAILED = b"<testsuite tests='2'><testcase name='ok'/><testcase name='bad'><failure><![CDATA[%s]]></failure></testcase></testsuite>"


@pytest.mark.parametrize(
    "data",
    [
        HEAD + FAILED % b"\x1b[31mred\x1b[0m",
        HEAD + FAILED.replace(b"<![CDATA[%s]]>", b"&#27;[31m &#x1B; &#0;"),
        HEAD + FAILED % b"bad \xff\xfe utf-8 \xc3",
        b"\n\n  " + HEAD + FAILED % b"late declaration",
        b"\xef\xbb\xbf" + HEAD + FAILED % b"mark",
        HEAD + FAILED % "\ufffe\uffff".encode() + b"\n",
        HEAD.replace(b"utf-8", b"iso-8859-1") + FAILED % b"gr\xf6\xdfe \x07",
    ],
)
def test_vg_05_forbidden_characters_do_not_hide_a_failure(data: bytes) -> None:
    report = parse(data)
    assert report.cases == {"ok": "passed", "bad": "failed"}


@pytest.mark.parametrize(
    "data", [b"", HEAD + (FAILED % b"x") * 2, (HEAD + FAILED % b"x")[:90], b"   ", b"<testsuites>"]
)
def test_vg_05_what_cannot_be_read_is_not_zero_tests(tree: Path, data: bytes) -> None:
    with pytest.raises(BadReport):
        parse(data)
    (tree / "made.xml").write_bytes(data)
    for end in ("true", "false"):
        verdict = judge(tree, f"cp made.xml r.xml; {end}", Report(junit="r.xml"))
        assert verdict.rule == "bad-report"


@pytest.mark.parametrize(
    ("end", "data"),
    [
        ("true", FAILED % b"x"),
        ("true", b"<testsuite tests='1'><testcase name='ok'/><error message='setup'/></testsuite>"),
        ("true", b"<testsuite tests='1' failures='1'><testcase name='ok'/></testsuite>"),
        ("false", PASSING.encode()),
    ],
)
def test_vg_05_status_and_report_that_disagree_are_a_conflict(tree: Path, end: str, data: bytes) -> None:
    (tree / "made.xml").write_bytes(data)
    assert judge(tree, f"cp made.xml r.xml; {end}", Report(junit="r.xml")).rule == "report-conflict"


# ---------------------------------------------------------------- VG-06
LYING = """
import pytest

@pytest.fixture
def breaks():
    yield
    raise RuntimeError("teardown")

def test_pass_then_error(breaks): pass
def test_fail_then_error(breaks): assert False
@pytest.mark.xfail
def test_xfail(): assert False
@pytest.mark.xfail
def test_xpass(): pass
@pytest.mark.skip
def test_skip(): pass
@pytest.mark.parametrize("n", [1, 2, 3])
def test_three(n): assert n == 0
"""


def test_vg_06_tests_are_counted_by_identity(tree: Path) -> None:
    (tree / "test_a.py").write_text(LYING)
    verdict = judge(tree, f"pytest {QUIET}")
    report = verdict.run.report
    assert report is not None
    assert len(report.cases) == 8
    assert report.count("failed", "error") == 5
    assert report.cases["test_a::test_pass_then_error"] in ("failed", "error")
    assert report.cases["test_a::test_xfail"] == "xfailed"
    assert report.cases["test_a::test_skip"] == "skipped"
    assert "9 tests, and 8 were counted" in report.note
    assert "1 xpassed" in report.note
    assert verdict.rule == "tests-failed"
    assert len(verdict.tests) == 5


def test_vg_06_a_strict_xpass_is_a_failure(tree: Path) -> None:
    (tree / "test_a.py").write_text("import pytest\n@pytest.mark.xfail(strict=True)\ndef test_a(): pass\n")
    assert judge(tree, f"pytest {QUIET}").rule == "tests-failed"


# ---------------------------------------------------------------- VG-07
@pytest.mark.parametrize("time", ["1,234.56", "0,03", "", "NaN", "-0.5", "0:00:01", "inf", "1e999", None])
def test_vg_07_no_duration_changes_a_verdict(time: str | None) -> None:
    mark = "" if time is None else f" time='{time}'"
    data = f"<testsuite{mark}><testcase name='a'{mark}/><testcase name='b'{mark}><failure/></testcase></testsuite>"
    assert parse(data.encode()).cases == {"a": "passed", "b": "failed"}


def test_vg_07_nested_and_namespaced_suites_are_counted() -> None:
    data = b"""<j:testsuites xmlns:j="urn:any" xmlns="urn:other">
      <j:testsuite name="outer" tests="4"><j:properties><j:property name="p" value="1"/><j:property name="p" value="2"/></j:properties>
        <j:testcase classname="m" name="a"/>
        <j:testsuite name="inner"><j:testcase classname="m" name="b"><j:error/></j:testcase>
          <testsuite name="third"><testcase classname="m" name="c"><skipped/></testcase></testsuite></j:testsuite>
        <j:testcase classname="m" name="d"><j:failure/></j:testcase>
      </j:testsuite></j:testsuites>"""
    report = parse(data)
    assert report == TestReport(cases={"m::a": "passed", "m::b": "error", "m::c": "skipped", "m::d": "failed"})
