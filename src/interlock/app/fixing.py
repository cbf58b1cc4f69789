"""Runs the test that a card says it repairs where it must fail: on the base, with the tests of the work; judging it is core's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from interlock.app.running import Bench, run_all
from interlock.core.contract.card import Card, Check
from interlock.core.gate.changes import SUBMODULE, SYMLINK, Change
from interlock.core.gate.fixes import Work, cases_of, file_of, judge_fix
from interlock.core.gate.test_code import is_test_side
from interlock.core.job.evidence import CheckRun, Verdict
from interlock.ports.bundle import Ports


def judge_repair(
    ports: Ports,
    card: Card,
    checks: Sequence[Check],
    verdicts: Sequence[Verdict],
    changes: Sequence[Change],
    base: Bench,
    head: str,
) -> tuple[Verdict, ...]:
    """The verdict on the tests that the card reproduces; none where it names none.

    The base gets the files of these tests, and what else of the tests the work changed, as on the head: a helper or a file of data
    that a test needs is no part of the repair.
    """
    if not card.reproduces:
        return ()
    found = next(
        (
            (check, verdict.run)
            for check, verdict in zip(checks, verdicts, strict=True)
            if all(cases_of(name, verdict.run.report) for name in card.reproduces)
        ),
        None,
    )
    if found is None:
        return (judge_fix(card.reproduces, _nearest(card, verdicts), None),)
    check, run = found
    paths = _tests_of(ports, card, changes, head)
    commit = ports.repo.graft(base.commit, head, paths)
    bench = replace(base, commit=commit, tree=ports.repo.tree_of(commit), compared=True)
    before = run_all(ports, [check], bench)[check.run]
    files = frozenset((*ports.repo.files(base.commit), *ports.repo.files(head)))
    written = [each.path for each in changes if each.new_mode not in (0, SUBMODULE, SYMLINK)]
    return (judge_fix(card.reproduces, run, before, Work(files=files, written=written)),)


def _nearest(card: Card, verdicts: Sequence[Verdict]) -> CheckRun | None:
    """A run that names at least one of the tests, so that the others are told as missing."""
    runs = [verdict.run for verdict in verdicts]
    return next((run for run in runs if any(cases_of(name, run.report) for name in card.reproduces)), None)


def _tests_of(ports: Ports, card: Card, changes: Sequence[Change], head: str) -> tuple[str, ...]:
    files = ports.repo.files(head)
    named = [path for name in card.reproduces if (path := file_of(name, files)) is not None]
    changed = [
        each.path
        for each in changes
        if is_test_side(each.path) and SUBMODULE not in (each.old_mode, each.new_mode) and each.new_mode != SYMLINK
    ]
    return tuple(dict.fromkeys((*named, *changed)))
