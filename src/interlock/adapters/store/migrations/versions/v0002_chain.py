"""Events get the digest that chains them, evidence its envelope; digests of what is there already are filled in."""

from __future__ import annotations

import hashlib
import json
from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0002"
down_revision: Final = "0001"

_AT_ONCE: Final = 1000
_ROW: Final = ("seq", "at", "subject", "attempt", "step", "kind", "actor", "data")


def upgrade() -> None:
    op.add_column("event", sa.Column("digest", sa.String))
    op.add_column("evidence", sa.Column("envelope", sa.Text))
    sqlite = op.get_context().dialect.name == "sqlite"
    op.execute(
        "DROP TRIGGER event_refuses_update" if sqlite else "ALTER TABLE event DISABLE TRIGGER event_refuses_change"
    )
    _fill_in(op.get_bind())
    op.execute(
        "CREATE TRIGGER event_refuses_update BEFORE UPDATE ON event "
        "BEGIN SELECT RAISE(ABORT, 'event is append-only'); END"
        if sqlite
        else "ALTER TABLE event ENABLE TRIGGER event_refuses_change"
    )


def _fill_in(connection: sa.Connection) -> None:
    """Digest the events in their order, so many at once that a long history does not have to fit into memory."""
    columns = [sa.column(name, sa.JSON) if name == "data" else sa.column(name) for name in _ROW]
    event = sa.table("event", *columns, sa.column("digest"))
    seq, digest = 0, ""
    later = sa.select(*columns).where(event.c.seq > sa.bindparam("after")).order_by(event.c.seq).limit(_AT_ONCE)
    write = sa.update(event).where(event.c.seq == sa.bindparam("which")).values(digest=sa.bindparam("made"))
    while rows := connection.execute(later, {"after": seq}).all():
        made = []
        for row in rows:
            seq, digest = row.seq, _digest(digest, row)
            made.append({"which": seq, "made": digest})
        connection.execute(write, made)


def _digest(previous: str, row: sa.Row[tuple[object, ...]]) -> str:
    shape = dict(row._asdict()) | {"at": float(row.at)}
    text = json.dumps(shape, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256((previous + text).encode("ascii")).hexdigest()
