"""Whether tests that exist on both sides still demand as much, told by their syntax; running and counting them is judge's part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from interlock.core.gate.paired import Pairs, Placed, pair
from interlock.core.gate.test_code import Mark, Side, TestCode
from interlock.core.gate.tests_kept import Moves
from interlock.core.job.evidence import CheckRun, Verdict

RUN = "tests by syntax"
"""The name of this judgement among the checks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weakness:
    """One way in which a test demands less: where it stands on the base, where on the head, and what happened."""

    name: str
    before: str
    after: str
    what: str

    def __str__(self) -> str:
        return f"{self.after}: {self.name} {self.what} (base: {self.before})"


def compare(base: Side, head: Side) -> tuple[tuple[Weakness, ...], Moves]:
    """What is weaker on the head, and what took the place of tests that moved.

    Both sides hold the files that differ, with every test in them.  A test of the base that nothing took the place of is not
    judged here: reports name it as removed.
    """
    pairs = pair(base, head)
    found = [*_of_files(base, head)]
    for old, new in pairs.same:
        weaker = list(_of_test(old, new, pairs))
        found += weaker
        if not weaker and old.code.cases != new.code.cases:
            pairs.moved |= dict.fromkeys(old.code.ids, (new.code.ids,))
    found += [
        Weakness(
            name=old.code.name,
            before=old.at,
            after=new.at,
            what="goes on under a name or in a place where it is not collected",
        )
        for old, new in pairs.hidden
    ]
    return tuple(found), Moves(
        moved=pairs.moved,
        declared=_declared(head),
        gone=tuple(sorted(f"{each.at}: {each.code.name}" for each in pairs.gone if each.code.collected)),
    )


def judge_tests(found: tuple[Weakness, ...]) -> Verdict | None:
    """The verdict on what was found; None when nothing was.  Its tests are the places, which an acceptance is bound to."""
    if not found:
        return None
    tests = tuple(sorted(str(each) for each in found))
    more = f"; and {len(tests) - 3} more" if len(tests) > 3 else ""
    run = CheckRun(run=RUN, exit_code=None, seconds=0.0, log="", tail="\n".join(tests))
    what = f"Tests demand less than on the base: {'; '.join(tests[:3])}{more}."
    return Verdict(run=run, state="refused", rule="tests-weakened", what=what, tests=tests)


def judge_gone(moves: Moves) -> Verdict | None:
    """The verdict on tests that are gone, for checks that leave no report to see it by; None when none is."""
    if not moves.gone:
        return None
    more = f" and {len(moves.gone) - 3} more" if len(moves.gone) > 3 else ""
    what = f"Tests of the base are gone, and no check has a report to tell why: {', '.join(moves.gone[:3])}{more}."
    run = CheckRun(run=f"{RUN}, removed", exit_code=None, seconds=0.0, log="", tail="\n".join(moves.gone))
    return Verdict(run=run, state="refused", rule="tests-removed", what=what, tests=moves.gone)


def _declared(head: Side) -> frozenset[str]:
    return frozenset(
        name
        for file in head.values()
        for test in file.tests
        if test.marks and all(mark.declared for mark in test.marks)
        for name in test.ids
    )


def _of_files(base: Side, head: Side) -> Iterator[Weakness]:
    """Marks that hold for a whole file: a new one there is one for each of its tests."""
    for path, file in head.items():
        known = {mark.key for mark in base[path].marks} if path in base else set()
        for mark in file.marks:
            if mark.key not in known and mark.lets_off:
                yield Weakness(name="the file", before=path, after=f"{path}:{mark.line}", what=mark.what)


def _of_test(old: Placed, new: Placed, pairs: Pairs) -> Iterator[Weakness]:
    marks = _new_marks(old.code, new.code)
    for mark in marks:
        yield Weakness(name=old.code.name, before=old.at, after=f"{new.path}:{mark.line}", what=mark.what)
    lost = "" if marks else _lost(old.code, new.code, pairs)
    if lost:
        yield Weakness(name=old.code.name, before=old.at, after=new.at, what=lost)


def _new_marks(old: TestCode, new: TestCode) -> list[Mark]:
    known = Counter(mark.key for mark in old.marks)
    found = []
    for mark in new.marks:
        known[mark.key] -= 1
        if known[mark.key] < 0 and mark.lets_off:
            found.append(mark)
    return found


def _lost(old: TestCode, new: TestCode, pairs: Pairs) -> str:
    """What the test demanded and demands no more, in words; empty when it demands as much in another way."""
    if old.kind == "helper" and new.asserts and not old.judges:
        return ""  # it is there for something else, and the tests that call it are compared with what it asserts
    before, after = Counter(_shapes(old)), Counter(_shapes(new))
    gone, come = before - after, after - before
    if old.cases is not None and new.cases is not None and new.cases < old.cases and not old.asserts:
        return f"has {new.cases} cases instead of {old.cases}"
    if not gone or any(each.trusted for each in new.asserts):
        return ""
    fresh = [each for each in new.asserts if come[each.shape]]
    added = sum(max(each.weight, each.parts) for each in fresh) * (new.cases or 1)
    kept = sum(min(count, after[shape]) for shape, count in before.items())
    short = old.total - kept - added
    if short > 0 and None not in (old.cases, new.cases) and not pairs.take(gone, short):
        return _told(old, new, gone, short)
    exact = {each.subject: each for each in old.asserts if gone[each.shape] and each.strength == 3 and each.subject}
    for each in fresh:
        if short <= 0 and each.strength == 1 and each.subject in exact:
            return f"no longer compares a value: {exact[each.subject].text} became {each.text}"
    return ""


def _told(old: TestCode, new: TestCode, gone: Counter[str], short: int) -> str:
    if old.cases and new.cases and new.cases < old.cases:
        return f"has {new.cases} cases instead of {old.cases}"
    there = {each.text for each in new.asserts}
    texts = [f"line {each.line} {each.text}" for each in old.asserts if gone[each.shape] and each.text not in there]
    many = "1 assertion" if short == 1 else f"{short} assertions"
    return f"lost {many}: {', '.join(texts[:3])}"


def _shapes(code: TestCode) -> dict[str, int]:
    found: Counter[str] = Counter()
    for each in code.asserts:
        found[each.shape] += each.weight * (code.cases or 1)
    return found
