"""Branches on the team's PostgreSQL server (ports.Databases): a database and a role for each task, from a pool of ready ones."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import psycopg

from interlock.adapters.databases import archive, keeping, members, templates
from interlock.adapters.databases.server import (
    Connection,
    Server,
    address,
    drop,
    end_sessions,
    locked,
    rows,
    run,
    told,
    try_lock,
    unlock,
)
from interlock.core.contract import database_names as names
from interlock.core.contract.around import Database
from interlock.core.contract.database_names import Mark
from interlock.core.problems import InterlockError, refused
from interlock.host import locks
from interlock.ports.isolation import Baseline, Branch

_TRIES: Final = 20
_LOCK_SECONDS: Final = 1_800.0
_COPY_SECONDS: Final = 60.0
_OWNED: Final = """
select d.datname, substring(shobj_description(r.oid, 'pg_authid') from '^[ -~]*$')
from pg_database d join pg_roles r on r.oid = d.datdba where starts_with(d.datname, %s)
"""
_OPEN: Final = """
select datname from pg_database d where datallowconn and (datacl is null or exists
(select 1 from aclexplode(d.datacl) a where a.grantee = 0 and a.privilege_type = 'CONNECT')) order by datname
"""


class PostgresDatabases:
    """Takes the environment that holds the administrator's URL: the harness's own, which no task sees."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._refills: list[threading.Thread] = []

    def branch(self, baseline: Baseline, task: str, folder: Path) -> Branch:
        """The task's own database and role, from the pool when one is ready; the pool is filled up afterwards.

        Raises Refused (database), InterlockError when the server cannot be reached.
        """
        database = baseline.database
        server = self._server(database)
        with told(f"Making the database {database.name}"), _turn(folder, database), server.connect() as admin:
            owner = keeping.owner(baseline.folder)
            mark = replace(templates.mark_of(admin, owner, baseline), task=task)
            name = names.branch_name(owner, database.name, task)
            seen, ready = members.look(admin, mark, name)
            role = _ours(seen, name, owner)
            if role is None:
                role = self._claim(server, admin, mark, baseline, name, ready)
                self._fill_later(server, mark, baseline)
            else:  # its task can change its password, and a release may not have come to its end
                members.set_password(admin, role, keeping.secret(baseline.folder), login=True)
            password = members.password_of(keeping.secret(baseline.folder), role)
            return Branch(name=name, url=server.url_of(admin, name, role, password), address=address(admin))

    def release(self, baseline: Baseline, task: str, folder: Path) -> str | None:
        """Archive and drop the task's database with its role, ending its sessions; another's is not touched.

        Gives the archive's path.  Raises Refused (database) when it cannot be archived: it is then kept.
        """
        database = baseline.database
        server = self._server(database)
        with told(f"Releasing the database {database.name}"), _turn(folder, database), server.connect() as admin:
            owner = keeping.owner(baseline.folder)
            name = names.branch_name(owner, database.name, task)
            seen, _ = members.look(admin, Mark(owner=owner, database=database.name), name)
            role = _ours(seen, name, owner, strict=False)
            if role is not None:
                run(admin, "ALTER ROLE {} NOLOGIN", role)
                end_sessions(admin, name)
                run(
                    admin, "ALTER DATABASE {} ALLOW_CONNECTIONS true CONNECTION LIMIT -1", name
                )  # its task can close it
                if database.on_clean == "archive":
                    target = keeping.new_archive(folder, database.name, archive.SUFFIX)
                    archive.dump(target, server.environment(admin, name), admin.info.server_version // 10_000)
                drop(admin, name)
                members.drop_role(admin, role, server)
            members.sweep(admin, owner)
        return keeping.newest_archive(folder, database.name, archive.SUFFIX)

    def owned(self, baseline: Baseline) -> tuple[str, ...]:
        """Tasks that have a branch of this database, by what the server lists as ours."""
        with told("Listing the databases of tasks"), self._server(baseline.database).connect() as admin:
            owner = keeping.owner(baseline.folder)
            found = rows(admin, _OWNED, names.prefix(owner, "branch"))
        marks = [mark for _, text in found if (mark := names.read_mark(text)) and mark.owner == owner]
        return tuple(sorted(mark.task for mark in marks if mark.database == baseline.database.name))

    def exposed(self, database: Database) -> tuple[str, ...]:
        """Databases of the server that any role may connect to, a task's too: CONNECT was not revoked from PUBLIC."""
        with told("Looking at the server's databases"), self._server(database).connect() as admin:
            return tuple(str(name) for (name,) in rows(admin, _OPEN))

    def fill(self, baseline: Baseline) -> None:
        """Make as many ready branches as the policy wants, with the template if need be."""
        server = self._server(baseline.database)
        with told("Filling the pool"), server.connect() as admin:
            mark = templates.mark_of(admin, keeping.owner(baseline.folder), baseline)
            _fill(server, admin, mark, baseline)

    def settle(self) -> None:
        """Wait for pools that are being filled."""
        while self._refills:
            self._refills.pop().join()

    # ---------------------------------------------------------------- parts
    def _server(self, database: Database) -> Server:
        variable = database.server or ""
        url = self._environment.get(variable)
        if not url:
            raise refused(
                rule="database",
                what=f"The variable {variable} is not set, so the server of {database.name} is not known.",
                why="It holds the administrator's URL, and stands in the environment that interlock runs in.",
                would_change=f"Set {variable}=postgresql://USER:PASSWORD@HOST:PORT/postgres where interlock runs.",
            )
        return Server(url)

    def _claim(
        self, server: Server, admin: Connection, mark: Mark, baseline: Baseline, name: str, ready: list[members.Member]
    ) -> str:
        for _ in range(_TRIES):
            role = members.claim(admin, mark, name, ready)
            if role is not None:
                return role
            _add(server, admin, replace(mark, task=""), baseline)
            _, ready = members.look(admin, mark, name)
        raise InterlockError(
            f"No branch of {baseline.database.name} was left in {_TRIES} tries.",
            hint="Others take them as they are made; the same is tried again.",
        )

    def _fill_later(self, server: Server, mark: Mark, baseline: Baseline) -> None:
        """Fill the pool beside the caller; what fails there is made when it is needed."""
        if baseline.database.pool == 0:
            return

        def fill() -> None:
            with suppress(psycopg.Error, InterlockError), server.connect() as admin:
                _fill(server, admin, replace(mark, task=""), baseline)

        self._refills = [thread for thread in self._refills if thread.is_alive()]
        thread = threading.Thread(target=fill, name=f"fill {mark.database}")
        self._refills.append(thread)
        thread.start()


def _turn(folder: Path, database: Database) -> AbstractContextManager[object]:
    """One process at a time works on a task's database."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f".{database.name}.database.lock"
    return locks.held(path, wait=_LOCK_SECONDS, refuse=lambda fault: InterlockError(str(fault), hint="Wait for it."))


def _ours(seen: members.Seen | None, name: str, owner: str, *, strict: bool = True) -> str | None:
    """The role of the task's database, None when it is not there; a foreign one of that name is refused, or not seen."""
    if seen is None:
        return None
    # The comment on the role cannot be changed by the role itself; a database's owner can rewrite the database's.
    if any(mark and mark.owner == owner for mark in (names.read_mark(text) for text in seen.comments)):
        return seen.role
    if not strict:
        return None
    raise refused(
        rule="database",
        what=f"A database {name} is there that does not carry our mark.",
        why="What is not ours is neither used nor dropped.",
        would_change="See whose it is, and rename or drop it.",
        holders=(name,),
    )


def _add(server: Server, admin: Connection, mark: Mark, baseline: Baseline) -> None:
    """One more ready branch; the template cannot be evicted meanwhile."""
    name = templates.ensure(server, admin, mark, baseline)
    with locked(admin, name, wait=_COPY_SECONDS, shared=True):
        if rows(admin, "select 1 from pg_database where datname = %s", name):
            members.branch_of(server, admin, name, mark, keeping.secret(baseline.folder))
            templates.touch(admin, name)


def _fill(server: Server, admin: Connection, mark: Mark, baseline: Baseline) -> None:
    """One process at a time fills a pool."""
    turn = f"fill {names.pool_prefix(mark.owner, mark.database, mark.key)}"
    if not try_lock(admin, turn):
        return
    try:
        members.sweep(admin, mark.owner)
        while members.ready_count(admin, mark) < baseline.database.pool:
            _add(server, admin, mark, baseline)
    finally:
        unlock(admin, turn)
