"""Whether a bug-fix repairs what it says: its test fails without the work and passes with it; running both is the app's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from interlock.core.gate.tests_kept import function_of
from interlock.core.job.evidence import CaseState, CheckRun, TestReport, Verdict

_GREEN: Final = ("passed", "xpassed")
# Ends of a test that say that it could not be tried, not that the fault is there.
_OTHER: Final = re.compile(
    r"(?:ImportError|ModuleNotFoundError|NameError|SyntaxError|IndentationError|fixture '\w+' not found)"
)


def cases_of(asked: str, report: TestReport | None) -> dict[str, CaseState]:
    """The tests of a report that an id names: as pytest writes ids, or as the report does; without parameters all of a test's cases."""
    if report is None:
        return {}
    wanted = {asked, as_reported(asked)}
    whole = {case: state for case, state in report.cases.items() if case in wanted}
    return whole or {case: state for case, state in report.cases.items() if function_of(case) in wanted}


def as_reported(asked: str) -> str:
    """``tests/test_a.py::TestB::test_c`` as pytest's report names it: ``tests.test_a.TestB::test_c``."""
    path, mark, rest = asked.partition("::")
    if not mark or not path.endswith(".py"):
        return asked
    module = path.removesuffix(".py").removeprefix("./").replace("/", ".")
    group, _, name = _cut(rest)
    return f"{'.'.join(filter(None, (module, group.replace('::', '.'))))}::{name}"


def _cut(rest: str) -> tuple[str, str, str]:
    """The classes and the name of a test; what stands in its parameters is no class."""
    head, bracket, tail = rest.partition("[")
    group, mark, name = head.rpartition("::")
    return group, mark, f"{name}{bracket}{tail}"


def file_of(asked: str, files: Sequence[str]) -> str | None:
    """The file that a test stands in, as far as its id tells it and it is among the files."""
    path = asked.partition("::")[0].removeprefix("./")
    if path in files:
        return path
    words = path.split(".")
    ways = (f"{'/'.join(words[:length])}.py" for length in range(len(words), 0, -1))
    return next((way for way in ways if way in files), None)


def judge_fix(asked: Sequence[str], head: CheckRun | None, before: CheckRun | None) -> Verdict:
    """The verdict on all the tests that the card names: rule ``not-a-fix`` with the half that is wrong.

    ``head`` is the run of the check that holds them on the work, ``before`` its run on the base with the work's tests; None:
    no check of the card has a report that names them.
    """
    faults = [fault for name in asked if (fault := _fault(name, head, before))]
    run = CheckRun(
        run=f"reproduces {', '.join(asked)}",
        exit_code=None,
        seconds=before.seconds if before is not None else 0.0,
        log=before.log if before is not None else "",
        tail=before.tail if before is not None and faults else "",
    )
    reruns = (before,) if before is not None else ()
    if faults:
        what = " ".join(faults)
        return Verdict(run=run, state="refused", rule="not-a-fix", what=what, tests=tuple(asked), reruns=reruns)
    notes = (f"Without the work {', '.join(asked)} failed, and with it passed.",)
    return Verdict(run=run, state="passed", notes=notes, reruns=reruns)


def _fault(asked: str, head: CheckRun | None, before: CheckRun | None) -> str:  # noqa: PLR0911 -- one answer a line
    with_work = cases_of(asked, head.report if head is not None else None)
    if head is None or not with_work:
        return f"{asked} is not among the tests that a check of the card ran on the work."
    if any(state not in _GREEN for state in with_work.values()):
        return f"{asked} does not pass on the work."
    if before is None or before.report is None:
        return f"{asked} could not be tried on the base: the check left no report there."
    without = cases_of(asked, before.report)
    if not without:
        return f"{asked} was not found on the base with the work's tests{_uncollected(before)}."
    if any(state == "failed" for state in without.values()):
        other = _another_reason(asked, before.tail)
        return f"{asked} fails on the base for another reason than the fault: {other}." if other else ""
    if any(state == "error" for state in without.values()):
        return f"{asked} does not fail on the base, it breaks there before it is tried."
    if all(state in _GREEN for state in without.values()):
        return f"{asked} passes on the base too, so it does not show the fault."
    return f"{asked} did not run on the base: it is {', '.join(sorted(set(without.values())))} there."


def _uncollected(before: CheckRun) -> str:
    broken = [case for case, state in (before.report.cases if before.report else {}).items() if state == "error"]
    reason = _OTHER.search(before.tail)
    why = f" ({reason[0]})" if reason else ""
    return f": {', '.join(broken[:3])} could not be loaded{why}" if broken else ""


def _another_reason(asked: str, tail: str) -> str:
    """What the summary of pytest says about the test, when that is no sign of the fault."""
    name = re.escape(function_of(asked.rpartition("::")[2]))
    for line in re.findall(rf"^(?:FAILED|ERROR) \S*{name}\S* - (.*)$", tail, re.MULTILINE):
        found = _OTHER.search(line)
        if found:
            return found[0]
    return ""
