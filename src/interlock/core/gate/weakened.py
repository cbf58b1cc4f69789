"""Whether tests that exist on both sides still demand as much, told by their syntax; running and counting them is judge's part."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from interlock.core.counting import count, some
from interlock.core.gate.looser import looser, vaguer
from interlock.core.gate.paired import Pairs, Placed, pair
from interlock.core.gate.renamed import follow
from interlock.core.gate.test_code import DOUBLE, Mark, Side, TestCode, TestFile, Weakness
from interlock.core.gate.tests_kept import Moves
from interlock.core.job.evidence import CheckRun, Verdict

RUN = "tests by syntax"
"""The name of this judgement among the checks."""
_CALLED: Final = re.compile(r"([\w.]+)\(")


def compare(base: Side, head: Side) -> tuple[tuple[Weakness, ...], Moves]:
    """What is weaker on the head, and what took the place of tests that moved.

    Both sides hold the files that differ, with every test in them.  A test of the base that nothing took the place of is not
    judged here: reports name it as removed.
    """
    pairs = pair(base, head)
    follow(pairs, base, head)
    found = [*_of_files(base, head, pairs), *_swapped(base, head)]
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
    run = CheckRun(run=RUN, exit_code=None, seconds=0.0, log="", tail="\n".join(tests))
    what = f"Tests demand less than on the base: {some(tests, 3, '; ')}."
    return Verdict(run=run, state="refused", rule="tests-weakened", what=what, tests=tests)


def judge_gone(moves: Moves) -> Verdict | None:
    """The verdict on tests that are gone, for checks that leave no report to see it by; None when none is."""
    if not moves.gone:
        return None
    what = f"Tests of the base are gone, and no check has a report to tell why: {some(moves.gone, 3)}."
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


def _of_files(base: Side, head: Side, pairs: Pairs) -> Iterator[Weakness]:
    """Marks that hold for a whole file: a new one there is one for each of its tests.

    A new file that sets its tests aside takes nothing from the base, unless tests of the base went there.
    """
    came = {new.path: old.path for old, new in (*pairs.same, *pairs.hidden)}
    for path, file in head.items():
        before = path if path in base else came.get(path, "")
        known = {mark.key for mark in base[before].marks} if before else set()
        names = {each.text for test in base[before].tests for each in test.asserts} if before else set()
        for mark in file.marks:
            if mark.of and mark.of not in names:
                continue  # a test that the base does not have
            if mark.key not in known and mark.lets_off and (before or not mark.sets_aside):
                yield Weakness(
                    name="the file", before=before or "no such file", after=f"{path}:{mark.line}", what=mark.what
                )


def _swapped(base: Side, head: Side) -> Iterator[Weakness]:
    """Names that the base took from what is tested, and asserted on, and that the tests now put in place themselves."""
    for path, old in base.items():
        new = head.get(path)
        if new is None or not new.swaps or not old.products:
            continue
        for mark in _put_in_place(old, new):
            yield Weakness(name="the file", before=path, after=f"{path}:{mark.line}", what=mark.what)


def _put_in_place(old: TestFile, new: TestFile) -> Iterator[Mark]:
    """The swaps of one file by which it asserts on something else than before."""
    asserted, now = _asserted(old), _asserted(new)
    fresh = new.swaps.keys() - old.swaps.keys()
    lasts = {_last(name) for name in asserted if _root(name) in old.products}
    for name in sorted((now & fresh) - asserted):
        if _root(name) in new.products and _last(name) in lasts:  # under another name: from x import f, then x.f
            yield new.swaps[name]
    if _of_product(new) < _of_product(old):
        yield from (new.swaps[name] for name in sorted(now & fresh) if new.swaps[name].key == DOUBLE)
    for name in sorted(asserted):
        if _root(name) in old.products and fresh & {name, _root(name)}:
            yield new.swaps[name if name in new.swaps else _root(name)]


def _root(name: str) -> str:
    return name.partition(".")[0]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _asserted(file: TestFile) -> set[str]:
    return {name for test in file.tests for each in test.asserts for name in _CALLED.findall(each.subject)}


def _of_product(file: TestFile) -> int:
    """How many assertions call what is tested."""
    asserts = [each for test in file.tests for each in test.asserts]
    return sum(any(_root(name) in file.products for name in _CALLED.findall(each.subject)) for each in asserts)


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
    trusted = any(each.trusted for each in new.asserts)
    unsure = "" if trusted else _unsure(old, new) or looser(old, new)
    if unsure or not gone or trusted:
        return unsure
    fresh = [each for each in new.asserts if come[each.shape]]
    added = sum(max(each.weight, each.parts) for each in fresh if each.loose < 1) * (new.cases or 1)
    kept = sum(min(count, after[shape]) for shape, count in before.items())
    short = old.total - kept - added - _implied(old, new, gone)
    if short > 0 and None not in (old.cases, new.cases) and not pairs.take(gone, short):
        return _told(old, new, gone, short)
    return vaguer(old, gone, fresh) if short <= 0 else ""


def _unsure(old: TestCode, new: TestCode) -> str:
    """An assertion that the base always made, and the head makes under a condition alone, in words; empty when there is none."""
    sure = Counter(each.shape for each in old.asserts if not each.guard)
    sure.subtract(each.shape for each in new.asserts if not each.guard)
    held = Counter(each.shape for each in new.asserts if each.guard)
    held.subtract(each.shape for each in old.asserts if each.guard)
    before, after = (
        sum(max(each.weight, each.parts) for each in code.asserts if not each.guard) for code in (old, new)
    )
    for each in new.asserts:
        if each.guard and sure[each.shape] > 0 and held[each.shape] > 0 and after < before:
            return f"asserts only under a condition, which the base did not: {each.text}, if {each.guard}"
    return ""


def _implied(old: TestCode, new: TestCode, gone: Counter[str]) -> int:
    """How many of the assertions that are gone follow from a comparison of the whole that the head makes."""
    whole = {
        (each.subject, each.bound) for each in new.asserts if each.strength == 3 and not each.guard and each.bound >= 0
    }
    left, found = Counter(gone), 0
    for each in old.asserts:
        if left[each.shape] > 0 and any(
            bound == each.bound and (_is_part(each.subject, subject) or (each.strength < 3 and each.subject == subject))
            for subject, bound in whole
        ):
            left[each.shape] -= 1
            found += each.weight
    return found * (old.cases or 1)


def _is_part(part: str, whole: str) -> bool:
    return part.startswith((f"{whole}[", f"{whole}.")) or part == f"len({whole})"


def _told(old: TestCode, new: TestCode, gone: Counter[str], short: int) -> str:
    if old.cases and new.cases and new.cases < old.cases:
        return f"has {new.cases} cases instead of {old.cases}"
    there = {each.text for each in new.asserts}
    texts = [f"line {each.line} {each.text}" for each in old.asserts if gone[each.shape] and each.text not in there]
    return f"lost {count(short, 'assertion')}: {', '.join(texts[:3])}"


def _shapes(code: TestCode) -> dict[str, int]:
    found: Counter[str] = Counter()
    for each in code.asserts:
        found[each.shape] += each.weight * (code.cases or 1)
    return found
