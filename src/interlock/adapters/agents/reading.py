"""What the record of a run says: the raw streams of its folder decoded by an adapter and folded; bytes that no adapter knows stay raw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from interlock.core.agent.adapter import AgentAdapter
from interlock.core.agent.folding import Folding
from interlock.core.agent.seen import Seen, Summary
from interlock.core.agent.usage import UNKNOWN, Usage
from interlock.host import files

OUTPUT: Final = "output.log"
ERRORS: Final = "errors.log"
LINE_MOST: Final = 8 << 20
"""Bytes of one line that are decoded: a client wrote 429 kB for one command (facts/agents §2); a longer line is unknown."""

_TRANSCRIPTS: Final = 50
_TRANSCRIPT_MOST: Final = 32 << 20
_CHUNK: Final = 1 << 20


def summary(
    adapter: AgentAdapter, folder: Path, *, before: Usage = UNKNOWN, usd_before: float | None = None
) -> Summary:
    """The streams of an attempt's folder as far as they are written, folded; never raises for what stands in them."""
    folding = Folding(before=before, usd_before=usd_before)
    _feed(folding, folder / OUTPUT, adapter.decode)
    _feed(folding, folder / ERRORS, adapter.complain)
    return folding.summary()


def transcripts(adapter: AgentAdapter, home: Path) -> dict[str, bytes]:
    """The files below HOME that tell the usage of a run that was killed, newest first; read without following links."""
    found: dict[Path, float] = {}
    for pattern in adapter.transcripts():
        with suppress(OSError):
            for path in home.glob(pattern):
                with suppress(OSError):
                    found[path] = path.lstat().st_mtime
    newest = sorted(found, key=lambda path: -found[path])[:_TRANSCRIPTS]
    texts = {}
    for path in newest:
        with suppress(OSError, ValueError), files.open_beneath(home, str(path.relative_to(home))) as descriptor:
            texts[str(path.relative_to(home))] = files.read_open(descriptor, _TRANSCRIPT_MOST)
    return texts


def _feed(folding: Folding, path: Path, decode: Callable[[bytes], Sequence[Seen]]) -> None:
    for line in _lines(path):
        if line.strip():
            folding.line(decode(_as_text(line)))


def _as_text(line: bytes) -> bytes:
    """The line as UTF-8, whatever was in it: one stray byte must not hide the word that a run was complete."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return line.decode("utf-8", "replace").encode()
    return line


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, each cut at ``LINE_MOST``; the last one also without its end."""
    try:
        file = path.open("rb")
    except OSError:
        return
    with file:
        held = b""
        while data := file.read(_CHUNK):
            *whole, rest = (held + data).split(b"\n")
            yield from whole
            held = rest[: LINE_MOST + 1]
        if held:
            yield held
