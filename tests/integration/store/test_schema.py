"""Opening a store: the first time, the hundredth time, many at once, killed half-way, too new, or not a database at all."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.integration.store import build

from interlock.adapters.store import SqlStore, sqlite_url, tables
from interlock.adapters.store.engine import Database
from interlock.adapters.store.schema import number_of
from interlock.core.job.events import NewEvent
from interlock.core.problems import StoreUnusable

pytest_plugins = ("tests.integration.store.fixtures",)

OPEN = """
import sys
from interlock.adapters.store import SqlStore
store = SqlStore.open(sys.argv[1])
print(len(store.jobs()))
"""

# Dies without a word before the statement of that number inside the migration's transaction.
DIE = """
import os, signal, sys
from sqlalchemy import event
from sqlalchemy.engine import Engine
left = int(sys.argv[2])
@event.listens_for(Engine, "before_cursor_execute")
def count(connection, cursor, statement, *rest):
    global left
    if statement.lstrip().startswith(("CREATE", "INSERT", "UPDATE")):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
"""


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def number(url: str) -> int:
    database = Database(url)
    with database.read() as connection:
        found = number_of(connection)
    database.close()
    return found


def test_eight_processes_that_open_it_first_all_succeed(store_url: str) -> None:
    for child in [python(OPEN, store_url) for _ in range(8)]:
        out, err = child.communicate(timeout=60)
        assert (child.returncode, out.strip()) == (0, "0"), err
    assert number(store_url) == tables.SCHEMA


@pytest.mark.parametrize("statement", [1, 2, 7, 20])
@pytest.mark.long
def test_killed_at_any_statement_of_a_migration_the_next_opening_heals(store_url: str, statement: int) -> None:
    child = python(DIE + OPEN, store_url, str(statement))
    _, err = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL, err
    assert number(store_url) == 0, "All of a migration or nothing."
    store = SqlStore.open(store_url)
    build.set_caps(store, {"slice": 1})
    build.live(store, "a", "job.isolated")
    store.close()


def test_the_revisions_make_exactly_the_tables_that_the_code_knows(store_url: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    SqlStore.open(store_url).close()
    database = Database(store_url)
    with database.read() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": tables.VERSION_TABLE, "compare_type": True}
        )
        assert compare_metadata(context, tables.metadata) == []
    database.close()


def test_a_current_store_is_opened_without_alembic_or_the_engine(store_url: str) -> None:
    SqlStore.open(store_url).close()
    code = OPEN + "\nimport json; print(json.dumps(sorted(name.split('.')[0] for name in sys.modules)))"
    out, err = python(code, store_url).communicate(timeout=60)
    loaded = set(json.loads(out.splitlines()[1]))
    assert not loaded & {"alembic", "dbos", "filelock", "pydantic", "mako"}, err
    assert ("psycopg" in loaded) == store_url.startswith("postgresql")


def test_a_store_of_a_newer_version_is_left_alone(store_url: str) -> None:
    SqlStore.open(store_url).close()
    database = Database(store_url)
    with database.write() as connection:
        connection.execute(text(f"UPDATE {tables.VERSION_TABLE} SET version_num = '9999'"))
    database.close()
    with pytest.raises(StoreUnusable, match="9999") as caught:
        SqlStore.open(store_url)
    assert "newer" in caught.value.hint
    assert number(store_url) == 9999


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nonsense", "address"),
        ("mysql://x/y", "mysql"),
        ("sqlite://", "memory"),
        ("sqlite:///:memory:", "memory"),
        ("postgresql://nobody@127.0.0.1:1/x", "refused"),
    ],
)
def test_an_address_that_cannot_be_used_says_so(url: str, words: str) -> None:
    with pytest.raises(StoreUnusable, match=words) as caught:
        SqlStore.open(url)
    assert caught.value.hint
    assert caught.value.message.endswith(".")


def test_a_process_that_a_newer_version_overtook_writes_nothing_more(store_url: str) -> None:
    """It would write by rules that are not the database's any more: events without a signature, for instance."""
    store = SqlStore.open(store_url)
    build.set_caps(store, {"slice": 2})
    job = store.admit(build.request("a")).job
    database = Database(store_url)
    with database.write() as connection:
        connection.execute(text(f"UPDATE {tables.VERSION_TABLE} SET version_num = '{tables.SCHEMA + 1:04}'"))
    database.close()
    before = store.events()
    with pytest.raises(StoreUnusable, match="by now") as caught:
        store.record(NewEvent(subject=job, step="n", kind="job.note"))
    assert "start it again with the newer Interlock" in caught.value.hint
    with pytest.raises(StoreUnusable):
        store.admit(build.request("b"))
    assert store.events() == before
    store.close()


def test_a_password_is_not_told() -> None:
    with pytest.raises(StoreUnusable) as caught:
        SqlStore.open("postgresql://ana:secret-word@127.0.0.1:1/x")
    assert "secret-word" not in caught.value.message + caught.value.hint


def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    path.write_bytes(b"not a database, " * 1000)
    with pytest.raises(StoreUnusable, match="not a database"):
        SqlStore.open(sqlite_url(path))
    assert path.read_bytes() == b"not a database, " * 1000


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnusable):
        SqlStore.open(sqlite_url(tmp_path / "file" / "store.sqlite3"))


@pytest.mark.parametrize("name", ["a b", "é%20?x=y#z", "100%"])
def test_odd_paths(tmp_path: Path, name: str) -> None:
    path = tmp_path / name / "store.sqlite3"
    store = SqlStore.open(sqlite_url(path))
    assert store.jobs() == ()
    store.close()
    assert path.exists()


def test_sqlite_is_set_as_the_engine_facts_say(sqlite_store_url: str) -> None:
    SqlStore.open(sqlite_store_url).close()
    database = Database(sqlite_store_url)
    with database.read() as connection:
        settings = {
            name: connection.execute(text(f"PRAGMA {name}")).scalar()
            for name in ("journal_mode", "synchronous", "busy_timeout", "foreign_keys")
        }
    database.close()
    assert settings == {"journal_mode": "wal", "synchronous": 1, "busy_timeout": 30_000, "foreign_keys": 1}


def test_the_durable_engine_has_its_tables_beside_ours(sqlite_store_url: str) -> None:
    """DBOS migrates its own tables into the same file, before or after ours, and neither minds the other."""
    SqlStore.open(sqlite_store_url).close()
    code = "import sys; from dbos import DBOS; DBOS.migrate(sys.argv[1])"
    child = python(code, sqlite_store_url)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    database = Database(sqlite_store_url)
    with database.read() as connection:
        names = set(connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'")).scalars())
    database.close()
    assert {"workflow_status", *tables.metadata.tables} <= names
    store = SqlStore.open(sqlite_store_url)
    build.set_caps(store, {"slice": 1})
    assert build.live(store, "a", "job.isolated").rev == 2
    store.close()


def test_a_folder_that_cannot_be_made() -> None:
    with pytest.raises(StoreUnusable, match="/proc/store"):
        SqlStore.open("sqlite:////proc/store/store.sqlite3")
