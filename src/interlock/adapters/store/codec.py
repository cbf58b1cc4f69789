"""Jobs and evidence as plain JSON and back; their columns are in tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from interlock.core.job.evidence import CheckRun, Evidence, Finding, TestReport, Verdict
from interlock.core.job.lifecycle import Job, State, Waiting
from interlock.core.job.surface import surface_from


def plain(value: Any) -> Any:
    """A value as plain JSON: dataclasses and mappings become objects, tuples become lists.

    Raises TypeError for what JSON cannot hold.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise TypeError(f"{type(value).__name__} is not plain JSON.")


def job_from(doc: Mapping[str, Any]) -> Job:
    waiting = doc["waiting"]
    return Job(
        **{
            **doc,
            "state": State(doc["state"]),
            "hypotheses": tuple(doc["hypotheses"]),
            "waived_tests": tuple(doc["waived_tests"]),
            "phases": tuple(doc.get("phases", ())),
            "waiting": Waiting(**waiting) if waiting is not None else None,
        }
    )


def run_from(doc: Mapping[str, Any]) -> CheckRun:
    report, fault, surface = doc["report"], doc["report_fault"], doc.get("surface")
    return CheckRun(
        **{
            **doc,
            "report": TestReport(**report) if report is not None else None,
            "report_fault": (fault[0], fault[1]) if fault is not None else None,
            "leftovers": tuple(doc["leftovers"]),
            "argv": tuple(doc.get("argv", ())),
            "surface": surface_from(surface) if surface is not None else None,
        }
    )


def evidence_from(doc: Mapping[str, Any]) -> Evidence:
    verdicts = tuple(_verdict(verdict) for verdict in doc["verdicts"])
    return Evidence(**{**doc, "verdicts": verdicts, "grafted": tuple(doc.get("grafted", ()))})


def cached(run: CheckRun) -> CheckRun:
    """A run that was read from the store instead of being done now."""
    return replace(run, cached=True)


def _verdict(doc: Mapping[str, Any]) -> Verdict:
    return Verdict(
        **{
            **doc,
            "run": run_from(doc["run"]),
            "tests": tuple(doc["tests"]),
            "also": tuple(Finding(**{**each, "tests": tuple(each["tests"])}) for each in doc.get("also", ())),
            "notes": tuple(doc.get("notes", ())),
            "flaky": tuple(doc.get("flaky", ())),
            "reruns": tuple(map(run_from, doc.get("reruns", ()))),
        }
    )
