"""What a person accepted of a check's findings: bound to the rule and to the tests they were shown; recording it is the app's."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from interlock.core.job.evidence import Finding, Verdict

BY_NAME: Final = frozenset(
    {"tests-removed", "tests-skipped", "tests-weakened", "judge-changed", "knows-tests", "base-fails", "flaky"}
)
"""Rules whose findings a person may accept, since each names the tests or files that it is about."""


def excuse(verdicts: Sequence[Verdict], waivers: Mapping[str, str], tests: Collection[str]) -> tuple[Verdict, ...]:
    """The verdicts, with those accepted whose rule was waived and whose every test is among the waived tests.

    ``waivers`` maps a rule to the person who accepted it.  A finding that names no test cannot be excused so.  What else was
    found in the same run counts then: the next finding that nobody accepted refuses.
    """
    return tuple(_excuse(verdict, waivers, tests) for verdict in verdicts)


def _excuse(verdict: Verdict, waivers: Mapping[str, str], tests: Collection[str]) -> Verdict:
    if verdict.state != "refused" or verdict.rule is None:
        return verdict
    found = (Finding(rule=verdict.rule, what=verdict.what, tests=verdict.tests), *verdict.also)
    if not _accepted(found[0], waivers, tests):
        return verdict
    said: list[str] = []
    for at, each in enumerate(found):
        if not _accepted(each, waivers, tests):
            notes = (*verdict.notes, *said)
            return replace(
                verdict, rule=each.rule, what=each.what, tests=each.tests, also=tuple(found[at + 1 :]), notes=notes
            )
        said.append(f"Accepted by {waivers[each.rule]}: {each.what}")
    return replace(verdict, state="accepted", what=" ".join(said), also=())


def _accepted(found: Finding, waivers: Mapping[str, str], tests: Collection[str]) -> bool:
    """The tests of one rule are no tests of another; a name without a rule was recorded by an earlier version."""
    if found.rule not in waivers or not found.tests:
        return False
    return all(named(found.rule, test) in tests or test in tests for test in found.tests)


def named(rule: str, test: str) -> str:
    """How an accepted test is recorded: with the rule that it was shown by."""
    return f"{rule}: {test}"
