"""Runs checks on one exact commit and judges them, against the base and against further runs; which checks is the caller's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from interlock.app.reruns import run_again
from interlock.app.running import Bench, key_of, run_all
from interlock.core.contract.card import Check, Report
from interlock.core.gate.judge import Beside, judge_check
from interlock.core.gate.surfaces import wants_base, with_demands_of
from interlock.core.gate.tests_kept import STILL, Moves
from interlock.core.job.evidence import CheckRun, Verdict
from interlock.ports.bundle import Ports

__all__ = ["BELIEVED", "Bench", "Doubt", "distinct", "known_green", "run_suite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """What is done about a check that fails: how often it is run again, and whether the base is asked if it fails there too.

    ``moves`` tells what the syntax of both sides says about tests that moved; it is asked only where a report is judged.
    """

    reruns: int = 0
    ask_base: bool = False
    moves: Callable[[], Moves] = lambda: STILL


BELIEVED = Doubt()
"""A failure is believed at once."""


def run_suite(
    ports: Ports, checks: Sequence[Check], head: Bench, base: Bench | None, *, doubt: Doubt = BELIEVED
) -> tuple[Verdict, ...]:
    """Verdicts on each check, in order.

    A check whose report passes is compared with the same check on the base, where one is given, so that tests
    that no longer run are named; one that fails is, where ``doubt`` says so, and is run again.  A run is taken from the store when
    the same command ran on the same tree.
    """
    runs = run_all(ports, checks, head)
    before: dict[str, CheckRun] = {}
    if base is not None:
        compared = [check for check in checks if _compared(runs[check.run], doubt)]
        before = run_all(ports, compared, base)
        for run in [name for name, known in before.items() if known.report is None and runs[name].report]:
            ports.narrate(f"{run}: no report from the base, so tests that are gone cannot be named.")
    tried = run_again(ports, checks, runs, before, head, most=doubt.reruns) if doubt.reruns else {}
    return tuple(
        _judged(ports, check, head, tried.get(check.run, (runs[check.run],)), before.get(check.run), doubt)
        for check in checks
    )


def _compared(run: CheckRun, doubt: Doubt) -> bool:
    failed = run.exit_code not in (0, None) and not run.timed_out
    return wants_base(run) or (doubt.ask_base and failed)


def _judged(
    ports: Ports, check: Check, head: Bench, tried: tuple[CheckRun, ...], before: CheckRun | None, doubt: Doubt
) -> Verdict:
    moves = doubt.moves() if tried[-1].report is not None else STILL
    beside = Beside(moves=moves, earlier=_earlier(ports, check, head, tried))
    return judge_check(check, tried[-1], before, beside)


def _earlier(ports: Ports, check: Check, head: Bench, tried: tuple[CheckRun, ...]) -> tuple[CheckRun, ...]:
    """The runs before the last one; of one that is taken over, the red one that is remembered: a flake is not forgotten."""
    if len(tried) > 1 or tried[-1].exit_code != 0:
        return tried[:-1]
    known = ports.store.cached_run(f"{key_of(check, head)}-flaky")
    return (replace(known, cached=True),) if known is not None else ()


def known_green(ports: Ports, checks: Sequence[Check], head: Bench) -> bool:
    """Whether each check is known to have passed on this very tree; nothing is run to find out."""
    known = [(check, ports.store.cached_run(key_of(check, head))) for check in checks]
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
    joined = replace(one, timeout=max(one.timeout, other.timeout))
    if one.report is None and other.report is None:
        return with_demands_of(joined, one, other)
    reports = [check.report or Report() for check in (one, other)]
    report = Report(
        at_least=max(_least(report) for report in reports) if any(r.at_least is not None for r in reports) else None,
        allow_skipped=all(report.allow_skipped for report in reports),
    )
    return with_demands_of(replace(joined, report=report), one, other)


def _least(report: Report) -> int:
    return 1 if report.at_least is None else report.at_least
