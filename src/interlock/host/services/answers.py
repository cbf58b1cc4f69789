"""Whether something answers at a port of this machine or at a socket that leads into a sandbox; when to ask is adapters'."""

from __future__ import annotations

import errno
import os
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SECONDS: Final = 2.0
_STAYS: Final = 0.25
"""How long a connection through a relay must stay open to count: it closes at once when nobody listens behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a service is reached from this machine: a port of the loopback, or a socket file."""

    port: int | None = None
    path: Path | None = None


def accepts(target: Target) -> bool:
    """Whether a connection can be made, and stays."""
    try:
        with closing(_connect(target)) as connection:
            if target.path is None:
                return True
            connection.settimeout(_STAYS)
            try:
                return bool(connection.recv(1))
            except TimeoutError:
                return True
    except OSError:
        return False


def status(target: Target, path: str) -> int | None:
    """The status code that GET of a path gives, or None when there is no whole head of that kind in two seconds."""
    import http.client  # loads TLS, which no other command needs

    connection = http.client.HTTPConnection("localhost", target.port or 80, timeout=_SECONDS)
    with suppress(OSError, http.client.HTTPException), closing(connection):
        connection.sock = _connect(target)
        with _deadline(connection.sock) as late:
            connection.request("GET", path, headers={"Connection": "close", "User-Agent": "interlock"})
            code = connection.getresponse().status
        return None if late.is_set() else code
    return None


@contextmanager
def _deadline(connection: socket.socket) -> Iterator[threading.Event]:
    """End the connection after its time, whatever comes meanwhile: a socket's own timeout starts anew with each byte."""
    late = threading.Event()

    def end() -> None:
        late.set()
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(_SECONDS, end)
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()
        timer.join()


def _connect(target: Target) -> socket.socket:
    if target.path is None:
        # Both families: a server that was told "localhost" may listen on ::1 alone (facts/isolation §3).
        return socket.create_connection(("localhost", target.port or 0), timeout=_SECONDS)
    return _connect_socket(target.path)


def _connect_socket(path: Path) -> socket.socket:
    """Connect to a socket's file, however long its path is, and not to what a link in its place leads to.

    A task can write where it lies, and what it cannot reach itself must not be reached for it.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(_SECONDS)
    try:
        with _socket_file(path) as file:
            connection.connect(f"/proc/self/fd/{file}")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _socket_file(path: Path) -> Iterator[int]:
    file = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not stat.S_ISSOCK(os.fstat(file).st_mode):
            raise OSError(errno.ENOTSOCK, f"{path} is no socket")
        yield file
    finally:
        os.close(file)
