"""Prepared template databases on a PostgreSQL server, one per digest and built once; handing out copies is members' work."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import Final

import psycopg

from interlock.adapters.databases import keeping, settings
from interlock.adapters.databases.members import (
    Member,
    comment_of,
    copy,
    drop_role,
    making,
    password_of,
    set_password,
    sweep,
)
from interlock.adapters.databases.ownership import take_all
from interlock.adapters.databases.server import (
    Connection,
    Server,
    address,
    drop,
    end_sessions,
    exists,
    locked,
    patient,
    rows,
    run,
    try_lock,
    unlock,
)
from interlock.core.contract import database_names as names
from interlock.core.contract.database_names import Mark
from interlock.core.problems import Refused, refused
from interlock.ports.isolation import Baseline, Branch

KEPT: Final = 3
"""Templates of one database that are kept: the ones used last."""

_WAIT_SECONDS: Final = 1_800.0  # a preparation of somebody else's migrations may take long


def mark_of(admin: Connection, owner: str, baseline: Baseline) -> Mark:
    """What marks everything that is made of this baseline on this server; its key says which template."""
    database = baseline.database
    source = database.baseline or ""
    found = rows(admin, "select oid from pg_database where datname = %s", source) if source else []
    key = names.hashed(
        "postgres",
        baseline.digest,
        database.migrate or "",
        database.seed or "",
        source,
        str(found[0][0] if found else 0),
        str(admin.info.server_version // 10_000),
    )
    return Mark(owner=owner, database=database.name, key=key)


def ensure(server: Server, admin: Connection, mark: Mark, baseline: Baseline) -> str:
    """The template's name, made when it is not there.  Raises Refused (database), or what ``prepare`` raises."""
    name = names.template_name(mark.owner, mark.database, mark.key)
    if exists(admin, name):
        return name
    with locked(admin, name, wait=_WAIT_SECONDS):
        if not exists(admin, name):
            sweep(admin, mark.owner)
            _make(server, admin, mark, baseline, name)
            evict(admin, mark)
    return name


def _make(server: Server, admin: Connection, mark: Mark, baseline: Baseline, name: str) -> None:
    source = baseline.database.baseline
    if source and not exists(admin, source):
        raise _no_baseline(source)
    ours = f"ilk_{mark.owner}_"
    with making(admin, mark) as member:
        copy(admin, member, source, f"Copying the baseline {source}")
        if source:
            settings.apply(admin, settings.read(admin, source, ours=ours), member.database, ours=ours)
            with server.connect(member.database) as inside:
                take_all(inside, member.role)
        _prepare(server, admin, member, baseline)
        _finish(admin, member, replace(mark, role=member.role, used=time.time_ns() // 1_000_000), name)


def _prepare(server: Server, admin: Connection, member: Member, baseline: Baseline) -> None:
    """Migrate and seed as the plain role, which can log in for just that long."""
    patient(admin)
    secret = keeping.new_id(32)
    set_password(admin, member.role, secret, login=True)
    url = server.url_of(admin, member.database, member.role, password_of(secret, member.role))
    baseline.prepare(Branch(name=member.database, url=url, address=address(admin)))
    run(admin, "ALTER ROLE {} NOLOGIN PASSWORD NULL", member.role)
    end_sessions(admin, member.database)


def _finish(admin: Connection, member: Member, mark: Mark, name: str) -> None:
    """Close the database, take it from the plain role, and give it its name: in one transaction it becomes a template."""
    run(admin, "ALTER DATABASE {} ALLOW_CONNECTIONS false", member.database)
    end_sessions(admin, member.database)
    with admin.transaction():
        run(admin, "ALTER DATABASE {} OWNER TO CURRENT_USER", member.database)
        run(admin, "REVOKE ALL ON DATABASE {} FROM PUBLIC", member.database)
        run(admin, "ALTER DATABASE {} IS_TEMPLATE true", member.database)
        run(admin, "ALTER DATABASE {} RENAME TO {}", member.database, name)
        run(admin, "COMMENT ON DATABASE {} IS {text}", name, text=names.comment(mark))


def touch(admin: Connection, name: str) -> None:
    """Note that a template was used now; two at once are one."""
    known = names.read_mark(comment_of(admin, name))
    if known:
        with suppress(psycopg.Error):
            run(
                admin,
                "COMMENT ON DATABASE {} IS {text}",
                name,
                text=names.comment(replace(known, used=time.time_ns() // 1_000_000)),
            )


def evict(admin: Connection, mark: Mark) -> None:
    """Drop templates of this database beyond those that were used last, with their ready branches; one in use stays."""
    found = rows(
        admin,
        "select datname, substring(shobj_description(oid, 'pg_database') from '^[ -~]*$') from pg_database"
        " where starts_with(datname, %s)",
        names.prefix(mark.owner, "template"),
    )
    known = [(read, name) for name, text in found if (read := names.read_mark(text)) and read.database == mark.database]
    for old, name in sorted(known, key=lambda pair: -pair[0].used)[KEPT:]:
        if old.key == mark.key or not try_lock(admin, name):
            continue
        try:
            drop(admin, name)
            _drop_ready(admin, old)
            drop_role(admin, old.role)
        finally:
            unlock(admin, name)


def _drop_ready(admin: Connection, mark: Mark) -> None:
    ready = rows(
        admin,
        "select d.datname, r.rolname from pg_database d join pg_roles r on r.oid = d.datdba where starts_with(d.datname, %s)",
        names.pool_prefix(mark.owner, mark.database, mark.key),
    )
    for database, role in ready:
        drop(admin, database)
        if not rows(
            admin, "select 1 from pg_database d join pg_roles r on r.oid = d.datdba where r.rolname = %s", role
        ):
            drop_role(admin, role)


def _no_baseline(source: str) -> Refused:
    return refused(
        rule="database",
        what=f"The baseline {source} is not on the server.",
        why="Branches of tasks are copies of it.",
        would_change="Make it, correct baseline under databases in interlock.yaml, or leave it out for an empty one.",
    )
