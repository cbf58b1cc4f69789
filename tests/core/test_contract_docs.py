"""The reference of cards, policy and patterns says what the code does: every field, every row of every table."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from interlock.adapters.files import ContractFilesReader
from interlock.adapters.files.not_built import LATER
from interlock.core.agent.usage import Price
from interlock.core.contract.agents import Login, Models, Route, Rules
from interlock.core.contract.around import (
    ApprovalRule,
    Database,
    Dependency,
    Ready,
    SandboxRules,
    Secret,
    Service,
)
from interlock.core.contract.card import AgentChoice, Artifact, Budget, Card, Check, Needs, Report
from interlock.core.contract.classes import DEFAULT_CLASSES
from interlock.core.contract.paths import PatternError, parse
from interlock.core.contract.policy import PROTECTED_PATHS, Policy, TaskClass, Train

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
FILES = ContractFilesReader()


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def rows(text: str) -> list[list[str]]:
    """The cells of every row of the tables in a text, without their back-quotes."""
    found = [line.strip().strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip().strip("`") for cell in cells] for cells in found]


def section(text: str, title: str) -> str:
    """The part of a page below a heading, up to the next one."""
    found = re.search(rf"^#+ {re.escape(title)}$(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


MATCHES = rows(section(page("globs.md"), "What matches"))
REFUSED = rows(section(page("globs.md"), "What is refused"))


def test_the_tables_are_there() -> None:
    assert len(MATCHES) > 30
    assert len(REFUSED) > 10


@pytest.mark.parametrize(("pattern", "path", "matches"), MATCHES)
def test_each_row_of_what_matches_is_true(pattern: str, path: str, matches: str) -> None:
    assert matches in ("yes", "no")
    assert parse(pattern).matches(path) == (matches == "yes")


@pytest.mark.parametrize(("pattern", "better"), REFUSED)
def test_each_row_of_what_is_refused_is_true(pattern: str, better: str) -> None:
    with pytest.raises(PatternError) as told:
        parse(pattern)
    assert (told.value.better or "") == better


@pytest.mark.parametrize(
    ("name", "title", "made", "other_names"),
    [
        ("card.md", "Keys", Card, {"class_name": "class"}),
        ("card.md", "A check", Check, {}),
        ("card.md", "A check", Report, {}),
        ("card.md", "An artifact", Artifact, {}),
        ("card.md", "The agent", AgentChoice, {}),
        ("card.md", "The budget", Budget, {"attempt_tokens": "attempt", "attempt_usd": "attempt"}),
        ("card.md", "The needs", Needs, {}),
        ("policy.md", "Keys", Policy, {"warnings": "train", "agents": "agent"}),
        ("policy.md", "The train", Train, {}),
        ("policy.md", "A class", TaskClass, {"name": "kind"}),
        ("policy.md", "A vendor of models", Models, {"name": "url"}),
        ("policy.md", "A price", Price, {}),
        ("policy.md", "A login", Login, {"agent": "file"}),
        (
            "policy.md",
            "A route",
            Route,
            {"classes": "class`, `classes", "phases": "phase`, `phases", "risks": "risk`, `risks"},
        ),
        ("policy.md", "The rules", Rules, {}),
        ("policy.md", "A database", Database, {"name": "use"}),
        ("policy.md", "The sandbox", SandboxRules, {}),
        ("policy.md", "A dependency", Dependency, {}),
        ("policy.md", "A service", Service, {"name": "run"}),
        ("policy.md", "Readiness", Ready, {}),
        ("policy.md", "A secret", Secret, {"name": "variable"}),
        ("policy.md", "An approval", ApprovalRule, {"name": "commands"}),
    ],
)
def test_every_field_is_documented(name: str, title: str, made: type, other_names: dict[str, str]) -> None:
    documented = {row[0] for row in rows(section(page(name), title))}
    assert {other_names.get(each.name, each.name) for each in fields(made)} <= documented


def test_what_is_built_in_is_named() -> None:
    text = page("policy.md")
    for word in (*(each.name for each in DEFAULT_CLASSES), *LATER):
        assert f"`{word}`" in text
    for word in PROTECTED_PATHS:
        assert f"\n{word}\n" in text


def test_the_examples_are_read_without_a_problem() -> None:
    (card,) = re.findall(r"```yaml\n(.*?)```", page("card.md"), re.DOTALL)
    assert FILES.card(card.encode(), "tasks/billing-retry.yaml", "billing-retry").problems == ()
    policies = re.findall(r"```yaml\n(.*?)```", page("policy.md"), re.DOTALL)
    assert len(policies) == 3
    for policy in policies:
        assert FILES.policy(policy.encode(), "interlock.yaml")[1] == ()
    (_, caps) = re.findall(r"```text\n(.*?)```", page("policy.md"), re.DOTALL)
    assert FILES.caps(caps.encode(), "tasks/caps.txt")[1] == ()
