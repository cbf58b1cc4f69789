"""Is the database as this version needs it, and if not, make it so, once for all who ask at the same time."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from interlock.adapters.store.engine import BUSY_SECONDS, HISTORY_LOCK, Database
from interlock.adapters.store.tables import SCHEMA, VERSION_TABLE
from interlock.core.problems import StoreUnusable
from interlock.host import locks

WAIT_SECONDS: Final = 120
SCHEMA_LOCK: Final = HISTORY_LOCK + 1
_NUMBER: Final = text(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608 -- a constant


def ensure(database: Database) -> None:
    """Migrate the database when its number differs; a current one costs two small queries and no import.

    Raises StoreUnusable when it cannot be opened or was made by a newer version.
    """
    try:
        if database.file is not None:
            database.file.parent.mkdir(parents=True, exist_ok=True)
        if _is_current(database):
            return
        with _only_one(database):
            if not _is_current(database):
                _migrate(database)
    except (DBAPIError, OSError, sqlite3.Error) as error:
        raise database.unusable(error) from error


def _is_current(database: Database) -> bool:
    with database.read() as connection:
        number = number_of(connection)
    if number > SCHEMA:
        raise StoreUnusable(
            f"The database {database.name} has schema {number}; this version knows {SCHEMA}.",
            hint="Use the newer Interlock that made it.",
        )
    return number == SCHEMA


def number_of(connection: Connection) -> int:
    """The schema number that the database says it has; 0 when it holds none of our tables."""
    if connection.dialect.name == "sqlite":
        query = text("SELECT name FROM sqlite_master WHERE type = 'table' AND name = :name")
    else:
        query = text("SELECT to_regclass(:name)")
    if connection.execute(query, {"name": VERSION_TABLE}).scalar() is None:
        return 0
    return int(connection.execute(_NUMBER).scalar() or 0)


def check(connection: Connection) -> None:
    """Refuse to write where a newer version migrated the database after this process opened it: it would write by rules that are not its own.

    Raises StoreUnusable.
    """
    number = int(connection.execute(_NUMBER).scalar() or 0)
    if number != SCHEMA:
        raise StoreUnusable(
            f"The database has schema {number} by now; this process was started by a version that knows {SCHEMA}.",
            hint="End this process (an editor's MCP server, a run that stays), and start it again with the newer Interlock. Nothing was written.",
        )


@contextmanager
def _only_one(database: Database) -> Iterator[None]:
    """A lock that every process of every machine that uses this database meets."""
    if database.file is not None:
        with locks.held(Path(f"{database.file}.migrate.lock"), wait=WAIT_SECONDS, refuse=_busy):
            yield
        return
    with database.engine.connect() as connection:
        connection.execute(text(f"SET lock_timeout = '{WAIT_SECONDS}s'"))
        connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": SCHEMA_LOCK})
        connection.commit()
        try:
            yield
        finally:
            connection.invalidate()  # the lock ends with the session


def _busy(held: locks.LockHeld) -> StoreUnusable:
    return StoreUnusable(
        f"Process {held.holder or 'unknown'} is migrating the database for longer than {WAIT_SECONDS} s.",
        hint="Wait until it has ended, then call again.",
    )


def _migrate(database: Database) -> None:
    from interlock.adapters.store.migrations import upgrade

    if database.is_sqlite:
        _keep_a_write_ahead_log(database)
    with database.write() as connection:
        upgrade(connection)


def _keep_a_write_ahead_log(database: Database) -> None:
    """Readers do not wait for writers from now on; the file remembers it.

    SQLite answers at once, without its busy time-out, when somebody happens to read; so it is asked again.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    connection = database.engine.raw_connection()
    try:
        while True:
            try:
                connection.cursor().execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                return
    finally:
        connection.close()
