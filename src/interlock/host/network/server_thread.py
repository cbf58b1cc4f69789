"""A server in a thread of its own, for the time of a block: its loop, its addresses, its connections; what they serve is others' work."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from interlock.host.network import places
from interlock.host.network.pipes import Reader, Writer

_LIMIT: Final = 1 << 16

T = TypeVar("T")
Serve = Callable[[Reader, Writer], Awaitable[None]]


@contextmanager
def running(server: AbstractAsyncContextManager[T], *, name: str, end_seconds: float | None = None) -> Iterator[T]:
    """Enter the server in a loop of its own, give what it gives once it stands, and leave it at the end of the block.

    The end is waited for, at the most ``end_seconds`` where that is given.  Raises what entering it raised.
    """
    loop = _Loop(server)
    thread = threading.Thread(target=loop.run, name=name, daemon=True)
    thread.start()
    try:
        yield loop.stands()
    finally:
        loop.stop()
        thread.join(end_seconds)


class _Loop(Generic[T]):
    def __init__(self, server: AbstractAsyncContextManager[T]) -> None:
        self._server = server
        self._known = threading.Event()
        self._given: list[T] = []
        self._fault: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Event | None = None
        self._unwanted = False

    def stands(self) -> T:
        """Wait until the server stands."""
        self._known.wait()
        if self._fault is not None:
            raise self._fault
        return self._given[0]

    def run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as fault:  # noqa: BLE001 - whatever it is belongs to the one who asked
            self._fault = fault
        finally:
            self._known.set()

    def stop(self) -> None:
        """End the loop, whether or not it has begun."""
        self._unwanted = True
        if self._loop is not None and self._ended is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._ended.set)

    async def _serve(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        if self._unwanted:
            return
        async with self._server as given:
            self._given.append(given)
            self._known.set()
            await self._ended.wait()


class Listeners:
    """Addresses that are listened at; at the end of the block none is, and every connection is cut and has been seen to.

    ``limit`` is how many bytes a reader takes before it is asked for them, ``most`` how many connections are served at once:
    a further one is cut.
    """

    def __init__(self, *, limit: int = _LIMIT, most: int | None = None) -> None:
        self._limit = limit
        self._most = most
        self._servers: list[asyncio.Server] = []
        self._files: list[Path] = []
        self._talks: set[asyncio.Task[None]] = set()

    async def listen(self, address: str, serve: Serve, *, user: int | None = None) -> None:
        """Serve each connection to the address; a socket's file belongs to ``user`` where we are root.

        Raises OSError when the address is taken, ValueError when it is none.
        """
        taken = places.listen(address, user=user if os.geteuid() == 0 else None)
        file = places.file_of(address)
        if file is not None:
            self._files.append(file)

        async def talk(reader: Reader, writer: Writer) -> None:
            await self._talk(serve, reader, writer)

        start = asyncio.start_server if file is None else asyncio.start_unix_server
        self._servers.append(await start(talk, sock=taken, limit=self._limit, backlog=places.BACKLOG))

    async def _talk(self, serve: Serve, reader: Reader, writer: Writer) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - it runs in one
        if self._most is not None and len(self._talks) >= self._most:
            writer.transport.abort()
            return
        self._talks.add(task)
        try:
            await serve(reader, writer)
        except asyncio.CancelledError:  # the end of the block; the loop has nothing to tell about it
            writer.transport.abort()
        finally:
            self._talks.discard(task)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.close()
        for file in self._files:
            file.unlink(missing_ok=True)
        while self._talks:
            for task in self._talks:
                task.cancel()
            await asyncio.wait(self._talks)


@contextmanager
def own_folder(parent: Path, prefix: str, *, user: int | None = None) -> Iterator[Path]:
    """A new folder for the time of the block, its path without links; it belongs to ``user`` where we are root."""
    made = Path(tempfile.mkdtemp(prefix=prefix, dir=parent)).resolve()
    try:
        if user is not None and os.geteuid() == 0:
            os.chown(made, user, user)
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
