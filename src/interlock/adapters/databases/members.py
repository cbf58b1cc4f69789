"""Databases and roles that we make on a PostgreSQL server, each half-made one under a lock that its maker's death lets go."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Final

import psycopg

from interlock.adapters.databases import keeping, settings
from interlock.adapters.databases.ownership import reassign
from interlock.adapters.databases.server import (
    Connection,
    Server,
    busy,
    drop,
    filled,
    locked,
    rows,
    run,
    run_all,
    try_lock,
    unlock,
)
from interlock.core.contract import database_names as names
from interlock.core.contract.database_names import Mark
from interlock.core.problems import InterlockError

_ID: Final = 12
_CLONE: Final = 180_000  # the first version that can let copies share their bytes
_SUPER: Final = "select rolsuper from pg_roles where rolname = current_user"
# Marks are plain ASCII; another comment may hold bytes that are no text, which the server would refuse to send.
_ROLES: Final = """
select r.rolname, substring(shobj_description(r.oid, 'pg_authid') from '^[ -~]*$'),
  exists (select 1 from pg_database d where d.datdba = r.oid)
from pg_roles r where starts_with(r.rolname, %s)
"""
_LOOK: Final = """
select d.datname, r.rolname, substring(shobj_description(r.oid, 'pg_authid') from '^[ -~]*$'),
  substring(shobj_description(d.oid, 'pg_database') from '^[ -~]*$')
from pg_database d join pg_roles r on r.oid = d.datdba where d.datname = %s or starts_with(d.datname, %s)
order by random()
"""
_LEFT: Final = """
select distinct d.datname from pg_shdepend s join pg_database d on d.oid = s.dbid join pg_roles r on r.oid = s.refobjid
where s.refclassid = 'pg_authid'::regclass and r.rolname = %s and d.datallowconn
"""
_DEFAULT_COPY: Final[set[tuple[str, int]]] = set()  # servers of this process that cannot clone


@dataclass(frozen=True, slots=True)
class Member:
    """One database of ours that is being made, and the plain role that owns it."""

    database: str
    role: str


@contextmanager
def making(admin: Connection, mark: Mark) -> Iterator[Member]:
    """A fresh role, and the name of the database that it will own; both go again when the block fails."""
    number = keeping.new_id(_ID)
    made = Member(names.prefix(mark.owner, "making") + number, names.prefix(mark.owner, "role") + number)
    with locked(admin, number, wait=0):
        try:
            _create_role(admin, made.role, mark)
            yield made
        except BaseException:
            with suppress(psycopg.Error, InterlockError):
                drop(admin, made.database)
                drop_role(admin, made.role)
            raise


def copy(admin: Connection, member: Member, source: str | None, doing: str) -> None:
    """Make the member's database as a copy of another, or empty; nobody may connect before that is said.

    Raises Refused (database) naming the sessions that are in the way.
    """
    statement = "CREATE DATABASE {} OWNER {} ALLOW_CONNECTIONS false TEMPLATE {}"
    given = (member.database, member.role, source or "template1")
    try:
        if not (source and _clone(admin, statement, given)):
            run(admin, statement, *given)
    except psycopg.errors.ObjectInUse as fault:
        raise busy(admin, given[2], doing) from fault
    run(admin, "REVOKE ALL ON DATABASE {} FROM PUBLIC", member.database)
    run(admin, "ALTER DATABASE {} ALLOW_CONNECTIONS true", member.database)


def branch_of(server: Server, admin: Connection, template: str, mark: Mark, secret: str) -> str:
    """Make one more ready branch of a template; gives its name.  Its role has its password and cannot log in yet."""
    found = names.read_mark(comment_of(admin, template))
    owner = found.role if found else ""
    ours = f"ilk_{mark.owner}_"
    with making(admin, mark) as member:
        copy(admin, member, template, "Making a branch")
        with server.connect(member.database) as inside:
            reassign(inside, owner, member.role)
        set_password(admin, member.role, secret)
        wanted = settings.read(admin, template, rename=(owner, member.role), ours=ours)
        settings.apply(admin, wanted, member.database, ours=ours)
        ready = names.pool_prefix(mark.owner, mark.database, mark.key) + member.role.rpartition("_")[2]
        with admin.transaction():
            run(admin, "ALTER DATABASE {} RENAME TO {}", member.database, ready)
            run(admin, "COMMENT ON DATABASE {} IS {text}", ready, text=names.comment(mark))
    return ready


@dataclass(frozen=True, slots=True)
class Seen:
    """What stands under a name: the role that owns it, and the comments on role and database."""

    role: str
    comments: tuple[str | None, str | None]


def look(admin: Connection, mark: Mark, name: str) -> tuple[Seen | None, list[Member]]:
    """What is there under a name, and the ready branches, in one round trip."""
    seen, ready = None, []
    for database, role, *comments in rows(admin, _LOOK, name, names.pool_prefix(mark.owner, mark.database, mark.key)):
        if database == name:
            seen = Seen(role, (comments[0], comments[1]))
        else:
            ready.append(Member(database, role))
    return seen, ready


def claim(admin: Connection, mark: Mark, name: str, ready: list[Member]) -> str | None:
    """Hand one of the ready branches out under its new name, in one transaction; gives its role, or None."""
    text = names.comment(mark)
    for member in ready:
        try:
            run_all(
                admin,
                filled("ALTER DATABASE {} RENAME TO {}", member.database, name),
                filled("ALTER ROLE {} LOGIN", member.role),
                filled("COMMENT ON ROLE {} IS {text}", member.role, text=text),
                filled("COMMENT ON DATABASE {} IS {text}", name, text=text),
            )
        except (psycopg.errors.InvalidCatalogName, psycopg.errors.ObjectInUse, psycopg.errors.UndefinedObject):
            continue  # another was quicker, or somebody looks at it
        return member.role
    return None


def password_of(secret: str, role: str) -> str:
    """The password of a role of ours: it follows from the repository's secret, and no other role has it."""
    return hmac.new(secret.encode(), role.encode(), hashlib.sha256).hexdigest()


def set_password(admin: Connection, role: str, secret: str, *, login: bool = False) -> None:
    """Give a role its password, of which the server sees only the verifier: so it is in none of its logs."""
    kept = admin.pgconn.encrypt_password(password_of(secret, role).encode(), role.encode(), b"scram-sha-256").decode()
    run(admin, f"ALTER ROLE {{}} {'LOGIN ' if login else ''}PASSWORD {{kept}}", role, kept=kept)


def ready_count(admin: Connection, mark: Mark) -> int:
    start = names.pool_prefix(mark.owner, mark.database, mark.key)
    return int(rows(admin, "select count(*) from pg_database where starts_with(datname, %s)", start)[0][0])


def sweep(admin: Connection, owner: str) -> None:
    """Take away what makers left behind that died half way: databases and roles whose lock nobody holds."""
    start = names.prefix(owner, "making")
    for (database,) in rows(admin, "select datname from pg_database where starts_with(datname, %s)", start):
        _if_free(admin, owner, database.removeprefix(start))
    for role, text, owns in rows(admin, _ROLES, names.prefix(owner, "role")):
        if not owns and not _of_template(admin, owner, role, names.read_mark(text)):
            _if_free(admin, owner, role.removeprefix(names.prefix(owner, "role")))


def _of_template(admin: Connection, owner: str, role: str, mark: Mark | None) -> bool:
    """Whether a role owns what is in a finished template; the template itself belongs to the administrator."""
    if mark is None:
        return False
    known = names.read_mark(comment_of(admin, names.template_name(owner, mark.database, mark.key)))
    return known is not None and known.role == role


def _if_free(admin: Connection, owner: str, number: str) -> None:
    if not try_lock(admin, number):
        return
    try:
        drop(admin, names.prefix(owner, "making") + number)
        role = names.prefix(owner, "role") + number
        if not rows(
            admin, "select 1 from pg_database d join pg_roles r on r.oid = d.datdba where r.rolname = %s", role
        ):
            with suppress(psycopg.errors.DependentObjectsStillExist):
                drop_role(admin, role)
    finally:
        unlock(admin, number)


def _create_role(admin: Connection, role: str, mark: Mark) -> None:
    with admin.transaction():
        run(
            admin,
            "CREATE ROLE {} NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS CONNECTION LIMIT 20",
            role,
        )
        text = names.comment(replace(mark, role=role))
        run(admin, "COMMENT ON ROLE {} IS {text}", role, text=text)
        if not rows(admin, _SUPER)[0][0]:
            run(admin, "GRANT {} TO CURRENT_USER", role)


def drop_role(admin: Connection, role: str, server: Server | None = None) -> None:
    """Drop a role of ours, first what it left in databases that it could connect to (a large object in ``postgres``)."""
    try:
        run(admin, "DROP ROLE IF EXISTS {}", role)
    except psycopg.errors.DependentObjectsStillExist:
        if server is None:
            raise
        for (database,) in rows(admin, _LEFT, role):
            with server.connect(database) as inside:
                run(inside, "DROP OWNED BY {}", role)
        run(admin, "DROP ROLE IF EXISTS {}", role)


def comment_of(admin: Connection, database: str) -> str | None:
    query = (
        "select substring(shobj_description(oid, 'pg_database') from '^[ -~]*$') from pg_database where datname = %s"
    )
    found = rows(admin, query, database)
    return found[0][0] if found else None


def _clone(admin: Connection, statement: str, given: tuple[str, ...]) -> bool:
    """Copy by sharing bytes, in constant time; False where the server or its file system cannot."""
    where = (admin.info.host, admin.info.port)
    if admin.info.server_version < _CLONE or where in _DEFAULT_COPY:
        return False
    try:
        run(admin, "SET file_copy_method = 'clone'")
        run(admin, f"{statement} STRATEGY file_copy", *given)
    except psycopg.errors.ObjectInUse:
        raise
    except psycopg.Error:
        _DEFAULT_COPY.add(where)
        return False
    return True
