"""Bytes between two connections, both ways, until both are done or nothing moves for too long; what they say is others' work."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
Ends = tuple[Reader, Writer]

CHUNK: Final = 1 << 16
IDLE: Final = 3600.0
"""Seconds in which a connection may carry nothing: a model that thinks for long is no reason to cut it."""
_CLOSE_SECONDS: Final = 5.0


class _Flow:
    def __init__(self) -> None:
        self.moved = 0

    async def pump(self, source: Reader, target: Writer) -> None:
        while data := await source.read(CHUNK):
            self.moved += len(data)
            target.write(data)
            await target.drain()
        with suppress(OSError, RuntimeError):
            target.write_eof()


async def both(one: Ends, other: Ends, *, idle: float = IDLE) -> None:
    """Both ways until both sides ended, one broke off, or ``idle`` seconds passed without a byte.  Closes neither."""
    flow = _Flow()
    pumps = [
        asyncio.create_task(flow.pump(one[0], other[1])),
        asyncio.create_task(flow.pump(other[0], one[1])),
    ]
    try:
        before = -1
        waiting: set[asyncio.Task[None]] = set(pumps)
        while waiting and flow.moved != before:
            before = flow.moved
            done, waiting = await asyncio.wait(waiting, timeout=idle, return_when=asyncio.FIRST_EXCEPTION)
            if any(task.exception() for task in done):
                return
    finally:
        for task in pumps:
            task.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


async def close(writer: Writer) -> None:
    """Close a connection, whatever state it is in; what its other side does not take in five seconds is lost."""
    try:
        writer.close()
        await asyncio.wait_for(writer.wait_closed(), _CLOSE_SECONDS)
    except (OSError, RuntimeError):
        writer.transport.abort()
