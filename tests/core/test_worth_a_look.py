"""Data of tests that is emptied, checkers that are silenced for a file, and what an owner is shown; each with the nearest that is not."""

from __future__ import annotations

import pytest

from interlock.adapters.tests_syntax.reader import SyntaxReader
from interlock.core.gate.changes import Change
from interlock.core.gate.shadows import Trees, equals_everything
from interlock.core.gate.silenced import lines_silenced, silenced
from interlock.core.gate.test_data import emptied
from interlock.core.gate.worth_a_look import worth_a_look

Files = dict[str, str]
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n    assert len('a') == 1\n"
READS = "def test_all():\n    for row in load('data/rows.json'):\n        assert row\n"


def sides(before: Files, after: Files):
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    changes = [
        Change(
            path=path,
            status="A" if path not in before else "D" if path not in after else "M",
            old_mode=0o100644 if path in before else 0,
            new_mode=0o100644 if path in after else 0,
        )
        for path in changed
    ]

    def both(path: str) -> tuple[bytes | None, bytes | None]:
        return tuple(side[path].encode() if path in side else None for side in (before, after))  # type: ignore[return-value]

    return changes, both, Trees(both, changes, lambda: list(before), lambda paths: [both(path)[0] for path in paths])


def gone(before: Files, after: Files) -> list[str]:
    return [str(each) for each in emptied(*sides(before, after))]


def notes(before: Files, after: Files) -> tuple[str, ...]:
    def read(files: Files, *, head: bool):
        return SyntaxReader("linux").read(
            {path: text.encode() for path, text in files.items() if "test" in path}, head=head
        )

    found = worth_a_look(read(before, head=False), read(after, head=True), *sides(before, after))
    assert found is None or found.state == "passed"
    return found.notes if found is not None else ()


@pytest.mark.parametrize(
    ("path", "full", "empty"),
    [
        ("tests/rows.json", "[1, 2]", "[]"),
        ("tests/rows.json", '{"a": 1}', "{ }\n"),
        ("tests/rows.csv", "a,b\n1,2\n", ""),
        ("tests/rows.txt", "x\n", "# nothing\n"),
        ("data/rows.json", "[1]", "[]"),
    ],
)
def test_data_of_tests_that_is_emptied_is_named_and_shortened_is_not(path: str, full: str, empty: str) -> None:
    base = {"tests/test_a.py": READS, path: full}
    assert gone(base, {**base, path: empty}) == [
        f"{path}: the data holds nothing any more of what the tests read (base: {path})"
    ]
    assert gone(base, {**base, path: full + " "}) == []


def test_data_that_no_test_reads_and_settings_may_be_emptied() -> None:
    base = {"tests/test_a.py": READS, "docs/list.txt": "x", "tests/package.json": '{"a": 1}'}
    assert gone(base, {**base, "docs/list.txt": "", "tests/package.json": "{}"}) == []


def test_stored_outcomes_that_go_away_while_their_test_goes_on_are_named() -> None:
    base = {"web/a.test.js": "x", "web/__snapshots__/a.test.js.snap": "exports[`a 1`] = `3`;\n"}
    assert len(gone(base, {"web/a.test.js": "x"})) == 1
    assert len(gone(base, {**base, "web/__snapshots__/a.test.js.snap": "\n"})) == 1
    assert gone(base, {}) == [], "The test went with them."
    assert gone(base, {**base, "web/__snapshots__/a.test.js.snap": "exports[`a 1`] = `4`;\n"}) == []


def test_an_expected_value_that_changed_with_the_product_is_shown_and_alone_it_is_not() -> None:
    base, wrong = {"tests/test_a.py": TEST, "calc.py": "x"}, TEST.replace("== 4", "== 5")
    assert notes(base, {"tests/test_a.py": wrong, "calc.py": "y"}) == (
        "tests/test_a.py:4: test_add expects add(2, 2) == 5, the base add(2, 2) == 4.",
    )
    assert notes(base, {**base, "tests/test_a.py": wrong}) == ()
    assert notes(base, {**base, "calc.py": "y"}) == ()


def test_cases_and_stored_outcomes_that_changed_with_the_product_are_shown() -> None:
    table = "import pytest\n\n\n@pytest.mark.parametrize('a', [1, 2])\ndef test_a(a):\n    assert a\n"
    base = {"tests/test_a.py": table, "tests/out/a.json": "[1]", "calc.py": "x"}
    after = {"tests/test_a.py": table.replace("2]", "3]"), "tests/out/a.json": "[2]", "calc.py": "y"}
    assert notes(base, after) == (
        "tests/test_a.py:5: test_a has another table of cases than the base.",
        "tests/out/a.json: what the tests are held against changed.",
    )


def test_lines_that_silence_a_checker_are_counted() -> None:
    assert notes({"a.py": "import os\n"}, {"a.py": "import os  # noqa: F401\n"}) == (
        "a.py: 1 more line is silenced for a checker.",
    )
    assert (
        lines_silenced(
            "a.ts", b"// @ts-ignore\n", b"// @ts-ignore\n// @ts-expect-error\n// eslint-disable-next-line x\n"
        )
        == 2
    )
    assert lines_silenced("a.md", b"", b"# noqa\n") == 0


@pytest.mark.parametrize(
    ("path", "tool", "text"),
    [
        ("a.py", "ruff", "# ruff: noqa\n"),
        ("a.py", "mypy", "# mypy: ignore-errors\nX = 1\n"),
        ("a.py", "mypy", "# type: ignore\nX = 1\n"),
        ("a.py", "pylint", "# pylint: skip-file\n"),
        ("a.ts", "tsc", "// @ts-nocheck\n"),
        ("a.js", "eslint", "/* eslint-disable */\n"),
    ],
)
def test_a_file_that_silences_its_checker_is_named(path: str, tool: str, text: str) -> None:
    (found,) = silenced(path, b"X = 1\n", text.encode(), {tool})
    assert found.startswith(f"it silences {tool} for the whole file by ")
    assert not list(silenced(path, text.encode(), text.encode() + b"\n", {tool}))
    assert not list(silenced(path, b"", text.encode(), {"pytest"})), "No check asks that tool."
    assert not list(silenced("a.md", b"", text.encode(), {tool}))


def test_words_for_one_line_or_one_rule_silence_no_file() -> None:
    assert not list(silenced("a.py", b"", b"import os  # noqa\nx = f()  # type: ignore[misc]\n", {"ruff", "mypy"}))
    assert not list(
        silenced("a.js", b"", b"/* eslint-disable no-console */\n// eslint-disable-next-line\n", {"eslint"})
    )


def test_what_is_equal_to_everything_is_named() -> None:
    always = b"class A:\n    def __eq__(self, other):\n        return True\n"
    assert equals_everything(always)
    assert not equals_everything(always.replace(b"True", b"self.x == other.x"))
    assert not equals_everything(
        b"class A:\n    def __eq__(self, other):\n        if other is None:\n            return False\n        return True\n"
    )
