"""The one vocabulary of errors: problems of input, refusals of gates and their rule ids; wording for a screen is cli's work."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """A place in a file: ``file`` as the user knows it, ``line`` and ``column`` from 1, or None where unknown."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong with an input: ``kind`` is a rule id, the texts are whole sentences."""

    kind: str
    what: str
    why: str
    fix: str
    where: Where | None = None

    def as_json(self) -> dict[str, Any]:
        place = self.where
        return {
            "kind": self.kind,
            "what": self.what,
            "why": self.why,
            "fix": self.fix,
            "file": place.file if place else None,
            "line": place.line if place else None,
            "column": place.column if place else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A gate's no: the rule, the number it counts against, who or what holds it and what would change it."""

    rule: str
    what: str
    why: str
    would_change: str
    number: int | None = None
    holders: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    def as_json(self) -> dict[str, Any]:
        shape = asdict(self)
        shape["holders"] = list(self.holders)
        shape["problems"] = [problem.as_json() for problem in self.problems]
        return shape


def in_words(fault: Exception) -> str:
    """What kept a file from being read, for a sentence of ours and without its full stop: no numbers and names of Python's."""
    match fault:
        case OSError() if fault.strerror:
            said = fault.strerror
        case json.JSONDecodeError():
            said = f"it is no JSON in line {fault.lineno}, column {fault.colno}"
        case UnicodeError():
            said = "it is no plain text"
        case KeyError():
            said = f"it has no {fault.args[0]}"
        case RecursionError():
            said = "it is nested too deep"
        case TypeError() | AttributeError() | IndexError():
            said = "its parts are not what they should be"
        case _:
            said = str(fault).removesuffix(".") or "it cannot be read"
    return said


class InterlockError(Exception):
    """Base of every error that a person is told about; ``hint`` is the next thing to try."""

    code = "failed"
    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def passing(self) -> bool:
        """Whether it may be gone at the next try, with nothing for a person to mend: a remote that is away, a lock."""
        return False


class Refused(InterlockError):
    """A gate refused; carries the whole refusal."""

    def __init__(self, refusal: Refusal, *, detail: Mapping[str, Any] | None = None) -> None:
        super().__init__(refusal.what, hint=refusal.would_change)
        self.refusal = refusal
        self.detail = detail or {}
        self.code = refusal.rule

    @property
    def passing(self) -> bool:
        """A lock that somebody else holds is let go again; what this machine's key may not sign, another's may."""
        return self.code in ("locked", "evidence-key")


def refused(
    rule: str,
    what: str,
    why: str,
    would_change: str,
    *,
    number: int | None = None,
    holders: tuple[str, ...] = (),
    problems: tuple[Problem, ...] = (),
    detail: Mapping[str, Any] | None = None,
) -> Refused:
    """A refusal, ready to be raised; ``detail`` is more for those who read it as JSON."""
    refusal = Refusal(
        rule=rule, what=what, why=why, would_change=would_change, number=number, holders=holders, problems=problems
    )
    return Refused(refusal, detail=detail)


class BadInput(InterlockError):
    """Input files with problems, all of them at once."""

    code = "not-ready"

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        first = problems[0]
        super().__init__(first.what, hint=first.fix)
        self.problems = problems


class BrokenRules(BadInput):
    """The policy or the caps on the default branch cannot be read; whatever needs them is done once they are mended there."""

    @property
    def passing(self) -> bool:
        """Nobody who waits for it has anything to mend."""
        return True

    @property
    def told(self) -> str:
        """Every problem with its place, in one line."""
        return " ".join(f"{problem.where}: {problem.what}" for problem in self.problems)


class Misuse(InterlockError):
    """The command was called wrongly, or in a place where it cannot work."""

    code = "misuse"
    exit_code = 2


class UnknownJob(InterlockError):
    """The record knows no such job, train or change."""

    code = "unknown-job"


class Stale(InterlockError):
    """The record moved on since the caller looked; looking again and deciding anew is the remedy."""

    code = "stale"


class StoreUnusable(InterlockError):
    """The database cannot be opened, or was made by a newer version."""

    code = "store"
