"""The two pipes to the agent as a transport of the SDK: updates are taken out on the way, noise is told and passed over."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from interlock.bridge.lines import Lines

LONGEST_LINE: Final = 64 << 20
_SHOWN: Final = 200


class Wire:
    """Lines of JSON from and to the agent (acp's Transport)."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        lines: Lines,
        updated: Callable[[Mapping[str, Any]], None],
    ) -> None:
        self._reader, self._writer = reader, writer
        self._lines = lines
        self._updated = updated

    async def send(self, message: dict[str, Any]) -> None:
        self._writer.write(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """The next message that is not an update, or None at the end of the stream."""
        while line := await self._line():
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                message = None
            if not isinstance(message, dict):
                self._noise(line)
            elif message.get("method") == "session/update":
                self._take(message)
            else:
                return message
        return None

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _line(self) -> bytes:
        try:
            return await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as end:
            return end.partial
        except asyncio.LimitOverrunError as fault:
            raise ConnectionError(f"The agent wrote a line of more than {LONGEST_LINE} bytes.") from fault

    def _take(self, message: Mapping[str, Any]) -> None:
        params = message.get("params")
        update = params.get("update") if isinstance(params, dict) else None
        if isinstance(update, dict):
            self._updated(update)

    def _noise(self, line: bytes) -> None:
        text = line.strip().decode("utf-8", "replace")
        if text:
            self._lines.write("warned", text=f"The agent wrote what is no message: {text[:_SHOWN]}")
