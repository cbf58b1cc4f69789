"""Whether a row of evidence is what was signed, told from its envelope and its place in the chain; signatures are an adapter's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from interlock.core.counting import some
from interlock.core.job.chain import Filed, canonical, sha256, signed_json
from interlock.core.job.evidence import Evidence
from interlock.core.job.statement import columns_differ, differs, is_of_another, statement
from interlock.core.problems import Refusal, Refused

TAMPERED: Final = frozenset({"evidence-edited", "evidence-unsigned", "evidence-replayed"})
"""Rules that say that somebody put evidence where none was, or changed it."""

_SHOWN: Final = 4


def doubt(row: Filed, said: Evidence | None, *, cited: str | None, opened: Callable[[str], bytes]) -> Refusal | None:
    """Why a row is not evidence although it looks like it; None when it is what was signed.

    ``said`` is the row's document as a value (None: it is compared by its digest alone), ``cited`` the SHA-256 of its
    envelope as the chain has it (None: the chain does not know the row), ``opened`` gives an envelope's payload or
    raises Refused.
    """
    name = named(row)
    if row.envelope is None:
        if cited is None:
            return _stale(f"{name} was written before evidence was signed.")
        return _refusal("evidence-unsigned", f"{name} was signed, and its envelope is gone.")
    try:
        signed = signed_json(opened(row.envelope))
    except Refused as fault:
        return replace(fault.refusal, what=f"{name}: {fault.refusal.what}")
    except (ValueError, RecursionError):
        return _refusal("evidence-edited", f"{name} holds something signed that is no statement.")
    return _unequal(row, said, signed if isinstance(signed, dict) else {}) or _unbound(row, row.envelope, cited)


def unlisted(key: str, what: str) -> Refusal:
    """What a key signs counts for nothing where the policy lists others; ``what`` begins the sentence that says so."""
    return Refusal(
        rule="evidence-key",
        what=f"{what}, which interlock.yaml does not list.",
        why="The policy on the default branch says which keys may sign, so that who can write to the history cannot add one.",
        would_change=f"Add {key} under evidence.keys in interlock.yaml on the default branch, if it is the team's; "
        "otherwise it is done on a machine whose key is listed. interlock run fetches the list.",
        holders=(key,),
    )


def signer_of(envelope: str) -> str:
    """The id of the key that an envelope says signed it, which is not looked at; empty where it says none."""
    try:
        return str(json.loads(envelope)["signatures"][0]["keyid"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""


def named(row: Filed) -> str:
    """A row as it is called in a sentence."""
    return f"Evidence {row.number} of {row.subject}"


def _unequal(row: Filed, said: Evidence | None, signed: Mapping[str, Any]) -> Refusal | None:
    fields = disagreeing(row, said, signed)
    if is_of_another(fields):
        return _refusal("evidence-replayed", f"{named(row)} holds what was signed about {_told(signed)}.")
    if not fields:
        return None
    what = f"{named(row)} is not what was signed: {some(fields, _SHOWN)} differ."
    return _refusal("evidence-edited", what)


def _unbound(row: Filed, envelope: str, cited: str | None) -> Refusal | None:
    if cited is None:
        return _refusal("evidence-edited", f"{named(row)} is not in the chain of the history.")
    if cited == sha256(envelope.encode()):
        return None
    return _refusal("evidence-edited", f"{named(row)} has another envelope than the chain of the history says.")


def disagreeing(row: Filed, said: Evidence | None, signed: Mapping[str, Any]) -> tuple[str, ...]:
    """Fields of a signed statement that a row's columns or its document do not agree with."""
    record = sha256(canonical(row.doc))
    fields = columns_differ(signed, row, record)
    if said is not None:
        fields += differs(signed, said, number=row.number, at=row.at, record=record)
        equal = (row.subject, row.commit, row.tree) == (said.subject, said.commit, said.tree)
        fields += () if equal else ("document",)
    return tuple(dict.fromkeys(fields))


def signed_as(said: Evidence, *, number: int, at: float, doc: Mapping[str, Any], runner: str) -> bytes:
    """The bytes that are signed for a row of evidence."""
    return canonical(statement(said, number=number, at=at, record=sha256(canonical(doc)), runner=runner))


def gone(number: int, commit: str) -> Refusal:
    """The chain tells of a row of evidence that is not there."""
    return _refusal("evidence-edited", f"Evidence {number} of commit {commit[:12]} is gone from the history.")


def _told(signed: Any) -> str:
    """What a statement says that it is about, as far as that can be read."""
    try:
        of, digest = signed["predicate"]["interlock"], signed["subject"][0]["digest"]
        return f"evidence {int(of['number'])} of {str(of['subject'])[:60]}, commit {str(digest['gitCommit'])[:12]}"
    except (LookupError, TypeError, ValueError):
        return "something else"


def _refusal(rule: str, what: str) -> Refusal:
    return Refusal(
        rule=rule,
        what=what,
        why="Evidence counts only as it was signed, by a key that the history knows, in the place where it was put.",
        would_change="The checks run again, which writes new evidence; interlock audit names every place that does not hold.",
    )


def _stale(what: str) -> Refusal:
    return Refusal(
        rule="stale-evidence",
        what=what,
        why="What is not signed could be anybody's word.",
        would_change="The checks run again on this commit.",
    )
