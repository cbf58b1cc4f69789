"""Everything that stands outside of one sandbox and serves it, for the time of a block; each part's rules are its own module's.

One thread with one loop, and nothing at all where nothing is asked for.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from interlock.core.sandbox import GIT_SOCKET, PROXY_SOCKET, Bind, Sandbox
from interlock.host.gate.server import Server
from interlock.host.network import heads, lookup, pipes, places, proxy
from interlock.host.network.given import environment, relays_inside
from interlock.host.network.lookup import Lookup, Resolve
from interlock.host.network.pipes import Reader, Writer
from interlock.host.network.record import Record

_MOST_RELAYED: Final = 512
_BUFFER: Final = 1 << 16

__all__ = ["environment", "relays_inside", "serving"]

Serve = Callable[[Reader, Writer], Awaitable[None]]


@contextmanager
def serving(
    sandbox: Sandbox,
    folder: Path,
    *,
    resolve: Resolve = lookup.system,
    head_seconds: float = proxy.HEAD_SECONDS,
) -> Iterator[tuple[Bind, ...]]:
    """Serve the sandbox from this process: its proxy, its git gate and its outward relays, as far as it asks for them.

    Takes a folder in which new ones of our own may be made, and gives what has to be bound inside.  Decisions go
    to ``network.jsonl`` and ``gate.jsonl`` in ``sandbox.record``.  At the end nothing is left: no socket, thread,
    connection or process.  Raises OSError when an address is taken, ValueError when it is none, Refused for a
    gate that could not hold.
    """
    if not (sandbox.hosts or sandbox.gate or sandbox.outward):
        yield ()
        return
    porter = _Porter(sandbox, folder, resolve, head_seconds)
    thread = threading.Thread(target=porter.run, name="interlock-porter", daemon=True)
    thread.start()
    try:
        porter.ready.wait()
        if porter.fault is not None:
            raise porter.fault
        yield porter.binds
    finally:
        porter.stop()
        thread.join()


class _Porter:
    """The loop of one sandbox, in a thread of its own."""

    def __init__(self, sandbox: Sandbox, folder: Path, resolve: Resolve, head_seconds: float) -> None:
        self.ready = threading.Event()
        self.fault: BaseException | None = None
        self.binds: tuple[Bind, ...] = ()
        self._sandbox = sandbox
        self._folder = folder
        self._resolve = resolve
        self._head_seconds = head_seconds
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Event | None = None
        self._unwanted = False
        self._servers: list[asyncio.Server] = []
        self._files: list[Path] = []
        self._folders: list[Path] = []
        self._records: list[Record] = []
        self._talks: set[asyncio.Task[None]] = set()

    def run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as fault:  # noqa: BLE001 - whatever it is belongs to the one who asked
            self.fault = fault
        finally:
            self.ready.set()

    def stop(self) -> None:
        """End the loop, whether or not it has begun."""
        self._unwanted = True
        if self._loop is not None and self._ended is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._ended.set)

    async def _serve(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        try:
            if not self._unwanted:
                await self._start()
                self.ready.set()
                await self._ended.wait()
        finally:
            await self._end()

    async def _start(self) -> None:
        sandbox, binds = self._sandbox, list[Bind]()
        if sandbox.hosts or sandbox.gate:
            sockets = self._own_folder("sockets-", user=sandbox.user)
            if sandbox.hosts:
                record = self._record("network.jsonl")
                served = proxy.Proxy(sandbox.hosts, record, Lookup(self._resolve), head_seconds=self._head_seconds)
                await self._listen(f"unix:{sockets / 'proxy'}", served.serve)
                binds.append(Bind(source=str(sockets / "proxy"), target=PROXY_SOCKET, writable=True))
            if sandbox.gate:
                gate = Server(sandbox.gate, self._own_folder("gate-"), self._record("gate.jsonl"))
                await self._listen(f"unix:{sockets / 'git'}", gate.serve)
                binds.append(Bind(source=str(sockets / "git"), target=GIT_SOCKET, writable=True))
        for relay in sandbox.outward:
            await self._listen(relay.listen, _onward(relay.connect))
        self.binds = tuple(binds)

    def _own_folder(self, prefix: str, *, user: int | None = None) -> Path:
        made = Path(tempfile.mkdtemp(prefix=prefix, dir=self._folder)).resolve()
        self._folders.append(made)
        if user is not None and os.geteuid() == 0:
            os.chown(made, user, user)
        return made

    def _record(self, name: str) -> Record:
        record = Record(Path(self._sandbox.record) / name if self._sandbox.record else None)
        self._records.append(record)
        return record

    async def _listen(self, address: str, serve: Serve) -> None:
        user = self._sandbox.user if os.geteuid() == 0 else None
        taken = places.listen(address, user=user)
        if (file := places.file_of(address)) is not None:
            self._files.append(file)

        async def talk(reader: Reader, writer: Writer) -> None:
            task = asyncio.current_task()
            assert task is not None  # noqa: S101 - it runs in one
            self._talks.add(task)
            try:
                await serve(reader, writer)
            except asyncio.CancelledError:  # the end of the sandbox; the loop has nothing to tell about it
                writer.transport.abort()
            finally:
                self._talks.discard(task)

        start = asyncio.start_server if file is None else asyncio.start_unix_server
        self._servers.append(await start(talk, sock=taken, limit=heads.MOST_BYTES, backlog=places.BACKLOG))

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        for file in self._files:
            file.unlink(missing_ok=True)
        while self._talks:
            for task in self._talks:
                task.cancel()
            await asyncio.wait(self._talks)
        for record in self._records:
            record.close()
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)


def _onward(address: str) -> Serve:
    """What takes a connection of a relay on to its other address."""
    turn = asyncio.Semaphore(_MOST_RELAYED)

    async def serve(reader: Reader, writer: Writer) -> None:
        try:
            async with turn:
                other = await places.connect(address, limit=_BUFFER)
                try:
                    await pipes.both((reader, writer), other)
                finally:
                    await pipes.close(other[1])
        except (OSError, ValueError):
            pass
        finally:
            await pipes.close(writer)

    return serve
