"""The gateway of one attempt as a server for the time of a block: its socket, what its calls share, its end; calls are call's work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from interlock.core.agent.gateway import MODEL_PORT, MODEL_SOCKET, ModelGateway, Reached
from interlock.core.sandbox import Bind, Relay
from interlock.host.models.budget import Budget
from interlock.host.models.call import serve
from interlock.host.models.call_record import Desk, Lines
from interlock.host.models.client import Client
from interlock.host.models.upstream import Vendor, fault_of
from interlock.host.network import lookup, server_thread
from interlock.host.network.lookup import Lookup, Resolve
from interlock.host.network.pipes import Reader, Writer
from interlock.host.network.record import Record
from interlock.host.network.server_thread import Listeners

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
    standing = _standing(gateway, folder, user, resolve)
    with server_thread.running(standing, name="interlock-models", end_seconds=_END_SECONDS) as served:
        yield served


@asynccontextmanager
async def _standing(gateway: ModelGateway, folder: Path, user: int | None, resolve: Resolve) -> AsyncIterator[Served]:
    for upstream in gateway.upstreams:
        if fault := fault_of(upstream):
            raise ValueError(fault)
    with ExitStack() as held:
        desk = _desk(gateway, held.enter_context(server_thread.own_folder(folder, "models-")), resolve, held)
        address, socket = gateway.listen, None
        if address == "unix":
            socket = held.enter_context(server_thread.own_folder(folder, "models-", user=user)) / "models"
            address = f"unix:{socket}"

        async def answer(reader: Reader, writer: Writer) -> None:
            await serve(desk, Client(reader, writer))

        async with Listeners(most=MOST_OPEN) as listeners:
            await listeners.listen(address, answer, user=user)
            yield _served(desk, socket)


def _desk(gateway: ModelGateway, folder: Path, resolve: Resolve, held: ExitStack) -> Desk:
    """What its calls share; ``held`` closes it."""
    reading = ThreadPoolExecutor(1, thread_name_prefix="interlock-models-reading")
    held.callback(reading.shutdown, wait=False, cancel_futures=True)
    looked = Lookup(resolve)
    desk = Desk(
        gateway=gateway,
        vendors={each.name: Vendor(each, looked) for each in gateway.upstreams},
        budget=Budget(gateway),
        lines=Lines(Record(Path(gateway.record) / RECORD)),
        folder=folder,
        reading=reading,
    )
    held.callback(desk.lines.close)
    for vendor in desk.vendors.values():
        held.callback(vendor.close)
    return desk


def _served(desk: Desk, socket: Path | None) -> Served:
    if socket is None:
        return Served(binds=(), relays=(), _desk=desk)
    bind = Bind(source=str(socket), target=MODEL_SOCKET, writable=True)
    relay = Relay(listen=f"tcp:127.0.0.1:{MODEL_PORT}", connect=f"unix:{MODEL_SOCKET}")
    return Served(binds=(bind,), relays=(relay,), _desk=desk)
