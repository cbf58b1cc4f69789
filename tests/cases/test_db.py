"""Cases DB-01, DB-03, DB-06 and DB-10 on a real PostgreSQL server; DB-05 has a module of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.integration.databases.fixtures import ROWS, Team, server, start, team, words

from interlock.adapters.databases.postgres_server import PostgresServers
from interlock.adapters.databases.sqlite import SqliteDatabases
from interlock.core.contract.around import Database
from interlock.core.problems import InterlockError, Refused
from interlock.ports.isolation import Baseline

__all__ = ["server", "team"]
pytestmark = pytest.mark.postgres


@pytest.fixture
def dev(team: Team) -> Iterator[str]:
    """A database that people work in, on the same server."""
    with team.admin() as one:
        one.execute("create database app_dev")
    with team.admin("app_dev") as one:
        one.execute("create table words (id integer primary key, word text)")
        one.execute("insert into words values (1, 'one'), (2, 'two')")
    yield "app_dev"
    team.clean()
    with team.admin() as one:
        one.execute("drop database app_dev with (force)")


# ---------------------------------------------------------------- DB-01
@pytest.mark.long
def test_db_01_a_baseline_in_use_is_refused_naming_the_sessions_which_live_on(team: Team, dev: str) -> None:
    before = team.names()
    with psycopg.connect(team.server.url(dev), application_name="a person's psql") as person:
        for task in ("one", "two"):
            began = time.monotonic()
            with pytest.raises(Refused, match="app_dev is in use by") as caught:
                team.branch(task, baseline=dev)
            assert time.monotonic() - began < 30
            refusal = caught.value.refusal
            assert refusal.rule == "database"
            told = [holder for holder in refusal.holders if f"session {person.info.backend_pid} " in holder]
            assert len(told) == 1
            assert "a person's psql" in told[0]
            assert told[0] in refusal.would_change
        assert person.execute("select 1").fetchone() == (1,), "nobody's session is ended"
        assert team.names() == before, "nothing half-made is left"
    assert words(team.branch("one", baseline=dev)) == ROWS


def test_db_01_once_prepared_sessions_in_the_baseline_are_in_nobodys_way(team: Team, dev: str) -> None:
    team.branch("one", baseline=dev)
    with psycopg.connect(team.server.url(dev)) as person:
        person.execute("select 1")
        assert words(team.branch("two", baseline=dev)) == ROWS


def test_db_01_a_baseline_that_is_not_there_is_refused(team: Team) -> None:
    with pytest.raises(Refused, match="app_gone is not on the server"):
        team.branch("one", baseline="app_gone")
    assert team.ours() == []


# ---------------------------------------------------------------- DB-03
def test_db_03_a_live_connection_does_not_keep_a_task_s_database(team: Team) -> None:
    branch, other = team.branch("mine"), team.branch("other")
    with psycopg.connect(branch.url) as live, psycopg.connect(other.url) as bystander:
        live.execute("insert into words values (3, 'not committed')")
        assert team.release("mine") is not None
        with pytest.raises(psycopg.OperationalError):
            live.execute("select 1")
        assert bystander.execute("select 1").fetchone() == (1,), "only sessions of this database are ended"
    assert team.databases.owned(team.baseline()) == ("other",)


def test_db_03_a_database_without_our_mark_is_not_dropped_though_it_has_the_name(team: Team) -> None:
    branch = team.branch("mine")
    team.release("mine", on_clean="drop")
    with team.admin() as one:
        one.execute(f'create database "{branch.name}"')
        with psycopg.connect(team.server.url(branch.name)) as person:
            assert team.release("mine", on_clean="drop") is None
            assert person.execute("select 1").fetchone() == (1,)
        with pytest.raises(Refused, match="not carry our mark"):
            team.branch("mine")
        assert team.databases.owned(team.baseline()) == ()
        one.execute(f'drop database "{branch.name}"')


@pytest.mark.long
def test_db_03_with_the_server_down_it_is_tried_again_later_and_then_goes(tmp_path: Path) -> None:
    with start(durable=True) as server:
        team = Team(server, tmp_path)
        branch = team.branch("mine")
        server.halt()
        for call in (team.release, team.branch):
            with pytest.raises(InterlockError, match="cannot be reached") as caught:
                call("mine")
            assert not isinstance(caught.value, Refused)
        assert not list((tmp_path / "mine").glob("*.gz"))
        server.go_on()
        assert words(branch) == ROWS
        assert team.databases.owned(team.baseline()) == ("mine",)
        assert team.release("mine") is not None
        assert team.databases.owned(team.baseline()) == ()


# ---------------------------------------------------------------- DB-06
def test_db_06_what_is_ours_is_found_by_listing_and_nothing_foreign_is_touched(team: Team, tmp_path: Path) -> None:
    colleague = Team(team.server, tmp_path / "colleague")
    try:
        foreign = colleague.branch("task", pool=1)
        colleague.databases.settle()
        theirs = colleague.ours()
        for task in ("one", "two", "three"):
            team.branch(task)
        team.branch("one", name="billing")
        assert team.databases.owned(team.baseline()) == ("one", "three", "two")
        assert team.databases.owned(team.baseline(name="billing")) == ("one",)
        for task in team.databases.owned(team.baseline()):
            team.release(task, on_clean="drop")
        assert team.databases.owned(team.baseline()) == ()
        assert team.databases.owned(team.baseline(name="billing")) == ("one",)
        assert colleague.ours() == theirs
        assert words(foreign) == ROWS
    finally:
        colleague.clean()


def test_db_06_a_task_that_is_opened_again_gets_a_new_database_and_its_old_data_stays(team: Team) -> None:
    first = team.branch("mine")
    with psycopg.connect(first.url, autocommit=True) as one:
        one.execute("insert into words values (3, 'old')")
    kept = team.release("mine")
    assert kept is not None
    again = team.branch("mine")
    assert words(again) == ROWS
    assert again.url != first.url, "another role with another password"
    assert Path(kept).exists()


# ---------------------------------------------------------------- DB-10
@pytest.fixture
def app_user(team: Team, dev: str) -> Iterator[str]:
    settings = (
        "create role app_user login password 'app'",
        f"grant connect on database {dev} to app_user",
        f'alter database {dev} set search_path = shop, "$user", public',
        f"alter database {dev} set timezone = 'Europe/Athens'",
        f"alter database {dev} set app.tenant = 'it''s; mine'",
        f"alter role app_user in database {dev} set statement_timeout = '7s'",
        f"alter database {dev} connection limit 33",
    )
    with team.admin() as one:
        for each in settings:
            one.execute(each)
    with team.admin(dev) as one:
        one.execute("create schema shop")
        one.execute("grant usage on schema shop to app_user")
        one.execute("create table shop.prices (n integer)")
        one.execute("insert into shop.prices values (7)")
        one.execute("grant select on shop.prices to app_user")
    yield "app_user"
    team.clean()
    with team.admin(dev) as one:
        one.execute("drop owned by app_user")
        one.execute("drop role app_user")


def test_db_10_settings_and_grants_of_the_baseline_hold_in_a_branch(team: Team, dev: str, app_user: str) -> None:
    branch = team.branch("mine", baseline=dev, pool=1)
    with psycopg.connect(branch.url) as one:
        assert one.execute("show search_path").fetchone() == ('shop, "$user", public',)
        assert one.execute("show timezone").fetchone() == ("Europe/Athens",)
        assert one.execute("show app.tenant").fetchone() == ("it's; mine",)
        assert one.execute("select n from prices").fetchall() == [(7,)]
    url = team.server.url(branch.name).replace("interlock:admins-own-word", "app_user:app")
    with psycopg.connect(url) as one:
        assert one.execute("select n from prices").fetchall() == [(7,)], "by the search path, through its grants"
        assert one.execute("show statement_timeout").fetchone() == ("7s",)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            one.execute("delete from prices")
    with team.admin() as one:
        limit = one.execute("select datconnlimit from pg_database where datname = %s", (branch.name,)).fetchone()
        assert limit == (33,)


def test_db_10_what_a_migration_sets_on_its_database_holds_in_a_branch(team: Team) -> None:
    def prepare(branch: object) -> None:
        team.prepare(branch)  # type: ignore[arg-type]
        with psycopg.connect(branch.url, autocommit=True) as one:  # type: ignore[attr-defined]
            one.execute(f'alter database "{branch.name}" set search_path = tenant, public')  # type: ignore[attr-defined]
            one.execute(f"alter role current_user in database \"{branch.name}\" set work_mem = '9MB'")  # type: ignore[attr-defined]

    with psycopg.connect(team.branch("mine", prepare=prepare).url) as one:
        assert one.execute("show search_path").fetchone() == ("tenant, public",)
        assert one.execute("show work_mem").fetchone() == ("9MB",)


def test_db_10_a_setting_that_cannot_be_had_is_refused_by_name(team: Team, dev: str, app_user: str) -> None:
    with team.admin() as one:
        one.execute(f"alter database {dev} set log_min_duration_statement = 5")
        one.execute(f"alter database {dev} owner to current_user")
        one.execute("create role keeper login createdb createrole password 'keeps'")
        one.execute(f"update pg_database set datistemplate = true where datname = '{dev}'")
    url = team.server.url("postgres").replace("interlock:admins-own-word", "keeper:keeps")
    team.databases._environment = {"ADMIN_URL": url}
    try:
        with pytest.raises(Refused, match="log_min_duration_statement") as caught:
            team.branch("mine", baseline=dev)
        assert any("log_min_duration_statement = 5" in each for each in caught.value.refusal.holders)
        assert [name for name in team.ours() if name[13:14] != "r"] == []
    finally:
        with team.admin() as one:
            one.execute(f"update pg_database set datistemplate = false where datname = '{dev}'")
        team.clean()
        with team.admin() as one:
            one.execute("drop owned by keeper")
            one.execute("drop role keeper")


# ---------------------------------------------------------------- DB-05
def test_db_05_what_is_kept_of_a_task_has_its_write_ahead_log(tmp_path: Path) -> None:
    import sqlite3
    import tarfile
    from contextlib import closing

    dev = tmp_path / "dev.sqlite3"
    with closing(sqlite3.connect(dev)) as one:
        one.execute("create table words (n)")
        one.commit()
    database = Database(name="app", use="sqlite", baseline=str(dev))
    baseline = Baseline(database=database, digest="", prepare=lambda branch: None, folder=tmp_path / "baselines")
    branch = SqliteDatabases().branch(baseline, "mine", tmp_path / "job")
    assert branch.file is not None
    with closing(sqlite3.connect(branch.file)) as writer:
        writer.execute("pragma journal_mode=wal")
        writer.execute("pragma wal_autocheckpoint=0")
        writer.executemany("insert into words values (?)", [(n,) for n in range(51)])
        writer.commit()
        kept = SqliteDatabases().release(baseline, "mine", tmp_path / "job")
    assert kept is not None
    with tarfile.open(kept) as tar:
        assert tar.getnames() == [branch.name, f"{branch.name}-wal"]
        for name in tar.getnames():
            member = tar.extractfile(name)
            assert member is not None
            (tmp_path / name).write_bytes(member.read())
    with closing(sqlite3.connect(tmp_path / branch.name)) as one:
        assert one.execute("select count(*) from words").fetchone() == (51,)


def test_db_03_nothing_of_a_server_of_root_s_is_left(tmp_path: Path) -> None:
    database = Database(name="app", use="postgres-server")
    baseline = Baseline(database=database, digest="", prepare=lambda branch: None, folder=tmp_path / "baselines")
    servers = PostgresServers(60_999 if os.geteuid() == 0 else None)
    assert servers.owned(baseline) == ()
    assert servers.release(baseline, "never there", tmp_path / "job") is None
    assert not (tmp_path / "job").exists()
