"""A server of its own for each task: what it listens on, whom it lets in, how it is found again, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import psycopg
import pytest
from tests.integration.databases.fixtures import ROWS, open_folder, words

from interlock.adapters.databases.postgres_server import PostgresServers
from interlock.core.contract.around import Database
from interlock.core.problems import Refused
from interlock.host import servers
from interlock.host.servers import Cluster
from interlock.ports.isolation import Baseline, Branch

__all__ = ["open_folder"]
pytestmark = [pytest.mark.postgres, pytest.mark.long]
USER = 60_999


class House:
    """One repository's servers in a folder that their user can enter."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kind = PostgresServers(USER)
        self.prepared = 0

    def baseline(self, on_clean: str = "archive") -> Baseline:
        database = Database(name="app", use="postgres-server", on_clean="drop" if on_clean == "drop" else "archive")
        return Baseline(database=database, digest="one", prepare=self.prepare, folder=self.folder / "baselines")

    def prepare(self, branch: Branch) -> None:
        self.prepared += 1
        with psycopg.connect(branch.url) as one:
            one.execute("create table words (id integer primary key, word text)")
            one.execute("insert into words values (1, 'one'), (2, 'two')")

    def branch(self, task: str) -> Branch:
        return self.kind.branch(self.baseline(), task, self.folder / task)

    def release(self, task: str, on_clean: str = "archive") -> str | None:
        return self.kind.release(self.baseline(on_clean), task, self.folder / task)

    def cluster(self, branch: Branch) -> Cluster:
        return Cluster(folder=self.folder / "baselines" / "servers" / branch.name, user=USER)

    def process(self, branch: Branch) -> psutil.Process:
        pid = (self.cluster(branch).data / "postmaster.pid").read_text().split("\n")[0]
        return psutil.Process(int(pid))


@pytest.fixture(scope="module")
def shared_folder() -> Iterator[Path]:
    yield from open_folder.__wrapped__()  # type: ignore[attr-defined]


@pytest.fixture
def house(shared_folder: Path) -> Iterator[House]:
    """The prepared cluster is made once for this module; tasks are each test's own."""
    house = House(shared_folder)
    yield house
    for task in house.kind.owned(house.baseline()):
        house.release(task, "drop")


def folder_of(branch: Branch) -> Path:
    assert branch.address is not None
    return Path(branch.address.removeprefix("unix:")).parent


def test_a_task_is_no_superuser_of_its_own_server_and_runs_no_program_with_it(house: House) -> None:
    branch = house.branch("mine")
    for statement in (
        "copy (select 1) to program 'touch /tmp/ilk-escaped'",
        "select pg_read_file('/etc/passwd')",
        "select lo_import('/etc/passwd')",
        "create role helper superuser",
        "alter system set archive_command = 'id'",
        "set role interlock",
        "create database other",
    ):
        with psycopg.connect(branch.url, autocommit=True) as one, pytest.raises(psycopg.errors.InsufficientPrivilege):
            one.execute(statement)
    assert not Path("/tmp/ilk-escaped").exists()


def test_every_login_needs_its_own_password(house: House) -> None:
    mine, other = house.branch("mine"), house.branch("other")
    word = urlsplit(mine.url).password or "-"
    for url in (
        mine.url.replace(f":{word}@", "@"),
        mine.url.replace("agent:", "interlock:"),
        other.url.replace(urlsplit(other.url).password or "-", word),
        mine.url.replace(f"agent:{word}", "interlock"),
    ):
        with pytest.raises(psycopg.OperationalError, match=r"password|fe_sendauth"):
            psycopg.connect(url)
    with pytest.raises(psycopg.OperationalError, match="permission denied"):
        psycopg.connect(mine.url.replace(mine.name, "template1"))


def test_it_listens_on_a_short_socket_alone_and_not_as_root(house: House) -> None:
    branch = house.branch("mine")
    process = house.process(branch)
    assert process.uids().real == (USER if os.geteuid() == 0 else os.geteuid())
    assert process.net_connections(kind="inet") == []
    assert len((branch.address or "").removeprefix("unix:")) < 108
    facts = folder_of(branch).stat()
    assert facts.st_mode & 0o077 == 0, "nobody else may enter it"
    assert (house.folder / "mine" / "app.socket").resolve() == folder_of(branch).resolve()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT])
def test_ended_from_outside_it_is_started_again_with_its_rows(house: House, number: signal.Signals) -> None:
    branch = house.branch("mine")
    with psycopg.connect(branch.url, autocommit=True) as one:
        one.execute("insert into words values (3, 'mine')")
    process = house.process(branch)
    process.send_signal(number)
    process.wait(20)
    again = house.branch("mine")
    assert again.name == branch.name
    assert words(again) == [*ROWS, (3, "mine")]
    assert house.process(again).pid != process.pid


def test_after_a_restart_of_the_machine_a_pid_that_is_another_s_now_is_left_alone(house: House) -> None:
    branch = house.branch("mine")
    cluster = house.cluster(branch)
    servers.stop(cluster)
    state = {"sockets": str(folder_of(branch)), "mark": "0" * 16}
    process = {"pid": os.getpid(), "start": 1, "boot": "another boot"}
    (cluster.folder / "running.json").write_text(json.dumps(state | {"process": process}))
    (cluster.data / "postmaster.pid").write_text(f"{os.getppid()}\n{cluster.data}\n1\n5432\n/tmp\n\n")
    assert servers.sockets(cluster) is None
    assert words(house.branch("mine")) == ROWS


def test_two_calls_at_once_start_one_server(house: House) -> None:
    from concurrent.futures import ThreadPoolExecutor

    house.branch("mine")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: house.branch("mine"), range(4)))
    assert len({branch.url for branch in found}) == 1


def test_released_nothing_of_it_is_left(house: House) -> None:
    branch = house.branch("mine")
    process, place = house.process(branch), folder_of(branch)
    with psycopg.connect(branch.url) as live:
        kept = house.release("mine")
        with pytest.raises(psycopg.OperationalError):
            live.execute("select 1")
    assert kept is not None
    assert Path(kept).name == "app.sql.gz"
    assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    assert not place.exists()
    assert not house.cluster(branch).folder.exists()
    assert not (house.folder / "mine" / "app.socket").is_symlink()
    assert house.prepared <= 1


def test_a_server_that_starts_no_more_is_kept_as_its_data_folder(house: House) -> None:
    branch = house.branch("broken")
    cluster = house.cluster(branch)
    servers.stop(cluster, rest=True)
    (cluster.data / "global" / "pg_control").unlink()
    kept = house.release("broken")
    assert kept is not None
    with tarfile.open(kept) as tar:
        assert "data/PG_VERSION" in tar.getnames()
    assert not cluster.folder.exists()


def test_a_server_is_ready_soon(house: House) -> None:
    house.branch("warm")
    began = time.monotonic()
    house.branch("mine")
    assert time.monotonic() - began < 30, "a copy and a start, no preparation"
    assert house.prepared <= 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts servers as another user")
def test_a_folder_that_the_server_s_user_cannot_enter_is_refused_by_name(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    house = House(closed)
    with pytest.raises(Refused, match="cannot enter") as caught:
        house.branch("mine")
    assert "chmod o+x" in caught.value.refusal.would_change
    assert house.kind.owned(house.baseline()) == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root must name another user")
def test_root_without_another_user_is_refused(open_folder: Path) -> None:
    house = House(open_folder)
    house.kind = PostgresServers(None)
    with pytest.raises(Exception, match="does not run as root"):
        house.branch("mine")
