"""The body of a request to a model: held whole before a byte goes on, and read without its long texts; what it may ask is asking's.

Two readers must not understand it differently, or a dear model could pass under a cheap one's name: a key that comes
twice is refused, and outermost in whatever spelling.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from interlock.host.models.scanning import SHOWN, BadBody, scan

MOST: Final = 64 << 20
"""Bytes of one request; vendors take 32 to 50 MB."""

MOST_HELD: Final = 256 << 20
"""Bytes of all requests of one gateway that are held at the same time."""

IN_MEMORY: Final = 1 << 20
_CHUNK: Final = 1 << 16
_MOST_NAME: Final = 200


class Pool:
    """How much all requests of a gateway hold together."""

    def __init__(self) -> None:
        self.held = 0

    def change(self, size: int) -> None:
        """Raises BadBody when that is too much; then nothing changed."""
        if size > 0 and self.held + size > MOST_HELD:
            raise BadBody("The gateway holds too many large requests already; try again when some are answered.", 503)
        self.held += size


class Body:
    """A request's body: in memory, and in a file of ``folder`` once it is large.  Close it."""

    def __init__(self, folder: Path, pool: Pool) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY, dir=str(folder))  # noqa: SIM115
        self._pool = pool
        self.size = 0

    def add(self, data: bytes) -> None:
        """Raises BadBody when it becomes too large."""
        if self.size + len(data) > MOST:
            raise BadBody(f"The request has more than {MOST} bytes.", 413)
        self._pool.change(len(data))
        self.size += len(data)
        self._file.write(data)

    def read(self) -> bytes:
        """All of it; a large one should be let go of soon."""
        self._file.seek(0)
        return self._file.read()

    def replace(self, data: bytes) -> None:
        """Raises BadBody."""
        self._empty()
        self.add(data)

    def chunks(self) -> Iterator[bytes]:
        self._file.seek(0)
        while data := self._file.read(_CHUNK):
            yield data

    def close(self) -> None:
        self._empty()
        self._file.close()

    def _empty(self) -> None:
        self._pool.change(-self.size)
        self.size = 0
        self._file.seek(0)
        self._file.truncate()


@dataclass(slots=True)
class Read:
    """What a request says: ``said`` without its long texts, outermost keys in lower case; ``spans`` where their values stand.

    ``read`` gives it.
    """

    said: dict[str, Any]
    spans: dict[str, tuple[int, int]]

    @property
    def model(self) -> str:
        """Raises BadBody."""
        model = self.said.get("model")
        start, end = self.spans.get("model", (0, 0))
        shortened = end - start > SHOWN  # what is left of it could be another's name
        if model is not None and (not isinstance(model, str) or shortened or len(model) > _MOST_NAME):
            raise BadBody(f"The model is not named by a text of at most {_MOST_NAME} characters.")
        return model or ""


def read(data: bytes) -> Read:
    """A request's JSON object; slow for a large one, so not for a loop that serves others.

    Raises BadBody for anything but one object, and for one that is too deep or has too many parts.
    """
    spans, short = scan(data)
    try:
        said = json.loads(short, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise BadBody("The request is no JSON object.") from None
    return Read({key.lower(): value for key, value in said.items()}, spans)


def with_usage(data: bytes, known: Read) -> bytes:
    """A request for a stream of Chat Completions, told to end with its usage; everything else is as it was.

    Raises BadBody.
    """
    span, options = known.spans.get("stream_options"), known.said.get("stream_options") or {}
    if not isinstance(options, dict):
        raise BadBody("stream_options is no object.")
    if options.get("include_usage") is True:
        return data
    wanted = json.dumps({**options, "include_usage": True}).encode()
    if span is not None:
        return data[: span[0]] + wanted + data[span[1] :]
    start = data.index(b"{") + 1
    comma = b"," if known.spans else b""
    return data[:start] + b'"stream_options":' + wanted + comma + data[start:]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different.  Raises BadBody."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise BadBody("An object of the request has a key twice.")
    return made
