"""The documents' own checks: what they must refuse, and that the project's pages pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools import check_docs, reference

from interlock.core.rules import RULES


def faults(tmp_path: Path, text: str) -> list[str]:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    return [fault.what for fault in check_docs.faults_of(page)]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("See [this](nowhere.md).", "the link nowhere.md leads nowhere."),
        ("# One\n\nSee [this](#two).", "page.md has no heading two."),
        ("Say `interlock fly SLUG`.", "there is no command interlock fly."),
        ("```\ninterlock train fly\n```", "there is no command interlock train fly."),
        ("```sh\n$ .venv/bin/interlock run --fly\n```", "run has no option --fly."),
        ("Say `make fly`.", "there is no make target fly."),
        ("It is in `src/interlock/fly.py`.", "there is no src/interlock/fly.py."),
    ],
)
def test_what_is_not_there_is_named(tmp_path: Path, text: str, what: str) -> None:
    assert faults(tmp_path, text) == [what]


@pytest.mark.parametrize(
    "text",
    [
        "# One\n\nSee [this](#one) and [that](https://example.org).",
        'Say `interlock decide SLUG "an answer"`, then `make setup INSTALLER=pip`.',
        "```sh\ninterlock train show --json | head -1   # a comment\ninterlock doctor || true\n```",
        "It is in `src/interlock/core/rules.py`.",
    ],
)
def test_what_is_there_passes(tmp_path: Path, text: str) -> None:
    assert faults(tmp_path, text) == []


def test_every_page_of_the_project_is_true() -> None:
    pages = list(check_docs.documents())
    assert len(pages) > 20
    assert [str(fault) for page in pages for fault in check_docs.faults_of(page)] == []
    assert [str(fault) for fault in check_docs.orphans()] == []


def test_generated_pages_hold_every_rule_and_every_command() -> None:
    rules, commands = reference.rules_page(), reference.commands_page()
    assert [name for name in RULES if f"| `{name}` |" not in rules] == []
    for path in ("card check", "dispatch", "run", "train show", "sign-off", "demo"):
        assert f"## interlock {path}\n" in commands
    assert (reference.DOCS / "rules.md").read_text(encoding="utf-8").strip() == rules.strip()
    assert (reference.DOCS / "commands.md").read_text(encoding="utf-8").strip() == commands.strip()
