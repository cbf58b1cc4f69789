"""TAP reports, versions 13 and 14: bytes to test states by description, with the plan held against what was seen.

Source of the shapes: testanything.org's specifications of both versions, node-tap's buffered subtests, bats and node --test.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from interlock.adapters.checks.faults import BadReport, text_of, whole
from interlock.adapters.checks.junit import Identities
from interlock.core.job.evidence import CaseState, TestReport

_MOST_CASES: Final = 1_000_000
_DEEPEST: Final = 32
_STEP: Final = 4
_POINT: Final = re.compile(r"(not )?ok(?=\s|$)[ \t]*(\d{1,12}(?=\s|$))?")
_PLAN: Final = re.compile(r"(\d{1,12})\.\.(\d{1,12})(?=\s|#|$)")
_BAIL: Final = "bail out!"
_ORDER: Final[tuple[CaseState, ...]] = ("passed", "xpassed", "xfailed", "skipped", "error", "failed")


@dataclass(slots=True)
class _Block:
    """One level of the report: its plan, the numbers that were seen, and how many of its tests did anything."""

    indent: int
    name: str = ""
    buffered: bool = False
    plan: int | None = None
    skipped_whole: bool = False
    planned_last: bool = False
    seen: set[int] = field(default_factory=set)
    points: int = 0
    state: CaseState = "passed"
    announced: str = ""
    child: _Block | None = None


def parse(data: bytes, *, tree: Path | None = None) -> TestReport:
    """The states of the tests in a report.

    A test with subtests is told by them, and counts itself only when it is not simply passed.  Raises BadReport: no
    plan, a plan that differs from what was seen, a bail-out, numbers twice, a diagnosis or subtest that does not end.
    """
    return _Reader(tree).read(text_of(data))


class _Reader:
    def __init__(self, tree: Path | None) -> None:
        self._identities = Identities(tree)
        self._cases: dict[str, CaseState] = {}
        self._written: dict[str, int] = {}
        self._stack: list[_Block] = [_Block(indent=0)]
        self._yaml: int | None = None
        self._after_point: int | None = None

    def read(self, text: str) -> TestReport:
        for line in text.split("\n"):
            self._line(line.rstrip())
        if self._yaml is not None:
            raise BadReport("The report is cut: a diagnosis begins and does not end.")
        top = self._stack[0]
        if len(self._stack) > 1 or top.child is not None:
            raise BadReport("The report is cut: a subtest ends without the line that sums it up.")
        if fault := _plan_fault(top):
            raise BadReport(fault)
        return TestReport(cases=self._cases)

    def _line(self, line: str) -> None:
        text = line.lstrip(" ")
        indent = len(line) - len(text)
        if not text or self._is_diagnosis(indent, text):
            return
        if text.lower().startswith(_BAIL):
            raise BadReport(f"The run bailed out: {text[len(_BAIL) :].strip()[:200] or 'no reason is given'}.")
        kind = _kind(text)
        block = self._block(indent, text) if kind else None
        if block is None:
            return
        self._after_point = None
        if kind == "plan":
            self._plan(block, text)
        elif kind == "point":
            self._point(block, text)
        elif kind == "subtest":
            block.announced = text.partition(":")[2].strip()

    def _is_diagnosis(self, indent: int, text: str) -> bool:
        """Whether a line belongs to a diagnosis in YAML, whose text may look like a report."""
        if self._yaml is not None:
            self._yaml = None if indent <= self._yaml and text == "..." else self._yaml
            return True
        if text == "---" and self._after_point is not None and indent > self._after_point:
            self._yaml = indent
            return True
        return False

    def _block(self, indent: int, text: str) -> _Block | None:
        """The level that a line belongs to; deeper ones that it ends are closed, a new one is opened."""
        while len(self._stack) > 1 and indent < self._stack[-1].indent:
            ended = self._stack.pop()
            if ended.buffered:
                if text != "}" or indent != ended.indent - _STEP:
                    raise BadReport("The report is cut: a subtest in braces does not end.")
                self._take(self._stack[-1], ended.name, ended.state, ended)
                return None
            self._stack[-1].child = ended
        block = self._stack[-1]
        if text == "}" or block.indent < indent < block.indent + _STEP:
            return None  # output of the program that looks like a report
        if indent == block.indent:
            return block
        if len(self._stack) >= _DEEPEST:
            raise BadReport(f"The report is nested more than {_DEEPEST} deep.")
        # A subtest is announced above it, or by its own first line; the latter announces a deeper one where both are.
        own = text.partition(":")[2].strip() if _kind(text) == "subtest" else ""
        fresh = _Block(indent=indent, name=block.announced or own)
        self._stack.append(fresh)
        return fresh if block.announced or not own else None

    def _plan(self, block: _Block, text: str) -> None:
        found = _PLAN.match(text)
        first, last = (whole(found[1]), whole(found[2])) if found else (None, None)
        if first is None or last is None or last > _MOST_CASES:
            raise BadReport(f"The plan {text[:60]} cannot be used.")
        if block.plan is not None:
            raise BadReport("The report has two plans: it is glued of two, or runs were mixed.")
        block.plan = last
        block.planned_last = bool(block.seen)
        block.skipped_whole = last == 0 or last < first

    def _point(self, block: _Block, text: str) -> None:
        found = _POINT.match(text)
        if found is None:
            return
        block.points += 1
        number = int(found[2]) if found[2] else block.points
        if number in block.seen:
            raise BadReport(f"The report has test {number} twice: it is glued of two, or runs were mixed.")
        if block.planned_last:
            raise BadReport("The report goes on after its plan, which stood behind tests: it is glued of two.")
        block.seen.add(number)
        rest = text[found.end() :].strip()
        opens = rest.endswith(" {") or rest == "{"
        said, directive = _directive(rest[:-1].rstrip() if opens else rest)
        name = said.removeprefix("- ").removeprefix("-").strip() or f"test {number}"
        state = _state(ok=found[1] is None, directive=directive)
        child, block.child, block.announced = block.child, None, ""
        self._after_point = block.indent
        if opens:
            self._open_braces(block, name, state)
            return
        self._take(block, name, state, child)

    def _open_braces(self, block: _Block, name: str, state: CaseState) -> None:
        if len(self._stack) >= _DEEPEST:
            raise BadReport(f"The report is nested more than {_DEEPEST} deep.")
        self._stack.append(_Block(indent=block.indent + _STEP, name=name, buffered=True, state=state))
        self._after_point = None

    def _take(self, block: _Block, name: str, state: CaseState, child: _Block | None) -> None:
        """One test: with subtests it is what they are, unless it says worse of itself."""
        # What was neither announced nor planned is output of the program that looks like a subtest.
        if child is not None and (child.name or child.plan is not None):
            if child.skipped_whole or not child.points:
                state = max(state, "skipped", key=_ORDER.index)
            elif _plan_fault(child):
                state = max(state, "error", key=_ORDER.index)
            elif state == "passed":
                return
        parents = [each.name for each in self._stack if each.name and each.indent <= block.indent]
        written = " > ".join([*parents, name])
        times = self._written[written] = self._written.get(written, 0) + 1
        if len(self._cases) >= _MOST_CASES:
            raise BadReport(f"The report holds more than {_MOST_CASES} tests.")
        self._cases[self._identities.of(written if times == 1 else f"{written} #{times}")] = state


def _kind(text: str) -> str | None:
    """What a line is to a reader of TAP; everything else is output of the program."""
    if _POINT.match(text):
        return "point"
    if _PLAN.match(text):
        return "plan"
    if text.lower().startswith("# subtest:"):
        return "subtest"
    return "end" if text == "}" else None


def _plan_fault(block: _Block) -> str:
    if block.plan is None:
        return "The report has no plan (1..N), so one that was cut looks like a whole one."
    if block.skipped_whole and not block.points:
        return ""
    if block.points != block.plan or max(block.seen) > block.plan:
        return f"The report's plan says {block.plan} tests, and {block.points} are in it."
    return ""


def _directive(rest: str) -> tuple[str, str]:
    """The description, and the directive behind the last ``#`` that no backslash takes away: ``skip``, ``todo`` or none."""
    at = len(rest)
    while (at := rest.rfind("#", 0, at)) >= 0:
        word = rest[at + 1 :].strip()[:4].lower()
        escaped = at > 0 and rest[at - 1] == "\\"
        if word in ("skip", "todo") and not escaped and (at == 0 or rest[at - 1] in " \t"):
            return rest[:at].rstrip(), word
    return rest, ""


def _state(*, ok: bool, directive: str) -> CaseState:
    if directive == "todo":
        return "xpassed" if ok else "xfailed"
    if directive == "skip" and ok:
        return "skipped"
    return "passed" if ok else "failed"
