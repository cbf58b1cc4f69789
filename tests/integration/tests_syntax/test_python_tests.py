"""Python tests on both sides by syntax: first what demands less, with its line, then every honest way to change a test."""

from __future__ import annotations

import pytest

from interlock.adapters.tests_syntax.reader import SyntaxReader
from interlock.core.gate.test_code import Weakness
from interlock.core.gate.tests_kept import Moves
from interlock.core.gate.weakened import compare, judge_gone, judge_tests

PATH = "tests/test_a.py"
BASE = """\
import pytest
from calc import add


def test_add():
    assert add(1, 2) == 3
    assert add(2, 2) == 4
"""
ONE, TWO = "    assert add(1, 2) == 3\n", "    assert add(2, 2) == 4\n"
BOTH = ONE + TWO


def both(before: str | dict[str, str], after: str | dict[str, str]) -> tuple[tuple[Weakness, ...], Moves]:
    reader = SyntaxReader("linux")
    sides = []
    for side, head in ((before, False), (after, True)):
        files = side if isinstance(side, dict) else {PATH: side}
        sides.append(reader.read({path: text.encode() for path, text in files.items()}, head=head))
    return compare(*sides)


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


WEAKER = {
    "assertion gone": (TWO, "", "lost 1 assertion: line 7 add(2, 2) == 4"),
    "all gone": (BOTH, "    add(1, 2)\n", "lost 2 assertions"),
    "always true": ("add(2, 2) == 4", "True", "always true: True"),
    "or true": ("add(2, 2) == 4", "add(2, 2) == 4 or True", "always true"),
    "a tuple": ("add(2, 2) == 4", "(add(2, 2) == 4, 'x')", "always true"),
    "the same twice": ("add(2, 2) == 4", "add(2, 2) == add(2, 2)", "always true"),
    "only there": ("add(2, 2) == 4", "add(2, 2) is not None", "no longer compares a value"),
    "swallowed": (
        BOTH,
        f"    try:\n{indented(BOTH)}    except Exception:\n        pass\n",
        "may fail without being seen",
    ),
    "swallowed by name": (
        BOTH,
        f"    try:\n{indented(BOTH)}    except AssertionError as e:\n        print(e)\n",
        "without being seen",
    ),
    "suppressed": (
        BOTH,
        f"    with contextlib.suppress(AssertionError):\n{indented(BOTH)}",
        "may fail without being seen",
    ),
    "returns": (ONE, f"    return\n{ONE}", "is never reached"),
    "returns sometimes": (ONE, f"    if add:\n        return\n{ONE}", "returns before its assertions"),
    "never": (BOTH, f"    if False:\n{indented(BOTH)}", "is never reached"),
    "nothing to loop over": (BOTH, f"    for _ in []:\n{indented(BOTH)}", "a loop over nothing"),
    "sys.exit": (ONE, f"    sys.exit(0)\n{ONE}", "ends the run by sys.exit"),
    "os._exit": (ONE, f"    os._exit(0)\n{ONE}", "ends the run by os._exit"),
    "SystemExit": (ONE, f"    raise SystemExit\n{ONE}", "ends the run by SystemExit"),
    "skip mark": ("def test_add", "@pytest.mark.skip\ndef test_add", "is set aside by @pytest.mark.skip"),
    "skipif": ("def test_add", "@pytest.mark.skipif(True, reason='x')\ndef test_add", "is set aside"),
    "skipped here": (
        "def test_add",
        "@pytest.mark.skipif(sys.platform == 'linux', reason='slow')\ndef test_add",
        "is set aside",
    ),
    "xfail": ("def test_add", "@pytest.mark.xfail(strict=False)\ndef test_add", "is set aside by @pytest.mark.xfail"),
    "skip call": (ONE, f"    pytest.skip('later')\n{ONE}", "is set aside by pytest.skip"),
    "pytestmark": ("from calc", "pytestmark = pytest.mark.skip\nfrom calc", "the file is set aside"),
    "importorskip": ("from calc", "pytest.importorskip('x')\nfrom calc", "the file is set aside"),
    "renamed away": ("def test_add", "def check_add", "where"),
    "not collected": ("from calc", "__test__ = False\nfrom calc", "is not collected"),
    "atexit": ("from calc", "atexit.register(print)\nfrom calc", "takes the end of the run"),
    "patched": ("from calc", "pytest.fail = print\nfrom calc", "changes what judges it"),
    "own report": ("from calc", "TEXT = '<testsuite/>'\natexit.register(print)\nfrom calc", "writes its own report"),
    "under a condition": (TWO, f"    if os.environ.get('FULL'):\n    {TWO}", "asserts only under a condition"),
    "a helper under a condition": (
        BOTH,
        f"    if slow:\n        same()\n\n\ndef same():\n{BOTH}",
        "asserts only under a condition",
    ),
    "a condition that never holds": (TWO, f"    off = False\n    if off:\n    {TWO}", "is never reached"),
    "by its size": (TWO, f"    if len('x') > 1:\n    {TWO}", "is never reached"),
    "while never": (TWO, f"    off = False\n    while off:\n    {TWO}", "is never reached"),
    "an empty table by name": (TWO, f"    cases = []\n    for _ in cases:\n    {TWO}", "a loop over nothing"),
    "an empty range": (TWO, f"    for _ in range(0):\n    {TWO}", "a loop over nothing"),
    "not called": (BOTH, f"    def inner():\n{indented(BOTH)}    assert callable(inner)\n", "that nothing calls"),
    "wrapped away": (
        "def test_add",
        "def quick(f):\n    @functools.wraps(f)\n    def test_it(): pass\n    return test_it\n\n\n@quick\ndef test_add",
        "never runs behind @quick",
    ),
    "wrapped away by lambda": ("def test_add", "@lambda f: lambda: None\ndef test_add", "never runs behind"),
    "bound again": (BOTH, f"{BOTH}\n\ntest_add = lambda: None\n", "is replaced after it is defined"),
    "another code": (BOTH, f"{BOTH}\n\ntest_add.__code__ = other.__code__\n", "is replaced after"),
    "by globals": (BOTH, f"{BOTH}\n\nglobals()['test_add'] = print\n", "is replaced after"),
    "deleted by name": (BOTH, f"{BOTH}\n\ndel test_add\n", "is replaced after"),
    "defined twice": (BOTH, f"{BOTH}\n\ndef test_add():\n{BOTH}", "is defined twice"),
    "own subject": (
        "import pytest\nfrom calc import add\n",
        "def add(a, b):\n    return a + b\n",
        "which it defines itself",
    ),
    "own subject within": (ONE, f"    add = lambda a, b: a + b\n{ONE}", "which it defines itself"),
    "a fixture of its name": (
        "def test_add():",
        "@pytest.fixture\ndef add():\n    return int.__add__\n\n\ndef test_add(add):",
        "which it defines itself",
    ),
    "patched subject": ("def test_add", "@mock.patch(__name__ + '.add', sum)\ndef test_add", "which it patches"),
    "set in the module": (
        "def test_add",
        "@pytest.fixture(autouse=True)\ndef good(monkeypatch):\n    monkeypatch.setitem(globals(), 'add', sum)\n\n\ndef test_add",
        "which it patches",
    ),
    "anything": ("== 4", "== mock.ANY", "always true"),
    "about": ("== 4", "== pytest.approx(4, abs=100)", "always true"),
    "load_tests": ("from calc", "def load_tests(*_):\n    return None\nfrom calc", "by load_tests"),
    "empty helper": (BOTH, "    assert_sum(1)\n\n\ndef assert_sum(n):\n    pass\n", "lost 2 assertions"),
}


@pytest.mark.parametrize("name", WEAKER)
def test_a_test_that_demands_less_is_named_with_both_places(name: str) -> None:
    old, new, said = WEAKER[name]
    assert old in BASE
    found, _ = both(BASE, BASE.replace(old, new, 1))
    assert any(said in each.what or said in str(each) for each in found), found
    assert all(each.before.startswith(PATH) and each.after.startswith(f"{PATH}:") for each in found)
    verdict = judge_tests(found)
    assert verdict is not None
    assert (verdict.state, verdict.rule, bool(verdict.tests)) == ("refused", "tests-weakened", True)


TABLE = (
    "@pytest.mark.parametrize(('a', 'b', 'c'), [(1, 2, 3), (2, 2, 4)])\ndef {}(a, b, c):\n    assert add(a, b) == c\n"
)
HEAD = "import pytest\nfrom calc import add\n\n\n"
HONEST: dict[str, str | dict[str, str]] = {
    "the same": BASE,
    "one more": f"{BASE}    assert add(0, 0) == 0\n",
    "another value": BASE.replace("== 4", "== 5"),
    "a stricter one": BASE.replace("assert add(2, 2) == 4", "assert (add(2, 2), add(0, 2)) == (4, 2)"),
    "renamed": BASE.replace("test_add", "test_addition"),
    "moved": {"tests/unit/test_b.py": BASE},
    "moved and renamed": {"tests/unit/test_b.py": BASE.replace("test_add", "test_addition")},
    "split": f"{HEAD}def test_one():\n{ONE}\n\ndef test_two():\n{TWO}",
    "split into another file": {
        PATH: f"{HEAD}def test_add():\n{ONE}",
        "tests/test_b.py": f"{HEAD}def test_two():\n{TWO}",
    },
    "a table": HEAD + TABLE.format("test_add"),
    "a table of another name": HEAD + TABLE.format("test_table"),
    "a loop": f"{HEAD}def test_add():\n    for a, b, c in [(1, 2, 3), (2, 2, 4)]:\n        assert add(a, b) == c\n",
    "a helper": f"{HEAD}def same(a, b, c):\n    assert add(a, b) == c\n\n\ndef test_add():\n    same(1, 2, 3)\n    same(2, 2, 4)\n",
    "a helper elsewhere": {
        PATH: f"{HEAD}from tests.helping import same\ndef test_add():\n    same(1, 2, 3)\n    same(2, 2, 4)\n",
        "tests/helping.py": "from calc import add\ndef same(a, b, c):\n    assert add(a, b) == c\n",
    },
    "a helper that the base has": f"{HEAD}from helping import assert_sums\ndef test_add():\n    assert_sums()\n",
    "unittest": (
        "import unittest\nfrom calc import add\n\n\nclass TestAdd(unittest.TestCase):\n    def test_add(self):\n"
        "        self.assertEqual(add(1, 2), 3)\n        self.assertEqual(add(2, 2), 4)\n"
    ),
    "into a class": f"{HEAD}class TestAdd:\n    def test_add(self):\n{indented(BOTH)}",
    "one comparison": f"{HEAD}def test_add():\n    assert [add(1, 2), add(2, 2)] == [3, 4]\n",
    "and": f"{HEAD}def test_add():\n    assert add(1, 2) == 3 and add(2, 2) == 4\n",
    "a name between": f"{HEAD}def test_add():\n    three = add(1, 2)\n    assert three == 3\n{TWO}",
    "cleaned up": f"{HEAD}def test_add():\n    try:\n{indented(BOTH)}    finally:\n        print('done')\n",
    "told and raised": f"{HEAD}def test_add():\n    try:\n{indented(BOTH)}    except AssertionError:\n        print('x')\n        raise\n",
    "another error": f"{HEAD}def test_add():\n    try:\n{indented(BOTH)}    except KeyError:\n        pass\n",
    "not on another platform": BASE.replace(
        "def test_add", "@pytest.mark.skipif(sys.platform == 'win32', reason='paths')\ndef test_add"
    ),
    "not on another platform, by name": BASE.replace(
        "def test_add", "@pytest.mark.skipif(IS_WINDOWS and sys.version_info >= (3, 13), reason='paths')\ndef test_add"
    ),
    "slow": BASE.replace("def test_add", "@pytest.mark.slow\n@pytest.mark.timeout(5)\ndef test_add"),
    "mocked": BASE.replace(ONE, f"    with mock.patch('builtins.open'):\n    {ONE}"),
    "asynchronous": BASE.replace("def test_add", "@pytest.mark.asyncio\nasync def test_add"),
    "deleted": HEAD,
    "renamed with what it tests": BASE.replace("add", "plus"),
    "renamed with a class": BASE.replace("add(", "Sums().add(")
    .replace("import add", "import Sums")
    .replace("test_Sums().add", "test_sums"),
    "renamed and one more argument": BASE.replace("test_add", "test_addition").replace(", 2)", ", b=2)"),
    "a method now": BASE.replace("test_add", "test_calc_add")
    .replace("add(1", "calc.add(1")
    .replace("add(2", "calc.add(2"),
    "a branch that fails": BASE.replace(TWO, f"    if add:\n    {TWO}    else:\n        pytest.fail('none')\n"),
    "on this platform": BASE.replace(TWO, f"    if sys.platform != 'win32':\n    {TWO}"),
    "one more under a condition": f"{BASE}    if add:\n        assert add(0, 0) == 0\n",
    "a table by name": f"{HEAD}CASES = [(1, 2, 3), (2, 2, 4)]\n\n\ndef test_add():\n    for a, b, c in CASES:\n        assert add(a, b) == c\n",
    "a list that is filled": BASE.replace(TWO, f"    seen = []\n    seen.append(1)\n    for _ in seen:\n    {TWO}"),
    "a function within": BASE.replace(BOTH, f"    def inner():\n{indented(BOTH)}    inner()\n"),
    "a decorator that calls it": BASE.replace(
        "def test_add", "def quick(f):\n    return lambda: f()\n\n\n@quick\ndef test_add"
    ),
    "a wrapper of what it tests": BASE.replace(
        "import add\n", "import add as plus\n\n\ndef add(a, b):\n    return plus(a, b)\n"
    ),
    "another module of the product": BASE.replace("from calc import", "from calc.sums import"),
    "something else patched": BASE.replace("def test_add", "@mock.patch('calc.clock', print)\ndef test_add"),
    "about as much": BASE.replace("== 4", "== pytest.approx(4, abs=0.01)"),
}


@pytest.mark.parametrize("name", HONEST)
def test_what_keeps_or_strengthens_a_test_is_not_named(name: str) -> None:
    found, _ = both(BASE, HONEST[name])
    assert found == ()


@pytest.mark.parametrize("name", [each for each in HONEST if each.startswith("renamed")] + ["a method now"])
def test_a_test_that_was_renamed_with_what_it_tests_goes_on(name: str) -> None:
    moves = both(BASE, HONEST[name])[1]
    assert moves.gone == ()
    assert list(moves.moved) == ["tests.test_a::test_add"]


WHOLE = {
    "an entry": ("    assert got\n    assert got[0] == 1\n", "    assert got == [1]\n"),
    "a kind": ("    assert isinstance(got, list)\n    assert got == [1]\n", "    assert got == [1]\n"),
    "a size": ("    assert len(got) == 1\n    assert got[0] == 1\n", "    assert got == [1]\n"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_what_follows_from_a_comparison_of_the_whole_is_not_missed(name: str) -> None:
    text = f"{HEAD}def test_x():\n    got = add()\n"
    before, after = WHOLE[name]
    assert both(text + before, text + after)[0] == ()
    again = f"{text}    assert got == [1]\n    got = add(2)\n{before}"
    assert both(again, f"{text}    assert got == [1]\n    got = add(2)\n")[0] != ()


def test_a_new_test_at_another_place_or_of_less_takes_no_test_s_place() -> None:
    around = f"{HEAD}def test_a():\n    assert one() == 1\n\n\n{{}}def test_b():\n    assert two() == 2\n"
    before = around.format(f"def test_add():\n{BOTH}\n\n")
    for fresh in (
        "def test_new():\n    assert mul(2, 2) == 4\n\n\n",
        "def test_new():\n    mul(2, 2)\n    assert div(1) is not None\n    assert div(2)\n\n\n",
    ):
        assert [each.rpartition(" ")[2] for each in both(before, around.format(fresh))[1].gone] == ["test_add"]
    moved = both(before, f"{around.format('')}\n\ndef test_c():\n    assert add(3)\n    assert other(2, 2) == 4\n")[1]
    assert len(moved.gone) == 1


def test_a_new_file_that_sets_itself_aside_takes_nothing_from_the_base() -> None:
    new = "import pytest\nnp = pytest.importorskip('numpy')\n\n\ndef test_np():\n    assert np.one() == 1\n"
    assert both({PATH: BASE}, {PATH: BASE, "tests/test_np.py": new})[0] == ()
    there = BASE.replace("from calc", "pytest.importorskip('numpy')\nfrom calc")
    found, _ = both({PATH: BASE}, {"tests/test_np.py": there})
    assert [(each.before, each.what) for each in found] == [(PATH, "is set aside by pytest.importorskip('numpy')")]


UNIT = "import unittest\nfrom calc import add\n\n\nclass TestAdd(unittest.TestCase):\n{}    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n"


@pytest.mark.parametrize("name", ["run", "__call__", "debug"])
def test_a_case_that_runs_itself_is_named(name: str) -> None:
    found, _ = both(UNIT.format(""), UNIT.format(f"    def {name}(self, result=None):\n        return None\n\n"))
    assert [each.what for each in found] == [f"takes into its own hands what runs, by {name}"]
    assert both(UNIT.format(""), UNIT.format("    def setUp(self):\n        self.one = 1\n\n"))[0] == ()


def test_a_subject_from_the_tests_own_module_is_named() -> None:
    shim = {PATH: BASE.replace("from calc", "from shim"), "tests/shim.py": "def add(a, b):\n    return a + b\n"}
    assert "takes from shim" in both({PATH: BASE}, shim)[0][0].what
    dotted_name = (
        BASE.replace("from calc import add", "import calc").replace("add(", "calc.add(").replace("test_calc.", "test_")
    )
    found, _ = both(dotted_name, dotted_name.replace("def test_", "@mock.patch('calc.add', sum)\ndef test_"))
    assert [each.what.partition(",")[0] for each in found] == ["asserts on calc.add"]


def test_an_error_that_is_expected_by_hand_is_no_early_return() -> None:
    before = HEAD + "def test_x():\n    with pytest.raises(TypeError):\n        add()\n"
    by_hand = (
        HEAD
        + "def test_x():\n    try:\n        add()\n    except TypeError:\n        return\n    pytest.fail('none')\n"
    )
    assert both(before, by_hand)[0] == ()
    assert (
        both(BASE, BASE.replace(ONE, f"    try:\n        add()\n    except TypeError:\n        return\n{ONE}"))[0] != ()
    )


OTHERS = {
    "sum_test.go": "package x\n\nfunc TestA(t *testing.T) {\n}\n\nfunc TestB(t *testing.T) {\n}\n",
    "src/SumTest.java": "class SumTest {\n  @Test\n  public void adds() {}\n  @ParameterizedTest @ValueSource(ints = 1)\n  void more(int a) {}\n}\n",
    "spec/sum_spec.rb": "describe Sum do\n  it 'adds' do\n  end\nend\n",
}


@pytest.mark.parametrize("path", OTHERS)
def test_a_file_of_tests_in_another_language_that_is_gone_is_told(path: str) -> None:
    text = OTHERS[path]
    assert both({path: text}, {})[1].gone == (f"{path}:1: {path.rpartition('/')[2]}",)
    assert both({path: text}, {f"sub/{path}": f"{text}\n// x\n"})[1].gone == ()
    other = path.replace("sum", "total").replace("Sum", "Total")
    assert both({path: text}, {other: f"{text}\n# x\n"})[1].gone == ()
    assert both({path: text}, {path: f"{text}\n"}) == ((), Moves(moved={}))


def test_raises_instead_of_try() -> None:
    before = HEAD + "def test_x():\n    try:\n        add()\n    except TypeError:\n        return\n    assert False\n"
    assert both(before, HEAD + "def test_x():\n    with pytest.raises(TypeError):\n        add()\n")[0] == ()


def test_what_took_the_place_of_a_test_is_told_as_reports_name_it() -> None:
    def moved(after: str | dict[str, str]) -> object:
        return dict(both(BASE, after)[1].moved)

    old = "tests.test_a::test_add"
    assert moved(HONEST["renamed"]) == {old: (("tests.test_a::test_addition",),)}
    assert moved(HONEST["moved"]) == {old: (("tests.unit.test_b::test_add",),)}
    assert moved(HONEST["into a class"]) == {old: (("tests.test_a.TestAdd::test_add",),)}
    assert moved(HONEST["split"]) == {old: (("tests.test_a::test_one",), ("tests.test_a::test_two",))}
    assert moved(HONEST["a table of another name"]) == {old: (("tests.test_a::test_table",),)}
    assert moved(HONEST["deleted"]) == {}


def test_tests_that_are_gone_are_told_with_their_place() -> None:
    moves = both(BASE, HONEST["deleted"])[1]
    assert moves.gone == (f"{PATH}:5: test_add",)
    verdict = judge_gone(moves)
    assert verdict is not None
    assert (verdict.rule, verdict.tests) == ("tests-removed", moves.gone)
    assert judge_gone(both(BASE, HONEST["split"])[1]) is None


def test_a_new_test_takes_the_place_of_as_many_as_it_holds() -> None:
    before = f"{HEAD}def test_one():\n{ONE}\n\ndef test_two():\n{TWO}"
    assert len(both(before, HEAD + TABLE.format("test_table"))[1].moved) == 2
    assert len(both(before, HEAD + TABLE.format("test_table").replace(", (2, 2, 4)", ""))[1].moved) == 1


def test_a_smaller_table_is_named() -> None:
    before = HEAD + TABLE.format("test_add")
    found, _ = both(before, before.replace(", (2, 2, 4)", ""))
    assert [each.what for each in found] == ["has 1 cases instead of 2"]


def test_a_helper_of_the_tests_that_asserts_less_is_named() -> None:
    helper = "def assert_same(a, b):\n    assert a == b\n    assert type(a) is type(b)\n"
    found, _ = both({"tests/helping.py": helper}, {"tests/helping.py": helper.replace("    assert a == b\n", "")})
    assert [each.name for each in found] == ["assert_same"]


def test_a_helper_that_is_there_for_something_else_is_not_named() -> None:
    helper = "def run():\n    assert done.code == 0\n    assert done.out == ''\n"
    less, none = helper.replace("    assert done.out == ''\n", ""), "def run():\n    return done\n"
    assert both({"tests/helping.py": helper}, {"tests/helping.py": less})[0] == ()
    assert both({"tests/helping.py": helper}, {"tests/helping.py": none})[0] == ()


def test_a_new_test_says_that_it_is_for_another_platform() -> None:
    new = "@pytest.mark.skipif(sys.platform != 'win32', reason='registry')\ndef test_w():\n    assert add(1, 1)\n"
    assert both(BASE, f"{BASE}\n\n{new}")[1].declared == {"tests.test_a::test_w"}
    assert both(BASE, f"{BASE}\n\n{new}".replace("sys.platform != 'win32'", "True"))[1].declared == frozenset()


@pytest.mark.parametrize("text", ["def (", "\0", "", "é" * 10, "(" * 3000])
def test_what_is_no_python_is_left_out(text: str) -> None:
    assert both(BASE, text)[0] == ()
