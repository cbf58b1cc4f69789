"""SARIF 2.1.0 reports: bytes to findings; which of them the base has as well is core's question.

Source of the shapes: OASIS SARIF 2.1.0 (3.14 run, 3.20 invocation, 3.27 result, 3.35 suppression).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from interlock.adapters.checks.faults import BadReport, json_of
from interlock.adapters.checks.places import Places
from interlock.core.contract.surfaces import Level
from interlock.core.job.surface import ToolFinding
from interlock.host.text import plain

MOST_FINDINGS: Final = 20_000
_LEVELS: Final[Mapping[str, Level]] = {"note": "note", "warning": "warning", "error": "error", "none": "note"}
_NO_FAULT: Final = frozenset({"pass", "informational", "notApplicable"})
"""Kinds of a result that object to nothing (3.27.9)."""


def parse(data: bytes, *, tree: Path | None = None) -> tuple[ToolFinding, ...]:
    """The findings of every run of a report, suppressed ones marked, those that a baseline says are gone left out.

    Raises BadReport: another version, no run, a run that did not succeed or computed no results, results elsewhere.
    """
    document = json_of(data)
    if not isinstance(document, dict) or document.get("version") != "2.1.0":
        raise BadReport("The report is not SARIF 2.1.0.")
    runs = _list(document, "runs")
    if not runs:
        raise BadReport("The report holds no run, so no tool looked at anything.")
    places = Places(tree)
    found: list[ToolFinding] = []
    for run in runs:
        found += _Run(_mapping(run), places).findings()
        if len(found) > MOST_FINDINGS:
            raise BadReport(f"The report holds more than {MOST_FINDINGS} findings.")
    if places.elsewhere:
        raise BadReport("The report speaks of files of another tree alone.")
    return tuple(found)


class _Run:
    """One run of one tool."""

    def __init__(self, run: Mapping[str, Any], places: Places) -> None:
        self._run = run
        self._places = places
        driver = _mapping(_mapping(run.get("tool")).get("driver"))
        self._tool = plain(" ".join(str(driver.get("name") or "").split()))[:100]
        self._rules = [_mapping(rule) for rule in _list(driver, "rules")]
        self._by_id = {str(rule.get("id")): rule for rule in self._rules}

    def findings(self) -> list[ToolFinding]:
        if not self._tool:
            raise BadReport("A run of the report names no tool.")
        self._refuse_failed()
        if not isinstance(self._run.get("results"), list):
            raise BadReport(f"{self._tool} computed no results: it began and did not get that far.")
        found = [self._finding(_mapping(result)) for result in self._run["results"]]
        return [finding for finding in found if finding is not None]

    def _refuse_failed(self) -> None:
        for each in _list(self._run, "invocations"):
            invocation = _mapping(each)
            if invocation.get("executionSuccessful") is not True:
                raise BadReport(f"{self._tool} says that its run did not succeed.")
            for kind in ("toolExecutionNotifications", "toolConfigurationNotifications"):
                for listed in _list(invocation, kind):
                    notice = _mapping(listed)
                    if notice.get("level") == "error":
                        said = _text(notice.get("message"), {}) or "an error without words"
                        raise BadReport(f"{self._tool} had an error of its own: {said[:200]}.")
        outside = _mapping(self._run.get("externalPropertyFileReferences"))
        if outside.get("results"):
            raise BadReport(f"{self._tool} wrote its results into other files, which are not read.")

    def _finding(self, result: Mapping[str, Any]) -> ToolFinding | None:
        if str(result.get("kind", "fail")) in _NO_FAULT or result.get("baselineState") == "absent":
            return None
        rule = self._rule(result)
        name = str(result.get("ruleId") or _mapping(result.get("rule")).get("id") or rule.get("id") or "no-rule")
        default = _mapping(rule.get("defaultConfiguration")).get("level", "warning")
        level = str(result.get("level") or default)
        if level not in _LEVELS:
            raise BadReport(f"A finding has the level {level[:40]}, which SARIF does not know.")
        file, line = self._place(result)
        return ToolFinding(
            rule=plain(name)[:200],
            file=plain(file)[:1000],
            line=line,
            text=(_text(result.get("message"), _mapping(rule.get("messageStrings"))) or name)[:1000],
            level=_LEVELS[level],
            mark=_mark(result),
            suppressed=_suppressed(result),
        )

    def _rule(self, result: Mapping[str, Any]) -> Mapping[str, Any]:
        index = result.get("ruleIndex", _mapping(result.get("rule")).get("index"))
        if isinstance(index, int) and 0 <= index < len(self._rules):
            return self._rules[index]
        return self._by_id.get(str(result.get("ruleId")), {})

    def _place(self, result: Mapping[str, Any]) -> tuple[str, int]:
        locations = _list(result, "locations")
        physical = _mapping(_mapping(locations[0]).get("physicalLocation")) if locations else {}
        at = _mapping(physical.get("artifactLocation"))
        index, listed = at.get("index"), _list(self._run, "artifacts")
        if "uri" not in at and isinstance(index, int) and 0 <= index < len(listed):
            at = _mapping(_mapping(listed[index]).get("location"))
        if not at.get("uri"):
            return "(no file)", 0
        file = self._places.of(str(at["uri"]), base=self._base(str(at.get("uriBaseId") or ""), ()), uri=True)
        line = _mapping(physical.get("region")).get("startLine")
        return file, line if isinstance(line, int) and not isinstance(line, bool) else 0

    def _base(self, name: str, chain: tuple[str, ...]) -> str:
        """The folder that a base id stands for, where the report says it."""
        if not name or name in chain:
            return ""
        base = _mapping(_mapping(self._run.get("originalUriBaseIds")).get(name))
        outer = self._base(str(base.get("uriBaseId") or ""), (*chain, name))
        own = str(base.get("uri") or "").removeprefix("file://")
        return own if own.startswith("/") or not outer else f"{outer.rstrip('/')}/{own}"


def _mark(result: Mapping[str, Any]) -> str:
    """The fingerprints that the tool gave, those that it calls stable before the partial ones."""
    for kind in ("fingerprints", "partialFingerprints"):
        marks = _mapping(result.get(kind))
        if marks:
            return " ".join(f"{name}={marks[name]}" for name in sorted(marks))[:500]
    return ""


def _suppressed(result: Mapping[str, Any]) -> bool:
    """Whether a suppression is in force: one that is under review or rejected makes none of them count (3.27.23)."""
    listed = [_mapping(each) for each in _list(result, "suppressions")]
    return bool(listed) and all(each.get("status", "accepted") == "accepted" for each in listed)


def _text(message: Any, strings: Mapping[str, Any]) -> str:
    found = _mapping(message)
    text = str(found.get("text") or found.get("markdown") or "")
    if not text and found.get("id"):
        text = str(_mapping(strings.get(str(found["id"]))).get("text") or found["id"])
    for number, argument in enumerate(_list(found, "arguments")):
        text = text.replace(f"{{{number}}}", str(argument)[:200])
    return " ".join(plain(text[:4000]).split())


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(holder: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = holder.get(key)
    return value if isinstance(value, list) else ()
