"""Everything that stands outside of one sandbox and serves it, for the time of a block; each part's rules are its own module's.

One thread with one loop, and nothing at all where nothing is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from interlock.core.sandbox import GIT_SOCKET, PROXY_SOCKET, Bind, Sandbox
from interlock.host.gate.server import Server
from interlock.host.network import heads, lookup, pipes, places, proxy, server_thread
from interlock.host.network.lookup import Lookup, Resolve
from interlock.host.network.pipes import Reader, Writer
from interlock.host.network.record import Record
from interlock.host.network.server_thread import Listeners, Serve

_MOST_RELAYED: Final = 512
_BUFFER: Final = 1 << 16


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
    with server_thread.running(_porter(sandbox, folder, resolve, head_seconds), name="interlock-porter") as binds:
        yield binds


@asynccontextmanager
async def _porter(
    sandbox: Sandbox, folder: Path, resolve: Resolve, head_seconds: float
) -> AsyncIterator[tuple[Bind, ...]]:
    binds: list[Bind] = []
    with ExitStack() as held:
        async with Listeners(limit=heads.MOST_BYTES) as listeners:
            if sandbox.hosts or sandbox.gate:
                sockets = held.enter_context(server_thread.own_folder(folder, "sockets-", user=sandbox.user))
            if sandbox.hosts:
                record = _record(sandbox, "network.jsonl", held)
                served = proxy.Proxy(sandbox.hosts, record, Lookup(resolve), head_seconds=head_seconds)
                await listeners.listen(f"unix:{sockets / 'proxy'}", served.serve, user=sandbox.user)
                binds.append(Bind(source=str(sockets / "proxy"), target=PROXY_SOCKET, writable=True))
            if sandbox.gate:
                own = held.enter_context(server_thread.own_folder(folder, "gate-"))
                gate = Server(sandbox.gate, own, _record(sandbox, "gate.jsonl", held))
                await listeners.listen(f"unix:{sockets / 'git'}", gate.serve, user=sandbox.user)
                binds.append(Bind(source=str(sockets / "git"), target=GIT_SOCKET, writable=True))
            for relay in sandbox.outward:
                await listeners.listen(relay.listen, _onward(relay.connect), user=sandbox.user)
            yield tuple(binds)


def _record(sandbox: Sandbox, name: str, held: ExitStack) -> Record:
    record = Record(Path(sandbox.record) / name if sandbox.record else None)
    held.callback(record.close)
    return record


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
