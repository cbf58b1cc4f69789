"""Branches on a real PostgreSQL server: what a task's role cannot do, what survives a crash, what is made once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from tests.integration.databases.fixtures import ROWS, Team, server, team, words

from interlock.adapters.databases import archive, members, templates
from interlock.adapters.databases.server import Server, drop
from interlock.core.contract.database_names import Mark
from interlock.core.problems import InterlockError, Refused
from interlock.ports.isolation import Branch

__all__ = ["server", "team"]
pytestmark = pytest.mark.postgres

DENIED = (psycopg.errors.InsufficientPrivilege, psycopg.OperationalError)


def role_of(branch: Branch) -> str:
    return urlsplit(branch.url).username or ""


def refusal(url: str) -> str:
    """Why nobody gets in by this URL; nothing when somebody does."""
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError as fault:
        return str(fault)
    return ""


# ---------------------------------------------------------------- what a task cannot do
def test_a_role_enters_no_database_of_ours_but_its_own(team: Team) -> None:
    mine, other = team.branch("mine", pool=1), team.branch("other", pool=1)
    team.databases.settle()
    databases = [name for name in team.ours() if "_r_" not in name]
    assert {name[13:14] for name in databases} == {"b", "p", "t"}
    refusals = {name: refusal(mine.url.replace(mine.name, name)) for name in databases}
    entered = [name for name, said in refusals.items() if not said]
    assert entered == [mine.name]
    known = ("permission denied", "not currently accepting connections")
    assert all(any(each in said for each in known) for said in refusals.values() if said)
    assert words(other) == ROWS


def test_a_role_cannot_log_in_as_another(team: Team) -> None:
    mine, other = team.branch("mine"), team.branch("other")
    url = other.url.replace(urlsplit(other.url).password or "-", urlsplit(mine.url).password or "-")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(url)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(mine.url.replace(role_of(mine), "interlock"))


ATTACKS = {
    "drop another's": 'drop database "{other}"',
    "drop the template": 'drop database "{template}"',
    "close another's": 'alter database "{other}" allow_connections false',
    "rename its own": 'alter database "{mine}" rename to "{mine}_x"',
    "take another's name": 'alter database "{mine}" owner to "{role}"',
    "copy the template": 'create database stolen template "{template}"',
    "run a program": "copy (select 1) to program 'touch {file}'",
    "write a file": "copy (select 1) to '{file}'",
    "read a file": "select pg_read_file('/etc/passwd')",
    "list a folder": "select pg_ls_dir('/')",
    "import a file": "select lo_import('/etc/passwd')",
    "be another": 'set role "{role}"',
    "be the administrator": "set role interlock",
    "change another's password": "alter role \"{role}\" password 'x'",
    "make a role": "create role helper superuser",
    "make itself great": "alter role current_user superuser",
    "read passwords": "select rolpassword from pg_authid",
    "mark itself": "comment on role \"{me}\" is 'interlock {{}}'",
    "give its role away": 'grant "{role}" to current_user',
    "change the server": "alter system set listen_addresses = '*'",
    "load code": "load '/tmp/x.so'",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_role_is_refused(team: Team, attack: str, tmp_path: Path) -> None:
    mine, other = team.branch("mine"), team.branch("other")
    before, file = team.ours(), tmp_path / "written"
    template = next(name for name in before if name[13:14] == "t")
    statement = ATTACKS[attack].format(
        me=role_of(mine), mine=mine.name, other=other.name, role=role_of(other), template=template, file=file
    )
    with psycopg.connect(mine.url, autocommit=True) as one, pytest.raises(DENIED):
        one.execute(statement)
    assert team.ours() == before
    assert not file.exists()
    assert words(other) == ROWS


def test_a_role_cannot_end_or_read_the_sessions_of_others(team: Team) -> None:
    mine, other = team.branch("mine"), team.branch("other")
    with psycopg.connect(other.url) as busy, psycopg.connect(mine.url, autocommit=True) as one:
        busy.execute("select 'a secret'")
        (seen,) = one.execute("select query from pg_stat_activity where datname = %s", (other.name,)).fetchall()
        assert seen == ("<insufficient privilege>",)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            one.execute("select pg_terminate_backend(%s)", (busy.info.backend_pid,))
        assert busy.execute("select 1").fetchone() == (1,)


def test_a_role_has_no_more_than_twenty_connections(team: Team) -> None:
    branch = team.branch("greedy")
    opened = [psycopg.connect(branch.url) for _ in range(20)]
    try:
        with pytest.raises(psycopg.OperationalError, match="too many connections for role"):
            psycopg.connect(branch.url)
    finally:
        for each in opened:
            each.close()


def test_what_a_task_does_to_its_own_database_keeps_nobody_from_taking_it_away(team: Team) -> None:
    mine, other = team.branch("mine"), team.branch("other")
    with psycopg.connect(mine.url.replace(mine.name, "postgres"), autocommit=True) as one:
        one.execute(f'comment on database "{mine.name}" is \'interlock {{"owner": "zzzzzzzz", "database": "app"}}\'')
        one.execute("alter role current_user password 'another'")
        one.execute(f'alter database "{mine.name}" connection limit 0')
        one.execute(f'alter database "{mine.name}" allow_connections false')
    assert team.databases.owned(team.baseline()) == ("mine", "other")
    kept = team.release("mine")
    assert kept is not None
    assert Path(kept).stat().st_size > 200
    assert team.databases.owned(team.baseline()) == ("other",)
    assert words(other) == ROWS


def test_a_task_that_changed_its_password_is_let_in_again(team: Team) -> None:
    branch = team.branch("mine")
    with psycopg.connect(branch.url, autocommit=True) as one:
        one.execute("alter role current_user password 'another'")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(branch.url)
    assert words(team.branch("mine")) == ROWS


def test_what_a_role_left_in_another_database_goes_with_it(team: Team) -> None:
    branch = team.branch("mine")
    with psycopg.connect(branch.url.replace(branch.name, "postgres"), autocommit=True) as one:
        one.execute("select lo_create(0)")
    team.release("mine", on_clean="drop")
    assert role_of(branch) not in team.names()
    with team.admin() as one:
        assert one.execute("select count(*) from pg_largeobject_metadata").fetchone() == (0,)


def test_databases_that_any_role_may_enter_are_told(team: Team) -> None:
    database = team.baseline().database
    assert {"postgres", "template1"} <= set(team.databases.exposed(database))
    branch = team.branch("mine")
    assert branch.name not in team.databases.exposed(database)
    with team.admin() as one:
        one.execute("create database closed")
        assert "closed" in team.databases.exposed(database)
        one.execute("revoke connect on database closed from public")
        assert "closed" not in team.databases.exposed(database)
        one.execute("drop database closed")


def test_no_password_is_in_an_error_or_a_log(team: Team) -> None:
    branch = team.branch("mine")
    log = (team.server.folder / "log").read_text()
    assert (urlsplit(branch.url).password or "-") not in log
    team.databases._environment = {"ADMIN_URL": "postgresql://interlock:hunter2@127.0.0.1:1/postgres"}
    with pytest.raises(InterlockError) as caught:
        team.databases.owned(team.baseline())
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint} {caught.value!r}"
    team.databases._environment = {"ADMIN_URL": "postgresql://interlock:hunter2@[/postgres"}
    with pytest.raises(InterlockError) as caught:
        team.databases.owned(team.baseline())
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint} {caught.value!r}"
    team.databases._environment = {}
    with pytest.raises(Refused, match="ADMIN_URL is not set"):
        team.databases.owned(team.baseline())


# ---------------------------------------------------------------- side by side
def test_two_tasks_with_conflicting_migrations_and_real_rows_do_not_meet(team: Team) -> None:
    one, two = team.branch("one"), team.branch("two")
    with psycopg.connect(one.url, autocommit=True) as first, psycopg.connect(two.url, autocommit=True) as second:
        first.execute("alter table words add column price integer not null default 5")
        second.execute("alter table words add column price text not null default 'free'")
        first.execute("insert into words select n, 'one', n from generate_series(10, 1009) n")
        second.execute("insert into words select n, 'two', 'p' from generate_series(10, 509) n")
        second.execute("create schema extra create table extra.t (n integer)")
        assert first.execute("select count(*), sum(price) from words where id >= 10").fetchone() == (1000, 509_500)
        assert second.execute("select count(*), max(price) from words where id >= 10").fetchone() == (500, "p")
        assert first.execute("select to_regnamespace('extra')").fetchone() == (None,)
        for connection, branch in ((first, one), (second, two)):
            owners = connection.execute(
                "select distinct tableowner from pg_tables where schemaname = 'public'"
            ).fetchall()
            assert owners == [(role_of(branch),)], "the task can migrate what was there before it"


@pytest.mark.long
def test_twenty_at_once_get_one_each_and_the_template_is_made_once(team: Team) -> None:
    found: dict[str, Branch | Exception] = {}

    def ask(task: str) -> None:
        try:
            found[task] = team.branch(task, pool=2)
        except Exception as fault:  # noqa: BLE001 -- shown below
            found[task] = fault

    threads = [threading.Thread(target=ask, args=(f"task-{number}",)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    branches = [each for each in found.values() if isinstance(each, Branch)]
    assert len(branches) == 20, found
    assert len({each.name for each in branches}) == len({role_of(each) for each in branches}) == 20
    assert all(words(each) == ROWS for each in branches)
    assert len(team.prepared) == 1
    assert len(team.databases.owned(team.baseline())) == 20
    team.databases.settle()
    assert not [name for name in team.ours() if name[13:14] == "m"]


def test_a_pool_is_filled_after_a_hand_out_and_only_to_its_size(team: Team) -> None:
    team.databases.fill(team.baseline(pool=3))
    ready = [name for name in team.ours() if name[13:14] == "p"]
    assert len(ready) == 3
    team.branch("mine", pool=3)
    team.databases.settle()
    again = [name for name in team.ours() if name[13:14] == "p"]
    assert len(again) == 3
    assert len(set(again) & set(ready)) == 2, "one of them was handed out"


# ---------------------------------------------------------------- crashes
HALF = """
import sys, time
from pathlib import Path
from interlock.adapters.databases.postgres import PostgresDatabases
from interlock.core.contract.around import Database
from interlock.ports.isolation import Baseline
import psycopg
url, folder = sys.argv[1:]
def prepare(branch):
    global held
    held = psycopg.connect(branch.url)
    held.execute("create table halfway (n integer)"); held.commit()
    print("preparing", flush=True); time.sleep(60)
database = Database(name="app", use="postgres", server="ADMIN_URL", pool=0)
baseline = Baseline(database=database, digest="one", prepare=prepare, folder=Path(folder) / "baselines")
PostgresDatabases({"ADMIN_URL": url}).branch(baseline, "first", Path(folder) / "first")
"""


@pytest.mark.long
def test_killed_while_a_template_is_prepared_it_is_dropped_and_made_again(team: Team) -> None:
    argv = [sys.executable, "-c", HALF, team.server.url("postgres"), str(team.folder)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"preparing\n"
        half = [name for name in team.ours() if name[13:14] == "m"]
        assert len(half) == 1
        with pytest.raises(psycopg.OperationalError, match="does not exist"):
            psycopg.connect(team.server.url(half[0].replace("_m_", "_t_")))
        child.send_signal(signal.SIGKILL)
    branch = team.branch("first")
    assert words(branch) == ROWS
    with psycopg.connect(branch.url) as one:
        assert one.execute("select to_regclass('halfway')").fetchone() == (None,)
    assert not set(half) & set(team.ours())
    roles = [name for name in team.ours() if name[13:14] == "r"]
    assert len(roles) == 2, "the template's and the branch's"


def test_a_template_that_another_prepares_is_waited_for_and_not_made_twice(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = [sys.executable, "-c", HALF, team.server.url("postgres"), str(team.folder)]
    monkeypatch.setattr(templates, "_WAIT_SECONDS", 0.3)
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        with pytest.raises(Refused, match="being prepared elsewhere") as caught:
            team.branch("second")
        child.kill()
    assert caught.value.refusal.rule == "database"
    assert any("interlock" in holder for holder in caught.value.refusal.holders)
    assert not team.prepared


def test_what_is_being_made_by_a_live_process_is_not_swept_away(team: Team) -> None:
    team.branch("first")
    owner = (team.folder / "baselines" / "owner").read_text()
    mark = Mark(owner=owner, database="app", key="x")
    one = Server(team.server.url("postgres"))
    with one.connect() as maker, one.connect() as other, members.making(maker, mark) as made:
        members.copy(maker, made, None, "Making")
        members.sweep(other, owner)
        assert {made.database, made.role} <= set(team.ours())
        maker.execute("select pg_advisory_unlock_all()")
        members.sweep(other, owner)
        assert not {made.database, made.role} & set(team.ours())


# ---------------------------------------------------------------- templates
def test_a_template_takes_no_connections_and_belongs_to_no_plain_role(team: Team) -> None:
    team.branch("first")
    (template,) = [name for name in team.ours() if name[13:14] == "t"]
    with pytest.raises(psycopg.OperationalError, match="not currently accepting connections"):
        psycopg.connect(team.server.url(template))
    with team.admin() as one:
        found = one.execute(
            "select datistemplate, pg_get_userbyid(datdba), has_database_privilege('public', oid, 'connect')"
            " from pg_database where datname = %s",
            (template,),
        ).fetchone()
        assert found == (True, "interlock", False)
        logins = one.execute("select count(*) from pg_roles where starts_with(rolname, 'ilk_') and rolcanlogin and not"
                             " exists (select 1 from pg_database d where d.datdba = pg_roles.oid)").fetchone()  # fmt: skip
        assert logins == (0,)


@pytest.mark.long
def test_old_templates_go_and_the_branches_made_of_them_stay(team: Team) -> None:
    branches = {}
    for number in range(templates.KEPT + 2):
        branches[number] = team.branch(f"task-{number}", digest=f"digest {number}", pool=1)
        team.databases.settle()
    left = [name for name in team.ours() if name[13:14] == "t"]
    assert len(left) == templates.KEPT
    assert len([name for name in team.ours() if name[13:14] == "p"]) == templates.KEPT
    assert all(words(branch) == ROWS for branch in branches.values())
    roles = [name for name in team.ours() if name[13:14] == "r"]
    assert len(roles) == len(branches) + 2 * templates.KEPT


@pytest.mark.long
def test_everything_in_a_baseline_belongs_to_the_task_and_the_baseline_is_as_it_was(team: Team) -> None:
    with team.admin() as one:
        for statement in ("create role dev", "create role reader", "create database dev owner dev"):
            one.execute(statement)
    try:
        with team.admin("dev") as one:
            one.execute(BASELINE)
        branch = team.branch("first", baseline="dev", prepare=lambda branch: None)
        with psycopg.connect(branch.url, autocommit=True) as one:
            for statement in MIGRATION:
                one.execute(statement)
            assert one.execute("select count(*), max(n) from shop.orders").fetchone() == (3, 2)
            one.execute("create table shop.later (n integer)")
            assert one.execute("select has_table_privilege('reader', 'shop.later', 'select')").fetchone() == (True,)
            assert one.execute("select has_table_privilege('reader', 'shop.orders', 'select')").fetchone() == (True,)
        with team.admin("dev") as one:
            found = one.execute("select distinct tableowner from pg_tables where schemaname = 'shop'").fetchall()
            assert found == [("dev",)]
            assert one.execute("select pg_get_userbyid(datdba) from pg_database where datname = 'dev'").fetchone() == (
                "dev",
            )
    finally:
        team.clean()
        with team.admin() as one:
            one.execute("drop database dev with (force)")
            one.execute("drop role dev")
            one.execute("drop role reader")


BASELINE = """
create schema shop authorization dev;
set role dev;
create type shop.state as enum ('open', 'paid');
create domain shop.amount as integer check (value >= 0);
create sequence shop.numbers;
create table shop.orders (id integer generated always as identity, n shop.amount, s shop.state, t serial);
create index on shop.orders (n);
insert into shop.orders (n, s) values (1, 'open'), (2, 'paid');
grant select on shop.orders to reader;
alter default privileges in schema shop grant select on tables to reader;
create view shop.paid as select * from shop.orders where s = 'paid';
create materialized view shop.sums as select sum(n) as n from shop.orders;
create function shop.twice(n integer) returns integer language sql as 'select n * 2';
create procedure shop.clear() language sql as 'delete from shop.orders';
create aggregate shop.largest (integer) (sfunc = int4larger, stype = integer);
create statistics shop.stat on n, s from shop.orders;
create collation shop.plain from "C";
create table shop.parts (n integer) partition by range (n);
create table shop.part_one partition of shop.parts for values from (0) to (10);
reset role;
create table public.from_admin (n integer);
create extension if not exists plpgsql;
"""
MIGRATION = (
    "alter type shop.state add value 'void'",
    "alter domain shop.amount add check (value < 1000)",
    "alter sequence shop.numbers increment by 2",
    "alter table shop.orders add column note text",
    "insert into shop.orders (n, s) values (0, 'open')",
    "create or replace view shop.paid as select * from shop.orders where s = 'open'",
    "refresh materialized view shop.sums",
    "create or replace function shop.twice(n integer) returns integer language sql as 'select n * 3'",
    "alter procedure shop.clear() rename to wipe",
    "alter aggregate shop.largest (integer) rename to biggest",
    "alter statistics shop.stat rename to stats",
    "alter collation shop.plain rename to plainer",
    "create table shop.part_two partition of shop.parts for values from (10) to (20)",
    "alter table public.from_admin add column more text",
    "alter schema shop rename to store",
    "alter schema store rename to shop",
)


# ---------------------------------------------------------------- the end
def test_without_a_fitting_pg_dump_the_database_is_kept_and_said_so(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    branch = team.branch("mine")
    monkeypatch.setattr(archive, "_candidates", lambda: iter(["/bin/false", "/nowhere/pg_dump"]))
    with pytest.raises(Refused, match="no pg_dump of version") as caught:
        team.release("mine")
    assert "on_clean: drop" in caught.value.refusal.would_change
    assert words(team.branch("mine")) == ROWS
    assert team.branch("mine") == branch
    assert not list((team.folder / "mine").glob("*.gz"))
    monkeypatch.undo()
    assert team.release("mine")


def test_an_archive_brings_everything_back(team: Team, tmp_path: Path) -> None:
    import gzip

    branch = team.branch("mine")
    with psycopg.connect(branch.url, autocommit=True) as one:
        one.execute("insert into words values (7, 'kept; ''quoted''')")
    kept = team.release("mine")
    assert kept is not None
    script = gzip.decompress(Path(kept).read_bytes()).decode()
    psql = Path(archive.find(18)).with_name("psql")
    with team.admin() as one:
        one.execute("create database again")
    done = subprocess.run(
        [psql, "-v", "ON_ERROR_STOP=1", "-q", team.server.url("again")], input=script, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    with team.admin("again") as one:
        assert one.execute("select id, word from words order by id").fetchall() == [*ROWS, (7, "kept; 'quoted'")]
    with team.admin() as one:
        one.execute("drop database again with (force)")


def test_a_server_without_force_ends_the_sessions_itself(team: Team) -> None:
    branch = team.branch("mine")
    with psycopg.connect(branch.url), Server(team.server.url("postgres")).connect() as admin:
        drop(admin, branch.name, force=False)
    assert branch.name not in team.ours()


@pytest.mark.long
def test_an_administrator_that_is_no_superuser_can_do_all_of_it(team: Team, tmp_path: Path) -> None:
    with team.admin() as one:
        one.execute("create role keeper login createdb createrole password 'keeps'")
    url = team.server.url("postgres").replace("interlock:admins-own-word", "keeper:keeps")
    team.databases._environment = {"ADMIN_URL": url}
    try:
        one_, two = team.branch("one", pool=1), team.branch("two", pool=1)
        team.databases.settle()
        assert words(one_) == words(two) == ROWS
        with pytest.raises(psycopg.OperationalError, match="permission denied"):
            psycopg.connect(one_.url.replace(one_.name, two.name))
        kept = team.release("one")
        assert kept is not None
        assert Path(kept).stat().st_size > 200
        assert team.databases.owned(team.baseline()) == ("two",)
    finally:
        team.clean()
        with team.admin() as one:
            one.execute("drop owned by keeper")
            one.execute("drop role keeper")


def test_the_environment_of_this_process_stays_as_it_is() -> None:
    assert "PGPASSWORD" not in os.environ


# ---------------------------------------------------------------- encodings
def test_a_server_that_has_no_encoding_sends_texts_and_not_bytes(team: Team) -> None:
    name = f"plain_{os.getpid()}"
    with team.admin() as one:
        one.execute(f"create database {name} template template0 encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C'")
        one.execute(f"create role {name}".encode())
    try:
        with team.admin(name) as one:
            one.execute(f"comment on database {name} is E'interlock \\xff'".encode())
            one.execute(f"comment on role {name} is E'interlock {{\\xff'".encode())
        team.databases = type(team.databases)({"ADMIN_URL": team.server.url(name)})
        branch = team.branch("mine")
        assert words(branch) == ROWS
        with team.admin(name) as one:
            one.execute(f"comment on database {branch.name} is E'interlock {{\\xff'".encode())
        assert team.databases.owned(team.baseline()) == ("mine",)
        elsewhere = type(team.databases)({"ADMIN_URL": team.server.url("postgres")})
        assert elsewhere.owned(team.baseline()) == ("mine",), "comments are one for all databases of a server"
        assert team.branch("mine").name == branch.name
        assert team.release("mine") is not None
        assert team.databases.owned(team.baseline()) == ()
    finally:
        team.databases.settle()
        team.databases = type(team.databases)({"ADMIN_URL": team.server.url("postgres")})
        with team.admin() as one:
            one.execute(f"drop database {name} with (force)")
            one.execute(f"drop role {name}")
