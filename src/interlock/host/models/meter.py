"""Usage read from a response while it passes by: event streams and plain JSON of the three dialects, normalised.

A vendor's own names: Anthropic counts input without what was cached, OpenAI with it (facts/agents §4).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from interlock.core.agent.dialect import Dialect
from interlock.core.agent.usage import UNKNOWN, Usage, total, whole

MOST_HELD: Final = 8 << 20
"""Bytes of one event, or of one plain answer, that are looked at; of a longer one the usage stays unknown."""

_COMPLETE: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
_COMPRESSED: Final = {"gzip": 47, "x-gzip": 47, "deflate": 47}


class Meter:
    """What one response says about its cost; hand in its body as it comes.

    ``usage`` is what the vendor said, ``whole`` whether it was its last word, ``model`` who answered, ``bytes`` the
    size of the body.
    """

    def __init__(self, dialect: Dialect, *, coding: str = "") -> None:
        self.usage: Usage = UNKNOWN
        self.whole = False
        self.model = ""
        self.bytes = 0
        self._dialect = dialect
        self._held = bytearray()
        self._plain: bool | None = None
        self._skips = coding not in ("", "identity") and coding not in _COMPRESSED
        self._unpack = zlib.decompressobj(_COMPRESSED[coding]) if coding in _COMPRESSED else None

    def feed(self, data: bytes) -> None:
        """Take in what came; never raises: what cannot be read leaves the usage as far as it was known."""
        self.bytes += len(data)
        try:
            self._feed(data)
        except Exception:  # noqa: BLE001 - whatever a vendor says, the call goes on and is counted
            self._skips = True

    def _feed(self, data: bytes) -> None:
        if self._unpack is not None:
            try:
                data = self._unpack.decompress(data, MOST_HELD)
            except zlib.error:
                self._skips = True
        if self._skips:
            return
        if self._plain is None:
            begun = bytes(self._held) + data
            if not begun.lstrip():
                return
            self._plain = begun.lstrip()[:1] in (b"{", b"[")
        self._held += data
        if not self._plain:
            self._lines()
        if len(self._held) > MOST_HELD:
            self._held.clear()
            self._skips = self._plain

    def end(self) -> None:
        """The body is complete."""
        if self._plain and not self._skips:
            self._take(bytes(self._held), plain=True)
        elif not self._skips and self._held:
            self._line(bytes(self._held))
        self._held.clear()
        self.whole = self.whole or (self._dialect == "chat" and self.usage.output is not None)

    def _lines(self) -> None:
        *lines, rest = self._held.split(b"\n") if b"\n" in self._held else (self._held,)
        for line in lines:
            self._line(bytes(line))
        self._held = bytearray(rest)

    def _line(self, line: bytes) -> None:
        # A key of an event is never escaped, and a quote inside a text always is: most events are not parsed at all.
        if line.startswith(b"data:") and (b'"usage"' in line or b'"message_stop"' in line):
            self._take(line[5:], plain=False)

    def _take(self, data: bytes, *, plain: bool) -> None:
        with suppress(Exception):  # whatever a vendor says, the call goes on and is counted
            said = json.loads(data)
            if isinstance(said, dict):
                _READERS[self._dialect](self, said, plain)

    def anthropic(self, said: Mapping[str, Any], plain: bool) -> None:
        kind = said.get("type")
        if plain and kind == "message":
            self._named(said)
            self.usage = _with_iterations(UNKNOWN, _map(said.get("usage")))
            self.whole = self.usage.output is not None
        elif kind == "message_start":
            message = _map(said.get("message"))
            self._named(message)
            self.usage = _anthropic(_map(message.get("usage")))
        elif kind == "message_delta":
            self.usage = _with_iterations(self.usage, _map(said.get("usage")))
            self.whole = self.usage.output is not None
        elif kind == "message_stop":
            self.whole = self.usage.output is not None

    def responses(self, said: Mapping[str, Any], plain: bool) -> None:
        if not plain and said.get("type") not in _COMPLETE:
            return
        answer = said if plain else _map(said.get("response"))
        self._named(answer)
        used = _map(answer.get("usage"))
        if used:
            cached = _map(used.get("input_tokens_details"))
            thought = _map(used.get("output_tokens_details"))
            self.usage = _openai(
                used.get("input_tokens"), cached, used.get("output_tokens"), thought.get("reasoning_tokens")
            )
            self.whole = self.usage.output is not None

    def chat(self, said: Mapping[str, Any], plain: bool) -> None:
        used = _map(said.get("usage"))
        if used:
            self._named(said)
            cached = _map(used.get("prompt_tokens_details"))
            thought = _map(used.get("completion_tokens_details"))
            self.usage = _openai(
                used.get("prompt_tokens"), cached, used.get("completion_tokens"), thought.get("reasoning_tokens")
            )
            last = plain or not said.get("choices")
            self.whole = last and self.usage.output is not None  # some servers give the usage so far with each event

    def _named(self, said: Mapping[str, Any]) -> None:
        name = said.get("model")
        if isinstance(name, str):
            self.model = name[:200]


_READERS: Final = {"anthropic": Meter.anthropic, "responses": Meter.responses, "chat": Meter.chat}


def _anthropic(used: Mapping[str, Any]) -> Usage:
    thought = _map(used.get("output_tokens_details"))
    return Usage(
        uncached_input=whole(used.get("input_tokens")),
        cache_read=whole(used.get("cache_read_input_tokens")),
        cache_write=whole(used.get("cache_creation_input_tokens")),
        output=whole(used.get("output_tokens")),
        reasoning=whole(thought.get("thinking_tokens", thought.get("reasoning_tokens"))),
    )


def _with_iterations(before: Usage, used: Mapping[str, Any]) -> Usage:
    """Usage after an event; where the vendor worked in several rounds (compaction), the sum of them when that is more.

    The totals of such an answer leave rounds out, by Anthropic's documentation of compaction.
    """
    known = _later(before, _anthropic(used))
    rounds = used.get("iterations")
    listed = rounds if isinstance(rounds, list) else []
    worked = total(_anthropic(each) for each in listed if isinstance(each, dict))
    return _later(known, worked) if (worked.total or 0) > (known.total or 0) else known


def _openai(put_in: object, cached: Mapping[str, Any], put_out: object, thought: object) -> Usage:
    all_input = whole(put_in)
    read, written = whole(cached.get("cached_tokens")), whole(cached.get("cache_write_tokens"))
    return Usage(
        uncached_input=None if all_input is None else max(0, all_input - (read or 0) - (written or 0)),
        cache_read=read,
        cache_write=written,
        output=whole(put_out),
        reasoning=whole(thought),
    )


def _later(before: Usage, now: Usage) -> Usage:
    """Totals that came later stand over earlier ones; what the later event leaves out stays."""
    old, new = before.as_json(), now.as_json()
    return Usage(**{name: old[name] if new[name] is None else new[name] for name in old})


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
