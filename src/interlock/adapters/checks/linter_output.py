"""Findings and proofs of life in the output of linters and type checkers that write no report; SARIF is sarif's.

The shapes: ``file:line:column: error: text [rule]`` (mypy, gcc, flake8, ruff's concise form), ``file(line,column): error TS1: text``
(tsc), ``file:line:column - error: text (rule)`` (pyright).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from interlock.adapters.checks.faults import BadReport, NothingRan
from interlock.adapters.checks.places import Places
from interlock.adapters.checks.sarif import MOST_FINDINGS
from interlock.core.contract.surfaces import Level
from interlock.core.job.surface import ToolFinding

_MOST_LINE: Final = 2000
_PLACE: Final = re.compile(r"(?:\((\d{1,9})(?:,\d{1,9})?\)|:(\d{1,9})(?::\d{1,9})?)(?::| -)[ ]")
_RULE_BEHIND: Final = re.compile(r"[\[(]([A-Za-z][\w./-]{1,60})[\])]$")
_RULE_BEFORE: Final = re.compile(r"([A-Z][A-Za-z]{0,9}\d{1,6}):?[ ]")
_LEVELS: Final[tuple[tuple[str, Level], ...]] = (
    ("error", "error"),
    ("fatal error", "error"),
    ("warning", "warning"),
    ("note", "note"),
    ("info", "note"),
    ("hint", "note"),
)
_LOOKED: Final = (
    re.compile(r"Success: no issues found in [1-9]\d* source files?"),
    re.compile(r"All checks passed!"),
    re.compile(r"Found \d+ errors? in \d+ files?"),
    re.compile(r"Found \d+ errors?\."),
    re.compile(r"\d+ errors?, \d+ warnings?"),
)
_LOOKED_AT_NOTHING: Final = ("No Python files found under the given path", "No source files found", "No files to check")
_COUNT: Final = re.compile(r"Found (\d{1,9}) errors?\b")


def findings(lines: Sequence[str], *, tree: Path | None = None, shown: bool = False) -> tuple[ToolFinding, ...]:
    """The findings of an output.

    ``shown`` says that another demand of the check proves that the tool looked at something.  Raises BadReport when the
    output counts more findings than can be read, or when nothing in it shows that anything was looked at.
    """
    places = Places(tree)
    found: list[ToolFinding] = []
    looked, counted = shown, 0
    for each in lines:
        line = each[:_MOST_LINE].strip()
        if line.removeprefix("warning: ").startswith(_LOOKED_AT_NOTHING):
            raise NothingRan(f"The tool looked at nothing: {line[:200]}.")
        finding = _finding(line, places)
        if finding is not None:
            found.append(finding)
            if len(found) > MOST_FINDINGS:
                raise BadReport(f"The output holds more than {MOST_FINDINGS} findings.")
        elif any(pattern.match(line) for pattern in _LOOKED):
            looked = True
            if (said := _COUNT.match(line)) is not None:
                counted += int(said[1])
    if counted > len(found):
        raise BadReport(f"The tool says that it found {counted}, and {len(found)} could be read from its output.")
    if not found and not looked:
        raise NothingRan(
            "Nothing in the output shows that the tool looked at anything: let it write SARIF, "
            "or name in expects a line that it writes when it has."
        )
    return tuple(found)


def _finding(line: str, places: Places) -> ToolFinding | None:
    at = _PLACE.search(line)
    if at is None or at.start() == 0:
        return None
    file, rest = line[: at.start()], line[at.end() :].strip()
    if not ("." in file or "/" in file) or " " in file.strip() or "://" in file:
        return None
    level: Level = "warning"
    for word, meaning in _LEVELS:
        if rest.lower().startswith((f"{word}:", f"{word} ")):
            level, rest = meaning, rest[len(word) :].lstrip(": ")
            break
    before, behind = _RULE_BEFORE.match(rest), _RULE_BEHIND.search(rest)
    if behind is not None:
        rule, rest = behind[1], rest[: behind.start()].rstrip()
    elif before is not None:
        rule, rest = before[1], rest[before.end() :]
        level = "error" if rule.startswith("TS") else level
    else:
        rule = "no-rule"
    number = int(at[1] or at[2])
    return ToolFinding(rule=rule, file=places.of(file.strip()), line=number, text=rest[:1000], level=level)
