"""Whether a bug-fix repairs what it says: its test fails without the work and passes with it; running both is the app's."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from interlock.core.gate.test_code import is_test_side
from interlock.core.gate.tests_kept import function_of
from interlock.core.job.evidence import CaseState, CheckRun, TestReport, Verdict

_GREEN: Final = ("passed", "xpassed")
# Ends of a test that say that it could not be tried, not that the fault is there.
_OTHER: Final = re.compile(
    r"(?:ImportError|ModuleNotFoundError|NameError|SyntaxError|IndentationError|fixture '\w+' not found)"
)
# A place in a traceback of pytest, and what it says of a module or a name in one that is not there.
_PLACE: Final = re.compile(r"^([^\s:]+\.\w+):\d+:", re.MULTILINE)
_MISSING: Final = re.compile(
    r"^E\s+(?:ModuleNotFoundError|ImportError): (?:No module named '([\w.]+)'|cannot import name '(\w+)' from '([\w.]+)')",
    re.MULTILINE,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What tells the product's fault from a test that could not be tried: files of the tree, and those that the work wrote."""

    files: Collection[str] = ()
    written: Collection[str] = ()


def judge_fix(
    asked: Sequence[str], head: CheckRun | None, before: CheckRun | None, work: Work | None = None
) -> Verdict:
    """The verdict on all the tests that the card names: rule ``not-a-fix`` with the half that is wrong.

    ``head`` is the run of the check that holds them on the work, ``before`` its run on the base with the work's tests; None:
    no check of the card has a report that names them.  A name or a module that is missing on the base is the fault where that
    shows in a file of the product, or where the work itself wrote that module.
    """
    faults = [fault for name in asked if (fault := _fault(name, head, before, work or Work()))]
    run = CheckRun(
        run=f"reproduces {', '.join(asked)}",
        exit_code=None,
        seconds=before.seconds if before is not None else 0.0,
        tail=before.tail if before is not None and faults else "",
        log="",
    )
    reruns = (before,) if before is not None else ()
    if faults:
        what = " ".join(faults)
        return Verdict(run=run, state="refused", rule="not-a-fix", what=what, tests=tuple(asked), reruns=reruns)
    notes = (f"Without the work {', '.join(asked)} failed, and with it passed.",)
    return Verdict(run=run, state="passed", notes=notes, reruns=reruns)


def _fault(  # noqa: PLR0911 -- one answer a line
    asked: str, head: CheckRun | None, before: CheckRun | None, work: Work
) -> str:
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
        other = _another_reason(asked, before.tail, work)
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


def _another_reason(asked: str, tail: str, work: Work) -> str:
    """What the summary of pytest says about the test, when that is no sign of the fault."""
    name = re.escape(function_of(asked.rpartition("::")[2]))
    for line in re.findall(rf"^(?:FAILED|ERROR) \S*{name}\S* - (.*)$", tail, re.MULTILINE):
        found = _OTHER.search(line)
        if found and not _is_the_products(name, tail, work):
            return found[0]
    return ""


def _is_the_products(name: str, tail: str, work: Work) -> bool:
    """Whether each case of the test ended in a file of the product, or for want of a module that the work wrote."""
    parts = re.split(r"^_{3,} (.+?) _{3,}$|^={3,} .*$", tail, flags=re.MULTILINE)
    mine = re.compile(rf"(?:\S*\.)?{name}(?:\[.*\])?")
    shown = [text for title, text in zip(parts[1::2], parts[2::2], strict=True) if title and mine.fullmatch(title)]
    return bool(shown) and all(_ends_in_product(text, work) or _wants_what_was_written(text, work) for text in shown)


def _ends_in_product(text: str, work: Work) -> bool:
    """The last place of a traceback that is a file of the tree; what is called from there is somebody else's."""
    named = (found for found in _PLACE.findall(text))
    known = [path for each in named if (path := _in_tree(each, work.files)) is not None]
    return bool(known) and not is_test_side(known[-1])


def _in_tree(named: str, files: Collection[str]) -> str | None:
    """The file that a traceback names, also when the command ran in a folder of the tree."""
    name = named.removeprefix("./")
    return name if name in files else next((file for file in files if file.endswith(f"/{name}")), None)


def _wants_what_was_written(text: str, work: Work) -> bool:
    said = _MISSING.findall(text)
    if not said:
        return False
    whole, part, source = said[-1]
    wanted = {whole} if whole else {f"{source}.{part}", source}
    modules = {_module_of(path) for path in work.written if path.endswith(".py") and not is_test_side(path)}
    return any(
        f".{module}".endswith(f".{each}") or f".{each}." in f".{module}." for module in modules for each in wanted
    )


def _module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
