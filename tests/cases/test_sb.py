"""Cases SB: paths and links that lead elsewhere than they look; the running sandbox is another matter."""

from __future__ import annotations

import pytest

from interlock.adapters.files import ContractFilesReader
from interlock.core.contract.card import Card, Check
from interlock.core.contract.paths import PatternError, parse
from interlock.core.gate.changes import SYMLINK, Change
from interlock.core.gate.scope import judge_scope

KEYS = ("owned_paths", "read_only_paths", "prohibited_paths")


def scope(*changes: Change) -> list[tuple[str, str]]:
    card = Card(
        slug="a",
        class_name="vertical-slice",
        owned_paths=("src/**",),
        checks=(Check(run="npm test"),),
        stop_when=("x",),
        integration_owner="@ana",
    )
    return [(each.path, each.rule) for each in judge_scope(card, changes, protected_paths=())]


def link(path: str, target: str) -> Change:
    return Change(path=path, status="A", old_mode=0, new_mode=SYMLINK, target=target)


def test_sb_03_every_new_link_that_leads_out_is_flagged_dangling_or_not() -> None:
    found = scope(
        link("src/link", "/etc"),
        link("src/out", "../../main/x"),
        link("src/dangling", "../nowhere/at-all"),
        link("src/prefix", "../srcx/y"),
        link("src/fine", "billing/a.ts"),
        link("src/also-fine", "not-there-yet"),
    )
    assert found == [
        ("src/link", "symlink"),
        ("src/out", "symlink"),
        ("src/dangling", "symlink"),
        ("src/prefix", "symlink"),
    ]


def test_sb_03_a_link_through_another_link_is_flagged() -> None:
    """src/a/up leads to src; src/a/far would then be below the root although its text says src/a/x."""
    assert scope(link("src/a/up", ".."), link("src/a/far", "up/../x")) == [("src/a/far", "symlink")]


@pytest.mark.parametrize(
    "text",
    [
        "..\r/../outside/x",
        "src/\x00x",
        "src/\nx",
        "src/x ",
        " src/x",
        "a/../../x",
        "src/../x",
        "..",
        "~",
        "~/x",
        "~root/x",
        "/etc/passwd",
        "src//x",
        "src/./x",
        "src\\x",
        "src/\u202ex",
        "src/\x7f",
        "",
    ],
)
def test_sb_07_paths_that_a_guard_would_have_to_clean_are_refused(text: str) -> None:
    with pytest.raises(PatternError) as told:
        parse(text)
    assert told.value.fix
    assert told.value.better is None or parse(told.value.better)


@pytest.mark.parametrize("key", KEYS)
def test_sb_07_they_are_refused_when_the_card_is_read_in_every_list(key: str) -> None:
    text = f'slug: a\nclass: tests\n{key}: ["..\\r/../outside/x", "src/x ", "a/../../x", "~", "src/ok"]\n'
    found = ContractFilesReader().card(text.encode(), "tasks/a.yaml", "a")
    assert [problem.kind for problem in found.problems] == ["path"] * 4
    assert found.card is None
    assert found.draft is not None
    assert getattr(found.draft, key) == ("src/ok",)


def test_sb_07_plan_report_and_artifact_are_paths_as_well() -> None:
    text = """\
slug: a
class: tests
accepted_plan: ../plan.md
checks: [{run: x, report: {junit: /tmp/junit.xml}}]
artifacts: [{path: ~/shot.png}]
"""
    found = ContractFilesReader().card(text.encode(), "tasks/a.yaml", "a")
    assert [problem.kind for problem in found.problems] == ["path"] * 3


def test_sb_07_the_checked_text_is_the_used_text() -> None:
    """Nothing is normalised on the way: what matches is what was written."""
    assert parse("src/x").text == "src/x"
    assert not parse("src/x").matches("src/X")
    assert not parse("src/x").matches("./src/x")
