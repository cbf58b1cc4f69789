"""The body of a request to a model: held whole before a byte goes on, its outermost keys found without building it; pure otherwise.

Two readers must not understand it differently, or a dear model could pass under a cheap one's name: a key that comes
twice, in whatever spelling, is refused.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

MOST: Final = 64 << 20
"""Bytes of one request; vendors take 32 to 50 MB."""

IN_MEMORY: Final = 1 << 20
_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:"]', re.DOTALL)
_CHUNK: Final = 1 << 16
_LONGEST_VALUE: Final = 4096


class BadBody(Exception):
    """A body that is not passed on; the text says why."""

    def __init__(self, why: str, status: int = 400) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the outermost keys of a request say, as far as the gateway has to know."""

    model: str = ""
    stream: bool = False
    background: bool = False


class Body:
    """A request's body: in memory, and in a file of ``folder`` once it is large.  Close it."""

    def __init__(self, folder: Path) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY, dir=str(folder))  # noqa: SIM115
        self.size = 0

    def add(self, data: bytes) -> None:
        """Raises BadBody when it becomes too large."""
        self.size += len(data)
        if self.size > MOST:
            raise BadBody(f"The request has more than {MOST} bytes.", 413)
        self._file.write(data)

    def read(self) -> bytes:
        """All of it; a large one should be let go of soon."""
        self._file.seek(0)
        return self._file.read()

    def replace(self, data: bytes) -> None:
        self._file.seek(0)
        self._file.truncate()
        self.size = 0
        self.add(data)

    def chunks(self) -> Iterator[bytes]:
        self._file.seek(0)
        while data := self._file.read(_CHUNK):
            yield data

    def close(self) -> None:
        self._file.close()


def asked(data: bytes) -> Asked:
    """What a request asks for.  Raises BadBody."""
    spans = outermost(data)
    model = _value(data, spans.get("model"))
    if model is not None and not isinstance(model, str):
        raise BadBody("The model is not named by a text.")
    return Asked(
        model=model or "",
        stream=_value(data, spans.get("stream")) is True,
        background=_value(data, spans.get("background")) not in (None, False),
    )


def with_usage(data: bytes) -> bytes:
    """A request for a stream of Chat Completions, told to end with its usage; everything else is as it was.

    Raises BadBody.
    """
    spans = outermost(data)
    span = spans.get("stream_options")
    known = _value(data, span) or {}
    if not isinstance(known, dict):
        raise BadBody("stream_options is no object.")
    if known.get("include_usage") is True:
        return data
    wanted = json.dumps({**known, "include_usage": True}).encode()
    if span is not None:
        return data[: span[0]] + wanted + data[span[1] :]
    start = data.index(b"{") + 1
    comma = b"," if spans else b""
    return data[:start] + b'"stream_options":' + wanted + comma + data[start:]


def outermost(data: bytes) -> dict[str, tuple[int, int]]:
    """Where the value of each outermost key of a JSON object stands.

    Keys are in lower case, since some servers do not tell case apart.  Raises BadBody for anything but one object,
    and for a key that comes twice.
    """
    if not data.lstrip()[:1] == b"{":
        raise BadBody("The request is no JSON object.")
    found: dict[str, tuple[int, int]] = {}
    depth, key, start = 0, "", -1
    last: re.Match[bytes] | None = None
    for token in _TOKEN.finditer(data):
        mark = token[0][:1]
        if mark == b'"' and len(token[0]) == 1:
            raise BadBody("The request breaks off within a text.")
        if mark in b"{[":
            depth += 1
        elif depth == 1 and mark == b":" and start < 0:
            key, start = _key(last), token.end()
            if key in found:
                raise BadBody(f"The key {key} comes twice.")
        elif mark in b",}]":
            if depth == 1 and start >= 0:
                found[key] = (start, token.start())
                start = -1
            depth -= mark != b","
            if depth == 0:
                _end(data, token.end())
                return found
        last = token
    raise BadBody("The request breaks off.")


def _end(data: bytes, at: int) -> None:
    if data[at:].strip():
        raise BadBody("Something follows the request's JSON object.")


def _key(token: re.Match[bytes] | None) -> str:
    text = token[0] if token is not None else b""
    if text[:1] != b'"':
        raise BadBody("The request is no JSON object.")
    try:
        return str(json.loads(text)).lower()
    except ValueError:
        raise BadBody("A key of the request is no JSON text.") from None


def _value(data: bytes, span: tuple[int, int] | None) -> Any:
    if span is None:
        return None
    if span[1] - span[0] > _LONGEST_VALUE:
        raise BadBody("A value of the request is too long for what it is.")
    try:
        return json.loads(data[span[0] : span[1]])
    except ValueError:
        raise BadBody("A value of the request is no JSON.") from None
