"""Sockets at addresses such as ``unix:PATH`` and ``tcp:127.0.0.1:PORT``: listening and connecting, whatever a path's length."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_LONGEST: Final = 100  # bytes; the system takes 107
BACKLOG: Final = 512
_TRIES: Final = 20
_PAUSE: Final = 0.05
_CONNECT: Final = 10.0
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


def listen(address: str, *, user: int | None = None) -> socket.socket:
    """A listening socket at the address; one of a file is for its owner alone, who is ``user`` when that is given.

    Raises ValueError for an address that is none or is not on the loopback, OSError when it is taken.
    """
    kind, rest = _split(address)
    if kind == "unix":
        return _listen_unix(Path(rest), user)
    host, port = _tcp(rest)
    if host not in _LOOPBACK:
        raise ValueError(f"{address} is not on the loopback")
    found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(BACKLOG)
        found.setblocking(False)
    except BaseException:
        found.close()
        raise
    return found


async def connect(address: str, *, limit: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the address.  Raises OSError (TimeoutError after ten seconds), ValueError.

    A socket's file may lie where a task can write: it has to be that file, and not a link to another.
    """
    kind, rest = _split(address)
    if kind == "tcp":
        host, port = _tcp(rest)
        return await asyncio.wait_for(asyncio.open_connection(host, port, limit=limit), _CONNECT)
    found = await _connect_unix(rest)
    try:
        return await asyncio.open_unix_connection(sock=found, limit=limit)
    except BaseException:
        found.close()
        raise


def file_of(address: str) -> Path | None:
    """The socket's file, where there is one."""
    kind, rest = _split(address)
    return Path(rest) if kind == "unix" else None


async def _connect_unix(path: str) -> socket.socket:
    file = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not stat.S_ISSOCK(os.fstat(file).st_mode):
            raise OSError(errno.ENOTSOCK, f"{path} is no socket")
        for _ in range(_TRIES):  # a full queue says "again" at once, and nothing tells when there is room
            if (found := _try_unix(file)) is not None:
                return found
            await asyncio.sleep(_PAUSE)
    finally:
        os.close(file)
    raise TimeoutError(f"{path} takes no connection")


def _try_unix(file: int) -> socket.socket | None:
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    found.setblocking(False)
    try:
        found.connect(f"/proc/self/fd/{file}")
    except BlockingIOError:
        found.close()
        return None
    except BaseException:
        found.close()
        raise
    return found


def _listen_unix(path: Path, user: int | None) -> socket.socket:
    """A task may write in the folder and swap what stands there: nothing but the socket itself is changed."""
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.is_socket():
            path.unlink()
        os.fchmod(found.fileno(), 0o600)  # the file is made with the mode that the socket has
        with _short(path) as name:
            found.bind(name)
        if user is not None:
            _give(path, user)
        found.listen(BACKLOG)
        found.setblocking(False)
    except BaseException:
        found.close()
        raise
    return found


def _give(path: Path, user: int) -> None:
    """Make the user the owner of a socket that we made, through its descriptor.  Raises OSError for anything else."""
    file = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        facts = os.fstat(file)
        if not stat.S_ISSOCK(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_nlink != 1:
            raise OSError(errno.EBUSY, "something else was put where the socket was made", str(path))
        os.chown(f"/proc/self/fd/{file}", user, user)
    finally:
        os.close(file)


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """A name for the file that fits into a socket's address."""
    if len(os.fsencode(path)) <= _LONGEST:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def _split(address: str) -> tuple[str, str]:
    kind, _, rest = address.partition(":")
    if kind not in ("unix", "tcp") or not rest:
        raise ValueError(f"{address} is no address")
    return kind, rest


def _tcp(rest: str) -> tuple[str, int]:
    host, _, port = rest.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError(f"tcp:{rest} is no address")
    return host.strip("[]"), int(port)
