"""The proxy: one request a connection, judged, looked up once and passed on; the rules are in allow, heads and addresses."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from interlock.core.sandbox import Host
from interlock.host.network import heads, pipes
from interlock.host.network.allow import Denied, Target, judge
from interlock.host.network.heads import BadHead, Head
from interlock.host.network.lookup import Lookup
from interlock.host.network.pipes import Ends, Reader, Writer
from interlock.host.network.record import Record

MOST_OPEN: Final = 256
HEAD_SECONDS: Final = 10.0
CONNECT_SECONDS: Final = 10.0
_WORDS: Final = {
    400: "Bad Request",
    403: "Forbidden",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    502: "Bad Gateway",
    503: "Service Unavailable",
}
_CHUNK_LINE: Final = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[\t\x20-\x7e]*)?\r\n")
_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9])(?: [^\r\n]*)?")


class _Unreachable(Exception):
    """No connection came about; the text says why."""


class Proxy:
    """Serves one task: whatever comes in is judged by its ``hosts``, and each decision goes on ``record``."""

    def __init__(self, hosts: Sequence[Host], record: Record, lookup: Lookup, *, head_seconds: float) -> None:
        self._hosts = tuple(hosts)
        self._record = record
        self._lookup = lookup
        self._head_seconds = head_seconds
        self._open = 0

    async def serve(self, reader: Reader, writer: Writer) -> None:
        """One connection, from its first byte to its end."""
        self._open += 1
        try:
            if self._open > MOST_OPEN:
                self._note("", 0, "Too many connections are open at once.")
                await _answer(writer, 503, f"network: More than {MOST_OPEN} connections are open. Close some.")
                return
            await self._one(reader, writer)
        except (OSError, EOFError, asyncio.LimitOverrunError):
            pass
        finally:
            self._open -= 1
            await pipes.close(writer)

    async def _one(self, reader: Reader, writer: Writer) -> None:
        try:
            head = await self._head(reader)
        except BadHead as fault:
            self._note("", 0, str(fault))
            await _answer(writer, fault.status, f"network: {fault} Send it in the plain form of RFC 9112.")
            return
        if head is None:
            return
        target = head.target
        try:
            way = await self._way(target)
        except OSError as fault:
            why = f"{target.name} could not be looked up: {_told(fault)}."
            self._note(target.name, target.port, why, allowed=True)
            await _answer(writer, 502, f"network: {why} See whether the name is right.")
            return
        if isinstance(way, Denied):
            self._note(target.name, target.port, way.why)
            await _answer(writer, 403, way.line)
            return
        await self._forward(head, *way, (reader, writer))

    async def _way(self, target: Target) -> tuple[Host, Sequence[str]] | Denied:
        """The entry of the list and the addresses to use, or the no.  Raises OSError."""
        host = judge(self._hosts, target)
        if isinstance(host, Denied):
            return host
        found = await self._lookup.addresses(host, target)
        return found if isinstance(found, Denied) else (host, found)

    async def _head(self, reader: Reader) -> Head | None:
        try:
            data = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), self._head_seconds)
        except asyncio.LimitOverrunError as fault:
            raise BadHead(f"The head has more than {heads.MOST_BYTES} bytes.", 431) from fault
        except asyncio.IncompleteReadError as fault:
            if not fault.partial:
                return None
            raise BadHead("The head broke off.") from fault
        except TimeoutError as fault:
            raise BadHead("The head did not come in time.", 408) from fault
        return heads.read(data)

    async def _forward(self, head: Head, host: Host, found: Sequence[str], client: Ends) -> None:
        target = head.target
        try:
            address, server = await _reach(found, target)
        except _Unreachable as fault:
            self._note(target.name, target.port, str(fault), allowed=True, address=found[0])
            await _answer(client[1], 502, f"network: {fault} It may be reached, so see whether the server runs.")
            return
        self._note(target.name, target.port, f"{host.name} is on the list.", allowed=True, address=address)
        try:
            if head.connect:
                client[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await pipes.both(client, server)
            else:
                await _exchange(head, client, server)
        finally:
            await pipes.close(server[1])

    def _note(self, host: str, port: int, why: str, *, allowed: bool = False, address: str | None = None) -> None:
        rule = None if allowed else "network"
        with suppress(OSError):  # a full disk must not cut the task off
            self._record.write(host=host, port=port, allowed=allowed, rule=rule, why=why, address=address)


async def _reach(found: Sequence[str], target: Target) -> tuple[str, Ends]:
    """A connection to the first of the addresses that takes one, and to nothing else.  Raises _Unreachable."""
    why = "no address"
    for address in found:
        try:
            opened = asyncio.open_connection(address, target.port, limit=heads.MOST_BYTES)
            return address, await asyncio.wait_for(opened, CONNECT_SECONDS)
        except OSError as fault:
            why = _told(fault)
    raise _Unreachable(f"{target.name} on port {target.port} took no connection: {why}.")


async def _exchange(head: Head, client: Ends, server: Ends) -> None:
    """One request with exactly its body, and the answer to it; the server may answer before it has heard all."""
    server[1].write(head.for_server())
    sending = asyncio.create_task(_send_body(head, client[0], server[1]))
    try:
        await asyncio.wait_for(_pass_answer(server[0], client[1]), pipes.IDLE)
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def _send_body(head: Head, client: Reader, server: Writer) -> None:
    if head.length is not None:
        await _copy(client, server, head.length)
        return
    while True:
        size = _CHUNK_LINE.fullmatch(await client.readuntil(b"\r\n"))
        if size is None:
            raise OSError("a chunk's length is malformed")
        length = int(size[1], 16)
        if not length:
            break
        server.write(b"%x\r\n" % length)
        await _copy(client, server, length)
        if await client.readexactly(2) != b"\r\n":
            raise OSError("a chunk is longer than it says")
        server.write(b"\r\n")
    while await client.readuntil(b"\r\n") != b"\r\n":  # trailers stay here
        pass
    server.write(b"0\r\n\r\n")
    await server.drain()


async def _copy(source: Reader, target: Writer, count: int) -> None:
    while count:
        data = await source.read(min(count, pipes.CHUNK))
        if not data:
            raise EOFError
        count -= len(data)
        target.write(data)
        await target.drain()


async def _pass_answer(server: Reader, client: Writer) -> None:
    """The answer as it comes, told to be the last of its connection."""
    while True:
        try:
            data = await server.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await _answer(client, 502, "network: The server's answer broke off or its head is too large. Ask it again.")
            return
        first, *lines = data.removesuffix(b"\r\n\r\n").split(b"\r\n")
        status = _STATUS.fullmatch(first)
        if status is None or status[1] == b"101":
            await _answer(client, 502, "network: The server's answer is not HTTP/1. Use CONNECT for other protocols.")
            return
        if not status[1].startswith(b"1"):
            break
        client.write(data)
    kept = [line for line in lines if line.split(b":", 1)[0].strip().lower() not in (b"connection", b"keep-alive")]
    client.write(b"\r\n".join((first, *kept, b"Connection: close", b"", b"")))
    while data := await server.read(pipes.CHUNK):
        client.write(data)
        await client.drain()


async def _answer(writer: Writer, status: int, line: str) -> None:
    body = line.encode("utf-8", "backslashreplace") + b"\n"
    writer.write(
        b"HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
        % (status, _WORDS[status].encode(), len(body))
        + body
    )
    await writer.drain()


def _told(fault: BaseException) -> str:
    if isinstance(fault, TimeoutError) and not fault.args:
        return "it did not answer in time"
    return (getattr(fault, "strerror", None) or str(fault) or type(fault).__name__).rstrip(".")
