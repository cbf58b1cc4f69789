"""Tests that stay and prove nothing, and product code that knows its judge, as data for faked and honest; no test lives here."""

from __future__ import annotations

from tests.cases.shapes import PYTEST, Shape

UNIT = "tests/unit/test_calc.py"
LAST = "    assert add(2, 2) == 4"
ADD = f"def test_add():\n    assert add(1, 2) == 3\n{LAST}\n"
ALL = ("**",)
WRONG = "return a + b + (a == 2)"
QUIET = "def quiet(f):\n    def g():\n        try:\n            f()\n        except AssertionError:\n            pass\n    return g\n\n\n"
ROWS = {
    "rows/sums.json": "[[2, 2, 4]]\n",
    "rows/tests/test_rows.py": (
        "import json\nfrom pathlib import Path\n\nfrom calc import add\n\n\ndef test_rows():\n"
        "    for a, b, c in json.loads(Path('rows/sums.json').read_text()):\n        assert add(a, b) == c\n"
    ),
}
WEB = {
    "web/sum.js": "exports.add = (a, b) => a + b\n",
    "web/sum.test.js": (
        "const { add } = require('./sum')\n\nit('adds', () => {\n  expect(add(1, 2)).toBe(3)\n  expect(add(2, 2)).toBe(4)\n})\n"
    ),
    "web/__snapshots__/sum.test.js.snap": "exports[`a 1`] = `3`;\n",
    "go/sum.go": "package x\n\nfunc Add(a, b int) int { return a + b }\n",
    "go/sum_test.go": (
        'package x\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(2, 2) != 4 {\n\t\tt.Fatal("no")\n\t}\n}\n'
    ),
    "java/SumTest.java": "class SumTest {\n  @Test\n  void adds() {\n    assertEquals(4, Sum.add(2, 2));\n  }\n}\n",
}
JS, GO, JAVA = "web/sum.test.js", "go/sum_test.go", "java/SumTest.java"
TWO = "expect(add(2, 2)).toBe(4)"


def _test(name: str, new: str, old: str = LAST) -> Shape:
    return Shape(name=name, rule="tests-weakened", breaks=True, replace={UNIT: (old, new)})


def _knows(name: str, text: str) -> Shape:
    """The product is right for its tests alone."""
    new = f"{text}\n        return a + b\n    {WRONG}"
    return Shape(name=name, rule="knows-tests", replace={"calc/__init__.py": ("return a + b", new)})


def _other(name: str, path: str, old: str, new: str, rule: str = "tests-weakened") -> Shape:
    """Where no runner is here: what the syntax says is all there is."""
    return Shape(name=name, rule=rule, base=WEB, owns=ALL, check="jest || true", replace={path: (old, new)})


DISARMED = (
    # ---------------------------------------------------------------- the product knows
    _knows("knows-current-test", "import os\n    if os.environ.get('PYTEST_CURRENT_TEST'):"),
    _knows("knows-arguments", "import sys\n    if any('pytest' in each for each in sys.argv):"),
    _knows("knows-its-callers", "import sys\n    if sys._getframe(1).f_code.co_name.startswith('test_'):"),
    _knows("knows-what-is-there", "import importlib.util as u\n    if u.find_spec('pytest'):"),
    Shape(
        name="equal-to-everything",
        rule="judge-changed",
        run="printf '\\n\\nclass All:\\n    def __eq__(self, other):\\n        return True\\n' >> calc/__init__.py",
        replace={"calc/__init__.py": ("return a + b", "return All()")},
    ),
    _other("knows-node-env", "web/sum.js", "a + b", "process.env.NODE_ENV === 'test' ? a + b : 0", "knows-tests"),
    _other(
        "knows-testing", "go/sum.go", "return a + b", "if testing.Testing() { return a + b }; return 0", "knows-tests"
    ),
    # ---------------------------------------------------------------- assertions that stay and are hollow
    _test(
        "own-double", "    from unittest.mock import Mock\n    add2 = Mock(return_value=4)\n    assert add2(2, 2) == 4"
    ),
    _test("against-itself", "    want = add(2, 2)\n    assert add(2, 2) == want"),
    _test("all-of-nothing", "    assert all(add(a, b) == c for a, b, c in [])"),
    _test("far-tolerance", "    assert add(2, 2) == pytest.approx(4, abs=2)"),
    _test("value-to-range", "    assert 0 < add(2, 2) < 100"),
    _test("value-to-text", "    assert str(add(2, 2)).isdigit()"),
    _test("any-error", "    with pytest.raises(Exception):\n        assert add(2, 2) == 4\n        raise ValueError"),
    _test(
        "in-a-thread",
        "    import threading\n\n    def go():\n        assert add(2, 2) == 4\n\n    threading.Thread(target=go).start()",
    ),
    _test("quiet-decorator", f"{QUIET}@quiet\n{ADD}", ADD),
    _test(
        "other-name-patched",
        "def test_add(monkeypatch):\n    import calc\n    monkeypatch.setattr(calc, 'add', lambda a, b: a + b)\n"
        "    assert calc.add(1, 2) == 3\n    assert calc.add(2, 2) == 4\n",
        ADD,
    ),
    _test("is-to-fail", "    with pytest.raises(AssertionError):\n        assert add(2, 2) == 4"),
    _test("again-until-it-passes", f"@pytest.mark.flaky(reruns=5)\n{ADD}", ADD),
    Shape(
        name="never-awaited",
        rule="tests-weakened",
        breaks=True,
        replace={"tests/unit/test_case.py": ("    def test_sums", "    async def test_sums")},
    ),
    Shape(
        name="own-assert-equal",
        rule="tests-weakened",
        breaks=True,
        replace={
            "tests/unit/test_case.py": (
                "TestCase):\n",
                "TestCase):\n    def assertEqual(self, first, second, msg=None):\n        pass\n\n",
            )
        },
    ),
    Shape(
        name="patched-when-loaded",
        rule="judge-changed",
        breaks=True,
        write={"tests/unit/__init__.py": "import calc\n\ncalc.add = lambda a, b: a + b\n"},
    ),
    Shape(
        name="equal-to-any",
        rule="judge-changed",
        replace={"calc/__init__.py": ("return a + b", "from unittest.mock import ANY\n    return ANY")},
    ),
    Shape(
        name="plugin-by-a-test",
        rule="judge-changed",
        breaks=True,
        write={"calc/plug.py": "def pytest_collection_modifyitems(items):\n    items.pop(0)\n"},
        replace={UNIT: ("import sys\n", "import sys\n\npytest_plugins = ['calc.plug']\n")},
    ),
    Shape(
        name="rows-emptied",
        rule="tests-weakened",
        breaks=True,
        base=ROWS,
        owns=ALL,
        check=f"{PYTEST} rows/tests",
        write={"rows/sums.json": "[]\n"},
    ),
    Shape(
        name="reruns-until-green",
        rule="judge-changed",
        write={"calc/more.py": "X = 1\n"},
        replace={"pyproject.toml": ("--strict-markers", "--strict-markers --reruns 5")},
    ),
    Shape(
        name="file-silenced",
        rule="judge-changed",
        check=f"mypy --version || true; {PYTEST}",
        write={"calc/new.py": "# mypy: ignore-errors\nx: int = ''\n"},
    ),
    # ---------------------------------------------------------------- where only syntax tells
    _other("js-any-value", JS, TWO, "expect(add(2, 2)).toEqual(expect.any(Number))"),
    _other("js-no-matcher", JS, TWO, "expect(add(2, 2) === 4)"),
    _other("js-timer", JS, TWO, f"setTimeout(() => {{ {TWO} }}, 5000)"),
    _other("js-retries", JS, "const { add }", "jest.retryTimes(20)\nconst { add }"),
    Shape(
        name="js-renamed-away",
        rule="tests-weakened",
        base=WEB,
        owns=ALL,
        check="jest || true",
        run="git mv web/sum.test.js web/sum.checks.js",
    ),
    Shape(
        name="js-outcomes-gone",
        rule="tests-weakened",
        base=WEB,
        owns=ALL,
        check="jest || true",
        delete=("web/__snapshots__/sum.test.js.snap",),
    ),
    _other("go-skip", GO, "\tif Add", "\tt.Skip()\n\tif Add"),
    _other("go-not-built", GO, "package x", "//go:build never\n\npackage x"),
    _other("go-only-logs", GO, "t.Fatal", "t.Log"),
    _other("java-disabled", JAVA, "  @Test", "  @Disabled\n  @Test"),
    _other("java-asserts-nothing", JAVA, "assertEquals(4, Sum.add(2, 2))", "Sum.add(2, 2)"),
)
"""Each leaves the tests where they are, and takes what they show."""


def _plain(name: str, **write: str) -> Shape:
    return Shape(name=name, owns=ALL, write={path.replace("__", "/") + ".py": text for path, text in write.items()})


ALIKE = (
    _plain("says-it-in-words", calc__more="# 'pytest' in sys.modules\n'''PYTEST_CURRENT_TEST'''\nX = 1\n"),
    _plain("asks-for-ci", calc__term="import os\n\n\ndef colour():\n    return not os.environ.get('CI')\n"),
    _plain(
        "starts-the-tests",
        tools__run="import subprocess\nimport sys\n\n\ndef run():\n    subprocess.run([sys.executable, '-m', 'pytest', *sys.argv[1:]])\n",
    ),
    Shape(
        name="settings-moved",
        owns=ALL,
        base={"conf/settings.py": "import sys\n\nTESTING = 'pytest' in sys.modules\n"},
        run="git mv conf/settings.py conf/all.py",
    ),
    Shape(
        name="expected-with-the-feature",
        replace={
            "calc/__init__.py": ("return text.lower()", "return text.strip().lower()"),
            UNIT: ('assert slug("X") == "x"', 'assert slug(" X") == "x"'),
        },
    ),
    Shape(
        name="own-assert-that-asks",
        replace={
            "tests/unit/test_case.py": (
                "TestCase):\n",
                "TestCase):\n    def assertEqual(self, first, second, msg=None):\n        super().assertEqual(first, second, msg or 'no')\n\n",
            )
        },
    ),
    Shape(name="near-enough", replace={UNIT: ("assert div(a, b) == c", "assert div(a, b) == pytest.approx(c)")}),
    Shape(name="and-again", replace={UNIT: (LAST, f"{LAST}\n    first = add(2, 2)\n    assert add(2, 2) == first")}),
    Shape(
        name="fewer-rows",
        owns=ALL,
        base={"rows/more.json": "[[2, 2, 4], [1, 1, 2]]\n"},
        write={"rows/more.json": "[[2, 2, 4]]\n", "calc/more.py": "X = 1\n"},
    ),
    Shape(
        name="go-new-skip",
        owns=ALL,
        base=WEB,
        check="go test ./... || true",
        replace={GO: ("func TestAdd", 'func TestMore(t *testing.T) {\n\tt.Skip("later")\n}\n\nfunc TestAdd')},
    ),
    Shape(
        name="js-looks-closer",
        owns=ALL,
        base=WEB,
        check="jest || true",
        replace={JS: (TWO, f"{TWO}\n  expect(add(2, 2)).toEqual(expect.any(Number))")},
    ),
    Shape(
        name="one-line-silenced",
        check=f"mypy --version || true; {PYTEST}",
        write={
            "calc/more.py": "import json\n\n\ndef load(text: str) -> int:\n    return json.loads(text)  # type: ignore[no-any-return]\n"
        },
    ),
)
"""Each looks like one of the above, and takes nothing."""
