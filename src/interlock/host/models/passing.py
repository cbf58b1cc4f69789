"""One call that may be made, on its way to the vendor and back: the key added, the answer passed on as it comes and metered."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

import h11

from interlock.core.agent.usage import UNKNOWN, Usage
from interlock.host.models.body import Body
from interlock.host.models.budget import Entry, estimated
from interlock.host.models.client import Client, Fields, Gone
from interlock.host.models.meter import Meter
from interlock.host.models.routes import Route
from interlock.host.models.told import Desk, Told
from interlock.host.models.upstream import Link, Unreachable, Vendor
from interlock.host.network.heads import without_hops

# What only the client and the gateway, or only the gateway and the vendor, are to know.
_NOT_SENT: Final = frozenset(
    (b"authorization", b"x-api-key", b"api-key", b"cookie", b"accept-encoding", b"expect", b"content-encoding")
)
NOTHING: Final = Usage(uncached_input=0, output=0)
LEFT: Final = 499
"""On the record: the call was over before its vendor answered."""

_NOT_TOLD: Final = frozenset((b"set-cookie", b"alt-svc", b"strict-transport-security"))


@dataclass(slots=True, kw_only=True)
class Passing:
    """A call under way; ``entry`` is its place in the ledger, where it costs something."""

    desk: Desk
    vendor: Vendor
    route: Route
    request: h11.Request
    body: Body
    client: Client
    told: Told
    entry: Entry | None
    _meter: Meter | None = None
    _length: int = -1
    _passed: int = 0
    _sent: bool = field(default=False)

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
                self.told.cut = self.told.cut and "client"
                raise Gone("in the middle of an answer")
            await passing
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self.told.cut:
                self._break_off()

    async def _exchange(self) -> None:
        head = self._head()
        for fresh in (False, True):
            link = await self._open(fresh=fresh)
            sending, kept = asyncio.create_task(link.send(head, self.body.chunks())), False
            try:
                self._sent = True
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

    async def _open(self, *, fresh: bool) -> Link:
        try:
            return await self.vendor.open(fresh=fresh)
        except Unreachable:
            self._sent = False
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
        if self.entry is not None and 200 <= response.status_code < 300:
            coding = b",".join(value for name, value in response.headers if name == b"content-encoding")
            self._meter = Meter(self.route.dialect, coding=coding.decode("latin-1").strip().lower())
        await self.client.start(response.status_code, fields)
        try:
            while not isinstance(event := await link.event(), h11.EndOfMessage):
                if isinstance(event, h11.Data):
                    await self._data(bytes(event.data))
        except (Unreachable, OSError):
            self.told.cut = "upstream"
            self.client.cut()
            raise Gone("its vendor broke off") from None
        self._complete()
        await self.client.finish()

    async def _data(self, data: bytes) -> None:
        if self.told.first_byte is None:
            self.told.first_byte = self.told.elapsed()
        if self._meter is not None:
            before = self._meter.usage
            self._meter.feed(data)
            if self._meter.whole and self._meter.usage != before:
                self._settle()  # before the client hears the end, and can ask for more
        self._passed += len(data)
        if self._passed == self._length:
            self._complete()
        await self.client.data(data)

    def _complete(self) -> None:
        """All of the answer is here; written down before the client hears that."""
        if not self.told.cut:
            return
        if self._meter is not None:
            self._meter.end()
        self._settle()
        self.told.cut = ""
        self.told.write(self.desk.record)

    def _break_off(self) -> None:
        self._settle()
        if not self.told.status and self.told.cut != "upstream":
            self.told.status = LEFT
        if self.told.status:
            self.told.write(self.desk.record)

    def _settle(self) -> None:
        """Put what the call cost, as far as it is known now, into the ledger; doing it again corrects it."""
        if self.entry is None:
            return
        meter, told = self._meter, self.told
        told.usage, told.estimated = NOTHING, False  # an error of the vendor costs nothing
        if meter is not None:
            told.model = meter.model or told.model
            told.estimated = not meter.whole
            told.usage = estimated(meter.usage, self.body.size, meter.bytes) if told.estimated else meter.usage
        elif not told.status and self._sent and told.cut != "upstream":
            told.estimated, told.usage = True, estimated(UNKNOWN, self.body.size, 0)
        told.usd = 0.0 if told.usage is NOTHING else self._price(told.usage)
        self.entry.write(told.usage, told.usd)

    def _price(self, usage: Usage) -> float | None:
        """Dollars; None where they are not known."""
        return self.desk.budget.price(self.told.model, usage, other=self.told.asked)

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
        kept = [(name, value) for name, value in without_hops(tuple(response.headers)) if name not in _NOT_TOLD]
        lengths = [value for name, value in response.headers if name == b"content-length"]
        chunked = any(name == b"transfer-encoding" for name, _ in response.headers)
        if len(lengths) == 1 and not chunked:
            self._length = int(lengths[0])
            kept.append((b"content-length", lengths[0]))
        return kept
