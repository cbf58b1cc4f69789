"""Tests that stay and prove nothing any more, in each language that is read; beside each the honest change that looks alike."""

from __future__ import annotations

import pytest

from interlock.adapters.tests_syntax.reader import SyntaxReader
from interlock.core.gate.weakened import compare

HEAD = "import contextlib\nimport pytest\nfrom calc import add\nimport calc\n\n\n"
LAST = "    assert add(2, 2) == 4\n"
TEST = f"{HEAD}def test_add():\n    assert add(1, 2) == 3\n{LAST}"


def weaker(before: str, after: str, path: str, to: str = "") -> list[str]:
    reader = SyntaxReader("linux")
    found, _ = compare(
        reader.read({path: before.encode()}, head=False), reader.read({to or path: after.encode()}, head=True)
    )
    return [str(each) for each in found]


def python(new: str, old: str = LAST, base: str = TEST) -> list[str]:
    assert old in base
    return weaker(base, base.replace(old, new), "tests/test_a.py")


MANAGER = "class Calm:\n    def __enter__(self):\n        return self\n\n    def __exit__(self, *a):\n        return True\n\n\n"
QUIET = "def quiet(f):\n    def g():\n        try:\n            f()\n        except AssertionError:\n            pass\n    return g\n\n\n"
HOLLOW = {
    "a double": "    from unittest.mock import Mock\n    add2 = Mock(return_value=4)\n    assert add2(2, 2) == 4\n",
    "a lambda": "    check = lambda: add(2, 2) == 4\n    assert check\n",
    "itself": "    want = add(2, 2)\n    assert add(2, 2) == want\n",
    "all of nothing": "    assert all(add(a, b) == c for a, b, c in [])\n",
    "wide": "    assert add(2, 2) == pytest.approx(4, abs=2)\n",
    "wide by share": "    assert add(2, 2) == pytest.approx(4, rel=0.5)\n",
    "a range": "    assert 0 < add(2, 2) < 100\n",
    "one of": "    assert add(2, 2) in (4, 5)\n",
    "a word of it": "    assert str(add(2, 2)).isdigit()\n",
    "truth": "    assert add(2, 2)\n",
    "any error": "    with pytest.raises(Exception):\n        assert add(2, 2) == 4\n        raise ValueError\n",
    "a thread": "    import threading\n\n    def go():\n        assert add(2, 2) == 4\n\n    threading.Thread(target=go).start()\n",
}
KEPT = {
    "near": "    assert add(2, 2) == pytest.approx(4)\n",
    "near enough": "    assert add(2, 2) == pytest.approx(4, rel=1e-3)\n",
    "a name": "    want = 4\n    assert add(2, 2) == want\n",
    "more": f"{LAST}    assert add(2, 2) > 3\n",
    "twice": f"{LAST}    first = add(2, 2)\n    assert add(2, 2) == first\n",
    "a double for something else": f"    from unittest.mock import Mock\n    log = Mock(return_value=4)\n    log()\n{LAST}",
    "all of some": "    assert all(add(a, b) == c for a, b, c in [(2, 2, 4)])\n",
    "a thread that is joined": f"    import threading\n    threading.Thread(target=print).start()\n{LAST}",
}


@pytest.mark.parametrize("name", HOLLOW)
def test_an_assertion_that_became_hollow_is_named(name: str) -> None:
    assert python(HOLLOW[name]), name


@pytest.mark.parametrize("name", KEPT)
def test_one_that_demands_as_much_is_not(name: str) -> None:
    assert python(KEPT[name]) == []


def test_a_block_that_hides_its_errors_is_named_and_one_that_does_not_is_not() -> None:
    def inside(manager: str) -> list[str]:
        after = TEST.replace("def test_add", f"{manager}def test_add").replace(LAST, f"    with Calm():\n    {LAST}")
        return weaker(TEST, after, "tests/test_a.py")

    assert "may fail without being seen" in inside(MANAGER)[0]
    assert inside(MANAGER.replace("return True", "return False")) == []
    quiet = (
        "@contextlib.contextmanager\ndef Calm():\n    try:\n        yield\n    except Exception:\n        pass\n\n\n"
    )
    assert "may fail without being seen" in inside(quiet)[0]
    assert inside(quiet.replace("        pass", "        raise")) == []


def test_a_decorator_that_catches_failures_is_named_and_one_that_hands_them_on_is_not() -> None:
    def behind(decorator: str) -> list[str]:
        return python(f"{decorator}@quiet\ndef test_add", "def test_add")

    assert "may fail without being seen behind @quiet" in behind(QUIET)[0]
    assert behind(QUIET.replace("pass", "raise")) == []
    assert behind(QUIET.replace("AssertionError", "OSError")) == []


def test_an_error_of_one_kind_that_became_any_is_named_and_another_kind_is_not() -> None:
    base = f"{HEAD}def test_no():\n    with pytest.raises(ValueError):\n        add(None, 1)\n"
    assert "takes any error" in python("(BaseException)", "(ValueError)", base)[0]
    assert python("(KeyError)", "(ValueError)", base) == []
    assert python("(Exception, match='no')", "(ValueError)", base) == []


def test_a_tolerance_may_grow_a_little_and_not_by_far() -> None:
    base = TEST.replace("== 4", "== pytest.approx(4, rel=1e-6)")
    assert python("rel=1e-5", "rel=1e-6", base) == []
    assert python("rel=5e-3", "rel=1e-6", base) == []
    assert "lets a value be off by far more" in python("rel=0.2", "rel=1e-6", base)[0]


def test_a_flag_may_be_asked_for_its_truth() -> None:
    base = f"{HEAD}def test_ok():\n    assert add(1, 2).ok is True\n"
    assert python("add(1, 2).ok\n", "add(1, 2).ok is True\n", base) == []


def test_a_subject_that_is_replaced_under_its_other_name_is_named() -> None:
    after = "(monkeypatch):\n    monkeypatch.setattr(calc, 'add', lambda a, b: 4)\n    assert calc.add(1, 2) == 3\n    assert calc.add(2, 2) == 4\n"
    assert any("asserts on calc.add, which it patches" in each for each in python(after, TEST.partition("test_add")[2]))
    other = after.replace("'add'", "'log'")
    assert python(other, TEST.partition("test_add")[2]) == []


def test_a_module_that_the_tests_put_in_place_is_named() -> None:
    text = "import sys\n\nsys.modules['calc'] = object()\nfrom calc import add\n"
    assert any("puts a module in place of" in each for each in python(text, "from calc import add\n"))


def test_a_setup_that_skips_sets_every_test_aside_unless_under_a_condition() -> None:
    base = "import unittest\nfrom calc import add\n\n\nclass TestA(unittest.TestCase):\n    def setUp(self):\n        self.x = 1\n\n    def test_a(self):\n        self.assertEqual(add(1, 1), 2)\n"
    assert "is set aside by" in python("self.skipTest('later')", "self.x = 1", base)[0]
    assert python("if not self.x:\n            self.skipTest('later')", "self.x = 1", base) == []


JS = (
    "const { add } = require('./sum')\nconst { get } = require('./net')\n\nit('adds', async () => {\n  expect(add(1, 2)).toBe(3)\n"
    "  expect(add(2, 2)).toBe(4)\n  await expect(get(1)).resolves.toBe(1)\n})\n"
)
TWO = "  expect(add(2, 2)).toBe(4)\n"
NET = "  await expect(get(1)).resolves.toBe(1)\n"
FIRST = "const { add }"


def script(old: str, new: str) -> list[str]:
    assert old in JS
    return weaker(JS, JS.replace(old, new), "web/sum.test.js")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (TWO, "  expect(add(2, 2)).toEqual(expect.any(Number))\n"),
        (TWO, "  expect(add(2, 2) === 4)\n"),
        (TWO, "  expect(add(2, 2)).toBe\n"),
        (TWO, "  console.assert(add(2, 2) === 4)\n"),
        (TWO, "  setTimeout(() => { expect(add(2, 2)).toBe(4) }, 5000)\n"),
        (TWO, "  ;[].forEach(([a, b]) => expect(add(a, b)).toBe(4))\n"),
        (TWO, "  const add2 = jest.fn().mockReturnValue(4)\n  expect(add2(2, 2)).toBe(4)\n"),
        (NET, "  await expect(get(1)).resolves.toBe(1).catch(() => {})\n"),
        (FIRST, "jest.retryTimes(20)\nconst { add }"),
        (FIRST, "jest.mock('./sum', () => ({ add: () => 4 }))\nconst { add }"),
        (FIRST, "jest.spyOn(require('./sum'), 'add').mockImplementation(() => 4)\nconst { add }"),
    ],
)
def test_a_script_that_became_hollow_is_named(old: str, new: str) -> None:
    assert script(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (TWO, "  expect(add(2, 2)).toEqual(4)\n"),
        (TWO, f"{TWO}  expect(add(2, 2)).toEqual(expect.any(Number))\n"),
        (TWO, "  await new Promise((done) => setTimeout(() => { expect(add(2, 2)).toBe(4); done() }, 5))\n"),
        (TWO, "  ;[[2, 2]].forEach(([a, b]) => expect(add(a, b)).toBe(4))\n"),
        (TWO, f"  const log = jest.fn()\n  log()\n{TWO}"),
        (NET, "  await expect(get(1)).resolves.toBe(1).catch((error) => { throw error })\n"),
        (FIRST, "jest.mock('./other')\nconst { add }"),
        (FIRST, "jest.spyOn(console, 'log').mockImplementation(() => {})\nconst { add }"),
    ],
)
def test_a_script_that_demands_as_much_is_not(old: str, new: str) -> None:
    assert script(old, new) == []


def test_a_script_that_no_runner_finds_any_more_is_named() -> None:
    assert "not collected" in weaker(JS, JS, "web/sum.test.js", "web/sum.checks.js")[0]
    assert weaker(JS, JS, "web/sum.test.js", "web/__tests__/sum.js") == []


GO = 'package x\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(2, 2) != 4 {\n\t\tt.Fatal("no")\n\t}\n}\n'
NEW = '\nfunc TestMore(t *testing.T) {\n\tt.Skip("later")\n}\n'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\tif Add", "\tt.Skip()\n\tif Add"),
        ("package x", "//go:build never\n\npackage x"),
        ('\tif Add(2, 2) != 4 {\n\t\tt.Fatal("no")\n\t}\n', ""),
        ("t.Fatal", "t.Log"),
    ],
)
def test_a_test_of_go_that_no_longer_fails_is_named(old: str, new: str) -> None:
    assert weaker(GO, GO.replace(old, new), "x/sum_test.go")


@pytest.mark.parametrize("to", ["x/sum_windows_test.go", "x/_sum_test.go", "x/testdata/sum_test.go"])
def test_a_file_that_go_does_not_build_is_named(to: str) -> None:
    assert "not collected" in weaker(GO, GO, "x/sum_test.go", to)[0]


def test_go_tests_that_are_new_or_skip_for_quick_runs_are_not() -> None:
    assert weaker(GO, GO + NEW, "x/sum_test.go") == []
    short = GO.replace("\tif Add", "\tif testing.Short() {\n\t\tt.Skip()\n\t}\n\tif Add")
    assert weaker(GO, short, "x/sum_test.go") == []
    assert weaker(GO, GO.replace("t.Fatal", "t.Error"), "x/sum_test.go") == []
    handed_on = GO.replace('if Add(2, 2) != 4 {\n\t\tt.Fatal("no")\n\t}', "four(Add(2, 2), t)")
    assert weaker(GO, handed_on, "x/sum_test.go") == [], "What is given t may fail it."
    assert weaker(GO, GO, "x/sum_test.go", "x/add_test.go") == []


JAVA = "class SumTest {\n  @Test\n  void adds() {\n    assertEquals(4, Sum.add(2, 2));\n  }\n}\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  @Test", "  @Disabled\n  @Test"),
        ("class SumTest", "@Disabled\nclass SumTest"),
        ("  @Test", '  @EnabledIfEnvironmentVariable(named = "X", matches = "y")\n  @Test'),
        ("    assertEquals", "    Assumptions.abort();\n    assertEquals"),
        ("    assertEquals(4, Sum.add(2, 2));\n", "    Sum.add(2, 2);\n"),
    ],
)
def test_a_test_of_java_that_no_longer_fails_is_named(old: str, new: str) -> None:
    assert weaker(JAVA, JAVA.replace(old, new), "src/test/java/SumTest.java")


def test_java_tests_that_are_new_or_only_named_are_not() -> None:
    more = "  @Disabled\n  @Test\n  void later() {\n    assertEquals(1, 1);\n  }\n}\n"
    assert weaker(JAVA, f"{JAVA[:-2]}{more}", "src/test/java/SumTest.java") == []
    named = JAVA.replace("  @Test", '  @Test\n  @DisplayName("adds")')
    assert weaker(JAVA, named, "src/test/java/SumTest.java") == []
