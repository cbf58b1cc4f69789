"""What a protected branch lets through: each gap is named, and a branch that is closed has none."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.core.gate.branch_rules import REQUIRED, gaps, protection_of, skippable

CLOSED: dict[str, Any] = {
    "required_status_checks": {"contexts": [REQUIRED], "checks": [{"context": REQUIRED, "app_id": 15368}]},
    "required_pull_request_reviews": {
        "required_approving_review_count": 1,
        "require_code_owner_reviews": True,
        "dismiss_stale_reviews": True,
    },
    "enforce_admins": {"enabled": True},
    "allow_force_pushes": {"enabled": False},
    "allow_deletions": {"enabled": False},
}


def told(classic: dict[str, Any] | None, rules: Any = None, jobs: dict[str, str] | None = None) -> str:
    return " ".join(gap.what for gap in gaps(protection_of(classic, rules), jobs or {}))


def changed(**parts: Any) -> dict[str, Any]:
    return {**CLOSED, **parts}


def test_a_closed_branch_has_no_gap() -> None:
    assert told(CLOSED) == ""


def test_an_unprotected_branch_is_one_gap() -> None:
    assert told(None) == "Nothing protects the branch."


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"required_status_checks": None}, f"{REQUIRED} is not required"),
        ({"required_status_checks": {"contexts": [REQUIRED]}}, "may come from anybody"),
        ({"required_status_checks": {"checks": [{"context": REQUIRED, "app_id": -1}]}}, "may come from anybody"),
        ({"required_pull_request_reviews": None}, "No review of code owners"),
        ({"enforce_admins": {"enabled": False}}, "administrators"),
        ({"allow_force_pushes": {"enabled": True}}, "Force pushes"),
        ({"allow_deletions": {"enabled": True}}, "Deletions"),
        (
            {
                "required_pull_request_reviews": {
                    **CLOSED["required_pull_request_reviews"],
                    "dismiss_stale_reviews": False,
                }
            },
            "approval stays",
        ),
        (
            {
                "required_pull_request_reviews": {
                    **CLOSED["required_pull_request_reviews"],
                    "bypass_pull_request_allowances": {"users": [{"login": "bot"}], "teams": [{"slug": "leads"}]},
                }
            },
            "bot, leads",
        ),
    ],
)
def test_each_way_round_is_named(parts: dict[str, Any], words: str) -> None:
    assert words in told(changed(**parts))


def test_a_required_check_that_can_be_skipped_is_named_with_why() -> None:
    both = {"checks": [{"context": REQUIRED, "app_id": 1}, {"context": "unit", "app_id": 1}]}
    assert "unit can be skipped: it has the condition x" in told(
        changed(required_status_checks=both), jobs={"unit": "it has the condition x"}
    )


def test_rulesets_close_what_classic_protection_leaves_open() -> None:
    rules = [
        {
            "type": "required_status_checks",
            "parameters": {"required_status_checks": [{"context": REQUIRED, "integration_id": 1}]},
        },
        {
            "type": "pull_request",
            "parameters": {
                "required_approving_review_count": 1,
                "require_code_owner_review": True,
                "require_last_push_approval": True,
            },
        },
        {"type": "non_fast_forward"},
        {"type": "deletion"},
    ]
    assert told(None, rules) == ""
    bypass = {"bypass_actors": [{"actor_type": "RepositoryRole", "actor_id": 5}]}
    assert "RepositoryRole 5" in told(None, [*rules, bypass])


WORKFLOW: dict[Any, Any] = {
    True: {"pull_request": None, "merge_group": None},
    "jobs": {
        "plain": {"steps": []},
        "with-if": {"if": "github.actor != 'x'", "steps": []},
        "needing": {"needs": ["plain"], "steps": []},
        "all": {"name": "gate", "needs": ["plain"], "if": "${{ always() }}", "steps": []},
    },
}


def test_jobs_that_may_be_skipped_are_told_from_those_that_always_run() -> None:
    assert set(skippable(WORKFLOW)) == {"with-if", "needing"}


@pytest.mark.parametrize("word", ["paths", "paths-ignore", "branches", "branches-ignore"])
def test_a_filter_of_the_workflow_skips_every_job(word: str) -> None:
    filtered = {"on": {"pull_request": {word: ["src/**"]}}, "jobs": WORKFLOW["jobs"]}
    assert set(skippable(filtered)) == {"plain", "with-if", "needing", "gate"}


@pytest.mark.parametrize("shape", [{}, {"jobs": None}, {"on": "push", "jobs": {"x": None}}])
def test_an_odd_workflow_does_no_harm(shape: dict[Any, Any]) -> None:
    assert skippable(shape) == {}
