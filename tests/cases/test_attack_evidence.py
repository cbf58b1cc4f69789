"""A corpus of faked successes that are refused, each against a base that passes, and honest suites that pass."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from interlock.adapters.checks.runner import CheckRunner
from interlock.core.contract.card import Check, Report
from interlock.core.gate.judge import judge_check
from interlock.core.job.evidence import CheckRun, Verdict
from interlock.ports.isolation import Room

# Without the plug-ins of our own environment, whose start takes longer than these tests.
ENV = {
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}
PYTEST = "pytest -q -p no:cacheprovider"
TESTS = "import pytest\ndef test_1(): pass\ndef test_2(): pass\n@pytest.mark.parametrize('n', [1, 2])\ndef test_p(n): pass\n"
RED = TESTS.replace("test_1(): pass", "test_1(): assert 0")
GOOD = "<testsuite><testcase name='a'/></testsuite>"
DECLARED = Report(junit="r.xml")


def run(tree: Path, files: dict[str, str], command: str = PYTEST, report: Report | None = None) -> CheckRun:
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8")
    return CheckRunner().run(
        Check(run=command, report=report), Room(path=tree, written=tree), ENV, tree.parent / "log" / f"{tree.name}.log"
    )


def judge(command: str, report: Report | None, head: CheckRun, base: CheckRun | None) -> Verdict:
    return judge_check(Check(run=command, report=report), head, base)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> CheckRun:
    return run(tmp_path_factory.mktemp("base"), {"test_a.py": TESTS})


def ini(options: str) -> dict[str, str]:
    return {"test_a.py": TESTS, "pytest.ini": f"[pytest]\naddopts = {options}\n"}


def conftest(text: str, tests: str = TESTS) -> dict[str, str]:
    return {"test_a.py": tests, "conftest.py": text}


FAKED = {
    "exit-at-import": (conftest("import os; os._exit(0)"), "no-report"),
    "exit-in-a-test": ({"test_a.py": TESTS + "def test_z():\n    import os; os._exit(0)\n"}, "no-report"),
    "end-at-the-start": (
        conftest("import pytest\ndef pytest_sessionstart(session): pytest.exit('x', 0)"),
        "no-report",
    ),
    "report-off": (ini("-p no:junitxml"), "no-report"),
    "report-elsewhere": ({**ini("--junitxml=x.xml"), "test_a.py": RED}, "tests-failed"),
    "collect-only": (ini("--collect-only"), "planned-only"),
    "selects-nothing": (ini("-k nothing"), "no-tests"),
    "selects-some": (ini("-k test_1"), "tests-removed"),
    "all-skipped": ({"test_a.py": TESTS + "pytestmark = pytest.mark.skip\n"}, "no-tests"),
    "all-xfail": (
        {"test_a.py": TESTS.replace("pass", "assert 0") + "pytestmark = pytest.mark.xfail\n"},
        "tests-skipped",
    ),
    "renamed": ({"test_a.py": TESTS.replace("test_2", "test_3")}, "tests-removed"),
    "fewer-parameters": ({"test_a.py": TESTS.replace("[1, 2]", "[1]")}, "tests-removed"),
    "items-taken-out": (conftest("def pytest_collection_modifyitems(items): del items[1:]"), "tests-removed"),
    "status-made-green": (
        conftest("def pytest_sessionfinish(session): session.exitstatus = 0", RED),
        "report-conflict",
    ),
    "nothing-is-run": (conftest("def pytest_runtest_protocol(item, nextitem): return True"), "no-tests"),
    "folder-for-the-file": ({"test_a.py/__init__.py": "", "test_b.py": "def test_x(): pass"}, "tests-removed"),
    "needs-an-ignored-file": ({"test_a.py": TESTS + "open('built.txt')\n"}, "tests-failed"),
}
DECLARED_FAKES = {
    "written-before": ("true", "no-report"),
    "written-later": ("(sleep 0.5; cp good r.xml) & true", "no-report"),
    "written-from-another-session": ("setsid -f env -i bash -c 'sleep 0.5; cp good r.xml'; true", "no-report"),
    "glued-of-two": ("cat good good > r.xml", "bad-report"),
    "link": ("ln -s good r.xml", "bad-report"),
    "folder": ("rm -f r.xml; mkdir r.xml", "bad-report"),
    "or-true": (f"{PYTEST} --junitxml=r.xml || true", "report-conflict"),
}


@pytest.mark.parametrize("name", FAKED)
def test_a_faked_success_is_refused(tmp_path: Path, base: CheckRun, name: str) -> None:
    files, rule = FAKED[name]
    (tree := tmp_path / "head").mkdir()
    assert rule == judge(PYTEST, None, run(tree, files), base).rule


@pytest.mark.parametrize("name", DECLARED_FAKES)
def test_a_report_that_this_run_did_not_write_is_none(tmp_path: Path, name: str) -> None:
    command, rule = DECLARED_FAKES[name]
    (tree := tmp_path / "head").mkdir()
    head = run(tree, {"good": GOOD, "r.xml": GOOD, "test_a.py": RED}, command, DECLARED)
    assert rule == judge(command, DECLARED, head, None).rule


KNOWN = {
    "test_skips.py": "import pytest\n@pytest.mark.skip\ndef test_s(): pass\n@pytest.mark.xfail\ndef test_x(): assert 0\n",
    "test_ids.py": (
        "import pytest\n@pytest.mark.parametrize('n', ['ä', '日本', '\\x00', '\\n', '<&\"', 'a::b', '', ' '])\n"
        "def test_ü(n): print('\\x1b[31m\\x08')\n"
    ),
    "test_many.py": "import pytest\n@pytest.mark.parametrize('n', range(500))\ndef test_n(n): pass\n",
    "test_names.py": "class TestA:\n    def test_1(self): pass\nclass TestB:\n    def test_1(self): pass\n",
    "test_unit.py": (
        "import unittest\nclass T(unittest.TestCase):\n    def test_1(self):\n"
        "        for n in range(3):\n            with self.subTest(n=n): pass\n"
    ),
    "test_sets.py": "import pytest\n@pytest.mark.parametrize('n', {'a', 'b', 'c'})\ndef test_n(n): pass\n",
}
BEFORE = {**KNOWN, "test_later.py": "import pytest\n@pytest.mark.skip\ndef test_s(): pass\ndef test_red(): assert 0\n"}
AFTER = {**KNOWN, "test_later.py": "def test_s(): pass\ndef test_red(): pass\n", "test_new.py": "def test_n(): pass\n"}


def test_honest_suites_pass(tmp_path: Path) -> None:
    """Skipped on the base too, odd and many ids, equal names, a skip taken away, a red test mended, new tests."""
    trees = [tmp_path / name for name in ("base", "head")]
    for tree in trees:
        tree.mkdir()
    before, after = (run(tree, files) for tree, files in zip(trees, (BEFORE, AFTER), strict=True))
    verdict = judge(PYTEST, None, after, before)
    assert ("passed", None) == (verdict.state, verdict.rule), verdict.what


def test_the_first_tests_of_a_folder_pass(tmp_path: Path) -> None:
    for name in ("base", "head"):
        (tmp_path / name).mkdir()
    head = run(tmp_path / "head", {"test_a.py": TESTS})
    assert judge(PYTEST, None, head, run(tmp_path / "base", {"x": ""})).state == "passed"
