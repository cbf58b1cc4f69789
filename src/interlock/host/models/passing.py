"""One call that may be made, on its way to the vendor and back: the key added, and the answer passed on as it comes; what it costs is counting's work."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Final

import h11

from interlock.host.models.body import Body
from interlock.host.models.call_record import Told
from interlock.host.models.client import Client, Fields, Gone
from interlock.host.models.counting import Counting
from interlock.host.models.hiding import Hiding
from interlock.host.models.routes import Route
from interlock.host.models.upstream import Link, Unreachable, Vendor
from interlock.host.network.heads import without_hops

# What only the client and the gateway, or only the gateway and the vendor, are to know.
_NOT_SENT: Final = frozenset(
    (b"authorization", b"x-api-key", b"api-key", b"cookie", b"accept-encoding", b"expect", b"content-encoding")
)
READ_ON_SECONDS: Final = 120.0
"""How long a vendor is listened to, to hear what a call cost whose client has gone."""

_NOT_TOLD: Final = frozenset((b"set-cookie", b"alt-svc", b"strict-transport-security"))


@dataclass(slots=True, kw_only=True)
class Passing:
    """A call under way; ``counting`` is its place on the record."""

    vendor: Vendor
    route: Route
    request: h11.Request
    body: Body
    client: Client
    told: Told
    counting: Counting
    _length: int = -1
    _hiding: Hiding = field(init=False)

    def __post_init__(self) -> None:
        self._hiding = Hiding(self.vendor.upstream.key)

    async def run(self) -> None:
        """Carry it out, and write down what it cost whatever happens.

        Raises Unreachable when nothing came back, Gone when the client's connection is of no use any more.
        """
        self.told.cut = "gateway"
        tasks = asyncio.create_task(self.client.gone()), asyncio.create_task(self._exchange())
        passing = tasks[1]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not passing.done():
                await self._read_on(passing)
                raise Gone("in the middle of an answer")
            await passing
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.counting.end()

    async def _read_on(self, passing: asyncio.Task[None]) -> None:
        """The client has gone: hear what the call costs all the same, but not for ever."""
        self.counting.left = True
        self.client.cut()
        if self.counting.sent and self.counting.costs:
            await asyncio.wait((passing,), timeout=READ_ON_SECONDS)
        if not passing.done() and not self.counting.written:
            self.told.cut = "client"

    async def _exchange(self) -> None:
        head = self._head()
        for fresh in (False, True):
            link = await self._open(fresh=fresh)
            sending, kept = asyncio.create_task(self._send(link, head)), False
            try:
                self.counting.sent = True
                response = await self._response(link)
                if response is None and link.used and not fresh:
                    continue  # it was closed while it stood by, and nothing was heard: asked again on a new one
                if response is None:
                    raise Unreachable(f"{self.route.path.partition('?')[0]} was not answered")
                await self._answer(link, response)
                kept = sending.done() and not sending.cancelled() and sending.exception() is None
                return
            finally:
                if kept:
                    self.vendor.give_back(link)
                else:
                    link.drop()
                    sending.cancel()
                    await asyncio.gather(sending, return_exceptions=True)

    async def _send(self, link: Link, head: h11.Request) -> None:
        """Raises OSError when the vendor takes no more: it may have answered all the same."""
        try:
            await link.send(head, self.body.chunks())
        except OSError:
            raise
        except Exception:
            link.drop()  # or its answer would be waited for
            raise

    async def _open(self, *, fresh: bool) -> Link:
        try:
            return await self.vendor.open(fresh=fresh)
        except Unreachable:
            self.counting.sent = False
            self.told.cut = "upstream"
            raise

    async def _response(self, link: Link) -> h11.Response | None:
        """The head of the answer; None when the connection ended without one."""
        try:
            while isinstance(event := await link.event(), h11.InformationalResponse):
                if event.status_code == 101:
                    break
        except (Unreachable, OSError) as fault:
            self.told.cut = "upstream"
            if link.heard:
                raise Unreachable(f"its answer cannot be used ({type(fault).__name__})") from None
            return None
        if not isinstance(event, h11.Response):
            self.told.cut = "upstream"
            return None
        return event

    async def _answer(self, link: Link, response: h11.Response) -> None:
        self.told.cut = "gateway"
        self.told.status = response.status_code
        fields = self._fields(response)
        if 200 <= response.status_code < 300:
            coding = b",".join(value for name, value in response.headers if name == b"content-encoding")
            self.counting.begin(self.route.dialect, coding.decode("latin-1").strip().lower())
        await self._show(self.client.start(response.status_code, fields))
        try:
            while not isinstance(event := await link.event(), h11.EndOfMessage):
                if isinstance(event, h11.Data):
                    await self._data(bytes(event.data))
        except (Unreachable, OSError):
            self.told.cut = "upstream"
            self.client.cut()
            raise Gone("its vendor broke off") from None
        rest = self._hiding.pass_on(b"", last=True)
        self.counting.complete()
        if rest:
            await self._show(self.client.data(rest))
        await self._show(self.client.finish())

    async def _show(self, telling: Coroutine[None, None, None]) -> None:
        """Tell the client; of a call that costs something the rest is heard even when it has gone.  Raises Gone."""
        if self.counting.left:
            telling.close()
            return
        try:
            await telling
        except Gone:
            self.counting.left = True
            if not self.counting.costs:
                raise

    async def _data(self, data: bytes) -> None:
        self.counting.take(data)
        over = self.counting.received == self._length
        if over:
            self.counting.complete()
        if shown := self._hiding.pass_on(data, last=over):
            await self._show(self.client.data(shown))

    def _head(self) -> h11.Request:
        upstream = self.vendor.upstream
        kept = [(name, value) for name, value in without_hops(tuple(self.request.headers)) if name not in _NOT_SENT]
        fields = [(b"host", self.vendor.authority.encode()), *kept, (b"accept-encoding", b"identity")]
        if self.request.method != b"GET":
            fields.append((b"content-length", b"%d" % self.body.size))
        if upstream.key and self.route.dialect == "anthropic":
            fields.append((b"x-api-key", upstream.key.encode()))
        elif upstream.key:
            fields.append((b"authorization", b"Bearer " + upstream.key.encode()))
        target = (self.vendor.base + self.route.path).encode()
        return h11.Request(method=self.request.method, target=target, headers=fields)

    def _fields(self, response: h11.Response) -> Fields:
        """The answer's own fields, and its length where it tells one and may still be believed."""
        kept = [
            (name, self._hiding.clean(value))
            for name, value in without_hops(tuple(response.headers))
            if name not in _NOT_TOLD
        ]
        lengths = [value for name, value in response.headers if name == b"content-length"]
        chunked = any(name == b"transfer-encoding" for name, _ in response.headers)
        if len(lengths) == 1 and not chunked:
            self._length = int(lengths[0])
            kept.append((b"content-length", lengths[0]))
        return kept
