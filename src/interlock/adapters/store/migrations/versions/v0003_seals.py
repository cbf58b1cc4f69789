"""A table of seals: one signature for the events of each transaction, from now on."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0003"
down_revision: Final = "0002"

_NUMBER: Final = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_WORDS: Final = "seal is append-only"


def upgrade() -> None:
    op.create_table(
        "seal",
        sa.Column("seq", _NUMBER, nullable=False, autoincrement=False),
        sa.Column("first", _NUMBER, nullable=False),
        sa.Column("envelope", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_seal"),
    )
    if op.get_context().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER seal_refuses_{verb.lower()} BEFORE {verb} ON seal "
                f"BEGIN SELECT RAISE(ABORT, '{_WORDS}'); END"
            )
        return
    op.execute(
        f"CREATE FUNCTION seal_refuses() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '{_WORDS}'; END $$"
    )
    op.execute(
        "CREATE TRIGGER seal_refuses_change BEFORE UPDATE OR DELETE ON seal FOR EACH ROW EXECUTE FUNCTION seal_refuses()"
    )
    op.execute(
        "CREATE TRIGGER seal_refuses_truncate BEFORE TRUNCATE ON seal FOR EACH STATEMENT EXECUTE FUNCTION seal_refuses()"
    )
