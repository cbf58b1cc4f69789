"""Evidence rows with their signatures, the proof derived from them, and check runs kept for later; judging a run is core's work."""

from __future__ import annotations

import json
from collections.abc import Collection
from importlib import import_module
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, func, insert, select

from interlock.adapters.store import events, seals
from interlock.adapters.store.codec import cached, evidence_from, plain, run_from
from interlock.adapters.store.engine import lock_history
from interlock.adapters.store.tables import check_run, evidence
from interlock.core.job.chain import FILED, Filed, canonical, sha256
from interlock.core.job.events import NewEvent
from interlock.core.job.evidence import CheckRun, Evidence
from interlock.core.job.statement import cached_run as statement_of
from interlock.core.job.statement import cached_run_of
from interlock.core.job.trust import doubt, gone, signed_as
from interlock.core.job.verified import Verified, derive
from interlock.core.problems import Refusal, Refused
from interlock.ports.history import Signer

ADDED: Final = "evidence.added"
CACHE: Final = "cache"
REFUSED: Final = "cache.refused"
ENVELOPE: Final = "envelope"
"""Where the document of a kept run holds what was signed; one without it was kept by an earlier version."""


def add(connection: Connection, new: Evidence, at: float, signer: Signer) -> int:
    """Write one signed row of evidence, and the event that binds it into the chain; tells its number."""
    lock_history(connection)
    seals.add_key(connection, signer, at)
    number, doc = last(connection) + 1, plain(new)
    envelope = signer.sign(signed_as(new, number=number, at=at, doc=doc, runner=signer.runner))
    columns = {"subject": new.subject, "commit": new.commit, "tree": new.tree}
    connection.execute(insert(evidence).values(id=number, at=at, doc=doc, envelope=envelope, **columns))
    data = {
        "evidence": number,
        "commit": new.commit,
        "tree": new.tree,
        "passed": new.passed,
        "envelope": sha256(envelope.encode()),
    }
    events.append(connection, NewEvent(subject=f"{FILED}{new.subject}", step=str(number), kind=ADDED, data=data), at)
    return number


def last(connection: Connection) -> int:
    """The number of the last row, also when that row is gone and only its event tells of it."""
    kept = connection.execute(select(func.max(evidence.c.id))).scalar() or 0
    told = events.newest(connection, ADDED)
    return max(kept, told.data["evidence"] if told is not None else 0)


def listing(connection: Connection, subject: str, commit: str | None) -> tuple[tuple[int, Evidence], ...]:
    """A subject's evidence in the order in which it was written, of one commit or of all, as far as it can be read."""
    query = select(evidence.c.id, evidence.c.doc).where(evidence.c.subject == subject).order_by(evidence.c.id)
    if commit is not None:
        query = query.where(evidence.c.commit == commit)
    said = ((row.id, _said(row.doc)) for row in connection.execute(query))
    return tuple((number, each) for number, each in said if each is not None)


def _said(doc: Any) -> Evidence | None:
    """The evidence that a document says; None for one that was never written so, which is as good as none."""
    try:
        return evidence_from(doc)
    except (LookupError, TypeError, ValueError, AttributeError):
        return None


def filed(connection: Connection, subject: str | None = None) -> tuple[Filed, ...]:
    """Rows as they stand, of one subject or of all, in their order."""
    query = select(evidence).order_by(evidence.c.id)
    if subject is not None:
        query = query.where(evidence.c.subject == subject)
    return tuple(_filed(row) for row in connection.execute(query))


def _filed(row: Row[tuple[object, ...]]) -> Filed:
    shape = dict(row._asdict())
    return Filed(number=shape.pop("id"), **shape)


def prove(
    connection: Connection,
    subject: str,
    *,
    signer: Signer,
    commit: str,
    policy_digest: str | None,
    card_oid: str | None,
    tree: str | None,
    base: str | None = None,
    listed: Collection[str] = (),
) -> Verified:
    """Derive the proof for a commit from its rows as they stand in this transaction.  Raises Refused."""
    bound = {"policy_digest": policy_digest, "card_oid": card_oid, "tree": tree, "base": base}
    proof = proof_of(connection, subject, commit, signer, bound, listed)
    if isinstance(proof, Refusal):
        raise Refused(proof)
    return proof


def proof_of(
    connection: Connection,
    subject: str,
    commit: str,
    signer: Signer,
    bound: dict[str, str | None],
    listed: Collection[str],
) -> Verified | Refusal:
    """The proof for a commit, from rows that a key which may sign did sign, and that are what was signed; or why there is none."""
    known = filed(connection, subject)
    rows = [(row, _said(row.doc)) for row in known]
    of_commit = [(row, said) for row, said in rows if said is None or commit in (row.commit, said.commit)]
    cited = [
        event for event in events.listing(connection, f"{FILED}{subject}", 0) if event.data.get("commit") == commit
    ]
    newest = of_commit[-1] if of_commit else None
    if cited and (newest is None or cited[-1].data["evidence"] > newest[0].number):
        number = cited[-1].data["evidence"]
        return gone(number, commit)
    if newest is not None:
        row, said = newest
        told = next((event.data["envelope"] for event in cited if event.data["evidence"] == row.number), None)
        known_keys = seals.keys(connection)
        fault = doubt(row, said, cited=told, opened=lambda envelope: signer.open(envelope, known_keys, listed=listed))
        if fault is not None:
            return fault
    return derive([said for _, said in rows if said is not None], commit=commit, **bound)


def cached_run(connection: Connection, key: str, signer: Signer) -> CheckRun | None:
    """The run that this user's key kept under a key, marked as taken over; None where none was."""
    run, _ = _kept_run(connection, key, signer)
    return None if run is None else cached(run)


def cache_doubt(connection: Connection, key: str, signer: Signer) -> str:
    """Why a row that stands under a key is not taken over; empty where none stands or it is."""
    return _kept_run(connection, key, signer)[1]


def _kept_run(connection: Connection, key: str, signer: Signer) -> tuple[CheckRun | None, str]:
    """A kept run, or why what stands there is none.

    Only this user's own key counts: what is taken over is signed again as evidence with it, and a key that stood in the database
    alone would lend its word.
    """
    doc = connection.execute(select(check_run.c.doc).where(check_run.c.key == key)).scalar_one_or_none()
    if doc is None:
        return None, ""
    envelope = doc.get(ENVELOPE) if isinstance(doc, dict) else None
    if not isinstance(envelope, str):
        return None, "It is not signed."
    try:
        found = cached_run_of(json.loads(signer.open(envelope, (signer.public,))), key)
        if found is not None:
            return run_from(found), ""
    except Refused as fault:
        return None, fault.refusal.what
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    return None, "What is signed there is another thing."


def cache_run(connection: Connection, key: str, run: CheckRun, at: float, signer: Signer) -> None:
    """Keep a signed run under its key; the first one stays, unless what stands there would not be taken over."""
    doubt_ = cache_doubt(connection, key, signer)
    if doubt_:
        lock_history(connection)
        connection.execute(delete(check_run).where(check_run.c.key == key))
        step = f"{key}:{sha256(str(at).encode())[:12]}"
        refused = NewEvent(subject=CACHE, step=step, kind=REFUSED, data={"key": key, "why": doubt_})
        events.append(connection, refused, at)
    dialect = import_module(f"sqlalchemy.dialects.{connection.dialect.name}")  # the other one is not loaded
    envelope = signer.sign(canonical(statement_of(key, plain(run))))
    statement_ = dialect.insert(check_run).values(key=key, at=at, doc={ENVELOPE: envelope})
    connection.execute(statement_.on_conflict_do_nothing())
