"""Connections to a vendor's server: names resolved and certificates checked here, kept open for a moment; what is said is the call's work."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

import h11

from interlock.core.agent.gateway import Upstream
from interlock.core.sandbox import Host
from interlock.host.network import addresses
from interlock.host.network.allow import BadTarget, Denied, Target, read_target
from interlock.host.network.lookup import Lookup

CONNECT_SECONDS: Final = 15.0
SILENT_SECONDS: Final = 1800.0
"""Seconds in which a vendor may say nothing: a model that thinks for long is no reason to cut it."""

MOST_HEAD: Final = 64 << 10
_CHUNK: Final = 1 << 16
_KEPT_SECONDS: Final = {"https": 50.0, "http": 4.0}  # shorter than vendors and local servers are known to wait
_KEPT: Final = 4


class Unreachable(Exception):
    """No usable answer came; the text says why, and never holds what was sent."""


@dataclass(slots=True)
class Link:
    """One connection and its protocol state; ``used`` when an earlier call went over it, ``heard`` once something came for this one."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    state: h11.Connection
    used: bool = False
    heard: bool = False
    free_since: float = 0.0
    _next: h11.Event | None = None

    async def send(self, head: h11.Request, body: Iterable[bytes]) -> None:
        """Raises OSError, h11.LocalProtocolError."""
        begun = self.state.send(head) or b""
        for data in body:
            self.writer.write(begun + (self.state.send(h11.Data(data=data)) or b""))
            begun = b""
            await self.writer.drain()
        self.writer.write(begun + (self.state.send(h11.EndOfMessage()) or b""))
        await self.writer.drain()

    async def event(self) -> h11.Event:
        """What comes next; parts of a body that are here already come as one.  Raises Unreachable, OSError."""
        while True:
            event, self._next = self._next or self._parsed(), None
            if isinstance(event, h11.Data):
                parts = [event.data]
                while isinstance(more := self._parsed(), h11.Data):
                    parts.append(more.data)
                self._next = more
                return h11.Data(data=b"".join(parts))
            if event is not None:
                return event
            async with asyncio.timeout(SILENT_SECONDS):
                data = await self.reader.read(_CHUNK)
            self.heard = self.heard or bool(data)
            self.state.receive_data(data)

    def _parsed(self) -> h11.Event | None:
        """The next event of what was heard; None when more has to be."""
        try:
            event = self.state.next_event()
        except h11.RemoteProtocolError:
            raise Unreachable("the answer broke off or is not HTTP/1") from None
        if event is h11.PAUSED:
            raise Unreachable("it sent more than an answer")
        return event if isinstance(event, h11.Event) else None

    def usable(self, since: float) -> bool:
        """Whether it stands by since then or later, and nobody closed it."""
        return self.free_since > since and not self.reader.at_eof() and not self.writer.is_closing()

    def drop(self) -> None:
        with suppress(Exception):
            self.writer.transport.abort()


@dataclass(slots=True)
class Vendor:
    """One upstream's connections."""

    upstream: Upstream
    lookup: Lookup
    _free: list[Link] = field(default_factory=list)
    _trust: ssl.SSLContext | None = None

    @property
    def base(self) -> str:
        """The path that its URL has before ours."""
        return urlsplit(self.upstream.url).path.rstrip("/")

    @property
    def authority(self) -> str:
        return urlsplit(self.upstream.url).netloc.rpartition("@")[2]

    async def open(self, *, fresh: bool = False) -> Link:
        """A connection that stood by, or a new one.  Raises Unreachable."""
        since = asyncio.get_running_loop().time() - _KEPT_SECONDS.get(urlsplit(self.upstream.url).scheme, 0.0)
        while self._free:
            link = self._free.pop()
            if not fresh and link.usable(since):
                return link
            link.drop()
        return await self._connect()

    def give_back(self, link: Link) -> None:
        """Keep a connection for the next call where both sides are through with this one."""
        if (link.state.our_state, link.state.their_state) != (h11.DONE, h11.DONE) or len(self._free) >= _KEPT:
            link.drop()
            return
        link.state.start_next_cycle()
        link.used, link.heard = True, False
        link.free_since = asyncio.get_running_loop().time()
        self._free.append(link)

    def close(self) -> None:
        for link in self._free:
            link.drop()
        self._free.clear()

    async def _connect(self) -> Link:
        safe, target = _target(self.upstream)
        found = await self._addresses(target)
        why = "no address"
        for address in found:
            if not safe and addresses.why_inner(address) is None:
                raise Unreachable(f"{target.name} is on the internet, and its url is not https, so no key goes there")
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    reader, writer = await asyncio.open_connection(
                        address,
                        target.port,
                        limit=_CHUNK,
                        ssl=self._tls() if safe else None,
                        server_hostname=target.name if safe else None,
                    )
                return Link(reader, writer, h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_HEAD))
            except OSError as fault:
                why = _told(fault)
        raise Unreachable(f"{target.name} on port {target.port} took no connection: {why}")

    async def _addresses(self, target: Target) -> tuple[str, ...]:
        """An address or ``localhost`` in the policy is meant; a name that leads to a private one has to be pinned."""
        if self.upstream.address is None and target.name == "localhost":
            return ("127.0.0.1", "::1")
        if self.upstream.address is None and target.literal:
            return (target.name,)
        try:
            found = await self.lookup.addresses(Host(name=target.name, address=self.upstream.address), target)
        except OSError as fault:
            raise Unreachable(f"{target.name} could not be looked up: {_told(fault)}") from None
        if isinstance(found, Denied):
            raise Unreachable(found.why.rstrip(".") + "; pin it with address: under models in interlock.yaml")
        return found

    def _tls(self) -> ssl.SSLContext:
        if self._trust is None:
            self._trust = ssl.create_default_context()
        return self._trust


def fault_of(upstream: Upstream) -> str:
    """What keeps an upstream from being used at all, or empty; the key is not told."""
    try:
        _target(upstream)
    except Unreachable as fault:
        return str(fault)
    if not all("!" <= letter <= "~" for letter in upstream.key):
        return f"the key of {upstream.name} holds something else than printable ASCII"
    return ""


def _target(upstream: Upstream) -> tuple[bool, Target]:
    parts = urlsplit(upstream.url)
    safe = parts.scheme == "https"
    if parts.scheme not in ("http", "https") or parts.query or parts.fragment or "@" in parts.netloc:
        raise Unreachable(f"the url of {upstream.name} is no plain http:// or https:// address")
    try:
        target = read_target(parts.netloc, port=443 if safe else 80)
        if upstream.address is not None:
            ip_address(upstream.address)
    except (BadTarget, ValueError) as fault:
        raise Unreachable(f"the url of {upstream.name} cannot be used: {fault}") from None
    return safe, target


def _told(fault: BaseException) -> str:
    if isinstance(fault, TimeoutError) and not fault.args:
        return "it did not answer in time"
    if isinstance(fault, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted ({fault.verify_message})"
    return (getattr(fault, "strerror", None) or str(fault) or type(fault).__name__).rstrip(".")
