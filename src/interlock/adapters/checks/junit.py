"""JUnit reports: bytes to test states by identity, whatever the header claims; what they mean for a gate is core's.

Sources of the shapes: cases VG-05 (unreadable XML), VG-06 (counts by identity), VG-07 (odd attributes).
"""

from __future__ import annotations

import codecs
import io
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from interlock.adapters.checks.faults import MOST_BYTES, BadReport, PlannedOnly
from interlock.core.job.evidence import CaseState, TestReport

__all__ = ["MOST_BYTES", "BadReport", "Identities", "parse"]

_MOST_CASES: Final = 1_000_000
_DEEPEST: Final = 64
_DECLARATION: Final = re.compile(rb"\A<\?xml[^>]*?\?>")
_ENCODING: Final = re.compile(rb"encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_REFERENCE: Final = re.compile(r"&#(?:[xX]([0-9a-fA-F]{1,8})|([0-9]{1,10}));")
_FORBIDDEN: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ADDRESS: Final = re.compile(r"\bat 0x[0-9a-fA-F]+")
_NONE: Final = re.compile(r"0+(\.0+)?")
_SUITES: Final = ("testsuites", "testsuite")
# What a tool says of a test in an attribute alone, without an element of its own (GoogleTest, CTest, others).
_SAID: Final[dict[str, CaseState]] = {
    "notrun": "skipped",
    "disabled": "skipped",
    "suppressed": "skipped",
    "skipped": "skipped",
    "ignored": "skipped",
    "pending": "skipped",
    "fail": "failed",
    "failed": "failed",
    "failure": "failed",
    "regression": "failed",
    "error": "error",
}
# Words of a test that is done and well.  Any other word is none that says so: a tool that means a break has many for it.
_SAID_WELL: Final = frozenset(
    {
        "run",
        "completed",
        "complete",
        "executed",
        "finished",
        "done",
        "ended",
        "ok",
        "true",
        "fixed",
        "0",
        "pass",
        "passed",
        "passing",
        "success",
        "successful",
        "succeeded",
    }
)
# From better to worse: where an identity appears twice, the worse state stands.
_ORDER: Final[tuple[CaseState, ...]] = ("passed", "xpassed", "xfailed", "skipped", "error", "failed")


def parse(data: bytes, *, tree: Path | None = None) -> TestReport:
    """The states of the tests in a report.

    Durations are not looked at.  The path of ``tree`` and addresses of objects are taken out of the names, so that
    runs in different trees can be compared.  A suite that broke, or whose header counts failures that no test
    shows, stands among the tests as an error.  Raises BadReport.
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


class Identities:
    """Names of tests that are equal in any tree and any process; those that become equal by it are numbered."""

    def __init__(self, tree: Path | None) -> None:
        self._tree = _inside(tree) if tree is not None else None
        self._seen: dict[str, dict[str, int]] = {}

    def plain(self, text: str) -> str:
        """The text without the path of the tree and without addresses."""
        text = self._tree.sub("", text) if self._tree is not None else text
        return _ADDRESS.sub("at 0x0", text)

    def of(self, written: str) -> str:
        """The identity of a test that is written so."""
        identity = self.plain(written)
        seen = self._seen.setdefault(identity, {})
        number = seen.setdefault(written, len(seen) + 1)
        return identity if number == 1 else f"{identity} #{number}"


def _inside(tree: Path) -> re.Pattern[str]:
    """The path of a tree, as it is and resolved, also as pytest escapes it, where it stands as a whole path."""
    paths = {str(tree), os.path.realpath(tree)}
    spelled = paths | {path.encode("unicode_escape").decode() for path in paths}
    any_of = "|".join(re.escape(path) for path in sorted(spelled, key=len, reverse=True))
    return re.compile(rf"(?<![\w.-])(?:{any_of})(?:/|(?![\w.-]))")


class _Reader:
    """One pass over a report; memory stays flat, since each element is dropped when it ends."""

    def __init__(self, tree: Path | None) -> None:
        self._identities = Identities(tree)
        self._cases: dict[str, CaseState] = {}
        self._elements = 0
        self._by_pytest = False
        self._claimed: list[int | None] = []
        self._every_claim: list[int] = []
        self._broken: dict[str, CaseState] = {}
        self._counted_bad: dict[str, CaseState] = {}
        self._suites: list[str] = []
        self._open_names: list[str] = []

    def read(self, data: bytes) -> TestReport:
        try:
            for event, element in self._events(data):
                if event == "start":
                    self._open(_local(element), element)
                else:
                    self._close(_local(element), element)
        except DefusedXmlException as fault:
            raise BadReport("The report declares entities, which are not read.") from fault
        self._refuse_not_run()
        note = self._note()
        return TestReport(cases={**self._cases, **self._suites_at_fault()}, note=note)

    def read_or_refuse(self, data: bytes) -> TestReport:
        try:
            return self.read(data)
        except (ParseError, ValueError, LookupError) as fault:
            raise BadReport(f"The report is not XML: {fault}.") from fault

    def _events(self, data: bytes) -> Iterator[tuple[str, Element]]:
        found: Any = iterparse(io.BytesIO(data), events=("start", "end"))
        yield from found

    def _open(self, name: str, element: Element) -> None:
        if not self._open_names and name not in _SUITES:
            raise BadReport(f"The report begins with <{name}>, not with a test suite.")
        if len(self._open_names) >= _DEEPEST:
            raise BadReport(f"The report is nested more than {_DEEPEST} deep.")
        self._open_names.append(name)
        if name == "testsuite":
            self._suites.append(element.get("name") or "")
        if name in _SUITES:
            self._read_header(name, element)

    def _read_header(self, name: str, element: Element) -> None:
        tests = _number(element.get("tests"))
        # The second name is the suite's own by default, and the only mark in reports of older versions.
        self._by_pytest |= (name, element.get("name")) in (("testsuites", "pytest tests"), ("testsuite", "pytest"))
        if name == "testsuite" and len(self._suites) == 1:
            self._claimed.append(tests)
        if tests is not None:
            self._every_claim.append(tests)
        for kind in ("failures", "errors"):
            count = (element.get(kind) or "").strip()
            if count and not _NONE.fullmatch(count):  # what is no count of none is not said to be none
                self._counted_bad[f"{self._suite()} (its header counts {kind}: {count[:20]})"] = "error"

    def _close(self, name: str, element: Element) -> None:
        self._open_names.pop()
        if name == "testcase":
            self._take(element)
        if name in ("failure", "error") and self._open_names and self._open_names[-1] in _SUITES:
            self._broken[f"{self._suite()} (<{name}> outside its tests)"] = "error"
        if name in ("testcase", "testsuite", "properties", "system-out", "system-err"):
            element.clear()
        if name == "testsuite":
            self._suites.pop()

    def _suite(self) -> str:
        return f"suite {self._identities.plain('/'.join(filter(None, self._suites)))}".strip()

    def _take(self, element: Element) -> None:
        self._elements += 1
        if self._elements > _MOST_CASES:
            raise BadReport(f"The report holds more than {_MOST_CASES} tests.")
        named = bool((element.get("name") or "").strip())
        identity = self._identity(element, named=named)
        # pytest writes an element without a name for a test that began and did not end.
        state = _state(element) if named else max(_state(element), "error", key=_ORDER.index)
        known = self._cases.get(identity)
        if known is None or _ORDER.index(state) > _ORDER.index(known):
            self._cases[identity] = state

    def _identity(self, element: Element, *, named: bool) -> str:
        """File (where the class does not say it), class and name; the suites where there is neither file nor class."""
        name = element.get("name") if named else f"unnamed test {self._elements}"
        group = element.get("classname") or ""
        file = element.get("file") or ""
        if self._identities.plain(file).rpartition(".")[0].replace("/", ".") in group:
            file = ""
        if not group and not file:
            group = "/".join(filter(None, self._suites))
        return self._identities.of("::".join(filter(None, (file, group, name))))

    def _refuse_not_run(self) -> None:
        """Tests that pytest only set up, or that never ended, are listed and not counted; other tools may count less."""
        if self._elements and self._every_claim and not any(self._every_claim):
            what = f"Its header says that 0 tests ran, and {self._elements} are listed: they were planned and not run."
            raise PlannedOnly(what)
        ran = sum(number for number in self._claimed if number is not None)
        if self._by_pytest and None not in self._claimed and not self._bad() and ran < len(self._cases):
            what = f"pytest's header says that {ran} tests ran, and {len(self._cases)} are listed: not all were run."
            raise PlannedOnly(what)

    def _bad(self) -> bool:
        return any(state in ("failed", "error") for state in self._cases.values())

    def _suites_at_fault(self) -> dict[str, CaseState]:
        """Suites that broke outside their tests, and headers that count failures which no test shows."""
        return self._broken if self._broken or self._bad() else self._counted_bad

    def _note(self) -> str:
        claimed = [number for number in self._claimed if number is not None]
        counted = len(self._cases)
        if not claimed or sum(claimed) == counted:
            return ""
        return f"The report's header says {sum(claimed)} tests, and {counted} were counted by name."


def _state(element: Element) -> CaseState:
    """The worst thing said about one test; an expected failure is told from a skip by pytest's mark."""
    states: list[CaseState] = ["passed"]
    states += [_said(element.get(key) or "") for key in ("status", "result")]
    for child in element:
        match _local(child):
            case "failure" | "rerunFailure":
                states.append("failed")
            case "error" | "rerunError":
                states.append("error")
            case "skipped":
                states.append(_skip(child))
            case "disabled":
                states.append("skipped")
            case _:
                pass
    return max(states, key=_ORDER.index)


def _said(word: str) -> CaseState:
    """What an attribute says of a test; a word that nobody knows is not said to be well."""
    said = word.strip().lower()
    return "passed" if not said or said in _SAID_WELL else _SAID.get(said, "error")


def _skip(element: Element) -> CaseState:
    if element.get("type") == "pytest.xfail":
        return "xfailed"
    return "xpassed" if "passes unexpectedly" in (element.get("message") or "") else "skipped"


def _local(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 10 else None
