"""The keys of checks in a card: what each kind cannot do without, told with its place and what to write; the howto's examples are read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interlock.adapters.files.cards import read_card
from interlock.core.contract.card import Check, Report
from interlock.core.contract.surfaces import CoverageLimits, Limit, Picture, Wait
from interlock.core.contract.weak_checks import weakness
from interlock.core.problems import Problem

HOWTO = Path(__file__).resolve().parents[3] / "docs" / "howto" / "check-real-surfaces.md"
HEAD = """slug: a
class: vertical-slice
goal: g
done_when: [done]
owned_paths: [src/**]
stop_when: [stop]
integration_owner: "@a"
"""


def read(check: str) -> tuple[tuple[Check, ...], tuple[Problem, ...]]:
    found = read_card(f"{HEAD}checks:\n  - {check}\n".encode(), "tasks/a.yaml", "a", "o")
    return (found.card.checks if found.card else (), found.problems)


@pytest.mark.parametrize(
    ("check", "what", "fix"),
    [
        ("{kind: migrations, run: up}", "no state", "state:"),
        ("{kind: fixtures, run: up, state: show}", "no limits", "limits: {users: {at_least: 1}}"),
        ("{kind: fixtures, run: up, limits: {a: {at_least: 1}}}", "no state", "a name and a number a line"),
        ("{kind: smoke, run: up}", "no wait", "wait: {line: listening}"),
        ("{kind: smoke, run: up, wait: {stays: 2s}}", "neither a line nor a URL", "wait: {line: listening}"),
        ("{kind: smoke, run: up, wait: {url: 'https://example.org/'}}", "URL of this machine", "127.0.0.1:$APP_PORT"),
        ("{kind: browser, run: up}", "no pictures", "pictures: [out/home.png]"),
        ("{kind: visual, run: up, pictures: [out/a.png]}", "no expected picture", "against: tests"),
        ("{kind: visual, run: up, pictures: [{against: a.png}]}", "names no image", "image: out/home.png"),
        ("{kind: api, run: up}", "no document", "document: docs/openapi.json"),
        ("{kind: api, document: ../a.json}", "leave", ""),
        ("{kind: benchmark, run: up}", "no report of a benchmark", "report: {benchmark:"),
        ("{kind: log, run: up}", "no line that it expects or refuses", "expects:"),
        ("{kind: log, run: up, expects: []}", "no line that it expects or refuses", "expects:"),
        ("{kind: log, run: up, expects: ['*']}", "cannot be looked for", "a part of the line"),
        ("{kind: unit, run: up}", "is not one of tests, types", "kind: tests"),
        ("{kind: lint, report: {sarif: r}}", "has no command", "run:"),
        ("{run: up, coverage: {at_least: 80%}}", "coverage and no report of coverage", "cobertura"),
        ("{run: up, coverage: {at_least: 800}, report: {lcov: r}}", "percent from 0 to 100", "80%"),
        ("{run: up, limits: {a: {at_most: 1}}}", "limits and no report", "report: {benchmark"),
        ("{run: up, limits: {}, report: {benchmark: r}}", "filled in", "at_most"),
        ("{run: up, limits: {a: {factor: 0.5}}, report: {benchmark: r}}", "1 or more", "factor: 1.5"),
        ("{run: up, against: a.json}", "against and no document", "document:"),
        ("{run: up, heads: alembic heads}", "heads and no state", "state:"),
        ("{run: up, report: {junit: a, tap: b}}", "names junit and tap", "Leave out tap."),
        ("{run: up, pictures: [{image: a.png, mask: [[1, 2, 3]]}]}", "x, y, width and height", "[0, 0, 200, 40]"),
        ("{run: up, pictures: [{image: a.png, tolerance: much}]}", "percent", "80%"),
        ("{run: up, expect: [a]}", "is not known", "expects:"),
    ],
)
def test_what_a_check_lacks_is_told_with_its_place_and_what_to_write(check: str, what: str, fix: str) -> None:
    checks, problems = read(check)
    assert checks == ()
    assert any(what in problem.what + problem.why and fix in problem.fix for problem in problems), problems
    for problem in problems:
        assert problem.where is not None
        assert (problem.where.line, (problem.where.column or 0) >= 5) == (9, True)
        assert problem.what.endswith(".")


def test_every_key_becomes_its_value() -> None:
    (check,), problems = read(
        "{kind: visual, run: up, report: {sarif: a.sarif, lcov: b.info, allow_suppressed: true}, least_level: note, found_exit: 2, "
        "coverage: {at_least: 80%, each: 10, drop: 0.5%}, pictures: [{image: a.png, against: b.png, tolerance: 0.1%, mask: [[1, 2, 3, 4]]}], "
        "expects: ['a *'], refuses: [b], may_renew: true, wait: {line: up, url: 'http://localhost:$APP_PORT/', stays: 2s}, "
        "state: show, heads: alembic heads, files: ['m/*.sql'], limits: {size: {at_most: -1.5, better: higher, rounds: 3}}}"
    )
    assert problems == ()
    assert check == Check(
        run="up",
        kind="visual",
        report=Report(sarif="a.sarif", lcov="b.info", allow_suppressed=True),
        least_level="note",
        found_exit=2,
        coverage=CoverageLimits(at_least=80, each=10, drop=0.5),
        pictures=(Picture(image="a.png", against="b.png", tolerance=0.001, mask=((1, 2, 3, 4),)),),
        expects=("a *",),
        refuses=("b",),
        may_renew=True,
        wait=Wait(line="up", url="http://localhost:$APP_PORT/", stays=2),
        state="show",
        heads="alembic heads",
        files=("m/*.sql",),
        limits=(Limit(name="size", at_most=-1.5, better="higher", rounds=3),),
    )


def test_a_document_of_the_tree_needs_no_command_and_is_no_weak_check() -> None:
    (check,), _ = read("{kind: api, document: docs/o.json}")
    assert (check.run, weakness(check.run)) == ("test -s docs/o.json", None)


def test_the_examples_of_the_howto_are_ready_to_copy() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", HOWTO.read_text("utf-8"), re.DOTALL)
    assert len(blocks) > 8
    for block in blocks:
        found = read_card((HEAD + block).encode(), "tasks/a.yaml", "a", "o")
        assert [problem.what for problem in found.problems] == [], block
