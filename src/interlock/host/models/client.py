"""One connection from an agent's client: its requests one after another, and the answers to them; what to answer is the call's work."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from typing import Final, TypeVar

import h11

from interlock.host.models.body import Body
from interlock.host.models.scanning import BadBody
from interlock.host.models.upstream import MOST_HEAD
from interlock.host.network import pipes
from interlock.host.network.pipes import Reader, Writer

T = TypeVar("T")
Fields = Sequence[tuple[bytes, bytes]]

IDLE_SECONDS: Final = 900.0
BODY_SECONDS: Final = 60.0
STALLED_SECONDS: Final = 600.0
_LINGER_SECONDS: Final = 2.0
_CHUNK: Final = 1 << 16
_LONG: Final = 64 << 20


class Gone(Exception):
    """The client is not there any more, or does not speak HTTP; the text says which."""


class Client:
    """The server's side of HTTP/1.1 over one pair of streams."""

    def __init__(self, reader: Reader, writer: Writer) -> None:
        self._reader = reader
        self._writer = writer
        self._state = h11.Connection(h11.SERVER, max_incomplete_event_size=MOST_HEAD)
        self._ahead = bytearray()
        _speak_at_once(writer)

    async def request(self) -> h11.Request | None:
        """The next request's head; None when the client has no more.  Raises Gone."""
        if self._state.our_state is h11.DONE and self._state.their_state is h11.DONE:
            self._state.start_next_cycle()
        if self._state.our_state is not h11.IDLE:
            return None
        try:
            event = await self._event(IDLE_SECONDS)
        except h11.RemoteProtocolError as fault:
            with suppress(h11.LocalProtocolError, OSError):
                await self.answer(fault.error_status_hint, (), b"The request is malformed.\n", last=True)
            raise Gone("malformed request") from None
        return event if isinstance(event, h11.Request) else None

    async def body(self, into: Body | None) -> None:
        """Take in the request's body, or pass over it.  Raises Gone, BadBody (the rest is then not read)."""
        size = 0
        while True:
            if self._state.they_are_waiting_for_100_continue:
                await self._send(h11.InformationalResponse(status_code=100, headers=[]))
            try:
                event = await self._event(BODY_SECONDS)
            except h11.RemoteProtocolError:
                raise Gone("malformed body") from None
            match event:
                case h11.Data():
                    size += len(event.data)
                    if into is not None:
                        into.add(bytes(event.data))
                    elif size > _LONG:
                        raise BadBody("The request is too long.", 413)
                case h11.EndOfMessage():
                    return
                case _:
                    raise Gone("the request broke off")

    async def answer(self, status: int, fields: Fields, body: bytes, *, head: bool = False, last: bool = False) -> None:
        """A whole answer of our own; ``last`` ends the connection after it.  Raises Gone."""
        framing = [(b"content-length", b"%d" % len(body)), *([(b"connection", b"close")] if last else [])]
        await self.start(status, (*fields, *framing))
        if not head:
            await self.data(body)
        await self.finish()
        if last:
            await self._linger()

    async def start(self, status: int, fields: Fields) -> None:
        await self._send(h11.Response(status_code=status, headers=list(fields)))

    async def data(self, data: bytes) -> None:
        """Raises Gone when the client went, or took nothing for ten minutes."""
        await self._send(h11.Data(data=data))

    async def finish(self) -> None:
        await self._send(h11.EndOfMessage())

    async def gone(self) -> None:
        """Returns once the client has ended its side; what it sends before that is kept for the next request."""
        while len(self._ahead) < MOST_HEAD:
            try:
                data = await self._reader.read(_CHUNK)
            except OSError:
                return
            if not data:
                return
            self._ahead += data
        await asyncio.Event().wait()

    async def during(self, work: Awaitable[T]) -> T:
        """What a work gives, unless the client ends its side before.  Raises Gone then, and what the work raises."""
        tasks = asyncio.ensure_future(work), asyncio.create_task(self.gone())
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not tasks[0].done():
                raise Gone("before it was answered")
            return tasks[0].result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def cut(self) -> None:
        """End the connection so that an unfinished answer is not taken for a whole one."""
        self._writer.transport.abort()

    async def close(self) -> None:
        await pipes.close(self._writer)

    async def _linger(self) -> None:
        """Let the client read what it was told before a reset reaches it: it may still be sending."""
        with suppress(OSError, RuntimeError, TimeoutError):
            self._writer.write_eof()
            async with asyncio.timeout(_LINGER_SECONDS):
                while await self._reader.read(_CHUNK):
                    pass

    async def _event(self, seconds: float) -> h11.Event:
        while True:
            event = self._state.next_event()
            if isinstance(event, h11.Event):
                return event
            if event is h11.PAUSED:
                raise Gone("it sends a request before it has its answer")
            if self._ahead:
                data = bytes(self._ahead)
                self._ahead.clear()
            else:
                try:
                    async with asyncio.timeout(seconds):
                        data = await self._reader.read(_CHUNK)
                except OSError as fault:
                    raise Gone(type(fault).__name__) from None
            self._state.receive_data(data)

    async def _send(self, event: h11.Event) -> None:
        data = self._state.send(event)
        try:
            if data:
                self._writer.write(data)
            async with asyncio.timeout(STALLED_SECONDS):
                await self._writer.drain()
        except OSError as fault:
            raise Gone(type(fault).__name__) from None


def _speak_at_once(writer: Writer) -> None:
    """Keep the system from holding small parts of a stream back; asyncio does not see that our socket is one of TCP."""
    sock = writer.get_extra_info("socket")
    if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
