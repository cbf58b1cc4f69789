"""CODEOWNERS entries: our dialect exported, never narrower than it, and an existing file is completed and not replaced."""

from __future__ import annotations

import pytest

from interlock.core.gate.codeowners import entries, exported, is_owner, missing


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("tasks/**", "/tasks/"),
        ("tasks/", "/tasks/"),
        (".github/**", "/.github/"),
        ("CODEOWNERS", "/CODEOWNERS"),
        ("tests/conftest.py", "/tests/conftest.py"),
        ("docs/*", "/docs/*"),
        ("src/**/*.py", "/src/**/*.py"),
        ("with space/**", "/with\\ space/"),
        ("**", "*"),
    ],
)
def test_pg_01_a_pattern_is_exported_in_the_forges_spelling(ours: str, theirs: str) -> None:
    assert exported(ours) == theirs


@pytest.mark.parametrize(("ours", "theirs"), [("app/[id]/**", "/app/"), ("src/[ab]*.py", "/src/"), ("[x]/y", "*")])
def test_what_the_forge_cannot_spell_becomes_the_folder_around_it_and_never_less(ours: str, theirs: str) -> None:
    assert exported(ours) == theirs


@pytest.mark.parametrize("owner", ["@ana", "@team/leads", "ana@example.org"])
def test_an_owner_is_a_handle_a_team_or_an_address(owner: str) -> None:
    assert is_owner(owner)


@pytest.mark.parametrize("owner", ["ana", "@", "@a b", "TBD", "@ana @bo", "@ana\n/x @eve", "#x"])
def test_anything_else_is_no_owner(owner: str) -> None:
    assert not is_owner(owner)


def test_the_file_itself_is_among_its_entries() -> None:
    assert "/.github/CODEOWNERS @ana\n" in entries(["tasks/**"], ["@ana"])


def test_an_entry_that_a_later_one_would_overrule_counts_as_missing() -> None:
    wanted = entries(["tasks/**"], ["@ana"])
    assert missing(wanted, wanted) == ()
    assert missing(f"* @all\n{wanted}", wanted) == ()
    assert missing(f"{wanted}* @all\n", wanted) == ("/tasks/ @ana",)
    assert missing("/tasks/ @eve\n", wanted) == ("/tasks/ @ana", "/.github/CODEOWNERS @ana")
