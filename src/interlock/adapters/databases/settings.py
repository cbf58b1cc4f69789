"""What PostgreSQL leaves out when it copies a database: its settings, grants and connection limit (case DB-10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import psycopg

from interlock.adapters.databases.server import Connection, rows, run
from interlock.core.problems import refused

# Their values are lists, which PostgreSQL keeps in a form that cannot be quoted as one text.
_LISTS: Final = frozenset(
    {
        "local_preload_libraries",
        "search_path",
        "session_preload_libraries",
        "shared_preload_libraries",
        "temp_tablespaces",
        "unix_socket_directories",
    }
)
_SETTINGS: Final = """
select coalesce(r.rolname, ''), unnest(s.setconfig) from pg_db_role_setting s
join pg_database d on d.oid = s.setdatabase left join pg_roles r on r.oid = s.setrole where d.datname = %s
"""
_GRANTS: Final = """
select g.rolname, a.privilege_type, a.is_grantable from pg_database d, aclexplode(d.datacl) a
join pg_roles g on g.oid = a.grantee where d.datname = %s and a.grantee <> d.datdba
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """(role or "", name, value) of each setting; (role, privilege, may pass on) of each grant to a named role."""

    options: frozenset[tuple[str, str, str]]
    grants: frozenset[tuple[str, str, bool]]
    limit: int


def read(connection: Connection, database: str, *, rename: tuple[str, str] | None = None, ours: str = "") -> Settings:
    """The settings of a database; role ``rename[0]`` is read as ``rename[1]``, grants to roles ``ours…`` are left out."""
    old, new = rename or ("", "")
    options = set()
    for role, text in rows(connection, _SETTINGS, database):
        name, _, value = text.partition("=")
        options.add((new if role and role == old else role, name, value))
    grants = {
        (role, privilege, passing)
        for role, privilege, passing in rows(connection, _GRANTS, database)
        if not (ours and role.startswith(ours))
    }
    (limit,) = rows(connection, "select datconnlimit from pg_database where datname = %s", database)[0]
    return Settings(options=frozenset(options), grants=frozenset(grants), limit=limit)


def apply(connection: Connection, wanted: Settings, database: str, *, ours: str = "") -> None:
    """Give a copy the settings of what it was copied from.  Raises Refused (database) with what cannot be had."""
    lacking = []
    for role, name, value in sorted(wanted.options):
        try:
            _set(connection, database, role, name, value)
        except psycopg.Error as fault:
            lacking.append(f"{name} = {value} ({str(fault).splitlines()[0]})")
    for role, privilege, passing in sorted(wanted.grants):
        tail = " WITH GRANT OPTION" if passing else ""
        try:
            run(connection, f"GRANT {_privilege(privilege)} ON DATABASE {{}} TO {{}}{tail}", database, role)
        except psycopg.Error as fault:
            lacking.append(f"{privilege} to {role} ({str(fault).splitlines()[0]})")
    if wanted.limit >= 0:
        run(connection, "ALTER DATABASE {} CONNECTION LIMIT {limit}", database, limit=wanted.limit)
    lacking = lacking or difference(wanted, read(connection, database, ours=ours))
    if lacking:
        raise refused(
            rule="database",
            what=f"A copy lacks what its baseline has: {'; '.join(lacking)}.",
            why="Tests that pass or fail on a copy with other settings or grants prove nothing.",
            would_change="Let the administrator's role set these, or take them from the baseline.",
            holders=tuple(lacking),
        )


def difference(wanted: Settings, found: Settings) -> list[str]:
    """What a copy lacks, in words; nothing when it has all."""
    options = [f"{name} = {value}" for _, name, value in sorted(wanted.options - found.options)]
    return options + [f"{privilege} to {role}" for role, privilege, _ in sorted(wanted.grants - found.grants)]


def _set(connection: Connection, database: str, role: str, name: str, value: str) -> None:
    subject = "ALTER ROLE {} IN DATABASE {} " if role else "ALTER DATABASE {} "
    who = (role, database) if role else (database,)
    parts = name.split(".")
    named = ".".join("{}" for _ in parts)
    if name not in _LISTS:
        run(connection, f"{subject}SET {named} TO {{value}}", *who, *parts, value=value)
        return
    with connection.transaction():
        rows(connection, "select pg_catalog.set_config(%s, %s, true)", name, value)
        run(connection, f"{subject}SET {named} FROM CURRENT", *who, *parts)


def _privilege(name: str) -> str:
    """One of PostgreSQL's own words: it stands in a statement as it is.  Raises ValueError for any other."""
    if name not in {"CONNECT", "CREATE", "TEMPORARY"}:
        raise ValueError(name)
    return name
