"""Which tests that are gone go on under another name since what they test was renamed; matching by name, body and shapes is paired's."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from typing import Final

from interlock.core.gate.paired import Pairs, Placed, shapes_of
from interlock.core.gate.test_code import Side, TestCode

_CALLED: Final = re.compile(r"(\w+)\s*\(")
# Called by tests of all kinds, so sharing one says nothing about what is tested.
_COMMON: Final = frozenset(
    {
        "len",
        "str",
        "int",
        "bool",
        "list",
        "dict",
        "set",
        "tuple",
        "sorted",
        "range",
        "isinstance",
        "print",
        "repr",
        "type",
    }
    | {
        "raises",
        "approx",
        "expect",
        "toBe",
        "toEqual",
        "toStrictEqual",
        "toThrow",
        "assertEqual",
        "assertTrue",
        "if",
        "for",
    }
)
_ALIKE: Final = 0.5
_KEPT: Final = frozenset({"raises", "fail", "not", "is", "in", "and", "or"})
_NAME: Final = re.compile(r"[A-Za-z]\w*")
_CALL: Final = re.compile(r"_(?:\._)*(?:\([^()]*\)|\[[^\[\]]*\])|_(?:\._)+|await _")


def follow(pairs: Pairs, base: Side, head: Side) -> None:
    """Take tests out of ``gone`` whose place a new test took that asserts as much, and put both among those that are compared.

    Either both stand at the same place and call something in common, or the tests of the base call a name that none of the head
    calls, those of the head one that none of the base calls, and the assertions are the same without names.
    """
    free = [new for new, spare in pairs.spare if spare == Counter(shapes_of(new.code))]
    before, after = _names(base), _names(head)
    for old in list(pairs.gone):
        found = [
            new
            for new in free
            if _may_follow(old, new, base, head)
            and (
                (_at_same_place(old, new, pairs, base, head) and _related(old.code, new.code))
                or _renamed(old.code, new.code, before, after)
            )
        ]
        if not found:
            continue
        best = max(found, key=lambda new: SequenceMatcher(None, old.code.body, new.code.body).ratio())
        free.remove(best)
        pairs.gone.remove(old)
        pairs.spare = [(new, spare) for new, spare in pairs.spare if new is not best]
        pairs.same.append((old, best))
        pairs.moved |= dict.fromkeys(old.code.ids, (best.code.ids,))


def loose(shape: str) -> str:
    """A shape without the names of what is called and without arguments: only how something is compared."""
    text = _NAME.sub(lambda found: found[0] if found[0] in _KEPT else "_", shape)
    while (shorter := _CALL.sub("_", text)) != text:
        text = shorter
    return text


def _may_follow(old: Placed, new: Placed, base: Side, head: Side) -> bool:
    """The same file, or one of the same folder or name where it is gone and the other new; bodies alike, and no less asserted."""
    same = old.path == new.path
    if not same and old.path not in head and new.path not in base:
        (folder, _, name), (place, _, other) = old.path.rpartition("/"), new.path.rpartition("/")
        same = folder == place or name == other
    alike = same and SequenceMatcher(None, old.code.body, new.code.body).ratio() >= _ALIKE
    return alike and _asserted(new.code) >= old.code.total and _exact(new.code) >= _exact(old.code)


def _asserted(code: TestCode) -> int:
    return sum(max(each.weight, each.parts) for each in code.asserts) * (code.cases or 1)


def _exact(code: TestCode) -> int:
    return sum(max(each.weight, each.parts) for each in code.asserts if each.strength == 3) * (code.cases or 1)


def _related(old: TestCode, new: TestCode) -> bool:
    return bool(_called(old) & _called(new)) or (
        bool(old.asserts) and _loose(old) == _loose(new) and len(_loose(old)) > 1
    )


def _renamed(old: TestCode, new: TestCode, before: frozenset[str], after: frozenset[str]) -> bool:
    return bool(_called(old) - after) and bool(_called(new) - before) and _loose(old) == _loose(new)


def _loose(code: TestCode) -> Counter[str]:
    return Counter(map(loose, shapes_of(code)))


def _called(code: TestCode) -> frozenset[str]:
    return frozenset(_CALLED.findall(code.body)) - _COMMON


def _names(side: Side) -> frozenset[str]:
    return frozenset(name for file in side.values() for test in file.tests for name in _called(test))


def _at_same_place(old: Placed, new: Placed, pairs: Pairs, base: Side, head: Side) -> bool:
    """Whether the nearest test before, or the nearest one after, that is on both sides, is the same for both."""
    there = {(one.path, one.code.name): (other.path, other.code.name) for one, other in pairs.same}
    back = set(there.values())
    olds = [each.name for each in sorted(base[old.path].tests, key=lambda each: each.line)]
    news = [each.name for each in sorted(head[new.path].tests, key=lambda each: each.line)]
    known = [there.get((old.path, name)) for name in olds]
    kept = [(new.path, name) if (new.path, name) in back else None for name in news]
    at, to = olds.index(old.code.name), news.index(new.code.name)
    return any(
        next((each for each in first if each is not None), None)
        == next((each for each in second if each is not None), None)
        for first, second in ((known[:at][::-1], kept[:to][::-1]), (known[at + 1 :], kept[to + 1 :]))
    )
