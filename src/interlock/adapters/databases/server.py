"""One PostgreSQL server as its administrator sees it: connections, locks, sessions and errors in words; no rule of branches."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from interlock.core.counting import count
from interlock.core.problems import InterlockError, Refused, refused

Connection = psycopg.Connection[tuple[Any, ...]]

_CONNECT_SECONDS: Final = 10
_POLL: Final = 0.05
_OURS: Final = frozenset({"user", "password", "dbname", "host", "port", "hostaddr", "passfile", "application_name"})
_HAS_IDLE: Final = 140_000
# What a database's own setting would put before PostgreSQL's functions is not ours; and a copy may take long.
_SESSION: Final = "-c search_path=pg_catalog -c statement_timeout=0 -c lock_timeout=0"
_FORCE: Final = 130_000  # the first version with DROP DATABASE … WITH (FORCE)
_DROP_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Server:
    """A server by its administrator's URL, which is a secret: it is in no message."""

    url: str = field(repr=False)

    @contextmanager
    def connect(self, database: str | None = None) -> Iterator[Connection]:
        """A connection of the administrator, each statement a transaction of its own.  Raises InterlockError."""
        try:
            changes: dict[str, Any] = {"application_name": "interlock", "connect_timeout": _CONNECT_SECONDS}
            if database is not None:
                changes["dbname"] = database
            changes["client_encoding"] = "utf8"  # a database without an encoding would send bytes
            changes["options"] = f"{conninfo_to_dict(self.url).get('options', '')} {_SESSION}".strip()
            opened = psycopg.connect(make_conninfo(self.url, **changes), autocommit=True, prepare_threshold=None)
        except psycopg.OperationalError as fault:
            raise InterlockError(
                f"The database server cannot be reached: {_first_line(fault)}.",
                hint="See that it runs and that the administrator's URL is right; then the same is tried again.",
            ) from fault
        except psycopg.ProgrammingError:
            raise InterlockError(
                "The administrator's URL of the database server cannot be read.",
                hint="Write it as postgresql://USER:PASSWORD@HOST:PORT/DATABASE.",
            ) from None
        with opened:
            opened.execute(
                "set search_path = pg_catalog"
            )  # what a database's own setting would put before it is not ours
            yield opened

    def url_of(self, connection: Connection, database: str, role: str, password: str) -> str:
        """The URL of a database for one of its roles, at the server that the connection reached."""
        host, port = connection.info.host, str(connection.info.port)
        extra = {name: str(value) for name, value in conninfo_to_dict(self.url).items() if name not in _OURS}
        where = "" if host.startswith("/") else f"{f'[{host}]' if ':' in host else host}:{port}"
        if not where:
            extra |= {"host": host, "port": port}
        query = f"?{urlencode(extra, quote_via=quote, safe='/')}" if extra else ""
        return f"postgresql://{quote(role)}:{quote(password)}@{where}/{quote(database)}{query}"

    def environment(self, connection: Connection, database: str) -> dict[str, str]:
        """The same for a program of PostgreSQL, as variables: what stands in its arguments everybody can read."""
        info = connection.info
        given = conninfo_to_dict(self.url)
        named = {"PGSSLMODE": "sslmode", "PGSSLROOTCERT": "sslrootcert", "PGSSLCERT": "sslcert", "PGSSLKEY": "sslkey"}
        found = {variable: str(given[name]) for variable, name in named.items() if name in given}
        found |= {"PGHOST": info.host, "PGPORT": str(info.port), "PGUSER": info.user, "PGDATABASE": database}
        return found | ({"PGPASSWORD": info.password} if info.password else {})


def address(connection: Connection) -> str:
    """Where a relay must connect: ``unix:PATH`` or ``tcp:HOST:PORT``."""
    host, port = connection.info.host, connection.info.port
    return f"unix:{host}/.s.PGSQL.{port}" if host.startswith("/") else f"tcp:{host}:{port}"


@contextmanager
def told(doing: str) -> Iterator[None]:
    """What the server answers to a statement of ours, as an error that says what was being done; never a password."""
    try:
        yield
    except psycopg.Error as fault:
        raise InterlockError(
            f"{doing} failed: {_first_line(fault)}.",
            hint="See the server's log; then the same is tried again.",
        ) from fault


def run(connection: Connection, statement: str, *names: str, **values: Any) -> None:
    """Run one statement (see ``filled``)."""
    connection.execute(filled(statement, *names, **values))


def run_all(connection: Connection, *statements: sql.Composed) -> None:
    """Run statements in one round trip and one transaction."""
    connection.execute(sql.SQL("; ").join(statements))


def filled(statement: str, *names: str, **values: Any) -> sql.Composed:
    """A statement with ``{}`` for each name, quoted, and ``{name}`` for each literal value."""
    literals = {name: sql.Literal(value) for name, value in values.items()}
    return sql.SQL(statement).format(*(sql.Identifier(name) for name in names), **literals)


def patient(connection: Connection) -> None:
    """Let the server keep a connection of ours open, however long it says nothing."""
    if connection.info.server_version >= _HAS_IDLE:
        connection.execute("set idle_session_timeout = 0")


def rows(connection: Connection, query: str, *values: Any) -> list[tuple[Any, ...]]:
    return connection.execute(query, values).fetchall()


def exists(connection: Connection, database: str) -> bool:
    return bool(rows(connection, "select 1 from pg_database where datname = %s", database))


# ---------------------------------------------------------------- sessions
def sessions(connection: Connection, database: str) -> tuple[str, ...]:
    """Who is connected to a database: pid, role, application and address of each."""
    found = rows(
        connection,
        "select pid, coalesce(usename, '?'), coalesce(nullif(application_name, ''), backend_type),"
        " coalesce(host(client_addr), 'local') from pg_stat_activity"
        " where datname = %s and pid <> pg_backend_pid() and backend_type <> 'autovacuum worker' order by pid",
        database,
    )
    return tuple(f"session {pid} of {role} ({application}, {client})" for pid, role, application, client in found)


def busy(connection: Connection, database: str, doing: str) -> Refused:
    """The refusal of what cannot be done while others are connected, who are named and left alone."""
    found = sessions(connection, database)
    return refused(
        rule="database",
        what=f"{doing} failed: {database} is in use by {count(len(found), 'session') if found else 'other sessions'}.",
        why="PostgreSQL copies a database only while nobody is connected to it, and sessions of others are not ended.",
        would_change=f"End these sessions, or name a baseline that nobody works in: {'; '.join(found) or 'gone by now'}.",
        holders=found,
    )


def end_sessions(connection: Connection, database: str) -> None:
    """End every session of a database that is ours."""
    rows(
        connection,
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s and pid <> pg_backend_pid()",
        database,
    )


def drop(connection: Connection, database: str, *, force: bool | None = None) -> None:
    """Drop a database that is ours with whatever sessions it has; ``force`` False does it as old servers need it."""
    if not exists(connection, database):
        return
    run(connection, "ALTER DATABASE {} IS_TEMPLATE false", database)
    if force is None:
        force = connection.info.server_version >= _FORCE
    if force:
        run(connection, "DROP DATABASE IF EXISTS {} WITH (FORCE)", database)
        return
    run(connection, "ALTER DATABASE {} ALLOW_CONNECTIONS false", database)
    for left in reversed(range(_DROP_TRIES)):
        end_sessions(connection, database)
        try:
            run(connection, "DROP DATABASE IF EXISTS {}", database)
        except psycopg.errors.ObjectInUse:
            if not left:
                raise
        else:
            return


# ---------------------------------------------------------------- locks
@contextmanager
def locked(connection: Connection, name: str, *, wait: float, shared: bool = False) -> Iterator[None]:
    """Hold the server's advisory lock of a name; it is let go when our connection dies, however that comes about.

    Raises Refused (database) naming the holders after ``wait`` seconds.
    """
    deadline = time.monotonic() + wait
    while not try_lock(connection, name, shared=shared):
        if time.monotonic() >= deadline:
            raise _held(connection, name, wait)
        time.sleep(_POLL)
    try:
        yield
    finally:
        unlock(connection, name, shared=shared)


def try_lock(connection: Connection, name: str, *, shared: bool = False) -> bool:
    function = "pg_try_advisory_lock_shared" if shared else "pg_try_advisory_lock"
    return bool(rows(connection, f"select {function}(%s)", _number(name))[0][0])


def unlock(connection: Connection, name: str, *, shared: bool = False) -> None:
    if connection.broken or connection.closed:
        return
    function = "pg_advisory_unlock_shared" if shared else "pg_advisory_unlock"
    rows(connection, f"select {function}(%s)", _number(name))


def _held(connection: Connection, name: str, wait: float) -> Refused:
    number = _number(name) & 0xFFFF_FFFF_FFFF_FFFF
    found = rows(
        connection,
        "select a.pid, coalesce(nullif(a.application_name, ''), a.backend_type) from pg_locks l join pg_stat_activity a"
        " using (pid) where l.locktype = 'advisory' and l.granted and l.classid = %s and l.objid = %s and l.objsubid = 1",
        number >> 32,
        number & 0xFFFF_FFFF,
    )
    holders = tuple(f"session {pid} ({application})" for pid, application in found)
    return refused(
        rule="database",
        what=f"The template {name} is being prepared elsewhere, and was not ready after {wait:g} s.",
        why="It is prepared once, by one process at a time.",
        would_change=f"Wait for it, or end it: {'; '.join(holders) or 'gone by now'}.",
        holders=holders,
    )


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"interlock {name}".encode()).digest()[:8], "big", signed=True)


def _first_line(fault: Exception) -> str:
    return (str(fault).strip().splitlines() or [type(fault).__name__])[0].rstrip(".")
