"""Assertions that go on and let more pass: a wider tolerance, any error, a relation in place of a value; how many there are is weakened's part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from interlock.core.gate.test_code import Assertion, TestCode

_FREE: Final = 0.01
"""Up to this share a tolerance may be given or widened freely: numbers differ between machines."""
_WIDER: Final = 10


def looser(old: TestCode, new: TestCode) -> str:
    """A tolerance that was widened far, or an error of one kind for which any is taken now, in words; empty when there is none."""
    least: dict[str, float] = {}
    for each in new.asserts:
        if each.subject:
            least[each.subject] = min(each.loose, least.get(each.subject, each.loose))
    before = {each.subject: each for each in old.asserts if each.subject and each.strength > 1}
    for each in new.asserts:
        known = before.get(each.subject)
        wide = known is not None and each.loose > max(_FREE, _WIDER * known.loose) and least[each.subject] == each.loose
        if known is not None and wide:
            return f"lets a value be off by far more: {known.text} became {each.text}"
    errors = [[each for each in code.asserts if each.shape.startswith("raises ")] for code in (old, new)]
    named, any_error = ([sum(each.loose == kind for each in side) for side in errors] for kind in (0, 1))
    if named[1] < named[0] and any_error[1] > any_error[0]:
        gone = next(each for each in errors[0] if not each.loose)
        return f"takes any error: {gone.text} became {next(each for each in errors[1] if each.loose).text}"
    return ""


def vaguer(old: TestCode, gone: Mapping[str, int], fresh: Sequence[Assertion]) -> str:
    """A value that was compared and is only looked at now, in words; empty when as many values are compared as before."""
    exact = [each for each in old.asserts if gone.get(each.shape) and each.strength == 3 and each.subject]
    if sum(each.strength == 3 for each in fresh) >= len(exact):
        exact = []
    known = Counter(each.text for each in old.asserts)
    for each in fresh:
        for lost in exact:
            same = each.subject == lost.subject
            within = len(lost.subject) > 3 and "(" in lost.subject and lost.subject in each.subject
            flag = lost.truth and same
            if each.strength < 3 and (same or within) and not flag and not known[each.text]:
                return f"no longer compares a value: {lost.text} became {each.text}"
    return ""
