"""Changing a history behind the product's back, as somebody does who can write to its database."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, delete, insert, select, text, update

from interlock.adapters.signing import KeySigner
from interlock.adapters.store import tables
from interlock.adapters.store.engine import Database
from interlock.core.job.chain import digest_of
from interlock.core.job.events import Event


@contextmanager
def loose(url: str) -> Iterator[Connection]:
    """A transaction in which nothing is append-only: the triggers are taken off first, and put on again."""
    database = Database(url)
    with database.write() as connection:
        if database.is_sqlite:
            connection.execute(text("PRAGMA defer_foreign_keys = ON"))
            query = text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            triggers = connection.execute(query).all()
            for name, _ in triggers:
                connection.execute(text(f"DROP TRIGGER {name}"))
            yield connection
            for _, sql in triggers:
                connection.exec_driver_sql(sql)
        else:
            for table in tables.metadata.sorted_tables:
                connection.execute(text(f"ALTER TABLE {table.name} DISABLE TRIGGER ALL"))
            yield connection
            for table in tables.metadata.sorted_tables:
                connection.execute(text(f"ALTER TABLE {table.name} ENABLE TRIGGER ALL"))
    database.close()


def row(connection: Connection, number: int) -> dict[str, Any]:
    """A row of evidence, all its columns."""
    query = select(tables.evidence).where(tables.evidence.c.id == number)
    return dict(connection.execute(query).mappings().one())


def put(connection: Connection, number: int, **values: Any) -> None:
    """Change columns of a row of evidence."""
    connection.execute(update(tables.evidence).where(tables.evidence.c.id == number).values(values))


def resigned(envelope: str, signer: KeySigner, change: Callable[[dict[str, Any]], None] = lambda _: None) -> str:
    """The statement of an envelope, changed and signed by somebody."""
    said = json.loads(payload(envelope))
    change(said)
    return signer.sign(json.dumps(said).encode())


def payload(envelope: str) -> bytes:
    return base64.b64decode(json.loads(envelope)["payload"])


def with_payload(envelope: str, old: bytes, new: bytes) -> str:
    """An envelope whose payload says something else, under the signature that it had."""
    before = payload(envelope)
    assert old in before
    return json.dumps(json.loads(envelope) | {"payload": base64.b64encode(before.replace(old, new)).decode()})


def event(connection: Connection, seq: int) -> dict[str, Any]:
    query = select(tables.event).where(tables.event.c.seq == seq)
    return dict(connection.execute(query).mappings().one())


def put_event(connection: Connection, seq: int, **values: Any) -> None:
    connection.execute(update(tables.event).where(tables.event.c.seq == seq).values(values))


def drop_event(connection: Connection, seq: int) -> None:
    connection.execute(delete(tables.event).where(tables.event.c.seq == seq))


def add_row(connection: Connection, values: dict[str, Any]) -> None:
    connection.execute(insert(tables.evidence).values(values))


def digest_anew(connection: Connection, since: int) -> None:
    """Give every event from ``since`` on the digest that it would have, had it been written so."""
    rows = connection.execute(select(tables.event).order_by(tables.event.c.seq)).mappings().all()
    previous = ""
    for each in rows:
        made = dict(each)
        old = made.pop("digest")
        if each["seq"] >= since:
            old = digest_of(previous, Event(**made))
            put_event(connection, each["seq"], digest=old)
        previous = old
