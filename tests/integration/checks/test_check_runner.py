"""Checks as they are run: the shell, the environment, the report that is injected or declared, and what is judged of it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.host.boxes import Box, a_box

from interlock.adapters.checks.runner import CheckRunner
from interlock.core.contract.card import Check, Report
from interlock.core.gate.judge import judge_check
from interlock.core.job.evidence import CheckRun, Verdict
from interlock.core.problems import Refused
from interlock.ports.isolation import Room

ENV = {
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    "APP_PORT": "3010",
    "PYTHONDONTWRITEBYTECODE": "1",
}
GREEN = "def test_one(): pass\ndef test_two(): pass\n"


class Bench:
    """A tree to run checks in, with its record beside it."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "tree"
        self.tree.mkdir()
        self.record = folder / "interlock" / "jobs" / "j1"

    def write(self, path: str, text: str) -> None:
        (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
        (self.tree / path).write_text(text)

    def run(self, run: str, report: Report | None = None, **more: float) -> CheckRun:
        check = Check(run=run, report=report, **more)  # type: ignore[arg-type]
        return CheckRunner().run(
            check, Room(path=self.tree, written=self.tree), ENV, self.record / "checks" / "one.log"
        )

    def judge(self, run: str, report: Report | None = None, **more: float) -> Verdict:
        check = Check(run=run, report=report, **more)  # type: ignore[arg-type]
        return judge_check(check, self.run(run, report, **more), None)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_it_runs_in_the_tree_with_the_listed_environment_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("GIT_INDEX_FILE", "/elsewhere")
    run = bench.run("pwd; env")
    lines = run.tail.splitlines()
    assert lines[0] == str(bench.tree)
    assert "APP_PORT=3010" in lines
    assert "TERM=dumb" in lines
    assert not re.search("GITHUB_TOKEN|GIT_INDEX", run.tail)


def test_standard_input_is_empty(bench: Bench) -> None:
    assert bench.run("cat; read -r line || echo none").tail == "none"


def test_the_log_holds_the_raw_bytes_and_is_named_within_the_record(bench: Bench) -> None:
    run = bench.run(r"printf '\033[31mred\033[0m\n'; echo err >&2")
    assert (bench.record / "checks" / "one.log").read_bytes() == b"\x1b[31mred\x1b[0m\nerr\n"
    assert (run.log, run.tail) == ("checks/one.log", "red\nerr")


def test_its_limit_ends_it_and_what_was_written_is_kept(bench: Bench) -> None:
    run = bench.run("echo begun; sleep 600", timeout=1.5)
    assert (run.timed_out, run.exit_code) == (True, None)
    assert run.tail.startswith("begun")
    assert "1.5 s" in run.tail


def test_a_check_that_is_shot_did_not_end_by_itself(bench: Bench) -> None:
    assert bench.judge("kill -9 $$").rule == "check-interrupted"


def test_a_pytest_command_is_counted_without_being_asked(bench: Bench) -> None:
    bench.write("test_a.py", GREEN)
    run = bench.run("python -m pytest -q -p no:cacheprovider")
    assert run.report is not None
    assert run.report.cases == {"test_a::test_one": "passed", "test_a::test_two": "passed"}
    assert sorted(path.name for path in bench.tree.iterdir()) == ["test_a.py"], "the report lies outside the tree"
    assert (bench.record / "checks" / "one.log.xml").is_file()


def test_the_same_command_within_a_longer_one_is_evidence_by_its_status_alone(bench: Bench) -> None:
    bench.write("test_a.py", GREEN)
    run = bench.run("cd . && python -m pytest -q -p no:cacheprovider")
    assert (run.exit_code, run.report, run.expected_report) == (0, None, False)


def test_an_injected_report_is_never_an_earlier_ones(bench: Bench) -> None:
    bench.write("test_a.py", GREEN)
    assert bench.run("python -m pytest -q").report is not None
    bench.write("test_a.py", "import os\ndef test_one(): pass\ndef test_two(): os._exit(0)\n")
    verdict = bench.judge("python -m pytest -q")
    assert verdict.rule == "no-report"


@pytest.mark.parametrize(
    "own",
    [
        "pytest -q --junitxml=out/r.xml",
        "pytest -q --junit-xml out/r.xml",
        "pytest -q --junitxml='out/r.xml'",
        'X=1 pytest -q --junit-xml "./out/r.xml"',
        "pytest -q --junitprefix=p",
        "pytest -q --junit-prefix p",
    ],
)
def test_a_report_that_the_command_names_itself_is_read(bench: Bench, own: str) -> None:
    bench.write("test_a.py", GREEN)
    run = bench.run(own)
    assert run.report is not None
    assert run.report.ran == 2


@pytest.mark.parametrize("own", ["=$PWD/out.xml", " ~/out.xml", "=", '="$NONE"', " out*.xml"])
def test_a_report_whose_file_is_unclear_is_refused_before_anything_runs(bench: Bench, own: str) -> None:
    bench.write("test_a.py", "open('ran', 'w').close()\n" + GREEN)
    verdict = bench.judge(f"pytest -q --junitxml{own}")
    assert verdict.rule == "no-report"
    assert "plain path" in verdict.what
    assert not (bench.tree / "ran").exists()


@pytest.mark.parametrize("own", [".", "./", "kept", "../kept.xml", "/etc/kept.xml"])
def test_a_report_that_the_command_puts_elsewhere_is_refused_and_nothing_is_removed(bench: Bench, own: str) -> None:
    bench.write("kept/test_a.py", GREEN)
    (bench.tree.parent / "kept.xml").touch()
    assert bench.judge(f"pytest -q --junitxml '{own}'").rule == "bad-report"
    assert (bench.tree / "kept/test_a.py").exists()
    assert (bench.tree.parent / "kept.xml").exists()


def test_demanded_tests_without_any_report_are_refused(bench: Bench) -> None:
    assert bench.judge("true", Report(at_least=1)).rule == "no-report"
    assert bench.judge("true", Report(at_least=0)).rule is None
    assert bench.judge("true").rule is None


def test_a_declared_report_is_read_from_the_tree(bench: Bench) -> None:
    xml = '<testsuite tests="1"><testcase classname="m" name="a"/></testsuite>'
    verdict = bench.judge(f"mkdir out; echo '{xml}' > out/r.xml", Report(junit="out/r.xml", at_least=1))
    assert verdict.state == "passed"
    assert verdict.as_json()["tests"] == {"run": 1, "passed": 1, "failed": 0, "skipped": 0}


XML = '<testsuite tests="1"><testcase classname="m" name="a"/></testsuite>'


@pytest.mark.parametrize(
    ("script", "rule"),
    [
        ("true", "no-report"),
        ("cp kept.xml out/r.xml", None),
        ("ln -s ../kept.xml out/r.xml", "bad-report"),
        ("rmdir out; ln -s elsewhere out; echo '<testsuite/>' > out/r.xml", "bad-report"),
        ("mkdir out/r.xml", "bad-report"),
        ("mkfifo out/r.xml", "bad-report"),
        ("head -c 20 kept.xml > out/r.xml", "bad-report"),
        (": > out/r.xml", "bad-report"),
    ],
)
def test_a_declared_report_must_be_a_file_of_this_run(bench: Bench, script: str, rule: str | None) -> None:
    """Cases VG-03 and VG-05: what stands there from before is removed, links are not followed."""
    bench.write("kept.xml", XML)
    bench.write("elsewhere/kept.xml", XML)
    bench.write("out/r.xml", XML)
    verdict = bench.judge(script, Report(junit="out/r.xml", at_least=1))
    assert verdict.rule == rule, verdict.what


@pytest.mark.parametrize("path", ["../r.xml", "/tmp/r.xml", "way/r.xml"])
def test_a_report_outside_the_tree_is_refused_before_anything_runs(bench: Bench, path: str, tmp_path: Path) -> None:
    (tmp_path / "r.xml").write_text("<testsuite/>")
    (bench.tree / "way").symlink_to(tmp_path)
    run = bench.run("touch ran", Report(junit=path))
    assert run.report_fault is not None
    assert run.report_fault[0] == "bad-report"
    assert not (bench.tree / "ran").exists()
    assert (tmp_path / "r.xml").exists()


def test_the_verdict_goes_to_json_and_back_to_a_person(bench: Bench) -> None:
    bench.write("test_a.py", "def test_one(): assert False\n")
    shape = bench.judge("pytest -q -p no:cacheprovider").as_json()
    assert (shape["state"], shape["rule"], shape["exit_code"]) == ("refused", "tests-failed", 1)
    assert shape["named"] == ["test_a::test_one"]
    assert "assert False" in shape["tail"]
    assert replace(bench.run("true"), cached=True).cached


# ---------------------------------------------------------------- in a sandbox
@pytest.fixture
def box() -> Iterator[Box]:
    with a_box() as made:
        yield made


def inside(box: Box, run: str, report: Report | None = None, *, layered: bool = False, **more: object) -> CheckRun:
    written = box.root / "both" / "up" if layered else box.root / "tree"
    room = Room(path=box.root / "tree", written=written, sandbox=box.layered if layered else box.sandbox)
    record = box.root / "interlock" / "jobs" / "j1" / "checks"
    return CheckRunner().run(Check(run=run, report=report), room, {"APP_PORT": "3010"}, record / "one.log", **more)  # type: ignore[arg-type]


@pytest.mark.skipif(os.geteuid() != 0, reason="Only root is refused.")
def test_without_a_sandbox_root_runs_no_check(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INTERLOCK_ROOT_AGENTS", raising=False)
    with pytest.raises(Refused) as caught:
        bench.run("touch ran")
    assert caught.value.refusal.rule == "root"
    assert not (bench.tree / "ran").exists()


def test_a_check_in_a_sandbox_runs_at_ws_and_sees_nothing_else(box: Box) -> None:
    run = inside(box, f"pwd; echo $APP_PORT; ls {box.root} 2>&1 || true; touch made")
    assert run.exit_code == 0
    assert run.tail.startswith("/ws\n3010\nls: cannot access")
    assert (box.root / "tree" / "made").exists()
    assert run.log == "checks/one.log"


def test_an_injected_report_comes_out_of_a_sandbox(box: Box) -> None:
    fake = box.root / "tree" / "pytest"
    fake.write_text(FAKE_PYTEST)
    fake.chmod(0o755)
    run = inside(box, "PATH=/ws:$PATH pytest -q")
    assert (run.exit_code, run.report_fault) == (0, None), run.tail
    assert run.report is not None
    assert run.report.ran == 1
    again = inside(box, "PATH=/ws:$PATH NO_REPORT=1 pytest -q")
    assert again.report is None
    assert again.report_fault is not None
    assert again.report_fault[0] == "no-report"


@pytest.mark.parametrize("layered", [False, True])
def test_a_declared_report_is_read_where_the_tree_is_written(box: Box, layered: bool) -> None:
    text = '<testsuite tests="1"><testcase classname="a" name="b"/></testsuite>'
    old = box.root / "lower" / "out"
    old.mkdir()
    (old / "r.xml").write_text(text)
    box.own()
    report = Report(junit="out/r.xml")
    run = inside(box, f"mkdir -p out; echo '{text}' > out/r.xml", report, layered=layered)
    assert run.report is not None
    # Neither the report of the run before nor one of a layer below is this run's.
    assert inside(box, "true", report, layered=layered).report_fault == (
        "no-report",
        "The check wrote no report to out/r.xml.",
    )


@pytest.mark.parametrize("layered", [False, True])
def test_a_report_that_is_a_link_is_not_followed(box: Box, layered: bool) -> None:
    secret = box.root / "secret.xml"
    secret.write_text('<testsuite tests="1"><testcase classname="a" name="b"/></testsuite>')
    run = inside(box, f"ln -s {secret} r.xml", Report(junit="r.xml"), layered=layered)
    assert run.report is None
    assert run.report_fault is not None
    assert run.report_fault[0] == "bad-report"


def test_secrets_are_neither_in_the_log_nor_in_what_is_told_of_a_check(box: Box) -> None:
    run = inside(box, "echo hunter2-hunter2; false", redact=("hunter2-hunter2",))
    assert (run.tail, run.exit_code) == ("[redacted]", 1)
    assert "hunter2" not in (box.root / "interlock" / "jobs" / "j1" / "checks" / "one.log").read_text()


def test_a_check_in_a_sandbox_has_its_limit_and_its_leftovers(box: Box) -> None:
    room = Room(path=box.root / "tree", written=box.root / "tree", sandbox=box.sandbox)
    run = CheckRunner().run(Check(run="echo on; sleep 600", timeout=0.4), room, {}, box.log)
    assert (run.timed_out, run.exit_code) == (True, None)
    run = CheckRunner().run(Check(run="sleep 600 & exit 0"), room, {}, box.log)
    assert [label.split()[1] for label in run.leftovers] == ["sleep"]


FAKE_PYTEST = """#!/bin/sh
for word; do
  case $word in --junitxml=*) to=${word#--junitxml=};; esac
done
test -n "$NO_REPORT" || echo '<testsuite tests="1"><testcase classname="a" name="b"/></testsuite>' > "$to"
"""


def test_a_second_run_of_a_check_leaves_the_log_of_the_first_one_as_it_was(tmp_path: Path) -> None:
    """Evidence of the first run rests on its bytes, whatever is tried again."""
    tree = tmp_path / "tree"
    tree.mkdir()
    log = tmp_path / "jobs" / "j" / "checks" / "key.log"
    runs = [
        CheckRunner().run(Check(run=f"echo {word}"), Room(path=tree, written=tree), {}, log) for word in ("one", "two")
    ]
    assert [run.log for run in runs] == ["checks/key.log", "checks/key-2.log"]
    assert log.read_text() == "one\n"
    assert runs[0].log_digest != runs[1].log_digest
