"""Which test of the head is which test of the base, also when it was moved, renamed, split or put into a table; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from interlock.core.gate.test_code import Side, TestCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A test with the file that it stands in."""

    path: str
    code: TestCode

    @property
    def at(self) -> str:
        return f"{self.path}:{self.code.line}"


@dataclass(slots=True, kw_only=True)
class Pairs:
    """Tests of the base with their counterpart on the head, and what of the head is new.

    ``same`` are compared; ``hidden`` go on where no runner finds them; ``moved`` is for reports (see Moves); ``spare`` holds, for each
    new test, the assertions that nothing of the base was found in yet; ``gone`` has no counterpart at all.
    """

    same: list[tuple[Placed, Placed]] = field(default_factory=list)
    hidden: list[tuple[Placed, Placed]] = field(default_factory=list)
    moved: dict[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    spare: list[tuple[Placed, Counter[str]]] = field(default_factory=list)
    gone: list[Placed] = field(default_factory=list)

    def take(self, gone: Mapping[str, int], number: int) -> bool:
        """Whether that many of the assertions that are gone stand in new tests; they are used up by it."""
        return self.taken(gone, number) is not None

    def taken(self, gone: Mapping[str, int], number: int) -> list[Placed] | None:
        """The new tests that hold that many of the assertions, used up by it; None, and nothing used, when too few do."""
        wanted, used, left = Counter(gone), [], number
        for new, spare in self.spare:
            common = wanted & spare
            if common and left > 0:
                used.append((new, spare, common))
                wanted -= common
                left -= common.total()
        if left > 0 or not used:
            return None
        for _, spare, common in used:
            spare.subtract(common)
        return [new for new, _, _ in used]


def pair(base: Side, head: Side) -> Pairs:
    """Match the tests of both sides: by place and name, by body, by name elsewhere, and by what they assert."""
    old = {(each.path, each.code.name): each for each in _placed(base)}
    new = {(each.path, each.code.name): each for each in _placed(head)}
    pairs = Pairs(same=[(old[key], new[key]) for key in old if key in new])
    missing = [each for key, each in old.items() if key not in new and each.code.kind == "test"]
    fresh = [each for key, each in new.items() if key not in old]
    pairs.hidden = [(one, other) for one, other in pairs.same if one.code.collected and not other.code.collected]
    missing = [each for each in missing if not _by_body(each, fresh, pairs)]
    missing = [each for each in missing if not _by_name(each, fresh, pairs)]
    pairs.spare = [
        (each, Counter(shapes_of(each.code))) for each in fresh if each.code.kind == "test" and each.code.collected
    ]
    for each in missing:
        _by_asserts(each, pairs)
    return pairs


def shapes_of(code: TestCode) -> Iterator[str]:
    """The shape of each assertion, as often as it holds."""
    for each in code.asserts:
        yield from (each.shape for _ in range(min(each.weight, 1000) * min(code.cases or 1, 1000)))


def _placed(side: Side) -> Iterator[Placed]:
    for path, file in side.items():
        for code in file.tests:
            yield Placed(path=path, code=code)


def _by_body(old: Placed, fresh: list[Placed], pairs: Pairs) -> bool:
    """The same body under another name or elsewhere; one that runners do not find is no replacement."""
    found = [each for each in fresh if each.code.body == old.code.body and each.code.body]
    if not found:
        return False
    best = max(found, key=lambda each: (each.code.kind == "test" and each.code.collected, each.path == old.path))
    fresh.remove(best)
    _put(old, best, pairs)
    return True


def _by_name(old: Placed, fresh: list[Placed], pairs: Pairs) -> bool:
    """A test of the same name in another file or class, and in no other."""
    name = _last(old.code.name)
    found = [each for each in fresh if _last(each.code.name) == name and each.code.kind == "test"]
    if len(found) != 1:
        return False
    fresh.remove(found[0])
    _put(old, found[0], pairs)
    return True


def _last(name: str) -> str:
    return name.rpartition("::")[2].rpartition(" > ")[2]


def _put(old: Placed, new: Placed, pairs: Pairs) -> None:
    if old.code.collected and not (new.code.collected and new.code.kind == "test"):
        pairs.hidden.append((old, new))
        return
    pairs.same.append((old, new))
    pairs.moved |= dict.fromkeys(old.code.ids, (new.code.ids,))


def _by_asserts(old: Placed, pairs: Pairs) -> None:
    """All that it asserts stands in new tests: it was split, or became a row of a table."""
    shapes = Counter(shapes_of(old.code))
    used = pairs.taken(shapes, shapes.total()) if shapes else None
    if not used:
        pairs.gone.append(old)
    else:
        pairs.moved |= dict.fromkeys(old.code.ids, tuple(each.code.ids for each in used))
