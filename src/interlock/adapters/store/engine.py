"""Connections to SQLite or PostgreSQL, with one transaction for writing and one for reading; the statements are elsewhere."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError

from interlock.core.problems import StoreUnusable

BUSY_SECONDS: Final = 30
HISTORY_LOCK: Final = 0x696E746572  # the key of PostgreSQL's advisory lock on the end of the history
_WRITE: Final = "interlock_write"
_FORMS: Final = "Write sqlite:////absolute/path or postgresql://user@host/database."


def sqlite_url(path: Path) -> str:
    """The URL of a database in a file of this machine."""
    return URL.create("sqlite", database=str(path)).render_as_string(hide_password=False)


class Database:
    """One database by its URL: ``sqlite:///path`` or ``postgresql://…``.

    On SQLite a writing transaction takes the lock when it begins; on PostgreSQL it locks the rows it decides on.
    """

    def __init__(self, url: str) -> None:
        parsed = _parsed(url)
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        self.file = Path(parsed.database) if self.is_sqlite and parsed.database else None
        self.engine = _sqlite(parsed) if self.is_sqlite else _postgres(parsed)
        self._writer = self.engine.execution_options(**{_WRITE: True})
        self._reader = (
            self.engine if self.is_sqlite else self.engine.execution_options(isolation_level="REPEATABLE READ")
        )

    def write(self) -> AbstractContextManager[Connection]:
        """A transaction that may write; committed at the end, rolled back on any error.  Raises StoreUnusable."""
        return self._transaction(self._writer)

    def read(self) -> AbstractContextManager[Connection]:
        """A transaction that sees one state of the database from its first statement to its last."""
        return self._transaction(self._reader)

    @property
    def name(self) -> str:
        """The database as a person knows it, without a password."""
        return str(self.file) if self.file else self.engine.url.render_as_string(hide_password=True)

    @contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Connection]:
        try:
            with engine.begin() as connection:
                yield connection
        except OperationalError as error:
            raise self.unusable(error) from error

    def unusable(self, error: Exception) -> StoreUnusable:
        """A fault of the database in words: locked too long, disk full, no server."""
        words = str(error.orig if isinstance(error, DBAPIError) else error).strip().rstrip(".")
        hint = (
            "See that its folder exists, can be written and has room, and that the file is a SQLite database."
            if self.is_sqlite
            else "See that the server runs and takes this address and user."
        )
        return StoreUnusable(f"The database {self.name} cannot be used: {words}.", hint=hint)

    def close(self) -> None:
        self.engine.dispose()


def lock_history(connection: Connection) -> None:
    """Be the only one to append events until the transaction ends, so that their order is the order of commits.

    It is the last lock that a transaction takes: rows are locked before.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": HISTORY_LOCK})


@contextmanager
def unanswered(connection: Connection) -> Iterator[None]:
    """Inserts whose answers nobody reads: PostgreSQL gets them in one message, and its faults show at the end."""
    if connection.dialect.name != "postgresql":
        yield
        return
    from psycopg import Error, Pipeline

    driver = connection.connection.driver_connection
    if driver is None or not Pipeline.is_supported():
        yield
        return
    try:
        with driver.pipeline():
            yield
    except Error as fault:  # SQLAlchemy sees only those of single statements, and turns them into its own
        raise DBAPIError.instance(None, None, fault, Error, dialect=connection.dialect) from fault


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise StoreUnusable(f"{url!r} is not the address of a database.", hint=_FORMS) from None
    if parsed.get_backend_name() not in ("sqlite", "postgresql", "postgres"):
        raise StoreUnusable(f"{parsed.get_backend_name()} is not a database that Interlock knows.", hint=_FORMS)
    if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise StoreUnusable("A history in memory would be lost.", hint=_FORMS)
    return parsed


def _sqlite(url: URL) -> Engine:
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where _begin_sqlite says so
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITE, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _postgres(url: URL) -> Engine:
    try:
        engine = create_engine(
            url.set(drivername="postgresql+psycopg"), isolation_level="READ COMMITTED", pool_pre_ping=True
        )
    except ModuleNotFoundError as error:
        raise StoreUnusable("PostgreSQL needs the package psycopg.", hint="Install interlock[postgres].") from error
    event.listen(engine, "connect", _prepare_postgres)
    return engine


def _prepare_postgres(connection: Any, _record: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{BUSY_SECONDS}s'")
    connection.commit()
