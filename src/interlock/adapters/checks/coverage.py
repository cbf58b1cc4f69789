"""Line coverage in Cobertura XML and LCOV: bytes to covered and all lines of each file; what is enough is core's question.

Lines are counted one by one, each once; the ratios of a header are not used.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from interlock.adapters.checks.faults import BadReport, NothingRan, check_size, text_of, whole
from interlock.adapters.checks.places import Places

_DEEPEST: Final = 32
_MOST_LINES: Final = 20_000_000
_Hits = dict[str, dict[int, bool]]
Covered = Mapping[str, tuple[int, int]]


def cobertura(data: bytes, *, tree: Path | None = None) -> Covered:
    """Covered and all lines by file.  Raises BadReport: no XML, another root, entities, files of another tree alone."""
    check_size(data)
    try:
        return _counted(_Cobertura(tree).read(data))
    except DefusedXmlException as fault:
        raise BadReport("The report declares entities, which are not read.") from fault
    except (ParseError, ValueError, LookupError) as fault:
        raise BadReport(f"The report is not XML: {fault}.") from fault


class _Cobertura:
    def __init__(self, tree: Path | None) -> None:
        self._places = Places(tree)
        self._hits: _Hits = {}
        self._sources: list[str] = []
        self._file = ""
        self._depth = 0
        self._lines = 0

    def read(self, data: bytes) -> _Hits:
        for event, element in self._events(data):
            if event == "start":
                self._open(element)
            else:
                self._close(element)
        if self._places.elsewhere:
            raise BadReport("The report speaks of files of another tree alone.")
        return self._hits

    def _events(self, data: bytes) -> Iterator[tuple[str, Element]]:
        # The type that a report usually declares names an outside file; it is not fetched, and entities are refused.
        found: Any = iterparse(io.BytesIO(data), events=("start", "end"), forbid_dtd=False)
        yield from found

    def _open(self, element: Element) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise BadReport(f"The report is nested more than {_DEEPEST} deep.")
        if self._depth == 1 and element.tag != "coverage":
            raise BadReport(f"The report begins with <{element.tag}>, not with <coverage>.")
        if element.tag == "class":
            name = element.get("filename")
            if not name:
                raise BadReport("A class of the report names no file.")
            roots = [source for source in self._sources if source.startswith("/")]
            self._file = self._places.of(name, base=roots[0] if len(roots) == 1 else "")
            self._hits.setdefault(self._file, {})

    def _close(self, element: Element) -> None:
        self._depth -= 1
        if element.tag == "source":
            self._sources.append((element.text or "").strip())
        elif element.tag == "line" and self._file:
            self._line(element)
        elif element.tag == "class":
            self._file = ""
        if element.tag in ("class", "package", "line"):
            element.clear()

    def _line(self, element: Element) -> None:
        number, hits = whole(element.get("number") or ""), whole(element.get("hits") or "")
        if number is None or hits is None:
            raise BadReport(f"A line of {self._file} has no number, or no count of its runs.")
        self._lines += 1
        if self._lines > _MOST_LINES:
            raise BadReport(f"The report holds more than {_MOST_LINES} lines.")
        known = self._hits[self._file]
        known[number] = known.get(number, False) or hits > 0


def lcov(data: bytes, *, tree: Path | None = None) -> Covered:
    """Covered and all lines by file.  Raises BadReport: cut, a line of no known shape, files of another tree alone."""
    places = Places(tree)
    hits: _Hits = {}
    file, claimed = "", None
    for number, line in enumerate(text_of(data).split("\n"), start=1):
        word, colon, rest = line.strip().partition(":")
        if word == "SF" and colon:
            if file:
                raise BadReport(f"The report is cut or glued: a file begins in line {number} before {file} ends.")
            file, claimed = places.of(rest), None
            hits.setdefault(file, {})
        elif word == "DA" and colon:
            _count(hits, file, rest, number)
        elif word == "LF" and colon:
            claimed = whole(rest)
        elif word == "end_of_record":
            if claimed is not None and file and claimed > len(hits[file]):
                raise BadReport(f"The report says that {file} has {claimed} lines, and {len(hits[file])} are in it.")
            file = ""
    if file:
        raise BadReport(f"The report is cut: {file} does not end.")
    if places.elsewhere:
        raise BadReport("The report speaks of files of another tree alone.")
    return _counted(hits)


def _count(hits: _Hits, file: str, rest: str, number: int) -> None:
    line, _, count = rest.partition(",")
    at, runs = whole(line), whole(count.partition(",")[0])
    if not file or at is None or runs is None:
        raise BadReport(f"Line {number} of the report cannot be read.")
    known = hits[file]
    known[at] = known.get(at, False) or runs > 0


def _counted(hits: _Hits) -> Covered:
    counted = {file: (sum(lines.values()), len(lines)) for file, lines in sorted(hits.items()) if lines}
    if not counted:
        raise NothingRan("The report holds no line that could be covered, which is not 100 %.")
    return counted
