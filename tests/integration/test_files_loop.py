"""The loop of a card, read from real bytes: its two kinds of gate, and every problem at its line with what to write."""

from __future__ import annotations

import pytest

from interlock.adapters.files.loop import loop
from interlock.adapters.files.reading import Reading
from interlock.adapters.files.yaml_tree import Keys, read_yaml
from interlock.core.contract.loop import Loop, LoopGate


def read(text: str) -> tuple[Loop | None, Reading]:
    node, problems = read_yaml(f"loop:\n{text}".encode(), "tasks/a.yaml")
    assert not problems
    assert isinstance(node, Keys)
    reading = Reading("tasks/a.yaml")
    return loop(reading, node.values["loop"], "loop"), reading


def test_both_kinds_of_gate() -> None:
    found, reading = read(
        "  gate: {reproduce: pytest -q, within: 30, clean: 100, timeout: 2m}\n"
        "  limits: {rounds: 4, wall: 2h}\n  skip: 'false'\n  escalate: '@ana'\n"
    )
    gate = LoopGate(kind="reproduce", run="pytest -q", within=30, clean=100, timeout=120)
    assert not reading.problems
    assert found == Loop(gate=gate, rounds=4, wall=7200, skip="false", escalate="@ana")
    found, reading = read(
        "  gate: {benchmark: python b.py, name: search, p95: 200ms, runs: 5, warm_up: 2, same_output: out/r.json}\n"
    )
    assert not reading.problems
    assert found is not None
    assert found.gate == LoopGate(
        kind="benchmark", run="python b.py", name="search", p95=0.2, runs=5, warm_up=2, same_output="out/r.json"
    )
    assert read("  gate: {benchmark: x, name: s, p95: 1.5ms}\n")[0].gate.p95 == 0.0015  # type: ignore[union-attr]
    assert read("  gate: {benchmark: x, name: s, p95: 2s}\n")[0].gate.p95 == 2  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "kind", "line", "says"),
    [
        ("  skip: x\n", "missing", 2, "loop has no gate"),
        ("  gate: {within: 3}\n", "missing", 2, "no command"),
        ("  gate: {reproduce: x, benchmark: z}\n", "missing", 2, "two kinds"),
        ("  gate:\n    reproduce: x\n    p95: 200ms\n", "unknown-key", 4, "loop.gate.p95 says nothing for reproduce"),
        ("  gate:\n    benchmark: x\n    name: s\n", "missing", 3, "loop.gate has no p95"),
        ("  gate: {benchmark: x, name: s, p95: soon}\n", "shape", 2, "duration"),
        ("  gate: {benchmark: x, name: s, p95: 0ms}\n", "shape", 2, "duration"),
        ("  gate: {reproduce: x, within: 0}\n", "shape", 2, "whole number"),
        ("  gate: {benchmark: x, name: s, p95: 1s, same_output: ../r.json}\n", "path", 2, ""),
        ("  gate: {reproduce: x}\n  limits: {round: 3}\n", "unknown-key", 3, "rounds"),
        ("  gate: pytest -q\n", "shape", 2, "mapping"),
    ],
)
def test_what_is_wrong_is_told_at_its_line(text: str, kind: str, line: int, says: str) -> None:
    _, reading = read(text)
    (problem, *_) = reading.problems
    assert (problem.kind, problem.where.line if problem.where else 0) == (kind, line)
    assert says in f"{problem.what} {problem.why} {problem.fix}"
    assert problem.fix.endswith(".")


def test_a_figure_to_reach_is_shown_in_the_size_that_it_has() -> None:
    _, reading = read("  gate: {benchmark: x, name: s, p95: fast}\n")
    assert [each.fix for each in reading.problems] == ["Write p95: 200ms or 2s."]


def test_a_loop_that_says_nothing_is_none() -> None:
    assert read("  ~\n")[0] is None
