"""A task's database from a warm pool against plain CREATE DATABASE … TEMPLATE on the same server, in turn; goal 20 ms."""

from __future__ import annotations

import itertools
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import psycopg
from bench._measure import Report, median, seconds

from interlock.adapters.databases.postgres import PostgresDatabases
from interlock.adapters.databases.postgres_server import PostgresServers
from interlock.core.contract.around import Database
from interlock.ports.isolation import Baseline, Branch
from interlock.testing.postgres import PostgresServer

ROUNDS = 20
GOAL = 0.020
USER = 60_999


def main() -> None:
    """A durable server of its own, which waits for the disk as a team's does."""
    report = Report("a task's database")
    with (
        PostgresServer.start(durable=True, password="bench") as server,
        tempfile.TemporaryDirectory(prefix="interlock-bench-") as folder,
    ):
        Path(folder).chmod(0o755)
        pooled(report, server, Path(folder))
        own_server(report, Path(folder))
    report.end()


def prepare(branch: Branch) -> None:
    """About ten megabytes in three tables, as a small application has."""
    with psycopg.connect(branch.url) as one:
        for name in ("users", "orders", "events"):
            one.execute(f"create table {name} (id integer primary key, body text)")
            one.execute(f"insert into {name} select n, repeat(md5(n::text), 4) from generate_series(1, 20000) n")


def baseline(folder: Path, use: str, pool: int) -> Baseline:
    database = Database(name="app", use=use, server="ADMIN_URL", pool=pool, on_clean="drop")
    return Baseline(database=database, digest="bench", prepare=prepare, folder=folder / "baselines")


def pooled(report: Report, server: PostgresServer, folder: Path) -> None:
    databases = PostgresDatabases({"ADMIN_URL": server.url("postgres")})
    warm = baseline(folder, "postgres", 2)
    databases.fill(warm)
    numbers = itertools.count()
    plain: list[float] = []
    copies: list[float] = []
    connects: list[float] = []
    claims: list[float] = []
    with psycopg.connect(server.url("postgres"), autocommit=True) as admin:
        found = admin.execute("select datname from pg_database where datistemplate and datname like 'ilk%'").fetchall()
        template = found[0][0]
        for _ in range(ROUNDS):
            name = f"plain{next(numbers)}"
            connects.append(seconds(lambda: psycopg.connect(server.url("postgres")).close()))
            copies.append(seconds(lambda name=name: admin.execute(f'create database {name} template "{template}"')))  # type: ignore[misc]
            plain.append(seconds(lambda: admin.execute("create table if not exists floor (n integer)")))
            admin.execute("drop table floor")
            task = f"task-{next(numbers)}"
            claims.append(seconds(lambda task=task: databases.branch(warm, task, folder / task)))  # type: ignore[misc]
            databases.settle()
    report.times("connection to the server", connects)
    report.times("one statement that writes", plain)
    report.times("CREATE DATABASE … TEMPLATE", copies)
    both = [connect + write for connect, write in zip(connects, plain, strict=True)]
    report.times("claim from a warm pool, connection included", claims, floor=both, goal_p95=GOAL)
    report.note("floor of a claim: a connection and one statement that writes")
    again = [seconds(lambda: databases.branch(warm, task, folder / task)) for _ in range(ROUNDS)]
    report.times("the same task again", again, floor=copies)
    report.figure("template copy over claim", round(median(copies) / median(claims), 1), "x")


def own_server(report: Report, folder: Path) -> None:
    """The other kind: a copied data folder and a start, after the cluster was prepared once."""
    servers = PostgresServers(USER)
    mine = baseline(folder, "postgres-server", 0)
    first = seconds(lambda: servers.branch(mine, "first", folder / "first"))
    found = [seconds(lambda task=task: servers.branch(mine, task, folder / task)) for task in "abcde"]  # type: ignore[misc]
    report.figure("first own server, cluster prepared", round(first * 1e3), "ms")
    report.times("own server for a task", found)
    report.times("the same task again", [seconds(lambda: servers.branch(mine, "a", folder / "a")) for _ in range(5)])
    for task in servers.owned(mine):
        servers.release(mine, task, folder / task)


if __name__ == "__main__":
    main()
