"""TAP reports: what each line means, and which reports are refused instead of being half read."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.adapters.checks import tap
from interlock.adapters.checks.faults import BadReport

NODE = """TAP version 13
# Subtest: cart
    # Subtest: adds
    ok 1 - adds
      ---
      duration_ms: 0.4
      ...
    # Subtest: takes away
    not ok 2 - takes away
      ---
      stack: |-
        not ok 9 - not a test
        1..7
      ...
    1..2
not ok 1 - cart
ok 2 - später # SKIP no printer
1..2
# tests 3
# pass 1
"""


def read(text: str, tree: Path | None = None) -> dict[str, str]:
    return dict(tap.parse(text.encode(), tree=tree).cases)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("hello\n", "no plan"),
        ("ok 1 - a\nok 2 - b\n", "no plan"),
        ("1..3\nok 1\nok 2\n", "3 tests, and 2"),
        ("1..1\nok 1\nok 2\n", "1 tests, and 2"),
        ("1..2\nok 1\nok 3\n", "2 tests, and 2"),
        ("1..2\nok 1 - a\nBail out! Database is gone\nok 2\n", "Database is gone"),
        ("1..1\nok 1\n1..1\nok 1\n", "two plans"),
        ("1..2\nok 1 - a\nok 1 - a\n", "test 1 twice"),
        ("ok 1\n1..1\nok 2\n", "glued"),
        ("1..1\n# Subtest: a\n    1..1\n    ok 1\n", "a subtest ends without"),
        ("1..1\nok 1 - a\n  ---\n  message: cut he", "a diagnosis"),
        ("1..1\nok 1 - a {\n    1..1\n    ok 1\n", "subtest ends without"),
        ("1..99999999999999\nok 1\n", "plan"),
        ("1..1\n" + "".join(f"{'    ' * n}ok {1}\n" for n in range(1, 40)), "nested"),
    ],
)
def test_what_is_cut_or_glued_is_no_report(text: str, why: str) -> None:
    with pytest.raises(BadReport, match=why):
        read(text)


def test_plain_lines_directives_and_noise() -> None:
    text = "\ufeffTAP version 14\r\nnoise ok 4\n1..6\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no net\nnot ok 4 - d # TODO later\nok 5 - e # todo\nok\n"
    assert read(text) == {
        "a": "passed",
        "b": "failed",
        "c": "skipped",
        "d": "xfailed",
        "e": "xpassed",
        "test 6": "passed",
    }


def test_a_failed_test_is_not_made_a_skip() -> None:
    assert read("1..2\nnot ok 1 - a # SKIP\nok 2 - price \\# skip me\n") == {
        "a": "failed",
        "price \\# skip me": "passed",
    }


def test_subtests_are_the_tests_and_what_a_diagnosis_says_is_none() -> None:
    assert read(NODE) == {
        "cart > adds": "passed",
        "cart > takes away": "failed",
        "cart": "failed",
        "später": "skipped",
    }


def test_a_subtest_that_announces_itself_and_one_in_braces() -> None:
    perl = "    # Subtest: inner\n    ok 1 - x\n    1..1\nok 1 - inner\n1..1\n"
    assert read(perl) == {"inner > x": "passed"}
    braces = (
        "1..1\nok 1 - outer {\n    1..2\n    ok 1 - x\n    ok 2 - y {\n        1..1\n        not ok 1 - z\n    }\n}\n"
    )
    assert read(braces) == {"outer > x": "passed", "outer > y > z": "failed"}


@pytest.mark.parametrize(
    ("inner", "state"),
    [("    1..0\n", "skipped"), ("    1..2\n    ok 1 - x\n", "error"), ("    ok 1 - x\n", "error")],
)
def test_a_subtest_that_did_not_do_what_it_planned_spoils_its_test(inner: str, state: str) -> None:
    assert read(f"# Subtest: s\n{inner}ok 1 - s\n1..1\n")["s"] == state


def test_indented_output_that_looks_like_a_test_does_no_harm() -> None:
    assert read("1..1\n    ok then\nok 1 - a\n")["a"] == "passed"


def test_nothing_planned_is_a_report_of_nothing() -> None:
    assert read("1..0 # SKIP no database\n") == {}


def test_names_are_the_same_in_any_tree(tmp_path: Path) -> None:
    assert read(f"1..1\nok 1 - {tmp_path}/a.t\n", tmp_path) == {"a.t": "passed"}


def test_equal_names_stay_apart_and_control_characters_are_gone() -> None:
    assert read("1..2\nok 1 - a\x1b\x00\nnot ok 2 - a\n") == {"a": "passed", "a #2": "failed"}


PERL = """use Test::More tests => 3;
ok(1, 'one');
subtest inner => sub { plan tests => 2; ok(1, 'x'); ok(0, 'y'); };
TODO: { local $TODO = 'later'; ok(0, 'three'); }
"""
JS = """const test = require('node:test');
test('outer', async (t) => { await t.test('in # side', () => {}); await t.test('bad', () => { throw new Error('no'); }); });
test('left out', {skip: 'why'}, () => {});
"""


@pytest.mark.parametrize(
    ("words", "file", "text", "cases"),
    [
        (
            ["perl"],
            "a.t",
            PERL,
            {"one": "passed", "inner > x": "passed", "inner > y": "failed", "inner": "failed", "three": "xfailed"},
        ),
        (
            ["node", "--test-reporter=tap"],
            "a.test.js",
            JS,
            {"outer > in \\# side": "passed", "outer > bad": "failed", "outer": "failed", "left out": "skipped"},
        ),
    ],
)
def test_what_real_programs_write(
    words: list[str], file: str, text: str, cases: dict[str, str], tmp_path: Path
) -> None:
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not here")
    (tmp_path / file).write_text(text)
    done = subprocess.run([*words, file], cwd=tmp_path, capture_output=True, check=False, timeout=60)
    if b"bad option" in done.stderr:
        pytest.skip(f"{words[0]} has no such reporter")
    assert tap.parse(done.stdout, tree=tmp_path).cases == cases, done.stdout.decode()


@given(
    st.lists(
        st.sampled_from([*NODE.splitlines(), "1..0", "}", "ok 1 {", "    ---", "    1..1", "bail out!"]), max_size=14
    )
)
def test_lines_in_any_order_are_read_or_refused(lines: list[str]) -> None:
    with contextlib.suppress(BadReport):
        assert all(name for name in read("\n".join(lines)))


def test_a_long_line_is_no_work() -> None:
    assert len(read("1..1\nok 1 - " + "# skip " * 200_000 + "x\n")) == 1
