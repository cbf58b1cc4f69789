"""Patterns of log lines: what they mean, what is no pattern, and that no line makes them slow."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.gate.line_patterns import fault, first_lines, matcher


@pytest.mark.parametrize(
    ("pattern", "line", "has"),
    [
        ("ready", "server ready now", True),
        ("ready", "Ready", False),
        ("on *:80", "listening on 10.0.0.1:80", True),
        ("on *:80", "listening on 10.0.0.1:81", False),
        ("a?c", "xabcx", True),
        ("a?c", "ac", False),
        ("Files: [1-9]", "Files: 7", True),
        ("Files: [1-9]", "Files: 0", False),
        ("[!0] errors", "10 errors", False),
        ("[!0] errors", "12 errors", True),
        (r"\*", "a*b", True),
        (r"\*", "ab", False),
        ("[", "a[b", True),
        ("a.c", "abc", False),
        ("ab*ba", "aba", False),
        ("100%", "100% done", True),
    ],
)
def test_what_a_pattern_means(pattern: str, line: str, has: bool) -> None:
    assert fault(pattern) == ""
    assert matcher(pattern)(line) is has


@pytest.mark.parametrize("pattern", ["*", " * ", "x" * 501, "a\x1bb", "[z-a]"])
def test_what_is_no_pattern(pattern: str) -> None:
    assert fault(pattern).endswith(".")


def test_the_first_line_of_each() -> None:
    assert first_lines(("a", "b", "z"), ["x", "b a", "a"]) == {"a": 2, "b": 2, "z": 0}


def test_no_line_is_too_hard() -> None:
    assert not matcher("a*" * 120 + "b")("a" * 1_000_000)


@given(st.text("ab*?[", max_size=8), st.text("ab[", max_size=12))
def test_it_says_what_a_backtracking_search_says(pattern: str, line: str) -> None:
    if fault(pattern):
        return
    plain = "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in pattern)
    assert matcher(pattern)(line) is bool(re.search(plain, line))
