"""Where in the two sides a merge left its first mark of a clash; making merges is others' work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interlock.core.merge.melted import Spot

_OPEN: Final = b"<<<<<<< "
_MIDDLE: Final = b"======="
_CLOSE: Final = b">>>>>>> "
_SHOWN: Final = 160


def first_clash(marked: bytes, one: bytes, other: bytes, *, swapped: bool) -> tuple[Spot, Spot] | None:
    """The first line of either side that clashes, counted from 1 in that side's own file; None where there is no mark.

    ``marked`` is the merged file; with ``swapped`` it was merged with ``other`` first.
    """
    lines = marked.split(b"\n")
    at = next((number for number, line in enumerate(lines) if line.startswith(_OPEN)), None)
    if at is None:
        return None
    middle = next((number for number in range(at, len(lines)) if lines[number].rstrip(b"\r") == _MIDDLE), len(lines))
    close = next((number for number in range(middle, len(lines)) if lines[number].startswith(_CLOSE)), len(lines))
    first, second = lines[at + 1 : middle], lines[middle + 1 : close]
    mine, theirs = (second, first) if swapped else (first, second)
    return _spot(one, mine, at), _spot(other, theirs, at)


def _spot(data: bytes, block: Sequence[bytes], near: int) -> Spot:
    """Where the block stands in a file: the place that is nearest to where the merged file has it."""
    lines = data.split(b"\n")
    if not block:
        return Spot(line=max(1, min(near + 1, len(lines))), text="")
    size = len(block)
    starts = [at for at in range(len(lines) - size + 1) if lines[at] == block[0] and lines[at : at + size] == [*block]]
    at = min(starts, key=lambda start: abs(start - near), default=min(near, len(lines) - 1))
    return Spot(line=at + 1, text=block[0].decode("utf-8", "replace").strip()[:_SHOWN])
