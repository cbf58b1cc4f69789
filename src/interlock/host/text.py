"""Raw output made fit to be shown: no escape sequences, no control or direction characters; the raw bytes stay in the log.

Source of the list: ECMA-48 for escape sequences and C1, Unicode UAX 9 for direction controls; case SP-04.
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import Final

from interlock.host import files

_STRING_END: Final = r"(?:\x07|\x1b\\|\x9c)"
_SEQUENCE: Final = re.compile(
    r"(?:\x1b\]|\x9d|\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:"
    + _STRING_END
    + r"|(?=[\x1b\n])|\Z)"  # OSC, DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI
    r"|\x1b[ -/]*[0-~]?"  # every other escape
)
_TO_LINE_START: Final = re.compile(r"(?:\x1b\[|\x9b)[01]?G")
_FORBIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    "\u061c\u200b\u200e\u200f\u202a-\u202e\u2028\u2029\u2060\u2066-\u206f\ufeff\ufff9-\ufffb"  # direction, invisible
    "\U000e0000-\U000e007f]"  # tags
)
_INTRODUCERS: Final = "\x1b\x90\x98\x9b\x9d\x9e\x9f"
_OPEN_MOST: Final = 4096
_TOLD: Final = 8
_LINE_MOST: Final = 2000
_TAIL_BYTES: Final = 1 << 16
_ERROR: Final = re.compile(
    r"(?i)\b(?:error|err!|err_\w+|fatal|fail(?:ed|ure)|cannot|could not|unable to|no such|not found|denied)(?!\w)|^\s*[\u00d7\u2717]"
)
_WARNING: Final = re.compile(r"(?i)\bwarn(?:ing)?\b")
_BARE: Final = re.compile(r"(?i)^\s*(?:npm\s+)?(?:error|err!)?:?\s*$")


def plain(raw: bytes | str) -> str:
    """Text that is safe on a terminal and in a report: of each line its last state, and only tabs and newlines.

    A line that was rewritten by carriage returns (progress) is shown as it stood last.
    """
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    text = _SEQUENCE.sub("", _TO_LINE_START.sub("\r", text))
    return "\n".join(_line(line) for line in text.split("\n"))


def _line(line: str) -> str:
    if "\b" in line:
        line = _without_backspaces(line)
    states = [state for state in line.split("\r") if state.strip()]
    return _FORBIDDEN.sub("", states[-1]) if states else ""


def _without_backspaces(line: str) -> str:
    kept: list[str] = []
    for char in line:
        if char != "\b":
            kept.append(char)
        elif kept and kept[-1] != "\r":
            kept.pop()
    return "".join(kept)


def last_lines(path: Path, count: int = 40) -> str:
    """The last lines of a log as plain text, each of at most 2,000 characters; empty when there is no log."""
    raw = files.tail(path, _TAIL_BYTES)
    lines = [line.rstrip() for line in plain(raw).split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(line if len(line) <= _LINE_MOST else f"…{line[-_LINE_MOST:]}" for line in lines[-count:])


def telling_lines(text: str) -> str:
    """The lines of a log that tell why something failed: the first that names an error with those after it, and the last two.

    The last eight where no line names one, or where they hold it anyway.  Lines of a mere prefix are left out.
    """
    lines = [line for line in text.splitlines() if not _BARE.match(line)]
    first = next((at for at, line in enumerate(lines) if _ERROR.search(line) and not _WARNING.search(line)), None)
    if first is None or first >= len(lines) - _TOLD:
        return "\n".join(lines[-_TOLD:])
    return "\n".join((*lines[first : first + _TOLD - 3], "…", *lines[-2:]))


class Stream:
    """Raw bytes in pieces to plain text in whole lines; a sequence that is cut by a piece's end waits for its rest."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> str:
        """The lines that are complete now, with their newlines; a line without end is given out in parts."""
        text = self._rest + self._decoder.decode(data)
        whole, newline, self._rest = text.rpartition("\n")
        if newline:
            return plain(whole + newline)
        if self._must_give():
            whole, self._rest = self._rest, ""
        return plain(whole)

    def close(self) -> str:
        """What was left without a newline."""
        rest, self._rest = self._rest + self._decoder.decode(b"", final=True), ""
        return plain(rest)

    def _must_give(self) -> bool:
        size = len(self._rest)
        if size <= _TAIL_BYTES:
            return False
        last = max(self._rest.rfind(char) for char in _INTRODUCERS)
        return last < 0 or size - last > _OPEN_MOST or size > 16 * _TAIL_BYTES
