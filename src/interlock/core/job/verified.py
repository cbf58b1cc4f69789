"""The proof that a commit is verified, derived from evidence rows and never stored; gathering evidence is the app's work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from interlock.core.job.evidence import Evidence
from interlock.core.problems import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """Proof that the checks passed on this commit under this policy; only ``derive`` makes one."""

    tree: str
    commit: str
    policy_digest: str


def derive(
    evidence: Iterable[Evidence],
    *,
    commit: str,
    policy_digest: str | None,
    card_oid: str | None,
    tree: str | None = None,
    base: str | None = None,
) -> Verified | Refusal:
    """The proof that ``commit`` is verified for this card and policy, or why there is none.

    Takes evidence in the order in which it was written; the newest of the commit decides, so a run that failed
    outweighs an older one that passed.  What is None is not looked at: a train's evidence is not bound to one
    card, and its ``base`` fixes the policy, which is read from there.
    """
    known = tuple(evidence)
    of_commit = [row for row in known if row.commit == commit]
    if not of_commit:
        return _stale(f"There is no evidence of commit {commit[:12]}{_others(known)}.")
    newest = of_commit[-1]
    bound = (
        ("card", card_oid, newest.card_oid),
        ("policy", policy_digest, newest.policy_digest),
        ("default branch", base, newest.base),
    )
    for name, wanted, found in bound:
        if wanted is not None and wanted != found:
            return _stale(f"The newest evidence of commit {commit[:12]} is of another state of the {name}.")
    if tree is not None and newest.tree != tree:
        return Refusal(
            rule="tree-mismatch",
            what=f"Tree {tree[:12]} would land, and tree {newest.tree[:12]} was tested.",
            why="Only exactly the tree that was tested may land.",
            would_change="The checks run on exactly this tree.",
        )
    return _passed(newest)


def _passed(newest: Evidence) -> Verified | Refusal:
    if newest.passed:
        return Verified(tree=newest.tree, commit=newest.commit, policy_digest=newest.policy_digest)
    refused = [verdict for verdict in newest.verdicts if verdict.state == "refused"]
    if not refused:
        return Refusal(
            rule="no-check",
            what="The evidence holds no verdict.",
            why="Where nothing was checked, nothing is verified.",
            would_change="At least one check runs on this commit.",
        )
    first = refused[0]
    return Refusal(
        rule=first.rule or "check-failed",
        what=first.what or f"The check '{first.run.run}' did not pass.",
        why=f"{len(refused)} of {len(newest.verdicts)} checks did not pass on commit {newest.commit[:12]}.",
        would_change="The checks pass on a new commit, or a person accepts the finding on the record.",
        number=len(refused),
        holders=tuple(verdict.run.run for verdict in refused),
    )


def _others(known: tuple[Evidence, ...]) -> str:
    return f", only of {known[-1].commit[:12]}" if known else ""


def _stale(what: str) -> Refusal:
    return Refusal(
        rule="stale-evidence",
        what=what,
        why="Evidence holds for one exact commit, card and policy.",
        would_change="The checks run on this commit.",
    )
