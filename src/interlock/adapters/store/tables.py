"""The tables, and nothing else; the revisions that make them are in migrations, what they mean is in docs/reference/store.md."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

SCHEMA: Final = 3
"""The number of the newest revision in migrations; a store with a lower one is migrated when it is opened."""

VERSION_TABLE: Final = "interlock_schema"
APPEND_ONLY: Final = ("event", "evidence", "landing", "seal")
"""Tables whose rows are never changed or taken away; triggers refuse it."""

NAMES: Final = {
    "pk": "pk_%(table_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
}
metadata = MetaData(naming_convention=NAMES)
_number = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up only an INTEGER

event = Table(
    "event",
    metadata,
    Column("seq", _number, primary_key=True),
    Column("at", Float, nullable=False),
    Column("subject", String, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("step", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("actor", String, nullable=False),
    Column("data", JSON, nullable=False),
    Column("digest", String),
    UniqueConstraint("subject", "attempt", "step"),
    sqlite_autoincrement=True,
)

seal = Table(
    "seal",
    metadata,
    Column("seq", _number, primary_key=True, autoincrement=False),
    Column("first", _number, nullable=False),
    Column("envelope", Text, nullable=False),
)

job = Table(
    "job",
    metadata,
    Column("id", String, primary_key=True),
    Column("slug", String, nullable=False),
    Column("class", String, nullable=False),
    Column("state", String, nullable=False),
    Column("rev", Integer, nullable=False),
    Column("born", _number, ForeignKey("event.seq"), nullable=False),
    Column("doc", JSON, nullable=False),
    Index(None, "slug"),
    Index(None, "state"),
    Index(None, "born"),
)

task_class = Table(
    "task_class",
    metadata,
    Column("name", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("cap", Integer),
    Column("paused_by", String),
    Column("changes", Integer, nullable=False),
)

# One row: the ceiling over all classes, the base it was read from, and how often a fetch changed it or a cap.
admission = Table(
    "admission",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("ceiling", Integer),
    Column("base", String, nullable=False),
    Column("version", Integer, nullable=False),
    CheckConstraint("id = 1", name="one_row"),
)

slot = Table(
    "slot",
    metadata,
    Column("class", String, primary_key=True),
    Column("n", Integer, primary_key=True, autoincrement=False),
    Column("job", String, ForeignKey("job.id"), nullable=False),
    Column("kind", String, nullable=False),
    Column("actor", String, nullable=False),
    UniqueConstraint("job"),
)

change = Table(
    "change",
    metadata,
    Column("job", String, ForeignKey("job.id"), primary_key=True),
    Column("slug", String, nullable=False),
    Column("branch", String, nullable=False),
    Column("label", String, nullable=False),
    Column("state", String, nullable=False),
    Column("head", String),
    Column("opened_at", Float, nullable=False),
    Column("ready_at", Float),
    Column("closed_at", Float),
    Index(None, "state"),
)

approval = Table(
    "approval",
    metadata,
    Column("job", String, ForeignKey("job.id"), primary_key=True),
    Column("commit", String, primary_key=True),
    Column("by", String, primary_key=True),
    Column("at", Float, nullable=False),
)

evidence = Table(
    "evidence",
    metadata,
    Column("id", _number, primary_key=True),
    Column("at", Float, nullable=False),
    Column("subject", String, nullable=False),
    Column("commit", String, nullable=False),
    Column("tree", String, nullable=False),
    Column("doc", JSON, nullable=False),
    Column("envelope", Text),
    Index(None, "subject", "commit"),
    sqlite_autoincrement=True,
)

check_run = Table(
    "check_run",
    metadata,
    Column("key", String, primary_key=True),
    Column("at", Float, nullable=False),
    Column("doc", JSON, nullable=False),
)

train = Table(
    "train",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("phase", String, nullable=False),
    Column("rev", Integer, nullable=False),
    Index(None, "phase"),
)

landing = Table(
    "landing",
    metadata,
    Column("job", String, ForeignKey("job.id"), primary_key=True),
    Column("slug", String, nullable=False),
    Column("train", Integer, ForeignKey("train.number"), nullable=False),
    Column("commit", String, nullable=False),
    Column("tree", String, nullable=False),
    Column("tested_tree", String, nullable=False),
    Column("evidence", _number, ForeignKey("evidence.id"), nullable=False),
    Column("at", Float, nullable=False),
    CheckConstraint("tree = tested_tree", name="tested"),
)
