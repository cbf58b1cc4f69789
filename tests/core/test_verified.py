"""The proof of verification: derived from the newest evidence of exactly this commit, or refused with the reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from interlock.core.gate.accepted import excuse
from interlock.core.job.evidence import CheckRun, Evidence, Verdict
from interlock.core.job.verified import Verified, derive
from interlock.core.problems import Refusal
from interlock.core.rules import RULES


def verdict(rule: str | None = None) -> Verdict:
    run = CheckRun(run="pytest", exit_code=0, seconds=1.0, log="l", tail="")
    return Verdict(run=run, state="refused" if rule else "passed", rule=rule, what="One failed." if rule else "")


def row(commit: str = "c1", *found: Verdict, **parts: Any) -> Evidence:
    shape: dict[str, Any] = {"tree": "t1", "base": "b1", "card_oid": "o1", "policy_digest": "p1", "subject": "j"}
    return Evidence(
        attempt=1,
        commit=commit,
        place="fresh",
        level="worktree",
        same_user=True,
        **{"verdicts": found or (verdict(),), **shape, **parts},
    )


def ask(*rows: Evidence, **parts: Any) -> Verified | Refusal:
    shape: dict[str, Any] = {"commit": "c1", "card_oid": "o1", "policy_digest": "p1"}
    return derive(rows, **shape | parts)


def test_the_proof_names_tree_commit_and_policy() -> None:
    assert ask(row()) == Verified(tree="t1", commit="c1", policy_digest="p1")
    assert isinstance(ask(row(), tree="t1", base="b1"), Verified)


@pytest.mark.parametrize(
    ("rows", "parts", "rule"),
    [
        ((), {}, "stale-evidence"),
        ((row("c0"),), {}, "stale-evidence"),
        ((row(card_oid="o0"),), {}, "stale-evidence"),
        ((row(policy_digest="p0"),), {}, "stale-evidence"),
        ((row(base="b0"),), {"base": "b1"}, "stale-evidence"),
        ((row(tree="t0"),), {"tree": "t1"}, "tree-mismatch"),
        ((row("c1", verdict("tests-failed")),), {}, "tests-failed"),
        ((row("c1", verdict(), verdict("no-tests"), verdict("check-failed")),), {}, "no-tests"),
        ((row(verdicts=()),), {}, "no-check"),
        ((row(), row("c1", verdict("check-failed"))), {}, "check-failed"),
        ((row(), row(policy_digest="p0")), {}, "stale-evidence"),
        ((row(), row(card_oid="o0")), {}, "stale-evidence"),
    ],
)
def test_what_is_no_proof(rows: tuple[Evidence, ...], parts: dict[str, Any], rule: str) -> None:
    answer = ask(*rows, **parts)
    assert isinstance(answer, Refusal)
    assert answer.rule == rule
    assert answer.rule in RULES
    assert all(text.endswith(".") for text in (answer.what, answer.why, answer.would_change))


def test_the_newest_of_the_commit_decides_and_other_commits_do_not() -> None:
    assert isinstance(ask(row("c1", verdict("check-failed")), row()), Verified)
    assert isinstance(ask(row(), row("c2", verdict("check-failed"))), Verified)


def test_a_waived_finding_passes_and_an_unwaived_one_beside_it_does_not() -> None:
    removed = replace(verdict("tests-removed"), tests=("a::one",))
    (accepted,) = excuse([removed], {"tests-removed": "ana"}, {"a::one", "a::two"})
    assert isinstance(ask(row("c1", accepted)), Verified)
    answer = ask(row("c1", accepted, verdict("check-failed")))
    assert isinstance(answer, Refusal)
    assert answer.rule == "check-failed"


def test_an_acceptance_lets_go_only_the_tests_it_was_given_for() -> None:
    removed = replace(verdict("tests-removed"), tests=("a::one", "b::two"))
    assert excuse([removed], {"tests-removed": "ana"}, {"a::one"}) == (removed,)
    assert excuse([verdict("check-failed")], {"check-failed": "ana"}, {"a::one"})[0].state == "refused"
    assert excuse([removed], {"tests-skipped": "ana"}, {"a::one", "b::two"}) == (removed,)


def test_what_is_not_asked_for_is_not_looked_at() -> None:
    assert isinstance(ask(row(card_oid="", policy_digest="p0"), card_oid=None, policy_digest=None), Verified)
