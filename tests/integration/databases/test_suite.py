"""The conformance suite of databases, run on every kind that comes with Interlock."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.integration.databases.fixtures import ADMIN, Team, open_folder, shared

from interlock.adapters.databases import keeping
from interlock.adapters.databases.postgres import PostgresDatabases
from interlock.adapters.databases.postgres_server import PostgresServers
from interlock.adapters.databases.sqlite import SqliteDatabases
from interlock.core.contract import database_names
from interlock.core.contract.around import Database
from interlock.host import servers
from interlock.ports.isolation import Baseline, Branch
from interlock.testing.databases import DatabasesSuite

__all__ = ["open_folder"]
POSTGRES = PostgresDatabases(os.environ)


def over_psycopg(branch: Branch, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(branch.url, autocommit=True) as one:
        done = one.execute(statement)
        return done.fetchall() if done.description else []


class TestSqlite(DatabasesSuite):
    tasks_connect = False

    def kind(self) -> SqliteDatabases:
        return SqliteDatabases()

    def database(self, place: Path) -> Database:
        baseline = place / "dev.sqlite3"
        if not baseline.exists():  # several threads ask at once: it is whole, or not there
            made = place / f"dev-{threading.get_ident()}"
            with closing(sqlite3.connect(made)) as one:
                one.execute("create table from_dev (n integer)")
                one.commit()
            with suppress(FileExistsError):
                baseline.hardlink_to(made)
            made.unlink()
        return Database(name="app", use="sqlite", baseline=str(baseline))

    def execute(self, branch: Branch, statement: str) -> list[tuple[Any, ...]]:
        assert branch.file is not None
        assert branch.file.exists()
        with closing(sqlite3.connect(branch.file)) as one:
            found = one.execute(statement).fetchall()
            one.commit()
        return found

    @pytest.mark.long
    def test_killed_at_any_moment_the_next_call_heals(self, place: Path) -> None:
        super().test_killed_at_any_moment_the_next_call_heals(place)


@pytest.mark.postgres
class TestPostgres(DatabasesSuite):
    @pytest.fixture(autouse=True)
    def _server(self, request: pytest.FixtureRequest) -> None:
        shared(request.config)

    def kind(self) -> PostgresDatabases:
        return POSTGRES

    def database(self, place: Path) -> Database:
        return Database(name="app", use="postgres", server=ADMIN)

    def execute(self, branch: Branch, statement: str) -> list[tuple[Any, ...]]:
        return over_psycopg(branch, statement)

    @pytest.mark.long
    def test_killed_at_any_moment_the_next_call_heals(self, place: Path) -> None:
        super().test_killed_at_any_moment_the_next_call_heals(place)

    def make_foreign(self, baseline: Baseline, task: str) -> Callable[[], bool]:
        name = database_names.branch_name(keeping.owner(baseline.folder), baseline.database.name, task)

        def look() -> bool:
            with psycopg.connect(os.environ[ADMIN], autocommit=True) as admin:
                return bool(admin.execute("select 1 from pg_database where datname = %s", (name,)).fetchall())

        with psycopg.connect(os.environ[ADMIN], autocommit=True) as admin:
            admin.execute(f'create database "{name}"')
        return look

    def clean(self, baseline: Baseline) -> None:
        POSTGRES.settle()
        server = shared(None)  # type: ignore[arg-type]
        Team(server, baseline.folder.parent).clean()


@pytest.mark.long
@pytest.mark.postgres
class TestPostgresServer(DatabasesSuite):
    @pytest.fixture
    def place(self, open_folder: Path) -> Iterator[Path]:
        (open_folder / "jobs").mkdir()
        yield open_folder
        self.tidy(open_folder)

    def kind(self) -> PostgresServers:
        return PostgresServers(60_999)

    def database(self, place: Path) -> Database:
        return Database(name="app", use="postgres-server")

    def execute(self, branch: Branch, statement: str) -> list[tuple[Any, ...]]:
        return over_psycopg(branch, statement)

    def trespasser(self, mine: Branch, other: Branch) -> Branch:
        """My password at the other's server."""
        assert mine.address is not None
        assert other.address is not None
        here, there = (each.address.removeprefix("unix:").rpartition("/")[0] for each in (mine, other) if each.address)
        url = mine.url.replace(mine.name, other.name).replace(here, there)
        return Branch(name=other.name, url=url, address=other.address)

    def clean(self, baseline: Baseline) -> None:
        for path in baseline.folder.glob("*/*/running.json"):
            with suppress(servers.CannotServe):
                servers.stop(servers.Cluster(folder=path.parent, user=60_999))
