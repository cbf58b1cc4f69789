"""What a protected branch lets through: each gap is named, and a branch that is closed has none."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.core.gate.branch_rules import (
    REQUIRED,
    are_rules,
    forgeable,
    gaps,
    is_ruleset,
    left_out,
    protection_of,
    skippable,
)
from interlock.core.gate.branch_rules import (
    WORKFLOW as WORKFLOW_FILE,
)

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


def told(
    classic: dict[str, Any] | None, rules: Any = None, rulesets: Any = (), jobs: dict[str, str] | None = None
) -> str:
    return " ".join(gap.what for gap in gaps(protection_of(classic, rules, rulesets), jobs or {}))


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


RULES: list[dict[str, Any]] = [
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
IN_FORCE = [rule | {"ruleset_id": 42, "ruleset_source_type": "Repository"} for rule in RULES]


def ruleset(**parts: Any) -> dict[str, Any]:
    """A ruleset as a forge answers it: active, on the default branch, closed to all."""
    conditions = {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}}
    whole = {"id": 42, "name": "main", "target": "branch", "enforcement": "active", "bypass_actors": [], "rules": RULES}
    return whole | {"conditions": conditions} | parts


def test_rulesets_close_what_classic_protection_leaves_open() -> None:
    assert told(None, RULES) == ""
    assert told(None, [], [ruleset()]) == ""
    assert told(None, IN_FORCE, [ruleset(conditions={"ref_name": {"include": ["refs/heads/main"]}})]) == ""


def test_who_may_bypass_a_ruleset_is_named_and_its_silence_too() -> None:
    actors = [{"actor_type": "RepositoryRole", "actor_id": 5, "bypass_mode": "always"}]
    assert "RepositoryRole 5" in told(None, IN_FORCE, [ruleset(bypass_actors=actors)])
    silent = {name: value for name, value in ruleset().items() if name != "bypass_actors"}
    for answers in ([], [ruleset(id=43)], [silent]):
        assert "rulesets is not told: 42" in told(None, IN_FORCE, answers)
    assert "not told: 42" in told(None, [], [silent])


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"enforcement": "evaluate"}, "its enforcement is evaluate"),
        ({"enforcement": "disabled"}, "its enforcement is disabled"),
        ({"target": "tag"}, "it is about a tag"),
        ({"conditions": {"ref_name": {"include": ["refs/heads/release"], "exclude": []}}}, "neither it nor the rules"),
        ({"conditions": {"ref_name": {"include": ["~ALL"], "exclude": ["refs/heads/main"]}}}, "neither it nor"),
        ({"conditions": {}}, "neither it nor"),
    ],
)
def test_a_ruleset_that_is_not_in_force_on_the_branch_closes_nothing(parts: dict[str, Any], why: str) -> None:
    assert "Nothing protects the branch" in told(None, [], [ruleset(**parts)])
    assert why in left_out(ruleset(**parts), [])


def test_a_check_that_any_workflow_can_report_is_said_unless_its_file_is_required_or_kept() -> None:
    assert "on any branch" in forgeable(protection_of(CLOSED, []))
    assert forgeable(protection_of(changed(required_status_checks=None), [])) == "", "it is a gap already"
    file = {"path": WORKFLOW_FILE, "repository_id": 1, "ref": "refs/heads/main"}
    by_file = {"type": "workflows", "parameters": {"workflows": [file]}}
    assert told(changed(required_status_checks=None), [by_file]) == ""
    assert forgeable(protection_of(CLOSED, [by_file])) == ""
    other = {"type": "workflows", "parameters": {"workflows": [file | {"path": ".github/workflows/ci.yml"}]}}
    assert "on any branch" in forgeable(protection_of(CLOSED, [other]))
    kept = {"type": "file_path_restriction", "parameters": {"restricted_file_paths": [".github/workflows/**"]}}
    push = ruleset(id=9, target="push", rules=[kept], conditions=None)
    assert forgeable(protection_of(CLOSED, [], [push])) == ""
    assert "on any branch" in forgeable(protection_of(CLOSED, [], [push | {"enforcement": "evaluate"}]))
    assert "RepositoryRole 5" in told(
        CLOSED, [], [push | {"bypass_actors": [{"actor_type": "RepositoryRole", "actor_id": 5}]}]
    )


def test_an_answer_is_known_by_its_parts() -> None:
    assert are_rules(IN_FORCE)
    assert are_rules([])
    assert not are_rules([{"total_count": 1, "check_runs": []}])
    assert not are_rules(["deletion"])
    assert is_ruleset(ruleset())
    assert not is_ruleset({"rules": RULES})


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
