"""How the gate asks for real surfaces: the one rule of the judge, what a run's result depends on, and what a base is needed for.

What each surface is held against is in surface_rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, Final

from interlock.core.contract.card import Check, Report
from interlock.core.contract.surfaces import given_document
from interlock.core.gate import surface_rules as rules
from interlock.core.job.evidence import CheckRun

Found = rules.Found
_RULES: Final[tuple[Callable[[Check, CheckRun, CheckRun | None], Found], ...]] = (
    rules.program,
    rules.migrations,
    rules.lines,
    rules.findings,
    rules.coverage,
    rules.numbers,
    rules.interface,
    rules.shots,
)
_JUDGED_LATER: Final = frozenset({"coverage", "limits", "least_level", "found_exit", "may_renew", "tier"})
"""Keys of a check that only the judgement looks at: a run is the same whatever they say."""

_FORMATS: Final = ("junit", "tap", "sarif", "cobertura", "lcov", "benchmark", "log")
"""Keys of a report that say where something is read from."""

_COUNTING: Final = ("coverage", "limits", "document", "against", "state", "heads", "wait")


def judge_findings(check: Check, run: CheckRun, base: CheckRun | None) -> Found:
    """The first objection to what a run showed beside its tests: rule, sentence, names.  None when there is none."""
    for rule in _RULES:
        found = rule(check, run, base)
        if found is not None:
            return found
    return None


def explains_exit(check: Check, run: CheckRun) -> bool:
    """Whether an exit status other than 0 only says that the tool found something, which the findings then are judged for.

    It must be the very status that the check names for it (1 by default), and a finding must have been read.
    """
    found = run.surface.findings if run.surface is not None else None
    return bool(found) and run.exit_code == check.found_exit and run.report_fault is None


def makes_document(check: Check) -> bool:
    """Whether the check's command writes the document, so that an earlier one is removed before it runs."""
    return check.document is not None and check.run != given_document(check.document)


def demand_of(check: Check) -> list[Any]:
    """All of a check that changes what its run yields, as plain JSON: the same list, the same run on the same tree."""
    values = {name: value for name, value in asdict(check).items() if name not in _JUDGED_LATER}
    report = check.report or Report()
    values["report"] = [getattr(report, name) for name in _FORMATS] + [bool(report.at_least)]
    values["pictures"] = [[picture.image, picture.against, picture.mask] for picture in check.pictures]
    return [[name, values[name]] for name in sorted(values)]


def wants_base(run: CheckRun) -> bool:
    """Whether a run shows something that the base's run of the same check is compared with; without a finding there is none."""
    surface = run.surface
    if run.report is not None or surface is None:
        return run.report is not None
    measured = surface.coverage is not None or surface.numbers is not None or surface.interface is not None
    return measured or bool(surface.expected) or bool(surface.findings)


def is_readable(run: CheckRun) -> bool:
    """Whether a run shows enough to be compared with, whatever came of it."""
    return run.report is not None or run.surface is not None or not run.expected_report


def with_demands_of(joined: Check, one: Check, other: Check) -> Check:
    """The joined check with all that either of two checks of one command asks beside tests and time."""
    merged: dict[str, Any] = {name: _either(getattr(one, name), getattr(other, name)) for name in _COUNTING}
    for name in ("expects", "refuses", "files", "limits", "pictures"):
        merged[name] = tuple(dict.fromkeys((*getattr(one, name), *getattr(other, name))))
    levels = ("note", "warning", "error")
    strictest = min(one.least_level, other.least_level, key=levels.index)
    reports = [check.report for check in (one, other) if check.report is not None]
    report = joined.report
    if reports:
        formats = {name: next((value for each in reports if (value := getattr(each, name))), None) for name in _FORMATS}
        silent = len(reports) == 2 and all(each.allow_suppressed for each in reports)
        report = replace(report or reports[0], **formats, allow_suppressed=silent)  # type: ignore[arg-type]
    return replace(
        joined,
        **merged,
        kind=_either(one.kind, other.kind),
        least_level=strictest,
        may_renew=one.may_renew and other.may_renew,
        report=report,
    )


def _either(one: Any, other: Any) -> Any:
    return one if one is not None else other
