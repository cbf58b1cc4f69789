"""Whether the tests of the base still count on the head, by their JUnit identity; the whole judgement is in judge."""

from __future__ import annotations

from interlock.core.job.evidence import TestReport

_NOTHING = TestReport(cases={})
_GREEN = ("passed", "xpassed")
_SET_ASIDE = ("skipped", "xfailed")


def removed(base: TestReport | None, head: TestReport) -> tuple[str, ...]:
    """Tests that pass on the base and do not appear on the head, sorted."""
    return tuple(
        sorted(case for case, state in (base or _NOTHING).cases.items() if state in _GREEN and case not in head.cases)
    )


def set_aside(base: TestReport | None, head: TestReport) -> tuple[str, ...]:
    """Tests that are skipped or expected to fail on the head, and were not so on the base, sorted.

    A test that the base does not know counts, so without a base every such test does.
    """
    before = (base or _NOTHING).cases
    return tuple(
        sorted(
            case
            for case, state in head.cases.items()
            if state in _SET_ASIDE and before.get(case, "passed") not in (*_SET_ASIDE, "failed", "error")
        )
    )
