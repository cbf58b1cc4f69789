"""Evidence rows, the proof derived from them, and check runs that need not be done twice; judging a run is core's work."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from interlock.adapters.store.codec import cached, evidence_from, plain, run_from
from interlock.adapters.store.tables import check_run, evidence
from interlock.core.job.evidence import CheckRun, Evidence
from interlock.core.job.verified import Verified, derive
from interlock.core.problems import Refusal, Refused


def add(connection: Connection, new: Evidence, at: float) -> int:
    """Write one row of evidence and tell its number."""
    values = {"at": at, "subject": new.subject, "commit": new.commit, "tree": new.tree, "doc": plain(new)}
    key = connection.execute(insert(evidence).values(values)).inserted_primary_key
    assert key is not None  # noqa: S101 -- one row was inserted
    return int(key[0])


def listing(connection: Connection, subject: str, commit: str | None) -> tuple[tuple[int, Evidence], ...]:
    """A subject's evidence in the order in which it was written, of one commit or of all."""
    query = select(evidence.c.id, evidence.c.doc).where(evidence.c.subject == subject).order_by(evidence.c.id)
    if commit is not None:
        query = query.where(evidence.c.commit == commit)
    return tuple((row.id, evidence_from(row.doc)) for row in connection.execute(query))


def prove(
    connection: Connection,
    subject: str,
    *,
    commit: str,
    policy_digest: str | None,
    card_oid: str | None,
    tree: str | None,
    base: str | None = None,
) -> Verified:
    """Derive the proof for a commit from its rows as they stand in this transaction.  Raises Refused."""
    rows = [row for _, row in listing(connection, subject, None)]
    proof = derive(rows, commit=commit, policy_digest=policy_digest, card_oid=card_oid, tree=tree, base=base)
    if isinstance(proof, Refusal):
        raise Refused(proof)
    return proof


def cached_run(connection: Connection, key: str) -> CheckRun | None:
    doc = connection.execute(select(check_run.c.doc).where(check_run.c.key == key)).scalar_one_or_none()
    return None if doc is None else cached(run_from(doc))


def cache_run(connection: Connection, key: str, run: CheckRun, at: float) -> None:
    """Keep a run under its key; the first one stays."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = dialect.insert(check_run).values(key=key, at=at, doc=plain(run))
    connection.execute(statement.on_conflict_do_nothing())
