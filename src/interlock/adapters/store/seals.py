"""Seals of events: one signature a transaction, written with it, and what the gates ask of them; what they mean is core's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from sqlalchemy import Connection, insert, select

from interlock.adapters.store import events
from interlock.adapters.store.tables import event, seal
from interlock.core.job.chain import KEYS
from interlock.core.job.events import NewEvent
from interlock.core.job.seals import Seal, covering, doubt, nobody, sealed_as
from interlock.core.problems import Refused
from interlock.ports.history import Signer

KEY_ADDED: Final = "key.added"
_ADD: Final = insert(seal)
_LAST: Final = select(seal.c.seq).order_by(seal.c.seq.desc()).limit(1)
_FIRST: Final = select(seal.c.first).order_by(seal.c.seq).limit(1)


def add(connection: Connection, appended: Sequence[tuple[int, str]], signer: Signer) -> None:
    """Sign what this transaction appended; the caller still holds the history's lock.

    Raises Refused: secret, and evidence-edited where what was signed before is gone.
    """
    first, (seq, digest) = appended[0][0], appended[-1]
    last = connection.execute(_LAST).scalar_one_or_none()
    if last is not None and last >= first:
        raise events.edited(
            f"Events up to {last} were signed when they were written, and those from {first} on are gone."
        )
    began = since(connection) or first
    envelope = signer.sign(sealed_as(first=first, seq=seq, digest=digest, since=began))
    connection.execute(_ADD, {"seq": seq, "first": first, "envelope": envelope})


def add_key(connection: Connection, signer: Signer, at: float) -> None:
    """Say once in the history with which key it is signed; the caller holds the history's lock."""
    if events.find(connection, KEYS, 0, signer.key_id) is None:
        data = {"public": signer.public, "runner": signer.runner}
        events.append(connection, NewEvent(subject=KEYS, step=signer.key_id, kind=KEY_ADDED, data=data), at)


def keys(connection: Connection) -> tuple[str, ...]:
    """The public keys that the history knows, as PEM."""
    return tuple(str(each.data["public"]) for each in events.listing(connection, KEYS, 0) if "public" in each.data)


def since(connection: Connection) -> int | None:
    """The first event that a seal holds; None where there is no seal, as in a history of an earlier version."""
    return connection.execute(_FIRST).scalar_one_or_none()


def listing(connection: Connection, after: int = 0) -> tuple[Seal, ...]:
    """Seals of events later than ``after``, in their order."""
    query = select(seal.c.first, seal.c.seq, seal.c.envelope).where(seal.c.seq > after).order_by(seal.c.seq)
    return tuple(Seal(first=row.first, seq=row.seq, envelope=row.envelope) for row in connection.execute(query))


def check(connection: Connection, subjects: Iterable[str], signer: Signer, listed: Collection[str]) -> None:
    """Look whether each event of these subjects was signed when it was written, by a key that may.

    Events from before the history was sealed are covered by the digest under the first seal.
    Raises Refused (evidence-unsigned, evidence-edited, evidence-key).
    """
    began = since(connection)
    if began is None:
        return
    query = select(event.c.seq).where(event.c.subject.in_(list(subjects)), event.c.seq >= began)
    wanted = connection.execute(query).scalars().all()
    if not wanted:
        return
    held, lacking = covering(listing(connection, min(wanted) - 1), wanted)
    if lacking is not None:
        raise Refused(nobody(lacking))
    ends = select(event.c.seq, event.c.digest).where(event.c.seq.in_([each.seq for each in held]))
    digests = {row.seq: row.digest for row in connection.execute(ends)}
    known = keys(connection)
    for each in held:
        fault = doubt(each, digests, lambda envelope: signer.open(envelope, known, listed=listed), began)
        if fault is not None:
            raise Refused(fault)
