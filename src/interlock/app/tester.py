"""One named test on other trees, its file laid onto them as the work has it; what the states mean is the asker's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from interlock.app.running import Bench, run_all
from interlock.core.contract.card import Check
from interlock.core.gate.fixes import cases_of, file_of
from interlock.core.job.evidence import CaseState, CheckRun, Verdict
from interlock.ports.bundle import Ports

_ORDER: Final[tuple[CaseState, ...]] = ("passed", "xpassed", "xfailed", "skipped", "error", "failed")


def tester(
    ports: Ports, checks: Sequence[Check], ran: Sequence[Verdict], base: Bench, head: str
) -> Callable[[str, str], str | None]:
    """A function that gives the state of a test on a commit, None where it did not run.

    ``ran`` are the verdicts of the checks on ``head``, in their order; the check that holds the test there is the one that is
    run elsewhere, on ``base``'s bench.
    """
    pairs = tuple(zip(checks, ran, strict=True))

    def state(test: str, commit: str) -> str | None:
        holds = next(((check, each.run) for check, each in pairs if cases_of(test, each.run.report)), None)
        if holds is None:
            return None
        check, run = holds
        if commit == head:
            return _worst(test, run)
        path = file_of(test, ports.repo.files(head))
        if path is None:
            return None
        laid = ports.repo.graft(commit, head, (path,))
        bench = replace(base, commit=laid, tree=ports.repo.tree_of(laid), compared=True)
        return _worst(test, run_all(ports, [check], bench)[check.run])

    return state


def _worst(test: str, run: CheckRun) -> str | None:
    return max(cases_of(test, run.report).values(), key=_ORDER.index, default=None)
