"""What a person accepted of a check's findings: bound to the rule and to the tests they were shown; recording it is the app's."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from interlock.core.job.evidence import Verdict


def excuse(verdicts: Sequence[Verdict], waivers: Mapping[str, str], tests: Collection[str]) -> tuple[Verdict, ...]:
    """The verdicts, with those accepted whose rule was waived and whose every test is among the waived tests.

    ``waivers`` maps a rule to the person who accepted it.  A finding that names no test cannot be excused so.
    """
    return tuple(_excuse(verdict, waivers, tests) for verdict in verdicts)


def _excuse(verdict: Verdict, waivers: Mapping[str, str], tests: Collection[str]) -> Verdict:
    by = waivers.get(verdict.rule or "")
    if verdict.state != "refused" or by is None or not verdict.tests or not set(verdict.tests) <= set(tests):
        return verdict
    return replace(verdict, state="accepted", what=f"Accepted by {by}: {verdict.what}")
