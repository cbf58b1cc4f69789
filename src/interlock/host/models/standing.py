"""The gateway of one attempt standing for the time of a block: its thread, its socket, its end; calls are call's work."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from interlock.core.agent.gateway import MODEL_PORT, MODEL_SOCKET, ModelGateway, Reached
from interlock.core.sandbox import Bind, Relay
from interlock.host.models.budget import Budget
from interlock.host.models.call import serve
from interlock.host.models.client import Client
from interlock.host.models.told import Desk, Lines
from interlock.host.models.upstream import Vendor, fault_of
from interlock.host.network import lookup, places
from interlock.host.network.lookup import Lookup, Resolve
from interlock.host.network.pipes import Reader, Writer
from interlock.host.network.record import Record

MOST_OPEN: Final = 64
_END_SECONDS: Final = 5.0
"""How long the end is waited for: a request that is being read is no reason to keep a run from its end."""

RECORD: Final = "models.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A gateway that stands: what its sandbox needs to reach it (nothing when it listens on the loopback)."""

    binds: tuple[Bind, ...]
    relays: tuple[Relay, ...]
    _desk: Desk

    def refused(self) -> str:
        """The budget that a call was refused for, as a sentence; empty while there was none."""
        return self._desk.refused

    def reached(self) -> Reached | None:
        """Which limit that is."""
        return self._desk.reached


@contextmanager
def serving(
    gateway: ModelGateway, folder: Path, *, user: int | None, resolve: Resolve = lookup.system
) -> Iterator[Served]:
    """Serve the gateway from this process, in a thread of its own.

    ``folder`` takes a new folder of ours, for the socket and for large requests; ``user`` owns the socket when we
    are root.  At the end nothing is left of it but ledger and record, and calls under way are cut and counted.
    Raises OSError when the address is taken, ValueError when it or an upstream cannot be used at all.
    """
    Path(gateway.record).mkdir(parents=True, exist_ok=True)
    standing = _Standing(gateway, folder, user, resolve)
    thread = threading.Thread(target=standing.run, name="interlock-models", daemon=True)
    thread.start()
    try:
        standing.ready.wait()
        if standing.fault is not None:
            raise standing.fault
        yield standing.served()
    finally:
        standing.stop()
        thread.join(_END_SECONDS)


class _Standing:
    def __init__(self, gateway: ModelGateway, folder: Path, user: int | None, resolve: Resolve) -> None:
        self.ready = threading.Event()
        self.fault: BaseException | None = None
        self._gateway = gateway
        self._folder = folder
        self._user = user if os.geteuid() == 0 else None
        self._resolve = resolve
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Event | None = None
        self._unwanted = False
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="interlock-models-reading")
        self._desk: Desk | None = None
        self._socket: Path | None = None
        self._made: list[Path] = []
        self._talks: set[asyncio.Task[None]] = set()

    def served(self) -> Served:
        assert self._desk is not None  # noqa: S101 - asked once it stands
        if self._socket is None:
            return Served(binds=(), relays=(), _desk=self._desk)
        bind = Bind(source=str(self._socket), target=MODEL_SOCKET, writable=True)
        relay = Relay(listen=f"tcp:127.0.0.1:{MODEL_PORT}", connect=f"unix:{MODEL_SOCKET}")
        return Served(binds=(bind,), relays=(relay,), _desk=self._desk)

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
        server: asyncio.Server | None = None
        try:
            if not self._unwanted:
                server = await self._start()
                self.ready.set()
                await self._ended.wait()
        finally:
            await self._end(server)

    async def _start(self) -> asyncio.Server:
        for upstream in self._gateway.upstreams:
            if fault := fault_of(upstream):
                raise ValueError(fault)
        held = self._own_folder("models-")
        looked = Lookup(self._resolve)
        self._desk = Desk(
            gateway=self._gateway,
            vendors={each.name: Vendor(each, looked) for each in self._gateway.upstreams},
            budget=Budget(self._gateway),
            lines=Lines(Record(Path(self._gateway.record) / RECORD)),
            folder=held,
            reading=self._reading,
        )
        address = self._gateway.listen
        if address == "unix":
            self._socket = self._own_folder("models-", user=self._user) / "models"
            address = f"unix:{self._socket}"
        taken = places.listen(address, user=self._user)
        start = asyncio.start_server if self._socket is None else asyncio.start_unix_server
        return await start(self._talk, sock=taken, backlog=places.BACKLOG)

    def _own_folder(self, prefix: str, *, user: int | None = None) -> Path:
        made = Path(tempfile.mkdtemp(prefix=prefix, dir=self._folder)).resolve()
        self._made.append(made)
        if user is not None:
            os.chown(made, user, user)
        return made

    async def _talk(self, reader: Reader, writer: Writer) -> None:
        task = asyncio.current_task()
        assert task is not None and self._desk is not None  # noqa: S101, PT018 - it runs in one, once all stands
        if len(self._talks) >= MOST_OPEN:
            writer.transport.abort()
            return
        self._talks.add(task)
        try:
            await serve(self._desk, Client(reader, writer))
        except asyncio.CancelledError:  # the end of the run; the loop has nothing to tell about it
            writer.transport.abort()
        finally:
            self._talks.discard(task)

    async def _end(self, server: asyncio.Server | None) -> None:
        if server is not None:
            server.close()
        while self._talks:
            for task in self._talks:
                task.cancel()
            await asyncio.wait(self._talks)
        if self._desk is not None:
            for vendor in self._desk.vendors.values():
                vendor.close()
            self._desk.lines.close()
        self._reading.shutdown(wait=False, cancel_futures=True)
        for folder in self._made:
            shutil.rmtree(folder, ignore_errors=True)
