"""Whether what a test runner said last agrees with how its command ended and with its report; the verdict is core's."""

from __future__ import annotations

import re
from typing import Final

from interlock.core.contract.card import Check
from interlock.core.gate.recognise import pytest_command
from interlock.core.job.evidence import TestReport

# The last line of pytest, as it is plain, quiet or framed; and that of unittest.
_COUNTED: Final = re.compile(r"^=*[ ]?((?:\d+ [a-z]+, )*\d+ [a-z]+) in \d[\d.]*s\b.*$", re.MULTILINE)
_UNITTEST: Final = re.compile(r"^(OK|FAILED)(?: \(([^)\n]*)\))?$", re.MULTILINE)
_BAD: Final = re.compile(r"\b([1-9]\d*) (?:failed|errors?)\b")
# Options under which the output of passing tests, which may be that of a runner in a test, stands in ours.
_SHOWS_OUTPUT: Final = re.compile(r"(?:^|\s)(?:-[a-zA-Z]*s\b|--capture|-r\w*[PA]|-o\s)")


def said_failed(check: Check, tail: str, report: TestReport | None) -> str:
    """A sentence on failures that the runner counted last, when the report of a check that ended with 0 has none; else empty.

    Of a command that is one run of pytest each such line counts, since nothing else of it should write one.
    """
    if report is None and check.expects:
        return ""  # the check says itself what its output has to hold
    if report is not None and any(state in ("failed", "error") for state in report.cases.values()):
        return ""
    lines = [(found.start(), found[1], found[0]) for found in _COUNTED.finditer(tail)]
    lines += [(found.start(), _counts(found), found[0]) for found in _UNITTEST.finditer(tail)]
    lines.sort()
    alone = pytest_command(check.run) is not None and not _SHOWS_OUTPUT.search(check.run)
    for _, counts, line in lines if alone else lines[-1:]:
        if _BAD.search(counts):
            told = "its report holds none that failed" if report is not None else "it wrote no report that names them"
            return f"The check ended with 0 and {told}, although its output says: {line.strip('= ')[:120]}."
    return ""


def _counts(found: re.Match[str]) -> str:
    """``failures=1, errors=2`` of unittest as pytest would count it."""
    if found[1] == "OK":
        return ""
    return ", ".join(
        f"{number} failed" for number in re.findall(r"(?:failures|errors|unexpected successes)=(\d+)", found[2] or "")
    )
