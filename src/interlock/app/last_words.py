"""The last lines of an attempt as a person reads them: what its agent's stream said, not the stream itself, which stays raw in the log."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from interlock.app.starting import started_by
from interlock.app.stream_lines import told
from interlock.core.agent.packs import Pack
from interlock.core.job.lifecycle import Job
from interlock.ports.bundle import Ports
from interlock.ports.processes import End

LINES: Final = 10
"""Lines that are shown of an attempt."""

_READ_MOST: Final = 256 * 1024
"""Bytes of a stream's end that are told: a line of it may be long."""

_LINE_MOST: Final = 400


def last_words(ports: Ports, job: Job, number: int, end: End, objection: Pack | None = None) -> str:
    """What an attempt's ending is shown with: the head of the pack that objects, else its last lines.

    A command's lines are for people already.  Of any other agent it is what ``interlock logs`` tells of its
    stream, and what it wrote beside it.
    """
    if objection is not None:
        return _bounded(objection.text.splitlines()[:LINES])
    use = str(started_by(ports, job, number).get("agent") or "command")
    if use == "command":
        return end.tail
    seen = ports.agents.told(use, _end_of(ports.records.attempt(job.id, number) / "output.log"))
    said = [line for each in seen if (line := told(each))]
    beside = [line for line in end.tail.splitlines() if line.strip() and not _of_the_stream(line)]
    beside = beside[-LINES // 2 :] if said else beside[-LINES:]
    return _bounded((*said[len(beside) - LINES :], *beside))


def _of_the_stream(line: str) -> bool:
    """Whether a line is of the stream, whole or cut; its JSON is nothing to read."""
    return line.lstrip().startswith(("{", "…"))


def _bounded(lines: list[str] | tuple[str, ...]) -> str:
    return "\n".join(line if len(line) <= _LINE_MOST else f"{line[:_LINE_MOST]}…" for line in lines)


def _end_of(path: Path) -> bytes:
    """The last whole lines of a log; what is left of one that is cut off is no line of its stream."""
    data, cut = b"", False
    with suppress(OSError), path.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        cut = size > _READ_MOST
        stream.seek(max(0, size - _READ_MOST))
        data = stream.read(_READ_MOST)
    return data.partition(b"\n")[2] if cut else data
