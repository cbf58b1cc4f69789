"""Runs checks on one exact commit and judges them: once for each equal command on an equal tree; which checks is the caller's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from interlock.app.rooms import Furnished
from interlock.core.contract.card import Check, Level, Report
from interlock.core.gate.judge import judge_check
from interlock.core.job.evidence import CheckRun, Verdict
from interlock.ports import Ports, Room

READER = 2
"""Counted up when reports are read in another way, so that no run is compared with one that was read before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where a suite runs: the commit and its tree, the level of the walls around it, the folder of its logs.

    ``furnish`` gives a room what its checks may have, as long as they run; ``around`` is a digest of that, since a run is
    taken over only where it would find the same.  ``ready`` is the room of a tree that was proven to
    equal the commit, or None for a fresh one; ``compared`` says that the runs are only compared with, so that a
    red one is worth keeping: others are run again when they are asked for.
    """

    commit: str
    tree: str
    level: Level
    logs: Path
    furnish: Callable[[Room], AbstractContextManager[Furnished]]
    around: str = ""
    ready: Room | None = None
    compared: bool = False


def run_suite(ports: Ports, checks: Sequence[Check], head: Bench, base: Bench | None) -> tuple[Verdict, ...]:
    """Verdicts on each check, in order.

    A check whose report passes is compared with the same check on the base, where one is given, so that tests
    that no longer run are named.  A run is taken from the store when the same command ran on the same tree.
    """
    runs = _run_all(ports, checks, head)
    before: dict[str, CheckRun] = {}
    if base is not None:
        compared = [check for check in checks if runs[check.run].report is not None]
        before = _run_all(ports, compared, base)
        for run in [name for name, known in before.items() if known.report is None]:
            ports.narrate(f"{run}: no report from the base, so tests that are gone cannot be named.")
    return tuple(judge_check(check, runs[check.run], before.get(check.run)) for check in checks)


def known_green(ports: Ports, checks: Sequence[Check], head: Bench) -> bool:
    """Whether each check is known to have passed on this very tree; nothing is run to find out."""
    known = [(check, ports.store.cached_run(_key(check, head))) for check in checks]
    return all(run is not None and judge_check(check, run, None).state == "passed" for check, run in known)


def distinct(checks: Sequence[Check]) -> tuple[Check, ...]:
    """Each command once, asking for all that any of its users asks for."""
    found: dict[str, Check] = {}
    for check in checks:
        known = found.get(check.run)
        found[check.run] = check if known is None else _stricter(known, check)
    return tuple(found.values())


def _stricter(one: Check, other: Check) -> Check:
    """The same command under both demands; a check without a report demands one test and no new skip."""
    timeout = max(one.timeout, other.timeout)
    if one.report is None and other.report is None:
        return replace(one, timeout=timeout)
    reports = [check.report or Report() for check in (one, other)]
    report = Report(
        junit=next((report.junit for report in reports if report.junit), None),
        at_least=max(_least(report) for report in reports) if any(r.at_least is not None for r in reports) else None,
        allow_skipped=all(report.allow_skipped for report in reports),
    )
    return replace(one, report=report, timeout=timeout)


def _least(report: Report) -> int:
    return 1 if report.at_least is None else report.at_least


def _run_all(ports: Ports, checks: Sequence[Check], bench: Bench) -> dict[str, CheckRun]:
    runs: dict[str, CheckRun] = {}
    missing: list[tuple[Check, str]] = []
    for check in checks:
        key = _key(check, bench)
        known = ports.store.cached_run(key) or (ports.store.cached_run(f"{key}-red") if bench.compared else None)
        if known is not None:
            runs[check.run] = replace(known, cached=True)
        elif check.run not in runs:
            missing.append((check, key))
    if not missing:
        return runs
    if bench.ready is not None:
        return runs | _run_in(ports, missing, bench, bench.ready)
    folder = bench.logs / f"tree-{bench.tree[:12]}"
    name = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    with (
        ports.records.lock(f"tree-{name}", wait=None),
        ports.workspaces.fresh(bench.commit, folder, bench.level) as room,
    ):
        return runs | _run_in(ports, missing, bench, room)


def _run_in(ports: Ports, checks: Sequence[tuple[Check, str]], bench: Bench, room: Room) -> dict[str, CheckRun]:
    """Run checks one after the other; each finds the tracked files as the commit has them, whatever others wrote."""
    runs: dict[str, CheckRun] = {}
    with bench.furnish(room) as done:
        for check, key in checks:
            if check.run in runs:
                continue
            if runs:
                _put_back(ports, bench, room)
            ports.narrate(f"checks {bench.commit[:12]}: {check.run}")
            run = ports.checks.run(check, done.room, done.env, bench.logs / f"{key}.log", done.redact)
            runs[check.run] = run
            _remember(ports, bench, key, run)
    if bench.ready is not None:
        _put_back(ports, bench, room)
    return runs


def _put_back(ports: Ports, bench: Bench, room: Room) -> None:
    wrong = ports.workspaces.put_back(room, bench.commit)
    if wrong:
        ports.narrate(f"checks {bench.commit[:12]}: a check changed {', '.join(wrong[:5])}; put back.")


def _remember(ports: Ports, bench: Bench, key: str, run: CheckRun) -> None:
    """Keep a green run, and a red one only where it is compared with: others are run again when asked for."""
    if run.exit_code == 0 and run.report_fault is None:
        ports.store.cache_run(key, run)
    elif bench.compared and run.exit_code is not None and (run.report is not None or not run.expected_report):
        ports.store.cache_run(f"{key}-red", run)


def _key(check: Check, bench: Bench) -> str:
    """Equal command, demand for a report, kind of place, level, surroundings and tree; only names and numbers of a task differ."""
    report = check.report
    counted = bool(report and report.at_least)
    place = "task" if bench.ready else "fresh"
    asked = report.junit if report else None
    shape = [READER, check.run, asked, counted, check.timeout, place, bench.level, bench.around, bench.tree]
    return hashlib.sha256(json.dumps(shape).encode()).hexdigest()[:24]
