"""Scope: every changed path against the card and the protected paths; the changed set comes from git, through the app."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from interlock.core.contract.overlap import HasPaths
from interlock.core.contract.paths import Pattern, decider, explain, parse
from interlock.core.gate.changes import SUBMODULE, SYMLINK, Change
from interlock.core.gate.links import leads_out
from interlock.core.problems import refused


class HasScope(HasPaths, Protocol):
    """What a change is judged against: a card, or the record of one."""

    @property
    def prohibited_paths(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Scope:
    """The patterns of one card and of the policy, ready to be asked."""

    owned: tuple[Pattern, ...]
    read_only: tuple[Pattern, ...]
    prohibited: tuple[Pattern, ...]
    protected: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A changed path that the card does not allow.

    ``rule`` is one of protected, prohibited, read-only, outside, submodule, symlink; ``decided_by`` the pattern
    that decided (None: none matched); ``old_path`` where the file was moved from, as far as that can be told.
    """

    path: str
    rule: str
    why: str
    old_path: str | None = None
    decided_by: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "rule": self.rule,
            "old_path": self.old_path,
            "why": self.why,
            "decided_by": self.decided_by,
        }


def judge_scope(card: HasScope, changes: Sequence[Change], *, protected_paths: Sequence[str]) -> tuple[Violation, ...]:
    """Every change that the card does not allow, in the order of the changes; empty when all are in scope.

    The changes come without rename detection, so both sides of a rename are judged, and deletions and changes of
    type like any other.  The first rule that objects names the violation.  Raises Refused when the card owns
    nothing, PatternError when a pattern cannot be read: without an answer there is no pass.
    """
    scope = scope_of(card, protected_paths)
    found = (judge_change(scope, change) for change in changes)
    return tuple(violation for violation in found if violation is not None)


def scope_of(card: HasScope, protected_paths: Sequence[str]) -> Scope:
    """The card's patterns.  Raises Refused (missing) when it owns nothing, PatternError."""
    if not card.owned_paths:
        raise refused(
            rule="missing",
            what=f"The card {card.slug} owns no path.",
            why="A card without owned_paths allows no change, and an empty list is more likely a slip.",
            would_change="Owned paths on the card, on the default branch.",
        )
    return Scope(
        owned=_patterns(card.owned_paths),
        read_only=_patterns(card.read_only_paths),
        prohibited=_patterns(card.prohibited_paths),
        protected=_patterns(tuple(protected_paths)),
    )


def judge_change(scope: Scope, change: Change) -> Violation | None:
    """The first objection to one change, or None."""
    path = change.path
    for rule, patterns, why in (
        ("protected", scope.protected, "protects it by {}: no task may change the contract, the policy or the gates."),
        ("prohibited", scope.prohibited, "prohibits it by {}."),
        ("read-only", scope.read_only, "lets it only be read, by {}."),
    ):
        pattern = decider(patterns, path)
        if pattern is not None:
            who = "The policy" if rule == "protected" else "The card"
            return _violation(change, rule, f"{who} {why.format(pattern.text)}", pattern)
    owner = decider(scope.owned, path)
    if owner is None:
        return _outside(scope, change)
    if SUBMODULE in (change.old_mode, change.new_mode) and not _named(scope.owned, path):
        why = f"{owner.text} reaches it, but a submodule has to be owned by its exact path."
        return _violation(change, "submodule", why, owner)
    if change.undeclared:
        why = (
            "It is a repository of its own that .gitmodules does not name, so its files would stay behind in the task."
        )
        return _violation(change, "submodule", why, owner)
    if change.new_mode == SYMLINK and change.status != "D":
        fault = leads_out(path, change.target, scope.owned)
        if fault is not None:
            return _violation(change, "symlink", fault, owner)
    return None


def _outside(scope: Scope, change: Change) -> Violation:
    """No owned pattern names the path; say so, and how a bracket has to be written where that would change it."""
    names = ", ".join(pattern.text for pattern in scope.owned)
    hint = next(
        (
            f" {explain((pattern,), change.path).why}"
            for pattern in scope.owned
            if pattern.twin is not None and pattern.twin.matches(change.path)
        ),
        "",
    )
    return _violation(change, "outside", f"The card owns {names}.{hint}", None)


def _named(owned: Sequence[Pattern], path: str) -> bool:
    return any(pattern.plain and pattern.head == path for pattern in owned)


def _violation(change: Change, rule: str, why: str, pattern: Pattern | None) -> Violation:
    return Violation(
        path=change.path,
        rule=rule,
        why=why,
        old_path=change.renamed_from,
        decided_by=None if pattern is None else pattern.text,
    )


@lru_cache(maxsize=4096)
def _patterns(texts: tuple[str, ...]) -> tuple[Pattern, ...]:
    return tuple(map(parse, texts))
