"""Whether the tests of the base still count on the head, by their identity in reports; the whole judgement is in judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from interlock.core.job.evidence import TestReport

_NOTHING = TestReport(cases={})
_GREEN = ("passed", "xpassed")
_SET_ASIDE = ("skipped", "xfailed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """What the syntax of both sides says about identities of reports, each without its parameters.

    ``moved`` maps a test of the base to what took its place on the head, each written in the ways in which reports name it: all of
    them must have passed.  ``gone`` are tests of the base that nothing took the place of, with their places.  ``declared`` are tests of the head alone that are skipped on other platforms, for a reason that is given.
    """

    moved: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    declared: frozenset[str] = frozenset()
    gone: tuple[str, ...] = ()


STILL = Moves()
"""Nothing moved."""


def removed(base: TestReport | None, head: TestReport, moves: Moves = STILL) -> tuple[str, ...]:
    """Tests that pass on the base and do not appear on the head, sorted.

    A test with parameters is gone when fewer of its cases pass than on the base; which values they have is the work's.
    """
    before = {case for case, state in (base or _NOTHING).cases.items() if state in _GREEN}
    passed = Counter(function_of(case) for case, state in head.cases.items() if state in _GREEN)
    wanted = Counter(map(function_of, before))
    gone = (case for case in before if case not in head.cases)
    return tuple(sorted(case for case in gone if not _kept(case, wanted, passed, moves)))


def _kept(case: str, wanted: Counter[str], passed: Counter[str], moves: Moves) -> bool:
    function = function_of(case)
    if function != case and passed[function] >= wanted[function]:
        return True
    instead = moves.moved.get(function)
    return bool(instead) and all(any(passed[name] for name in names) for names in instead or ())


def set_aside(base: TestReport | None, head: TestReport, moves: Moves = STILL) -> tuple[str, ...]:
    """Tests that are skipped or expected to fail on the head, and were not so on the base, sorted.

    A test that the base does not know counts, so without a base every such test does; one that says why it
    does not run on this platform, and is new, does not count.
    """
    before = (base or _NOTHING).cases
    known = {function_of(case) for case in before}
    return tuple(
        sorted(
            case
            for case, state in head.cases.items()
            if state in _SET_ASIDE
            and before.get(case, "passed") not in (*_SET_ASIDE, "failed", "error")
            and not (state == "skipped" and function_of(case) in moves.declared and function_of(case) not in known)
        )
    )


def function_of(case: str) -> str:
    """An identity without the parameters of the test."""
    at = case.find("[", case.find("::") + 1)
    return case[:at] if case.endswith("]") and at > 0 and case[at - 1] != ":" else case
