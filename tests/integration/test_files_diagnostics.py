"""``diagnostics`` and ``numbered`` of interlock.yaml: what is read, and what is told."""

from __future__ import annotations

import pytest

from interlock.core.contract.policy import Diagnostics
from interlock.wiring import contract_files


def read(text: str):
    policy, problems = contract_files().policy(text.encode(), "interlock.yaml")
    return policy, [(problem.kind, problem.what) for problem in problems]


def test_checkers_are_read_with_their_defaults() -> None:
    text = "diagnostics:\n  - {name: types, run: mypy ., paths: ['**/*.py'], reads: sarif, timeout: 2m}\n  - {name: go, run: go vet ./...}\n"
    policy, problems = read(text)
    assert problems == []
    assert policy.diagnostics == (
        Diagnostics(name="types", run="mypy .", paths=("**/*.py",), reads="sarif", timeout=120.0),
        Diagnostics(name="go", run="go vet ./..."),
    )


@pytest.mark.parametrize(
    ("item", "kind", "said"),
    [
        ("{run: mypy .}", "missing", "name"),
        ("{name: types}", "missing", "run"),
        ("{name: types, run: mypy ., reads: junit}", "shape", "reads"),
        ("{name: types, run: mypy ., wall: 3s}", "unknown-key", "wall"),
    ],
)
def test_a_checker_that_cannot_be_used_is_told(item: str, kind: str, said: str) -> None:
    _, problems = read(f"diagnostics: [{item}]\n")
    assert [name for name, _ in problems] == [kind]
    assert said in problems[0][1]


def test_two_checkers_of_one_name_are_told() -> None:
    _, problems = read("diagnostics: [{name: a, run: x}, {name: a, run: y}]\n")
    assert [kind for kind, _ in problems] == ["shape"]


def test_where_numbers_count_can_be_said() -> None:
    assert read("numbered: ['db/*.sql']\n")[0].numbered == ("db/*.sql",)
    assert "**/migrations/*" in read("")[0].numbered
