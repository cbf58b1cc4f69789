"""Signed checkpoints of the history, for somebody to keep outside of the database; where they are kept is others' work."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, func, select

from interlock.adapters.store import events, evidence, seals
from interlock.adapters.store.tables import event, landing
from interlock.core.job.audit import AuditFinding, read_checkpoint
from interlock.core.job.chain import canonical
from interlock.core.job.statement import checkpoint
from interlock.core.problems import Refused, refused
from interlock.ports.history import Signer

_SHOWN = 16


def history(connection: Connection) -> str:
    """Which history this is: by the digest of its first event; empty before there is one."""
    query = select(event.c.digest).order_by(event.c.seq).limit(1)
    return (connection.execute(query).scalar_one_or_none() or "")[:_SHOWN]


def made(connection: Connection, at: float, signer: Signer) -> tuple[str, str]:
    """The history, and how far it goes and its digest there, signed: what is cut off or written anew later shows."""
    which = history(connection)
    seq, digest = events.head(connection)
    count = connection.execute(select(func.count()).select_from(landing)).scalar() or 0
    said = checkpoint(
        history=which,
        seq=seq,
        digest=digest,
        evidence=evidence.last(connection),
        landings=count,
        at=at,
        sealed=seals.since(connection),
    )
    return which, signer.sign(canonical(said))


def check(
    connection: Connection, kept: str | None, signer: Signer, listed: Collection[str] = (), *, new: bool = False
) -> None:
    """Look whether the history still holds what a checkpoint says.

    With ``new`` another one is about to take its place: one that says nothing, as of a key that is not listed any more, is let go.
    Raises Refused (evidence-edited, evidence-unsigned, evidence-key).
    """
    if kept is None:
        return
    known = seals.keys(connection)
    found = read_checkpoint(kept, lambda envelope: signer.open(envelope, known, listed=listed))
    if isinstance(found, AuditFinding):
        if new and found.state == "missing":
            return
        raise _refused(found.rule, found.what)
    digest = connection.execute(select(event.c.digest).where(event.c.seq == found.seq)).scalar_one_or_none()
    if digest == found.digest:
        if found.sealed is not None and found.sealed != seals.since(connection):
            raise _refused(
                "evidence-unsigned", f"Events were signed from event {found.sealed} on, and signatures are gone."
            )
        return
    seq, _ = events.head(connection)
    if seq < found.seq:
        raise _refused("evidence-edited", f"The history ends with event {seq}, and had {found.seq} at {found.at}.")
    raise _refused("evidence-edited", f"Event {found.seq} has another digest than at {found.at}.")


def _refused(rule: str, what: str) -> Refused:
    return refused(
        rule=rule,
        what=what,
        why="The checkpoint was signed when the history stood there, and a history only grows.",
        would_change="The database is brought back as it was; interlock audit names what is gone. See docs/howto/audit.md "
        "for one that was taken back on purpose.",
    )
