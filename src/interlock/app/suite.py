"""Runs checks on one exact commit and judges them: once for each equal command on an equal tree; which checks is the caller's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from interlock.core.contract.card import Check
from interlock.core.gate.judge import judge_check
from interlock.core.job.evidence import CheckRun, Verdict
from interlock.ports import Ports


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where a suite runs: the commit and its tree, the environment, the folder of its logs, and the tree's folder.

    ``ready`` is a tree that was proven to equal the commit, or None for a fresh one.
    """

    commit: str
    tree: str
    env: Mapping[str, str]
    logs: Path
    ready: Path | None = None


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
    return tuple(judge_check(check, runs[check.run], before.get(check.run)) for check in checks)


def known_green(ports: Ports, checks: Sequence[Check], head: Bench) -> bool:
    """Whether each check is known to have passed on this very tree; nothing is run to find out."""
    known = [(check, ports.store.cached_run(_key(check, head))) for check in checks]
    return all(run is not None and judge_check(check, run, None).state == "passed" for check, run in known)


def distinct(checks: Sequence[Check]) -> tuple[Check, ...]:
    """Each command once, with the strictest report that any of its users asks for."""
    found: dict[str, Check] = {}
    for check in checks:
        known = found.get(check.run)
        if known is None or _strictness(check) > _strictness(known):
            found[check.run] = check
    return tuple(found.values())


def _strictness(check: Check) -> tuple[int, bool]:
    report = check.report
    return ((report.at_least or 0) if report else -1, bool(report and not report.allow_skipped))


def _run_all(ports: Ports, checks: Sequence[Check], bench: Bench) -> dict[str, CheckRun]:
    runs: dict[str, CheckRun] = {}
    missing: list[tuple[Check, str]] = []
    for check in checks:
        key = _key(check, bench)
        known = ports.store.cached_run(key)
        if known is not None:
            runs[check.run] = replace(known, cached=True)
        elif check.run not in runs:
            missing.append((check, key))
    if not missing:
        return runs
    if bench.ready is not None:
        return runs | _run_in(ports, missing, bench, bench.ready)
    folder = bench.logs / f"tree-{bench.tree[:12]}"
    with ports.repo.fresh_tree(bench.commit, folder) as tree:
        return runs | _run_in(ports, missing, bench, tree)


def _run_in(ports: Ports, checks: Sequence[tuple[Check, str]], bench: Bench, tree: Path) -> dict[str, CheckRun]:
    runs: dict[str, CheckRun] = {}
    for check, key in checks:
        if check.run in runs:
            continue
        ports.narrate(f"checks {bench.commit[:12]}: {check.run}")
        log = bench.logs / f"{key}.log"
        run = ports.checks.run(check, tree, bench.env, log)
        runs[check.run] = run
        if not run.timed_out and run.exit_code is not None:
            ports.store.cache_run(key, run)
    return runs


def _key(check: Check, bench: Bench) -> str:
    """Equal command, report and tree, in an equal environment but for ports and names, which differ by task."""
    report = check.report
    shape = [check.run, report.junit if report else None, check.timeout, bench.tree]
    return hashlib.sha256(json.dumps(shape).encode()).hexdigest()[:24]
