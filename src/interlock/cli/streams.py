"""A log that may still grow, taken up in blocks and printed: as it is, as plain text, or as what an agent's stream says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import click

from interlock.core.agent.seen import Seen

BLOCK: Final = 1 << 20
"""Bytes that are read at a time."""

LINE_MOST: Final = 8 << 20
"""Bytes of one line that are held until its end comes; what a longer one says is not told."""


class Printer(Protocol):
    """What prints a log: handed its bytes in order, and told when there are no more."""

    def feed(self, data: bytes) -> None: ...
    def close(self) -> None: ...


class Following:
    """One log and how far it was printed; no more than a block of it is held, whatever its size."""

    def __init__(self, path: Path, printer: Printer) -> None:
        self._path, self._printer = path, printer
        self._offset = 0

    def on(self) -> None:
        """Print what came since the last time; a log that is not there yet has nothing."""
        if not self._path.exists():
            return
        with self._path.open("rb") as stream:
            stream.seek(self._offset)
            while data := stream.read(BLOCK):
                self._offset += len(data)
                self._printer.feed(data)

    def close(self) -> None:
        """Print the rest."""
        self.on()
        self._printer.close()


class Raw:
    """The bytes as they came."""

    def feed(self, data: bytes) -> None:
        click.echo(data, nl=False)

    def close(self) -> None:
        """Nothing was held back."""


class Plain:
    """Text that a terminal may have, also where a block ends within a character or a sequence."""

    def __init__(self) -> None:
        from interlock.host.text import Stream

        self._stream = Stream()

    def feed(self, data: bytes) -> None:
        click.echo(self._stream.feed(data), nl=False)

    def close(self) -> None:
        click.echo(self._stream.close(), nl=False)


class Told:
    """A line for each thing that whole lines of a stream say; ``decode`` gives what they say."""

    def __init__(self, decode: Callable[[bytes], Sequence[Seen]]) -> None:
        self._decode = decode
        self._held = b""
        self._too_long = False

    def feed(self, data: bytes) -> None:
        whole, end, rest = data.rpartition(b"\n")
        if not end:
            self._hold(rest)
            return
        first, _, more = whole.partition(b"\n")
        self._tell(b"" if self._too_long else self._held + first)
        self._tell(more)
        self._held, self._too_long = b"", False
        self._hold(rest)

    def close(self) -> None:
        """What has no end is no whole line, and says nothing."""

    def _hold(self, part: bytes) -> None:
        self._too_long = self._too_long or len(self._held) + len(part) > LINE_MOST
        self._held = b"" if self._too_long else self._held + part

    def _tell(self, lines: bytes) -> None:
        from interlock.app.stream_lines import told
        from interlock.host.text import plain

        for each in self._decode(lines) if lines else ():
            if line := told(each):
                click.echo(plain(line))


def end_of(path: Path) -> dict[str, Any]:
    """The last block of a log as text, and how many bytes before it are left out."""
    from interlock.host.files import tail

    size = path.stat().st_size if path.exists() else 0
    return {"text": tail(path, BLOCK).decode("utf-8", "replace"), "left_out": max(0, size - BLOCK)}
