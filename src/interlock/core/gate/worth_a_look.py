"""What no rule refuses and a person should look at before signing, gathered: expected values that changed with the product, silenced lines, what tests stand on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from interlock.core.counting import count
from interlock.core.gate.beside_tests import beside_tests
from interlock.core.gate.changes import Change
from interlock.core.gate.fixed_answers import fixed_answers
from interlock.core.gate.looks import RUN
from interlock.core.gate.packages_taken import packages_taken
from interlock.core.gate.paired import pair
from interlock.core.gate.renamed import follow
from interlock.core.gate.shadows import Both, Trees
from interlock.core.gate.silenced import lines_silenced
from interlock.core.gate.soft_questions import soft_questions
from interlock.core.gate.test_code import Side, TestCode, is_test_side
from interlock.core.gate.test_data import is_gone_through, is_of_tests, sizes
from interlock.core.job.evidence import CheckRun, Verdict

_MOST: Final = 20


def worth_a_look(base: Side, head: Side, changes: Sequence[Change], both: Both, trees: Trees) -> Verdict | None:
    """A verdict that passes and whose notes are for the owner; None when there is nothing to look at.

    Expected values count only where the product changed with them: a test of its own proves what it says.
    """
    product = any(not is_test_side(each.path) and not is_of_tests(each.path, trees) for each in changes)
    found = [*(_expected(base, head) if product else ()), *(_data(changes, both, trees) if product else ())]
    found += _silenced(changes, both)
    found += [*_reworded(base, head), *beside_tests(changes, both)]
    found += [*fixed_answers(changes, both, trees), *soft_questions(changes, both), *packages_taken(changes, both)]
    found = list(dict.fromkeys(found))
    if not found:
        return None
    more = [f"And {len(found) - _MOST} more."] if len(found) > _MOST else []
    run = CheckRun(run=RUN, exit_code=None, seconds=0.0, log="", tail="")
    return Verdict(run=run, state="passed", notes=(*found[:_MOST], *more))


def _expected(base: Side, head: Side) -> Iterator[str]:
    pairs = pair(base, head)
    follow(pairs, base, head)
    for old, new in pairs.same:
        for before, after in _changed(old.code, new.code):
            yield f"{new.path}:{new.code.line}: {new.code.name} expects {after}, the base {before}."
        if new.code.body.count("assume(") > old.code.body.count("assume("):
            yield f"{new.path}:{new.code.line}: {new.code.name} leaves out cases by assume, the base did not."
        if old.code.table and new.code.table and old.code.table != new.code.table:
            yield f"{new.path}:{new.code.line}: {new.code.name} has another table of cases than the base."


def _changed(old: TestCode, new: TestCode) -> Iterator[tuple[str, str]]:
    """Assertions of one form whose values differ, in their order."""
    before, after = Counter(each.text for each in old.asserts), Counter(each.text for each in new.asserts)
    gone = [each for each in old.asserts if before[each.text] > after[each.text]]
    come = [each for each in new.asserts if after[each.text] > before[each.text]]
    for one in gone:
        other = next((each for each in come if each.shape == one.shape), None) or next(
            (each for each in come if "(" in one.subject and _holds(each.subject, one.subject)), None
        )
        if other is not None:
            come.remove(other)
            yield one.text, other.text


def _holds(whole: str, part: str) -> bool:
    return bool(re.search(rf"(?<![\w.]){re.escape(part)}", whole))


def _reworded(base: Side, head: Side) -> Iterator[str]:
    pairs = pair(base, head)
    for old, new in pairs.same:
        for name in _otherwise(old.code, new.code):
            yield f"{new.path}: {name} asserts in another way than on the base."


def _otherwise(old: TestCode, new: TestCode) -> Iterator[str]:
    """Tests that are read by text alone, by name, when lines that assert went away or changed."""
    after = {each.text: each.subject.splitlines() for each in new.asserts if each.text == each.shape}
    for each in old.asserts:
        if each.text == each.shape and each.text in after:
            left = [*after[each.text]]
            for line in each.subject.splitlines():
                if line not in left:
                    yield each.text
                    break
                left.remove(line)
            else:
                if any(re.search(r"mock|stub|allow|thenReturn|and_return", line) for line in left):
                    yield each.text


def _data(changes: Sequence[Change], both: Both, trees: Trees) -> Iterator[str]:
    for change in changes:
        if change.status == "M" and change.path.endswith(".py") and not is_test_side(change.path):
            before, after = (sizes(data) for data in both(change.path))
            fewer = [
                name for name, size in before.items() if after.get(name, size) < size and is_gone_through(name, trees)
            ]
            yield from (f"{change.path}: {name} has fewer entries, and a test goes through them." for name in fewer)
        if change.status != "A" and is_of_tests(change.path, trees) and both(change.path)[0] != both(change.path)[1]:
            yield f"{change.path}: what the tests are held against {'is gone' if change.status == 'D' else 'changed'}."


def _silenced(changes: Sequence[Change], both: Both) -> Iterator[str]:
    for change in changes:
        more = lines_silenced(change.path, *both(change.path))
        if more:
            yield f"{change.path}: {count(more, 'more line is', 'more lines are')} silenced for a checker."
