"""Runs failed checks again, so that a test that fails by accident is told from one that is broken; what that means is core's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from interlock.app.running import Bench, key_of, lock_of, run_fresh
from interlock.core.contract.card import Check
from interlock.core.gate.flaky import LEAST_SECONDS, failed_tests, narrowed, worth_another
from interlock.core.job.evidence import CheckRun
from interlock.ports.bundle import Ports

_SLACK: Final = 2.0
"""How much longer than the first run a further one may take."""


def run_again(
    ports: Ports,
    checks: Sequence[Check],
    runs: Mapping[str, CheckRun],
    before: Mapping[str, CheckRun],
    head: Bench,
    *,
    most: int,
) -> dict[str, tuple[CheckRun, ...]]:
    """All runs of each check that failed and was run again, oldest first; the last one is to be judged.

    First the failed tests alone, where they can be named: what fails again is broken.  If they pass, the whole check is run again
    in a fresh tree, since a test that only fails beside others is no accident.  ``most`` times at most, and all together no longer
    than the first runs took, or a minute.
    """
    left = max(LEAST_SECONDS, sum(run.seconds for run in runs.values()))
    found: dict[str, tuple[CheckRun, ...]] = {}
    for check in checks:
        first = runs[check.run]
        if check.run in found or not worth_another(first, before.get(check.run)):
            continue
        tried = [first]
        for number in range(1, most + 1):
            if tried[-1].exit_code == 0 or left <= 0:
                break
            more = _once_more(ports, check, head, first, number, left)
            left -= sum(run.seconds for run in more)
            tried = [*tried[:-1], *_in_order(tried[-1], more)]
        found[check.run] = tuple(tried)
        _remember(ports, check, head, tried)
    return found


def _once_more(
    ports: Ports, check: Check, head: Bench, first: CheckRun, number: int, left: float
) -> tuple[CheckRun, ...]:
    """The failed tests alone, and the whole check again when they pass."""
    key = f"{key_of(check, head)}-again-{number}"
    limit = min(check.timeout, left, max(first.seconds * _SLACK, LEAST_SECONDS))
    again = replace(check, timeout=limit)
    alone = narrowed(check, first)
    fresh = replace(head, ready=None)
    with lock_of(ports, fresh):
        if alone is not None:
            one = replace(again, run=alone)
            run = run_fresh(ports, [(one, f"{key}-alone")], fresh, remember=False)[alone]
            if run.exit_code != 0 or failed_tests(run.report):
                return (run,)
        return (run_fresh(ports, [(again, key)], fresh, remember=False)[check.run],)


def _in_order(last: CheckRun, more: tuple[CheckRun, ...]) -> list[CheckRun]:
    """What is judged stands last: the whole check, green or red; a run of single tests never takes its place."""
    whole = [run for run in more if run.run == last.run]
    return [last, *whole] if whole else [*more, last]


def _remember(ports: Ports, check: Check, head: Bench, tried: Sequence[CheckRun]) -> None:
    """A check that passed at last is known on this tree as green, and as one that failed before."""
    if tried[-1].exit_code != 0 or tried[-1].report_fault is not None:
        return
    key = key_of(check, head)
    ports.store.cache_run(f"{key}-flaky", next(run for run in tried if run.run == check.run))
    ports.store.cache_run(key, tried[-1])
