"""What a checker finds only in both together, the order of landing, and numbers that are taken twice: from values alone."""

from __future__ import annotations

import json

import pytest

from interlock.adapters.diagnostics import CheckerOutput
from interlock.core.merge.checker_settings import judges_by
from interlock.core.merge.differential import Diagnostic, groups, only_together, stopped_early
from interlock.core.merge.landing_order import landing_order
from interlock.core.merge.numbered import counted, same_numbers


def said(path: str, line: int, text: str) -> Diagnostic:
    return Diagnostic(path=path, line=line, text=text)


def test_what_a_side_has_as_well_is_not_of_both_together_though_its_line_moved() -> None:
    merged = [said("a", 9, "x is 12 wide"), said("a", 20, "y"), said("b", 1, "z")]
    assert only_together(merged, [said("a", 4, "x is 3 wide")], [said("b", 7, "z")]) == (said("a", 20, "y"),)


def test_two_alike_of_which_a_side_has_one_leave_one() -> None:
    merged = [said("a", 1, "y"), said("a", 2, "y")]
    assert only_together(merged, [said("a", 1, "y")], []) == (said("a", 2, "y"),)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('a/b.py:3: error: Name "load" is not defined', said("a/b.py", 3, 'error: Name "load" is not defined')),
        ("a/b.py:3:7: F821 undefined name `load`", said("a/b.py", 3, "F821 undefined name `load`")),
        ("./a/b.go:3:7: undefined: load", said("a/b.go", 3, "undefined: load")),
        (
            "a/b.ts(3,7): error TS2304: Cannot find name 'load'.",
            said("a/b.ts", 3, "error TS2304: Cannot find name 'load'."),
        ),
        ("/ws/with space/b.py:3: E1 x", said("with space/b.py", 3, "E1 x")),
        ("vet: ./a/b.go:3:7: load not declared by package a", said("a/b.go", 3, "load not declared by package a")),
        ("[ERROR] /ws/a/B.java:[3,7] cannot find symbol", said("a/B.java", 3, "cannot find symbol")),
        ("e: file:///ws/a/B.kt:3:7 Unresolved reference: load", said("a/B.kt", 3, "Unresolved reference: load")),
        ('  /ws/a/b.py:3:7 - error: "load" is unknown', said("a/b.py", 3, 'error: "load" is unknown')),
        ("  /ws/a/b.py:3:7 - information: by the way", None),
        ("\x1b[1ma/b.py\x1b[0m:3:7: \x1b[31mE1\x1b[0m x", said("a/b.py", 3, "E1 x")),
        ("a/b.py:3: note: see also", None),
        ("Found 3 errors in 1 file", None),
        ("12:30:01: started", None),
    ],
)
def test_lines_of_checkers(line: str, found: Diagnostic | None) -> None:
    read = CheckerOutput().read(f"talk\n{line}\n", "lines", ("/ws",))
    assert read == (() if found is None else (found,))


def test_a_file_with_its_findings_under_it_is_read_as_eslint_prints_them() -> None:
    text = """
/ws/web/a b.js
  3:7   error    'load' is not defined  no-undef
  9:1   warning  Unexpected console     no-console

/ws/web/c.js
  1:1  error  Parsing error: Unexpected token

✖ 3 problems (2 errors, 1 warning)
  4:4  error  under no file
"""
    assert CheckerOutput().read(text, "lines", ("/ws",)) == (
        said("web/a b.js", 3, "error 'load' is not defined no-undef"),
        said("web/a b.js", 9, "warning Unexpected console no-console"),
        said("web/c.js", 1, "error Parsing error: Unexpected token"),
    )


def test_what_javac_cannot_find_is_told_by_its_name() -> None:
    text = "a/B.java:3: error: cannot find symbol\n  x.load();\n   ^\n  symbol:   method load()\n  location: class X\n"
    assert CheckerOutput().read(text, "lines", ()) == (
        said("a/B.java", 3, "error: cannot find symbol (method load())"),
    )
    assert CheckerOutput().read("  symbol:   method load()\n", "lines", ()) == ()


def test_findings_of_many_are_those_that_none_alone_has() -> None:
    merged = [said("a", 1, "x"), said("b", 1, "y"), said("c", 1, "z")]
    assert only_together(merged, [said("a", 2, "x")], [], [said("c", 5, "z")]) == (said("b", 1, "y"),)


@pytest.mark.parametrize(
    "text",
    [
        "Found 1 error in 1 file (errors prevented further checking)",
        "a/b.go:9:1: too many errors",
        "only showing the first 100 errors, of 140 total; use -Xmaxerrs",
    ],
)
def test_a_checker_that_stopped_early_is_known_by_its_words(text: str) -> None:
    assert stopped_early(f"talk\n{text}\n")
    assert not stopped_early("Found 1 error in 1 file (checked 3 source files)\n")


def test_changes_that_merge_in_pairs_make_groups_until_each_wanted_pair_is_in_one() -> None:
    merging = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("d", "e")]
    assert list(groups(merging, merging)) == [
        (("a", "b", "c"), (("a", "b"), ("a", "c"), ("b", "c"))),
        (("a", "d"), (("a", "d"),)),
        (("d", "e"), (("d", "e"),)),
    ]
    assert list(groups([("a", "c"), ("a", "b")], merging)) == [(("a", "c", "b"), (("a", "c"), ("a", "b")))]
    assert list(groups([], merging)) == []


@pytest.mark.parametrize(
    ("run", "path", "theirs"),
    [
        ("uv run mypy .", "mypy.ini", True),
        ("ruff check .", "mypy.ini", False),
        ("npx tsc -p web", "web/tsconfig.json", True),
        ("npx tsc -p web", "tsconfig.base.json", True),
        ("npx eslint .", "web/.eslintrc.json", True),
        ("npx eslint .", "eslint.config.mjs", True),
        ("pyright", "pyrightconfig.json", True),
        ("go vet ./...", "go.mod", False),
        ("sh tools/types.sh", "mypy.ini", False),
        ("sh tools/types.sh", "tools/types.sh", True),
    ],
)
def test_what_a_checker_judges_by_is_known_by_its_command(run: str, path: str, theirs: bool) -> None:
    assert judges_by(run, path) is theirs


def test_of_a_shared_file_of_settings_the_tools_own_section_counts() -> None:
    old = b"[project]\ndependencies = []\n[tool.mypy]\nstrict = true\n"
    more = old.replace(b"[]", b'["x"]')
    loose = old.replace(b"strict = true", b"ignore_errors = true")
    assert not judges_by("uv run mypy .", "pyproject.toml", old, more)
    assert judges_by("uv run mypy .", "pyproject.toml", old, loose)
    assert not judges_by("ruff check .", "pyproject.toml", old, loose)
    assert judges_by("uv run mypy .", "pyproject.toml", old, b"[tool.mypy")
    assert judges_by("mypy", "setup.cfg", b"[mypy]\nstrict = true\n", b"[mypy]\n")
    assert not judges_by("mypy", "setup.cfg", b"[metadata]\nname = a\n", b"[metadata]\nname = b\n")


def test_the_symbol_is_the_first_name_in_quotes() -> None:
    assert said("a", 1, "Name \"app.load\" is not 'x'").symbol == "app.load"
    assert said("a", 1, "nothing in quotes").symbol is None


def test_sarif_gives_errors_and_warnings_that_are_not_suppressed() -> None:
    place = [{"physicalLocation": {"artifactLocation": {"uri": "file:///ws/a%20b.py"}, "region": {"startLine": 4}}}]
    results = [
        {"ruleId": "F1", "message": {"text": "bad"}, "locations": place},
        {"ruleId": "F2", "level": "note", "message": {"text": "by the way"}, "locations": place},
        {"ruleId": "F3", "message": {"text": "known"}, "locations": place, "suppressions": [{"kind": "inSource"}]},
    ]
    text = "checking\n" + json.dumps({"version": "2.1.0", "runs": [{"results": results}]})
    assert CheckerOutput().read(text, "sarif", ("/ws",)) == (said("a b.py", 4, "F1: bad"),)


@pytest.mark.parametrize("text", ["", "no json", "{broken", "{}", '{"runs": [{"results": [1]}]}'])
def test_what_is_no_sarif_is_not_taken_for_nothing_found(text: str) -> None:
    assert CheckerOutput().read(text, "sarif", ()) is None


def test_what_others_depend_on_comes_first_then_the_oldest_and_what_does_not_fit_last() -> None:
    since = {"a": 4.0, "b": 1.0, "c": 2.0, "d": 3.0}
    assert landing_order([*since], since=since, depends_on={"b": ("a",)}, unfit={"c"}) == ("d", "a", "b", "c")


def test_a_circle_of_dependencies_ends() -> None:
    since = {"a": 2.0, "b": 1.0}
    assert landing_order([*since], since=since, depends_on={"a": ("b",), "b": ("a",)}) == ("b", "a")


def test_one_number_under_two_names_clashes_and_one_of_a_change_alone_does_not() -> None:
    added = {"x": ["m/0007_a.sql", "m/8_a.sql", "m/8_b.sql"], "y": ["m/07-b.sql", "n/0007_b.sql"], "z": ["m/V7__c.sql"]}
    (found,) = same_numbers(added)
    assert (found.folder, found.number) == ("m", "7")
    assert dict(found.files) == {"m/0007_a.sql": ("x",), "m/07-b.sql": ("y",), "m/V7__c.sql": ("z",)}
    assert same_numbers({"x": ["m/0007_a.sql"], "y": ["m/0007_a.sql"]}) == ()
    assert counted([found], ["m/*"]) == (found,)
    assert counted([found], ["migrations/*"]) == ()
