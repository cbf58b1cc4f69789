"""Measured numbers in the shapes of pytest-benchmark, hyperfine, plain JSON and lines of output."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlock.adapters.checks import numbers
from interlock.adapters.checks.faults import BadReport
from interlock.core.job.surface import Number

PYTEST = {"benchmarks": [{"name": "test_p", "fullname": "tests/b.py::test_p", "stats": {"median": 0.25, "rounds": 7}}]}
HYPERFINE = {
    "results": [{"command": "make", "median": 1.5, "mean": 1.6, "times": [1.5, 1.4, 1.7], "exit_codes": [0, 0, 0]}]
}


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ([], "no mapping"),
        ({}, "no number"),
        ({"benchmarks": []}, "no number"),
        ({"benchmarks": [{"name": "x"}]}, "no stats"),
        ({"benchmarks": [{"name": "x", "stats": {"median": 1}}]}, "rounds"),
        ({"benchmarks": PYTEST["benchmarks"] * 2}, "name twice"),
        ({"results": [{**HYPERFINE["results"][0], "exit_codes": [0, 1, 0]}]}, "failed while"),
        ({"a": "fast"}, "no number"),
        ({"a": True}, "no number"),
        ({"a": 10**400}, "no number"),
        ({"": 1}, "no name"),
    ],
)
def test_what_measures_nothing_is_refused(document: Any, why: str) -> None:
    with pytest.raises(BadReport, match=why):
        numbers.parse(json.dumps(document).encode())


@pytest.mark.parametrize("text", ["", '{"a": Infinity}', '{"a": 1', '{"a": 1, "a": 2}', '{"a": 1e999}'])
def test_what_is_cut_or_no_number_is_refused(text: str) -> None:
    with pytest.raises(BadReport):
        numbers.parse(text.encode())


def test_medians_and_rounds() -> None:
    assert numbers.parse(json.dumps(PYTEST).encode()) == {"tests/b.py::test_p": Number(value=0.25, rounds=7)}
    assert numbers.parse(json.dumps(HYPERFINE).encode()) == {"make": Number(value=1.5, rounds=3)}
    assert numbers.parse(b'{"size": 12, "p95": 0.5}') == {"size": Number(value=12.0), "p95": Number(value=0.5)}


def test_lines_of_output() -> None:
    assert numbers.lines(b"users 3\n\n open orders | 4\nsum: 2.5\n") == {
        "users": Number(value=3.0),
        "open orders": Number(value=4.0),
        "sum": Number(value=2.5),
    }
    assert numbers.lines(b'{"users": 3}') == {"users": Number(value=3.0)}
    for wrong in (b"", b"users\n", b"users many\n", b"7\n", b"users nan\n", b"a 1\na 2\n"):
        with pytest.raises(BadReport):
            numbers.lines(wrong)
