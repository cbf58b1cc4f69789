"""TypeScript and JavaScript tests on both sides by syntax: first what demands less, then every honest way to change a test."""

from __future__ import annotations

import pytest

from interlock.adapters.tests_syntax.reader import SyntaxReader
from interlock.core.gate.test_code import Weakness
from interlock.core.gate.tests_kept import Moves
from interlock.core.gate.weakened import compare

ONE, TWO = "  expect(add(1, 2)).toBe(3);\n", "  expect(add(2, 2)).toBe(4);\n"
BASE = f"import {{ add }} from './calc';\n\ntest('adds', () => {{\n{ONE}{TWO}}});\n"


def both(before: str, after: str, path: str = "src/calc.test.ts") -> tuple[tuple[Weakness, ...], Moves]:
    reader = SyntaxReader("linux")
    return compare(reader.read({path: before.encode()}, head=False), reader.read({path: after.encode()}, head=True))


WEAKER = {
    "assertion gone": (TWO, "", "lost 1 assertion: line 5 expect(add(2, 2)).toBe(4)"),
    "always true": ("expect(add(2, 2)).toBe(4)", "expect(true).toBe(true)", "always true"),
    "the same twice": ("expect(add(2, 2)).toBe(4)", "expect(4).toBe(4)", "always true"),
    "only there": ("toBe(4)", "toBeDefined()", "no longer compares a value"),
    "skip": ("test(", "test.skip(", "set aside by skip"),
    "xtest": ("test(", "xtest(", "set aside by xtest"),
    "todo": ("test(", "it.todo('adds'); const unused = ((...x: unknown[]) => x)(", "set aside by todo"),
    "failing": ("test(", "test.failing(", "set aside by failing"),
    "options": ("'adds', ()", "'adds', { skip: true }, ()", "set aside by skip"),
    "group": (
        "test('adds'",
        "describe.skip('x', () => {});\ntest.only('other', () => { expect(add(1, 1)).toBe(2); });\ntest('adds'",
        "sets all others aside by only",
    ),
    "swallowed": (
        ONE + TWO,
        f"  try {{\n{ONE}{TWO}  }} catch (e) {{\n    console.log(e);\n  }}\n",
        "without being seen",
    ),
    "returns": (ONE, f"  return;\n{ONE}", "is never reached"),
    "returns sometimes": (ONE, f"  if (add) return;\n{ONE}", "returns before its assertions"),
    "never": (ONE + TWO, f"  if (false) {{\n{ONE}{TWO}  }}\n", "is never reached"),
    "exit": (ONE, f"  process.exit(0);\n{ONE}", "ends the run by process.exit"),
    "end of the run": ("import", "process.on('exit', () => { process.exitCode = 0; });\nimport", "takes the end"),
    "own report": ("import", "const r = '<testsuite/>';\nimport", "writes its own report"),
    "under a condition": (TWO, f"  if (process.env.FULL) {{\n{TWO}  }}\n", "asserts only under a condition"),
    "own expect": ("test(", "const expect = (x: unknown) => ({ toBe() {} });\ntest(", "its own expect"),
    "not awaited": ("expect(add(2, 2)).toBe(4)", "expect(add(2, 2)).resolves.toBe(4)", "is not waited for"),
    "anything": ("toBe(4)", "toEqual(expect.anything())", "no longer compares a value"),
    "own subject": ("import { add } from './calc';", "const add = (a, b) => a + b;", "which it defines itself"),
    "mocked subject": ("test(", "jest.mock('./calc', () => ({ add: sum }));\ntest(", "which it mocks"),
    "subject of the tests": ("'./calc'", "'./__tests__/calc'", "takes from ./__tests__/calc"),
    "patched": ("import", "globalThis.expect = () => ({ toBe() {} });\nimport", "changes what judges it"),
}


@pytest.mark.parametrize("name", WEAKER)
def test_a_test_that_demands_less_is_named(name: str) -> None:
    old, new, said = WEAKER[name]
    assert old in BASE
    found, _ = both(BASE, BASE.replace(old, new, 1))
    assert any(said in each.what for each in found), found


HONEST = {
    "the same": BASE,
    "one more": BASE.replace(TWO, f"{TWO}  expect(add(0, 0)).toBe(0);\n"),
    "another value": BASE.replace("toBe(4)", "toBe(5)"),
    "renamed": BASE.replace("adds", "sums"),
    "it": BASE.replace("test(", "it("),
    "in a group": BASE.replace("test(", "describe('calc', () => {\ntest(") + "});\n",
    "split": BASE.replace(TWO, f"}});\n\ntest('adds equal ones', () => {{\n{TWO}"),
    "a table": "test.each([[1, 2, 3], [2, 2, 4]])('adds', (a, b, c) => {\n  expect(add(a, b)).toBe(c);\n});\n",
    "a table of another name": "it.each([[1, 2, 3], [2, 2, 4]])('%i + %i', (a, b, c) => {\n  expect(add(a, b)).toBe(c);\n});\n",
    "a helper": "const same = (a: number, b: number, c: number) => {\n  expect(add(a, b)).toBe(c);\n};\n"
    "test('adds', () => {\n  same(1, 2, 3);\n  same(2, 2, 4);\n});\n",
    "asynchronous": BASE.replace("() =>", "async () =>").replace("expect(add(1, 2))", "expect(await add(1, 2))"),
    "told and thrown": BASE.replace(ONE, f"  try {{\n{ONE}  }} catch (e) {{\n    throw e;\n  }}\n"),
    "one comparison": "test('adds', () => {\n  expect([add(1, 2), add(2, 2)]).toEqual([3, 4]);\n});\n",
    "cut": BASE[:40],
    "a table of both matchers": "it.each([[1, 2, 3], [2, 2, 4]])('%i', (a, b, c) => {\n  expect(add(a, b)).toEqual(c);\n});\n",
    "awaited": BASE.replace("() =>", "async () =>").replace(
        "expect(add(2, 2)).toBe", "await expect(add(2, 2)).resolves.toBe"
    ),
    "a mock that keeps the subject": BASE.replace(
        "test(", "jest.mock('./calc', () => ({ ...jest.requireActual('./calc'), clock: 1 }));\ntest("
    ),
    "another module mocked": BASE.replace("test(", "jest.mock('./net');\ntest("),
    "a branch that throws": BASE.replace(TWO, f"  if (add) {{\n{TWO}  }} else {{\n    throw new Error();\n  }}\n"),
}


@pytest.mark.parametrize("name", HONEST)
def test_what_keeps_or_strengthens_a_test_is_not_named(name: str) -> None:
    found, _ = both(BASE, HONEST[name])
    assert found == ()


def test_node_s_own_assertions_are_read() -> None:
    before = "const assert = require('assert');\nit('adds', () => {\n  assert.strictEqual(add(1, 2), 3);\n  assert(add(1, 1) === 2);\n});\n"
    assert both(before, before, "test/a.js")[0] == ()
    gone = before.replace("  assert.strictEqual(add(1, 2), 3);\n", "")
    assert "lost 1 assertion" in both(before, gone, "test/a.js")[0][0].what
    assert "always true" in both(before, before.replace("add(1, 1) === 2", "true"), "test/a.js")[0][0].what


def test_a_smaller_table_is_named() -> None:
    before = HONEST["a table"]
    found, _ = both(before, before.replace(", [2, 2, 4]", ""))
    assert [each.what for each in found] == ["has 1 cases instead of 2"]


def test_other_dialects_are_read() -> None:
    text = "test('adds', () => { render(<A b={1} />); expect(add(1, 2)).toBe(3); });"
    assert "lost 1 assertion" in both(text, text.replace("expect(add(1, 2)).toBe(3);", ""), "a.spec.tsx")[0][0].what
    assert both(text, text.replace("adds", "sums"), "a.spec.jsx")[1].moved
