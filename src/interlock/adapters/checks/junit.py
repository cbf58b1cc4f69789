"""JUnit reports: bytes to test states by identity, whatever the header claims; what they mean for a gate is core's.

Sources of the shapes: cases VG-05 (unreadable XML), VG-06 (counts by identity), VG-07 (odd attributes).
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from interlock.core.job.evidence import CaseState, TestReport

MOST_BYTES: Final = 64 << 20
_MOST_CASES: Final = 1_000_000
_DEEPEST: Final = 64
_DECLARATION: Final = re.compile(rb"\A<\?xml[^>]*?\?>")
_ENCODING: Final = re.compile(rb"encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_REFERENCE: Final = re.compile(r"&#(?:[xX]([0-9a-fA-F]{1,8})|([0-9]{1,10}));")
_FORBIDDEN: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# From better to worse: where an identity appears twice, the worse state stands.
_ORDER: Final[tuple[CaseState, ...]] = ("passed", "xpassed", "xfailed", "skipped", "error", "failed")


class BadReport(Exception):
    """A report that cannot be read; the text is a whole sentence."""


def parse(data: bytes, *, tree: Path | None = None) -> TestReport:
    """The states of the tests in a report.

    Durations are not looked at.  Absolute file names are taken relative to ``tree``, so that runs in different
    trees can be compared.  Raises BadReport.
    """
    if len(data) > MOST_BYTES:
        raise BadReport(f"The report has {len(data)} bytes, and {MOST_BYTES} are allowed.")
    data = data.removeprefix(codecs.BOM_UTF8).strip()
    if not data:
        raise BadReport("The report is empty.")
    try:
        return _Reader(tree).read(data)
    except (ParseError, ValueError, LookupError):
        return _Reader(tree).read_or_refuse(_cleaned(data))


def _cleaned(data: bytes) -> bytes:
    """The report without what XML forbids: control characters, references to them, bytes of another encoding."""
    head = _DECLARATION.match(data)
    named = _ENCODING.search(head[0]) if head else None
    encoding = "utf-8"
    if named:
        with suppress(LookupError):
            encoding = codecs.lookup(named[1].decode()).name
    try:
        text = data[head.end() if head else 0 :].decode(encoding, "replace")
    except (UnicodeError, LookupError) as fault:
        raise BadReport(f"The report is not {encoding}.") from fault
    text = _REFERENCE.sub(_allowed_reference, text)
    return _FORBIDDEN.sub("", text).encode()


def _allowed_reference(found: re.Match[str]) -> str:
    number = int(found[1], 16) if found[1] else int(found[2])
    allowed = number <= 0x10FFFF and not _FORBIDDEN.match(chr(number))
    return found[0] if allowed else ""


class _Reader:
    """One pass over a report; memory stays flat, since each element is dropped when it ends."""

    def __init__(self, tree: Path | None) -> None:
        self._tree = tree
        self._cases: dict[str, CaseState] = {}
        self._elements = 0
        self._claimed: list[int | None] = []
        self._suites: list[str] = []

    def read(self, data: bytes) -> TestReport:
        depth = 0
        try:
            for event, element in self._events(data):
                name = _local(element)
                if event == "start":
                    self._open(name, element, depth)
                    depth += 1
                    continue
                depth -= 1
                if name == "testcase":
                    self._take(element)
                if name in ("testcase", "testsuite", "properties", "system-out", "system-err"):
                    element.clear()
                if name == "testsuite":
                    self._suites.pop()
        except DefusedXmlException as fault:
            raise BadReport("The report declares entities, which are not read.") from fault
        return TestReport(cases=self._cases, note=self._note())

    def read_or_refuse(self, data: bytes) -> TestReport:
        try:
            return self.read(data)
        except (ParseError, ValueError, LookupError) as fault:
            raise BadReport(f"The report is not XML: {fault}.") from fault

    def _events(self, data: bytes) -> Iterator[tuple[str, Element]]:
        found: Any = iterparse(io.BytesIO(data), events=("start", "end"))
        yield from found

    def _open(self, name: str, element: Element, depth: int) -> None:
        if depth == 0 and name not in ("testsuites", "testsuite"):
            raise BadReport(f"The report begins with <{name}>, not with a test suite.")
        if depth >= _DEEPEST:
            raise BadReport(f"The report is nested more than {_DEEPEST} deep.")
        if name == "testsuite":
            self._suites.append(element.get("name") or "")
        if name == "testsuite" and len(self._suites) == 1:
            self._claimed.append(_number(element.get("tests")))

    def _take(self, element: Element) -> None:
        self._elements += 1
        if self._elements > _MOST_CASES:
            raise BadReport(f"The report holds more than {_MOST_CASES} tests.")
        identity = self._identity(element)
        state = _state(element)
        known = self._cases.get(identity)
        if known is None or _ORDER.index(state) > _ORDER.index(known):
            self._cases[identity] = state

    def _identity(self, element: Element) -> str:
        """File (where the class does not say it), class and name; the suites where there is neither file nor class."""
        name = element.get("name") or f"unnamed test {self._elements}"
        group = element.get("classname") or ""
        file = self._file(element.get("file") or "")
        if file.rpartition(".")[0].replace("/", ".") in group:
            file = ""
        if not group and not file:
            group = "/".join(filter(None, self._suites))
        return "::".join(filter(None, (file, group, name)))

    def _file(self, name: str) -> str:
        if self._tree is not None and name.startswith("/"):
            with suppress(ValueError):
                return Path(name).relative_to(self._tree).as_posix()
        return name

    def _note(self) -> str:
        claimed = [number for number in self._claimed if number is not None]
        counted = len(self._cases)
        if not claimed or sum(claimed) == counted:
            return ""
        return f"The report's header says {sum(claimed)} tests, and {counted} were counted by name."


def _state(element: Element) -> CaseState:
    """The worst thing said about one test; an expected failure is told from a skip by pytest's mark."""
    states: list[CaseState] = ["passed"]
    for child in element:
        match _local(child):
            case "failure":
                states.append("failed")
            case "error":
                states.append("error")
            case "skipped":
                states.append(_skip(child))
            case _:
                pass
    return max(states, key=_ORDER.index)


def _skip(element: Element) -> CaseState:
    if element.get("type") == "pytest.xfail":
        return "xfailed"
    return "xpassed" if "passes unexpectedly" in (element.get("message") or "") else "skipped"


def _local(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 10 else None
