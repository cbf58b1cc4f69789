"""A PostgreSQL server whose roles need their passwords, one per process, and what tests of databases share."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from interlock.adapters.databases.postgres import PostgresDatabases
from interlock.core.contract.around import Database
from interlock.host import servers
from interlock.ports.isolation import Baseline, Branch
from interlock.testing.postgres import PostgresServer, Unavailable

ADMIN = "INTERLOCK_TEST_ADMIN"
ROWS = [(1, "one"), (2, "two")]
_servers: dict[str, PostgresServer] = {}


def start(*, durable: bool = False) -> PostgresServer:
    """A server with passwords.  Skips, or fails on CI, where there can be none."""
    try:
        return PostgresServer.start(durable=durable, password="admins-own-word", quick=not durable)
    except Unavailable as reason:
        if os.environ.get("CI") == "true":
            pytest.fail(f"PostgreSQL must be there on CI: {reason}")
        pytest.skip(str(reason))


def need_programs() -> None:
    """Skip, or fail on CI, where the programs of a server are not installed."""
    try:
        servers.programs()
    except servers.CannotServe as reason:
        if os.environ.get("CI") == "true":
            pytest.fail(str(reason))
        pytest.skip(str(reason))


def shared(config: pytest.Config) -> PostgresServer:
    """The one server of this process, ended with it; its URL stands in the environment."""
    if not _servers:
        _servers["one"] = start()
        config.add_cleanup(_servers["one"].stop)
        os.environ[ADMIN] = _servers["one"].url("postgres")
    return _servers["one"]


@pytest.fixture
def server(request: pytest.FixtureRequest) -> PostgresServer:
    return shared(request.config)


@pytest.fixture
def team(server: PostgresServer, tmp_path: Path) -> Iterator[Team]:
    team = Team(server, tmp_path)
    yield team
    team.clean()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can enter, as the servers of root's tasks need it."""
    need_programs()
    place = next((each for each in ("/dev/shm", "/tmp") if os.access(each, os.W_OK)), None)
    folder = Path(tempfile.mkdtemp(prefix="ilk-test-", dir=place))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


class Team:
    """A repository's databases on a server, and the administrator's view of it."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.databases = PostgresDatabases({"ADMIN_URL": server.url("postgres")})
        self.prepared: list[str] = []

    def baseline(
        self, prepare: Callable[[Branch], None] | None = None, digest: str = "one", **changes: object
    ) -> Baseline:
        values: dict[str, object] = {"name": "app", "use": "postgres", "server": "ADMIN_URL", "pool": 0, **changes}
        return Baseline(
            database=Database(**values),  # type: ignore[arg-type]
            digest=digest,
            prepare=prepare or self.prepare,
            folder=self.folder / "baselines",
        )

    def prepare(self, branch: Branch) -> None:
        self.prepared.append(branch.name)
        with psycopg.connect(branch.url) as one:
            one.execute("create table if not exists words (id integer primary key, word text)")
            one.execute("insert into words values (1, 'one'), (2, 'two') on conflict do nothing")

    def branch(self, task: str, **changes: object) -> Branch:
        return self.databases.branch(self.baseline(**changes), task, self.folder / task)  # type: ignore[arg-type]

    def release(self, task: str, **changes: object) -> str | None:
        return self.databases.release(self.baseline(**changes), task, self.folder / task)  # type: ignore[arg-type]

    def admin(self, database: str = "postgres") -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.server.url(database), autocommit=True)

    def names(self, start: str = "ilk_") -> list[str]:
        """Databases and roles of the server that begin so."""
        with self.admin() as one:
            found = one.execute(
                "select datname from pg_database where starts_with(datname, %s) union all"
                " select rolname from pg_roles where starts_with(rolname, %s) order by 1",
                (start, start),
            ).fetchall()
        return [str(name) for (name,) in found]

    def ours(self) -> list[str]:
        owner = self.folder / "baselines" / "owner"
        return self.names(f"ilk_{owner.read_text()}_") if owner.exists() else []

    def clean(self) -> None:
        """Drop what is left of this team's."""
        self.databases.settle()
        with self.admin() as one:
            for name in self.ours():
                if one.execute("select 1 from pg_database where datname = %s", (name,)).fetchall():
                    one.execute(f'alter database "{name}" is_template false')
                    one.execute(f'drop database "{name}" with (force)')
            for name in self.ours():
                one.execute(f'drop role "{name}"')


def words(branch: Branch) -> list[tuple[object, ...]]:
    with psycopg.connect(branch.url) as one:
        return one.execute("select id, word from words order by id").fetchall()
