"""Disguised faked successes in many languages, each weighed as it is: refused by its rule or shown to the owner; and honest work beside them.

Nothing runs here: most of these runners are not on every machine, and what a change says is all that these rules look at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.cases.shapes import BASE

from interlock.adapters.tests_syntax.reader import SyntaxReader
from interlock.app.weighing import Weighed, weigh
from interlock.core.gate.changes import Change
from interlock.core.gate.weakened import judge_gone

CASES: dict[str, Any] = json.loads((Path(__file__).parent / "disguised.json").read_text(encoding="utf-8"))
FILES: dict[str, str] = {**BASE, **CASES["base"]}


class Repo:
    """Two commits, as weigh asks for them."""

    def __init__(self, **sides: Mapping[str, str]) -> None:
        self._sides = sides

    def files(self, commit: str) -> Sequence[str]:
        return list(self._sides[commit])

    def read_many(self, places: Sequence[tuple[str, str]]) -> list[SimpleNamespace | None]:
        texts = [self._sides[commit].get(path) for commit, path in places]
        return [SimpleNamespace(data=text.encode()) if text is not None else None for text in texts]


def weighed(case: Mapping[str, Any]) -> Weighed:
    """What is found in a case: ``change`` holds for each path its new text, what replaces what, or null where it goes away."""
    base = {**FILES, **case.get("base", {})}
    head = dict(base)
    for path, how in case["change"].items():
        if isinstance(how, list):
            assert head[path].count(how[0]) == 1, (path, how[0])
            head[path] = head[path].replace(how[0], how[1])
        elif how is None:
            del head[path]
        else:
            head[path] = how
    changes = [
        Change(
            path=path,
            status="A" if path not in base else "D" if path not in head else "M",
            old_mode=0o100644 if path in base else 0,
            new_mode=0o100644 if path in head else 0,
            old_oid="1" if path in base else "",
            new_oid="2" if path in head else "",
        )
        for path in sorted(case["change"])
    ]
    ports = SimpleNamespace(repo=Repo(base=base, head=head), syntax=SyntaxReader("linux"))
    card, check = SimpleNamespace(loop=None, owned_paths=["**"]), SimpleNamespace(run=case["check"])
    return weigh(ports, card, [check], changes, base="base", head="head")  # type: ignore[arg-type, list-item]  # what weigh asks of them


def rules(found: Weighed) -> set[str | None]:
    gone = judge_gone(found.moves)
    return {each.rule for each in (*found.verdicts, *([gone] if gone else [])) if each.state == "refused"}


@pytest.mark.parametrize("name", CASES["refused"])
def test_it_is_refused_by_its_own_rule(name: str) -> None:
    case = CASES["refused"][name]
    assert case["rule"] in rules(weighed(case))


@pytest.mark.parametrize("name", CASES["shown"])
def test_it_is_shown_to_the_owner_and_not_refused(name: str) -> None:
    found = weighed(CASES["shown"][name])
    assert [note for verdict in found.verdicts for note in verdict.notes]
    assert rules(found) == set()


@pytest.mark.parametrize("name", CASES["honest"])
def test_honest_work_beside_it_is_not_refused(name: str) -> None:
    found = weighed(CASES["honest"][name])
    assert rules(found) == set(), [verdict.what for verdict in found.verdicts]


def test_there_are_many_of_each() -> None:
    assert len(CASES["refused"]) >= 60
    assert len(CASES["shown"]) >= 40
    assert len(CASES["honest"]) >= 50
