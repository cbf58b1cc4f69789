"""Scope: every changed path against the card, in the order of the rules, failing closed."""

from __future__ import annotations

import pytest

from interlock.core.contract.card import Card, Check
from interlock.core.contract.paths import PatternError
from interlock.core.contract.policy import PROTECTED_PATHS
from interlock.core.gate.changes import SUBMODULE, SYMLINK, Change
from interlock.core.gate.scope import Violation, judge_scope
from interlock.core.problems import Refused
from interlock.core.rules import RULES

FILE = 0o100644


def card(*owned: str, read: tuple[str, ...] = (), prohibited: tuple[str, ...] = ()) -> Card:
    return Card(
        slug="t1",
        class_name="vertical-slice",
        owned_paths=owned,
        read_only_paths=read,
        prohibited_paths=prohibited,
        checks=(Check(run="true"),),
        stop_when=("x",),
        integration_owner="@ana",
    )


def edit(path: str) -> Change:
    return Change(path=path, status="M", old_mode=FILE, new_mode=FILE)


def add(path: str, renamed_from: str | None = None) -> Change:
    return Change(path=path, status="A", old_mode=0, new_mode=FILE, renamed_from=renamed_from)


def delete(path: str) -> Change:
    return Change(path=path, status="D", old_mode=FILE, new_mode=0)


def link(path: str, target: str | None) -> Change:
    return Change(path=path, status="A", old_mode=0, new_mode=SYMLINK, target=target)


def judged(owner: Card, *changes: Change) -> list[Violation]:
    found = judge_scope(owner, changes, protected_paths=PROTECTED_PATHS)
    assert all(violation.rule in RULES and violation.why.endswith(".") for violation in found)
    return list(found)


def rules(owner: Card, *changes: Change) -> list[tuple[str, str]]:
    return [(violation.path, violation.rule) for violation in judged(owner, *changes)]


def test_both_sides_of_a_rename_are_judged_and_the_old_path_is_named() -> None:
    mine = card("mine/**")
    assert rules(mine, delete("theirs/b.py"), add("mine/b.py", "theirs/b.py")) == [("theirs/b.py", "outside")]
    (violation,) = judged(mine, add("out/b.py", "mine/b.py"))
    assert violation.as_json() == {
        "path": "out/b.py",
        "rule": "outside",
        "old_path": "mine/b.py",
        "why": "The card owns mine/**.",
        "decided_by": None,
    }


def test_what_is_owned_passes_with_any_name_and_any_kind_of_change() -> None:
    names = ["mine/é ü.py", "mine/a\tb", "mine/a\nb", 'mine/"', "mine/.env", "mine/a/.x/y", "mine/\udce9.txt"]
    assert rules(card("mine/**"), *map(edit, names), delete("mine/z"), add("mine/new")) == []


def test_rules_come_in_their_order() -> None:
    owner = card("**", read=("src/client.ts", "tasks/**"), prohibited=("migrations/**", "src/client.ts"))
    assert rules(
        owner,
        edit("tasks/t1.yaml"),
        edit("interlock.yaml"),
        edit("migrations/1.sql"),
        edit("src/client.ts"),
        edit("tests/conftest.py"),
        edit("src/ok.ts"),
    ) == [
        ("tasks/t1.yaml", "protected"),
        ("interlock.yaml", "protected"),
        ("migrations/1.sql", "prohibited"),
        ("src/client.ts", "prohibited"),
        ("tests/conftest.py", "protected"),
    ]
    (violation,) = judged(card("src/**", read=("src/client.ts",)), edit("src/client.ts"))
    assert (violation.rule, violation.decided_by) == ("read-only", "src/client.ts")


def test_a_deletion_outside_is_outside_and_a_type_change_counts() -> None:
    change = Change(path="lib/x", status="T", old_mode=FILE, new_mode=SYMLINK, target="y")
    assert rules(card("src/**"), delete("lib/y"), change) == [("lib/y", "outside"), ("lib/x", "outside")]


def test_a_folder_that_becomes_a_file_is_not_owned_by_what_is_below_it() -> None:
    assert rules(card("src/billing/**"), add("src/billing")) == [("src/billing", "outside")]
    assert rules(card("src/billing"), add("src/billing")) == []


def test_without_owned_paths_there_is_no_answer() -> None:
    with pytest.raises(Refused, match="owns no path"):
        judge_scope(card(), [edit("x")], protected_paths=())


def test_a_pattern_that_cannot_be_read_gives_no_answer() -> None:
    with pytest.raises(PatternError):
        judge_scope(card("../x"), [edit("x")], protected_paths=())


def test_no_change_is_no_violation() -> None:
    assert judged(card("src/**")) == []


# ---------------------------------------------------------------- brackets
def test_an_outside_path_that_a_literal_bracket_would_own_says_how_to_escape() -> None:
    (violation,) = judged(card("pages/[id].vue"), edit("pages/[id].vue"))
    assert violation.rule == "outside"
    assert violation.why.endswith("write pages/[[]id].vue.")


# ---------------------------------------------------------------- links and submodules
@pytest.mark.parametrize(
    "target",
    [
        "/etc/passwd",
        "/",
        "../../main/x",
        "../../../x",
        "../lib/x",
        "..",
        "../..",
        "sub/../../lib",
        "sub/../x",
        "./../../src/../lib/x",
        None,
    ],
)
def test_a_link_that_leads_out_is_refused_also_when_it_dangles(target: str | None) -> None:
    assert rules(card("src/**"), link("src/out", target)) == [("src/out", "symlink")]


@pytest.mark.parametrize(
    ("path", "target"),
    [("src/a", "b"), ("src/a", "./b/c"), ("src/x/a", "../b"), ("src/x/a", ".."), ("src/a", "."), ("src/a", "[odd]/*")],
)
def test_a_link_inside_the_owned_paths_is_fine(path: str, target: str) -> None:
    assert rules(card("src/**"), link(path, target)) == []


def test_a_link_is_compared_by_whole_names() -> None:
    assert rules(card("src/**"), link("src/a", "../srcx/y")) == [("src/a", "symlink")]
    assert rules(card("src/foo/**", "src/link"), link("src/link", "foo")) == []
    assert rules(card("src/foo/*", "src/link"), link("src/link", "foo")) == [("src/link", "symlink")]


def test_a_changed_link_counts_and_a_deleted_one_does_not() -> None:
    changed = Change(path="src/l", status="M", old_mode=SYMLINK, new_mode=SYMLINK, target="/etc")
    gone = Change(path="src/l", status="D", old_mode=SYMLINK, new_mode=0)
    assert rules(card("src/**"), changed, gone) == [("src/l", "symlink")]


@pytest.mark.parametrize(("old", "new"), [(0, SUBMODULE), (SUBMODULE, SUBMODULE), (SUBMODULE, 0), (FILE, SUBMODULE)])
def test_a_submodule_has_to_be_owned_by_its_exact_path(old: int, new: int) -> None:
    change = Change(path="vendor/lib", status="M", old_mode=old, new_mode=new)
    assert rules(card("vendor/**"), change) == [("vendor/lib", "submodule")]
    assert rules(card("vendor"), change) == [("vendor/lib", "submodule")]
    assert rules(card("vendor/lib"), change) == []
    assert rules(card("src/**"), change) == [("vendor/lib", "outside")]
