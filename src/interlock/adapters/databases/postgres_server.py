"""A PostgreSQL server of its own for each task (ports.Databases), for teams without one: copied, started, found again, ended."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from interlock.adapters.databases import archive, clusters, copying, keeping, members
from interlock.adapters.databases.clusters import DATABASE, ROLE, connected, served
from interlock.adapters.databases.server import Connection, address, exists, run, told
from interlock.core.contract import database_names as names
from interlock.core.problems import InterlockError
from interlock.host import files, locks, servers
from interlock.host.servers import Cluster
from interlock.ports.isolation import Baseline, Branch

FOLDER_SUFFIX: Final = ".data.tar.gz"
_WAIT_SECONDS: Final = 1_800.0
_TASK: Final = "task.json"


class PostgresServers:
    """Servers behind sockets of their own.  Takes the user that they run as when we are root."""

    def __init__(self, user: int | None = None) -> None:
        self._user = user

    def branch(self, baseline: Baseline, task: str, folder: Path) -> Branch:
        """The task's server, running: copied from the prepared cluster, found again, or started anew after a crash.

        A link to its socket's folder stands in the record.  Raises Refused (database), InterlockError.
        """
        cluster, name = self._cluster(baseline, task)
        secret = keeping.secret(baseline.folder)
        with _turn(cluster), told(f"Starting the database {baseline.database.name}"):
            if not (cluster.folder / _TASK).exists():
                self._copy(baseline, task, cluster, folder)
            with connected(cluster, secret) as (server, sockets), server.connect() as admin:
                password = members.password_of(secret, name)
                _hand_over(admin, name, password)
                _link(folder / f"{baseline.database.name}.socket", sockets)
                return Branch(name=name, url=server.url_of(admin, name, ROLE, password), address=address(admin))

    def release(self, baseline: Baseline, task: str, folder: Path) -> str | None:
        """Archive what the task's server holds, end it and take it away; gives the archive's path."""
        cluster, name = self._cluster(baseline, task)
        with _turn(cluster), told(f"Releasing the database {baseline.database.name}"):
            if (cluster.folder / _TASK).exists() and baseline.database.on_clean == "archive":
                folder.mkdir(parents=True, exist_ok=True)
                self._archive(baseline, cluster, name, folder)
            with suppress(FileNotFoundError):
                (cluster.folder / _TASK).unlink()
            clusters.clear(cluster)
        (folder / f"{baseline.database.name}.socket").unlink(missing_ok=True)
        return keeping.newest_archive(folder, baseline.database.name, archive.SUFFIX, FOLDER_SUFFIX)

    def owned(self, baseline: Baseline) -> tuple[str, ...]:
        """Tasks that have a server of this database, running or not."""
        found = []
        for path in (baseline.folder / "servers").glob(f"*/{_TASK}"):
            with suppress(FileNotFoundError):
                shape = json.loads(path.read_bytes())
                if shape["database"] == baseline.database.name:
                    found.append(str(shape["task"]))
        return tuple(sorted(found))

    # ---------------------------------------------------------------- parts
    def _cluster(self, baseline: Baseline, task: str) -> tuple[Cluster, str]:
        name = names.branch_name(keeping.owner(baseline.folder), baseline.database.name, task)
        return Cluster(folder=baseline.folder / "servers" / name, user=self._user), name

    def _copy(self, baseline: Baseline, task: str, cluster: Cluster, folder: Path) -> None:
        """A copy of the prepared cluster; only once all of it is there does the task have it."""
        clusters.clear(cluster)
        clusters.open_folder(cluster)
        with clusters.prepared(baseline, self._user) as source, served("The prepared cluster cannot be copied"):
            copying.copy_folder(source, cluster.data)
            cluster.data.chmod(0o700)
            copying.give(cluster.data, cluster.runs_as)
            servers.settle(cluster)
        shape = {"task": task, "database": baseline.database.name, "record": str(folder)}
        files.write_whole(cluster.folder / _TASK, json.dumps(shape).encode())

    def _archive(self, baseline: Baseline, cluster: Cluster, name: str, folder: Path) -> None:
        """A dump; of a server that does not start any more, its data folder."""
        try:
            with connected(cluster, keeping.secret(baseline.folder)) as (server, _), server.connect() as admin:
                known = name if exists(admin, name) else DATABASE
                target = keeping.new_archive(folder, baseline.database.name, archive.SUFFIX)
                archive.dump(target, server.environment(admin, known), admin.info.server_version // 10_000)
        except InterlockError:
            servers.stop(cluster)
            target = keeping.new_archive(folder, baseline.database.name, FOLDER_SUFFIX)
            temporary = target.with_name(f".{target.name}")
            with tarfile.open(temporary, "w:gz") as tar:
                tar.add(cluster.data, arcname="data")
            temporary.replace(target)
            files.sync_folder(folder)


def _hand_over(admin: Connection, name: str, password: str) -> None:
    """Give the copy its task's own name and password; a second time it is nothing."""
    if not exists(admin, name):
        run(admin, "ALTER DATABASE {} RENAME TO {}", DATABASE, name)
    kept = admin.pgconn.encrypt_password(password.encode(), ROLE.encode(), b"scram-sha-256").decode()
    run(admin, "ALTER ROLE {} LOGIN PASSWORD {kept}", ROLE, kept=kept)


def _link(path: Path, target: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() and path.readlink() == target:
        return
    path.unlink(missing_ok=True)
    path.symlink_to(target)


@contextmanager
def _turn(cluster: Cluster) -> Iterator[None]:
    """One process at a time works on a task's server."""
    cluster.folder.parent.mkdir(parents=True, exist_ok=True)
    path = cluster.folder.with_name(f"{cluster.folder.name}.lock")
    with locks.held(path, wait=_WAIT_SECONDS, refuse=clusters.waited):
        yield
