"""What the record of a run says: the raw streams of its folder decoded by an adapter and folded; bytes that no adapter knows stay raw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from interlock.core.agent.adapter import AgentAdapter
from interlock.core.agent.folding import Folding
from interlock.core.agent.seen import Answered, Seen, Summary, Unknown
from interlock.core.agent.texts import clean
from interlock.core.agent.usage import UNKNOWN, Usage
from interlock.host import answers

OUTPUT: Final = "output.log"
ERRORS: Final = "errors.log"
LINE_MOST: Final = 8 << 20
"""Bytes of one line that are decoded: a client wrote 429 kB for one command (facts/agents §2); a longer line is unknown."""

_CHUNK: Final = 1 << 20


def summary(
    adapter: AgentAdapter,
    folder: Path,
    *,
    before: Usage = UNKNOWN,
    usd_before: float | None = None,
    resumed: str = "",
) -> Summary:
    """The streams of an attempt's folder as far as they are written, folded; never raises for what stands in them."""
    folding = Folding(before=before, usd_before=usd_before, resumed=resumed)
    _feed(folding, folder / OUTPUT, lambda line: [_true(each, folder) for each in adapter.decode(line)])
    _feed(folding, folder / ERRORS, adapter.complain)
    return folding.summary()


def _true(said: Seen, folder: Path) -> Seen:
    """The same, unless it is an answer that nobody gave: the agent may come to write into its stream, and not to answer."""
    if isinstance(said, Answered) and not answers.was_given(folder / answers.FOLDER, said.id):
        return Unknown(type="an answer that nobody gave")
    return said


def _feed(folding: Folding, path: Path, decode: Callable[[bytes], Sequence[Seen]]) -> None:
    for line in _lines(path):
        if len(line) > LINE_MOST:
            folding.line([Unknown()])
        elif line.strip():
            folding.line(clean(each) for each in decode(_as_text(line)))


def _as_text(line: bytes) -> bytes:
    """The line as UTF-8, whatever was in it: one stray byte must not hide the word that a run was complete."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return line.decode("utf-8", "replace").encode()
    return line


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, the last one also without its end; of one that is longer than ``LINE_MOST`` a part that is longer, too."""
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
