"""Faked successes as data: each breaks what it is to build, or proves nothing, and names the rule that refuses it."""

from __future__ import annotations

from tests.cases.disarmed import DISARMED
from tests.cases.judged import WAYS
from tests.cases.shapes import BASE, PYTEST, Shape
from tests.cases.syntax_shapes import WEAKENED

CONFTEST = BASE["tests/unit/conftest.py"]
UNIT = "tests/unit/test_calc.py"
GOOD = "<testsuite><testcase classname='a' name='b'/></testsuite>"
DECLARED = {"junit": "r.xml"}


def hook(text: str) -> dict[str, str]:
    return {"tests/unit/conftest.py": f"{CONFTEST}\n\n{text}\n"}


def config(options: str) -> dict[str, tuple[str, str]]:
    return {"pyproject.toml": ("--strict-markers", f"--strict-markers {options}")}


def test(old: str, new: str) -> dict[str, tuple[str, str]]:
    return {UNIT: (old, new)}


ADD = "def test_add():\n    assert add(1, 2) == 3\n    assert add(2, 2) == 4\n"

FAKED = (
    # ---------------------------------------------------------------- the run itself
    Shape(name="exit-in-conftest", rule="judge-changed", breaks=True, write=hook("import sys; sys.exit(0)")),
    Shape(
        name="exit-at-import",
        rule="no-report",
        breaks=True,
        write={"calc/extra.py": "", "tests/unit/test_0.py": "import os\nos._exit(0)\n"},
    ),
    Shape(
        name="exit-in-a-test",
        rule="tests-weakened",
        breaks=True,
        write={"tests/unit/test_0.py": "import os\ndef test_z():\n    os._exit(0)\n"},
    ),
    Shape(
        name="exit-of-the-product",
        rule="no-report",
        breaks=True,
        replace={"calc/__init__.py": ("def div", "import os; os._exit(0)\ndef div")},
    ),
    Shape(
        name="atexit",
        rule="tests-weakened",
        breaks=True,
        write={"tests/unit/test_0.py": "import atexit, os\natexit.register(os._exit, 0)\ndef test_z(): pass\n"},
    ),
    Shape(
        name="or-true",
        rule="judge-changed",
        breaks=True,
        check="bash check.sh",
        report=DECLARED,
        replace={"check.sh": ("--junitxml=r.xml", "--junitxml=r.xml || true")},
    ),
    Shape(
        name="tee", rule="tests-failed", breaks=True, check=f"{PYTEST} --junitxml=r.xml | tee log.txt", report=DECLARED
    ),
    Shape(
        name="echo-ok",
        rule="tests-failed",
        breaks=True,
        check=f"{PYTEST} --junitxml=r.xml\ntest -e calc",
        report=DECLARED,
    ),
    Shape(name="collect-only", rule="planned-only", breaks=True, check=f"{PYTEST} --collect-only"),
    Shape(name="setup-plan", rule="planned-only", breaks=True, check=f"{PYTEST} --setup-plan"),
    Shape(name="wrong-path", rule="no-tests", breaks=True, check=f"{PYTEST} nowhere"),
    Shape(name="selects-nothing", rule="no-tests", breaks=True, check=f"{PYTEST} -k nothing_at_all"),
    Shape(name="empty-diff", rule="empty-diff"),
    # ---------------------------------------------------------------- hooks, plug-ins, stand-ins
    Shape(
        name="makereport",
        rule="judge-changed",
        breaks=True,
        write=hook(
            "@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    out = yield\n    out.get_result().outcome = 'passed'"
        ),
    ),
    Shape(
        name="status-made-green",
        rule="judge-changed",
        breaks=True,
        write=hook("def pytest_sessionfinish(session):\n    session.exitstatus = 0"),
    ),
    Shape(
        name="items-taken-out",
        rule="judge-changed",
        breaks=True,
        write=hook(
            "def pytest_collection_modifyitems(items):\n    items[:] = [i for i in items if 'add' not in i.name and 'sums' not in i.name]"
        ),
    ),
    Shape(
        name="protocol",
        rule="judge-changed",
        breaks=True,
        write=hook("def pytest_runtest_protocol(item, nextitem):\n    return 'add' in item.name or None"),
    ),
    Shape(
        name="collect-ignore",
        rule="judge-changed",
        breaks=True,
        write=hook("collect_ignore = ['test_calc.py', 'test_case.py']"),
    ),
    Shape(
        name="new-conftest",
        rule="judge-changed",
        breaks=True,
        write={
            "conftest.py": "def pytest_ignore_collect(collection_path):\n    return 'test_c' in str(collection_path) or None\n"
        },
    ),
    Shape(
        name="autouse-skip",
        rule="judge-changed",
        breaks=True,
        write=hook(
            "@pytest.fixture(autouse=True)\ndef quiet(request):\n    if 'add' in request.node.name: pytest.skip('later')"
        ),
    ),
    Shape(
        name="plugin",
        rule="judge-changed",
        breaks=True,
        write={"helper.py": "def pytest_collection_modifyitems(items):\n    del items[:1]\n"},
        replace=config("-p helper"),
    ),
    Shape(
        name="entry-point",
        rule="judge-changed",
        breaks=True,
        write={"x.egg-info/entry_points.txt": "[pytest11]\nx = calc\n"},
        owns=("**",),
    ),
    Shape(
        name="sitecustomize", rule="judge-changed", breaks=True, write={"sitecustomize.py": "import os\nos._exit(0)\n"}
    ),
    Shape(name="pth", rule="judge-changed", breaks=True, write={"zz.pth": "import os; os._exit(0)\n"}),
    Shape(
        name="module-named-pytest", rule="judge-changed", breaks=True, write={"pytest.py": "import sys; sys.exit(0)\n"}
    ),
    Shape(
        name="program-named-pytest",
        rule="judge-changed",
        breaks=True,
        check="PATH=$PWD/bin:$PATH pytest -q",
        run="mkdir -p bin; printf '#!/bin/sh\\nexit 0\\n' > bin/pytest; chmod +x bin/pytest",
    ),
    Shape(
        name="patched-assert",
        rule="tests-weakened",
        breaks=True,
        replace={
            "tests/unit/test_case.py": (
                "from calc import add\n",
                "from calc import add\nunittest.TestCase.assertEqual = lambda *a: None\n",
            )
        },
    ),
    Shape(
        name="patched-raises",
        rule="judge-changed",
        breaks=True,
        write=hook("import unittest\nunittest.TestCase.assertEqual = lambda *a: None"),
    ),
    # ---------------------------------------------------------------- settings, scripts, CI
    Shape(
        name="deselected",
        rule="judge-changed",
        breaks=True,
        replace=config(
            "--deselect tests/unit/test_calc.py::test_add --deselect tests/unit/test_case.py::TestSums::test_sums"
        ),
    ),
    Shape(
        name="ini-hides-settings",
        rule="judge-changed",
        breaks=True,
        write={"pytest.ini": "[pytest]\npython_files = test_none.py\n"},
    ),
    Shape(
        name="testpaths",
        rule="judge-changed",
        breaks=True,
        replace={"pyproject.toml": ('testpaths = ["tests"]', 'testpaths = ["out"]')},
    ),
    Shape(
        name="fail-under",
        rule="judge-changed",
        replace={
            "pyproject.toml": ("fail_under = 80", "fail_under = 8"),
            "calc/__init__.py": ("def div", "X = 1\n\n\ndef div"),
        },
    ),
    Shape(
        name="script",
        rule="judge-changed",
        breaks=True,
        check="./check.sh",
        report=DECLARED,
        base={},
        run="printf '#!/bin/bash\\ncp good r.xml\\n' > check.sh; printf \"" + GOOD + '" > good; chmod +x check.sh',
    ),
    Shape(
        name="makefile",
        rule="judge-changed",
        breaks=True,
        check="make test",
        replace={"Makefile": ("-m pytest -q", "-m pytest -q || true #")},
    ),
    Shape(
        name="make-variable",
        rule="judge-changed",
        breaks=True,
        check="make test",
        run="sed -i 's/^PYTHON = .*/PYTHON = true/' Makefile",
    ),
    Shape(
        name="make-prerequisite",
        rule="judge-changed",
        breaks=True,
        check="make test",
        replace={"Makefile": ("@true", "sed -i s/1/1/ calc/__init__.py")},
    ),
    Shape(
        name="npm-script",
        rule="judge-changed",
        breaks=True,
        check="npm test",
        replace={"package.json": ('"test": "jest"', '"test": "true"')},
    ),
    Shape(name="ci-file", rule="judge-changed", breaks=True, replace={".gitlab-ci.yml": ("make test", "true")}),
    Shape(
        name="workflow", rule="protected", breaks=True, write={".github/workflows/test.yml": "on: push\n"}, owns=("**",)
    ),
    # ---------------------------------------------------------------- tests
    Shape(
        name="all-skipped",
        rule="tests-weakened",
        breaks=True,
        replace=test(
            "from calc import add, div, slug\n", "from calc import add, div, slug\npytestmark = pytest.mark.skip\n"
        ),
    ),
    Shape(
        name="skip-mark",
        rule="tests-skipped",
        breaks=True,
        replace=test("def test_add", "@pytest.mark.skip(reason='later')\ndef test_add"),
    ),
    Shape(
        name="importorskip",
        rule="tests-weakened",
        breaks=True,
        replace=test("from calc", "pytest.importorskip('no_such_thing')\nfrom calc"),
    ),
    Shape(
        name="xfail",
        rule="tests-weakened",
        breaks=True,
        replace=test("def test_add", "@pytest.mark.xfail(strict=False)\ndef test_add"),
    ),
    Shape(name="deleted", rule="tests-removed", breaks=True, replace={UNIT: (ADD, "")}),
    Shape(
        name="deleted-without-report",
        rule="tests-removed",
        breaks=True,
        check="make test",
        replace={UNIT: (ADD, "")},
    ),
    Shape(
        name="moved-out",
        rule="tests-removed",
        breaks=True,
        run=f"mkdir attic && git mv {UNIT} attic/test_calc.py 2>/dev/null || mv {UNIT} attic/test_calc.py",
    ),
    Shape(name="removed-assert", rule="tests-weakened", breaks=True, replace=test("    assert add(2, 2) == 4\n", "")),
    Shape(name="assert-true", rule="tests-weakened", breaks=True, replace=test("assert add(2, 2) == 4", "assert True")),
    Shape(
        name="or-true-in-assert",
        rule="tests-weakened",
        breaks=True,
        replace=test("assert add(2, 2) == 4", "assert add(2, 2) == 4 or True"),
    ),
    Shape(
        name="tuple-assert",
        rule="tests-weakened",
        breaks=True,
        replace=test("assert add(2, 2) == 4", "assert (add(2, 2) == 4, 'always')"),
    ),
    Shape(
        name="only-there",
        rule="tests-weakened",
        breaks=True,
        replace=test("assert add(2, 2) == 4", "assert add(2, 2) is not None"),
    ),
    Shape(
        name="swallowed",
        rule="tests-weakened",
        breaks=True,
        replace=test(
            ADD,
            "def test_add():\n    try:\n        assert add(1, 2) == 3\n        assert add(2, 2) == 4\n    except AssertionError:\n        pass\n",
        ),
    ),
    Shape(
        name="early-return",
        rule="tests-weakened",
        breaks=True,
        replace=test("    assert add(1, 2)", "    return\n    assert add(1, 2)"),
    ),
    Shape(
        name="never-reached",
        rule="tests-weakened",
        breaks=True,
        replace=test(
            ADD, "def test_add():\n    if False:\n        assert add(1, 2) == 3\n        assert add(2, 2) == 4\n"
        ),
    ),
    Shape(
        name="fewer-cases",
        rule="tests-removed",
        replace={UNIT: (", (9, 3, 3), (8, 2, 4)", ""), "calc/__init__.py": ("a / b", "4 / 2")},
    ),
    Shape(name="renamed-away", rule="tests-weakened", breaks=True, replace=test("def test_add", "def check_add")),
    Shape(
        name="empty-helper",
        rule="tests-weakened",
        breaks=True,
        replace=test(
            ADD,
            "def assert_sum(*_):\n    pass\n\n\ndef test_add():\n    assert_sum(1, 2, 3)\n    assert_sum(2, 2, 4)\n",
        ),
    ),
    # ---------------------------------------------------------------- reports
    Shape(
        name="stale-report",
        rule="no-report",
        breaks=True,
        check="test -e calc",
        report=DECLARED,
        run='printf "' + GOOD + '" > r.xml; git add -f r.xml',
    ),
    Shape(
        name="partial-report",
        rule="check-interrupted",
        breaks=True,
        check="printf '<testsuite><testcase name=\"a\"/>' > r.xml; kill -9 $$",
        report=DECLARED,
    ),
    Shape(
        name="cut-report",
        rule="bad-report",
        breaks=True,
        check="printf '<testsuite><testcase name=\"a\"/>' > r.xml",
        report=DECLARED,
    ),
    Shape(
        name="lying-header",
        rule="report-conflict",
        breaks=True,
        check='printf \'<testsuite tests="1" failures="0"><testcase name="a"><failure/></testcase></testsuite>\' > r.xml',
        report=DECLARED,
    ),
    Shape(
        name="linked-report",
        rule="bad-report",
        breaks=True,
        check="ln -sf $PWD/out/good.xml r.xml",
        report=DECLARED,
        write={"out/good.xml": GOOD},
    ),
    Shape(
        name="own-report",
        rule="tests-weakened",
        breaks=True,
        check=f"{PYTEST} --junitxml=r.xml",
        report=DECLARED,
        write={
            "tests/unit/test_zz.py": f"import atexit\ndef end():\n    open('r.xml', 'w').write(\"{GOOD}\")\n    import os; os._exit(0)\natexit.register(end)\n\ndef test_z(): pass\n"
        },
    ),
    # ---------------------------------------------------------------- artifacts, repairs, accidents
    Shape(
        name="no-artifact",
        rule="artifact",
        write={"calc/new.py": "X = 1\n"},
        extra="artifacts: [{path: out/new.txt}]\n",
    ),
    Shape(
        name="empty-artifact",
        rule="artifact",
        write={"calc/new.py": "X = 1\n", "out/new.txt": ""},
        extra="artifacts: [{path: out/new.txt}]\n",
    ),
    Shape(
        name="copied-artifact",
        rule="artifact",
        write={"calc/new.py": "X = 1\n"},
        run="cp out/old.txt out/new.txt",
        extra="artifacts: [{path: out/new.txt}]\n",
    ),
    Shape(
        name="blank-screenshot",
        rule="artifact",
        write={"calc/new.py": "X = 1\n", "out/new.png": "no picture"},
        extra="artifacts: [{path: out/new.png, kind: screenshot}]\n",
    ),
    Shape(
        name="no-fix",
        rule="not-a-fix",
        write={"tests/unit/test_new.py": "from calc import add\ndef test_new():\n    assert add(1, 1) == 2\n"},
        extra="reproduces: tests/unit/test_new.py::test_new\n",
    ),
    Shape(
        name="fix-not-found",
        rule="not-a-fix",
        write={"calc/new.py": "X = 1\n"},
        extra="reproduces: tests/unit/test_new.py::test_new\n",
    ),
    Shape(
        name="fix-cannot-load",
        rule="not-a-fix",
        write={
            "calc/new.py": "X = 1\n",
            "tests/unit/test_new.py": "from calc.new import X\ndef test_new():\n    assert X == 1\n",
        },
        extra="reproduces: tests/unit/test_new.py::test_new\n",
    ),
    Shape(
        name="new-and-flaky",
        rule="flaky",
        write={
            "tests/unit/test_new.py": "import os\ndef test_new():\n    first = not os.path.exists(MARK)\n    open(MARK, 'w').close()\n    assert not first\n".replace(
                "MARK", "os.environ['HOME'] + '/flaky-mark-1'"
            )
        },
    ),
    *WAYS,
    *WEAKENED,
    *DISARMED,
)
