"""The first schema: history, projections, slots, changes, evidence, landings; a revision is never edited afterwards."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0001"
down_revision: Final = None

_NUMBER: Final = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_APPEND_ONLY: Final = ("event", "evidence", "landing")


def upgrade() -> None:
    _history()
    _admission()
    _changes()
    _evidence_and_landings()
    for table in _APPEND_ONLY:
        _refuse_changes(table)


def _history() -> None:
    op.create_table(
        "event",
        sa.Column("seq", _NUMBER, primary_key=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("subject", sa.String, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("step", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("actor", sa.String, nullable=False),
        sa.Column("data", sa.JSON, nullable=False),
        sa.UniqueConstraint("subject", "attempt", "step", name="uq_event_subject_attempt_step"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "job",
        sa.Column("id", sa.String, nullable=False),
        sa.Column("slug", sa.String, nullable=False),
        sa.Column("class", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("rev", sa.Integer, nullable=False),
        sa.Column("born", _NUMBER, sa.ForeignKey("event.seq", name="fk_job_born"), nullable=False),
        sa.Column("doc", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_job"),
    )
    for column in ("slug", "state", "born"):
        op.create_index(f"ix_job_{column}", "job", [column])
    op.create_table(
        "train",
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("phase", sa.String, nullable=False),
        sa.Column("rev", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_train"),
    )
    op.create_index("ix_train_phase", "train", ["phase"])


def _admission() -> None:
    op.create_table(
        "task_class",
        sa.Column("name", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("cap", sa.Integer),
        sa.Column("paused_by", sa.String),
        sa.Column("changes", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_task_class"),
    )
    admission = op.create_table(
        "admission",
        sa.Column("id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("ceiling", sa.Integer),
        sa.Column("base", sa.String, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_admission"),
        sa.CheckConstraint("id = 1", name="ck_admission_one_row"),
    )
    op.bulk_insert(admission, [{"id": 1, "ceiling": None, "base": "", "version": 0}])
    op.create_table(
        "slot",
        sa.Column("class", sa.String, nullable=False),
        sa.Column("n", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("job", sa.String, sa.ForeignKey("job.id", name="fk_slot_job"), nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("actor", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("class", "n", name="pk_slot"),
        sa.UniqueConstraint("job", name="uq_slot_job"),
    )


def _changes() -> None:
    op.create_table(
        "change",
        sa.Column("job", sa.String, sa.ForeignKey("job.id", name="fk_change_job"), nullable=False),
        sa.Column("slug", sa.String, nullable=False),
        sa.Column("branch", sa.String, nullable=False),
        sa.Column("label", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("head", sa.String),
        sa.Column("opened_at", sa.Float, nullable=False),
        sa.Column("ready_at", sa.Float),
        sa.Column("closed_at", sa.Float),
        sa.PrimaryKeyConstraint("job", name="pk_change"),
    )
    op.create_index("ix_change_state", "change", ["state"])
    op.create_table(
        "approval",
        sa.Column("job", sa.String, sa.ForeignKey("job.id", name="fk_approval_job"), nullable=False),
        sa.Column("commit", sa.String, nullable=False),
        sa.Column("by", sa.String, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("job", "commit", "by", name="pk_approval"),
    )


def _evidence_and_landings() -> None:
    op.create_table(
        "evidence",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("subject", sa.String, nullable=False),
        sa.Column("commit", sa.String, nullable=False),
        sa.Column("tree", sa.String, nullable=False),
        sa.Column("doc", sa.JSON, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_evidence_subject_commit", "evidence", ["subject", "commit"])
    op.create_table(
        "check_run",
        sa.Column("key", sa.String, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("doc", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_check_run"),
    )
    op.create_table(
        "landing",
        sa.Column("job", sa.String, sa.ForeignKey("job.id", name="fk_landing_job"), nullable=False),
        sa.Column("slug", sa.String, nullable=False),
        sa.Column("train", sa.Integer, sa.ForeignKey("train.number", name="fk_landing_train"), nullable=False),
        sa.Column("commit", sa.String, nullable=False),
        sa.Column("tree", sa.String, nullable=False),
        sa.Column("tested_tree", sa.String, nullable=False),
        sa.Column("evidence", _NUMBER, sa.ForeignKey("evidence.id", name="fk_landing_evidence"), nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("job", name="pk_landing"),
        sa.CheckConstraint("tree = tested_tree", name="ck_landing_tested"),
    )


def _refuse_changes(table: str) -> None:
    words = f"{table} is append-only"
    if op.get_context().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_refuses_{verb.lower()} BEFORE {verb} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{words}'); END"
            )
        return
    op.execute(
        f"CREATE FUNCTION {table}_refuses() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{words}'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_refuses_change BEFORE UPDATE OR DELETE ON {table} "
        f"FOR EACH ROW EXECUTE FUNCTION {table}_refuses()"
    )
    op.execute(
        f"CREATE TRIGGER {table}_refuses_truncate BEFORE TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_refuses()"
    )
