"""Addresses of a name: asked once, checked, and used as they are; which names may be asked is allow's work."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import Final

from interlock.core.sandbox import Host
from interlock.host.network import addresses
from interlock.host.network.allow import Denied, Target

Resolve = Callable[[str], Sequence[str]]
SECONDS: Final = 10.0
_AT_ONCE: Final = 16


def system(name: str) -> Sequence[str]:
    """What this machine's resolver says about the name, each address once.  Raises OSError."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(each[4][0]) for each in found))


class Lookup:
    """Asks ``resolve`` in threads of its own, a few at once: a resolver that hangs must not hold the proxy up."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def addresses(self, host: Host, target: Target) -> tuple[str, ...] | Denied:
        """Where the target may be reached, in the resolver's order; one forbidden answer spoils them all.

        Raises OSError when there is no answer.
        """
        if host.address is not None:
            return _pinned(host.address)
        found = (target.name,) if target.literal else await self._ask(target.name)
        for address in found:
            what = addresses.why_inner(address)
            if what is not None:
                return Denied(
                    why=f"{target.name} leads to {address}, which is {what}.",
                    change=f"If that is meant: {{host: {host.name}, address: {address}}} in the policy's network.",
                )
        if not found:
            raise OSError(f"{target.name} has no address")
        return found

    async def _ask(self, name: str) -> tuple[str, ...]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[tuple[str, ...]] = loop.create_future()

        def tell(found: tuple[str, ...], fault: OSError | None) -> None:
            self._turn.release()  # only now: a resolver that hangs must not pile up threads either
            if answer.done():
                return
            if fault is None:
                answer.set_result(found)
            else:
                answer.set_exception(fault)

        def ask() -> None:
            found: tuple[str, ...] = ()
            fault = None
            try:
                found = tuple(self._resolve(name))
            except Exception as raised:  # noqa: BLE001 - whatever it is, there is no answer
                fault = OSError(str(raised))
            with suppress(RuntimeError):  # the loop may have ended meanwhile
                loop.call_soon_threadsafe(tell, found, fault)

        async with asyncio.timeout(SECONDS):
            await self._turn.acquire()
            threading.Thread(target=ask, name="interlock-lookup", daemon=True).start()
            return await answer


def _pinned(address: str) -> tuple[str, ...] | Denied:
    """The address that the policy names: a number, since a name would be looked up by whoever connects."""
    try:
        return (str(ip_address(address)),)
    except ValueError:
        return Denied(why=f"The policy pins it to {address}, which is no address.", change="Write the number there.")
