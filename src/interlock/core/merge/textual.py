"""Which pairs of changes on one base can clash, and what must be merged to tell; merging itself is git's (adapters.git.matrix)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from interlock.core.gate.changes import Change

PairOf = tuple[str, str]
REGULAR: Final = frozenset({0o100644, 0o100755})


@dataclass(frozen=True, slots=True, order=True)
class Triple:
    """Three versions of a regular file; ``base`` is empty where both sides made it anew; the sides are in their order."""

    base: str
    one: str
    other: str
    path: str


@dataclass(slots=True)
class Questions:
    """What is left to ask git about pairs: ``triples`` of contents, ``whole`` pairs of trees; ``gone`` clash for sure.

    A pair in ``whole`` is in none of the others.  Pairs that are in none of the three go together.
    """

    triples: dict[PairOf, list[Triple]] = field(default_factory=dict)
    gone: dict[PairOf, list[str]] = field(default_factory=dict)
    whole: set[PairOf] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Side:
    """A head's changes against the base it is merged with, by path; ``adds`` and ``removes`` say whether a rename is possible."""

    changes: Mapping[str, Change]
    adds: bool
    removes: bool


def side(changes: Iterable[Change]) -> Side:
    """A head's changes, all against one base, with whether a rename may be among them."""
    found = {change.path: change for change in changes}
    states = {change.status for change in found.values()}
    return Side(changes=found, adds="A" in states, removes="D" in states)


def questions(
    sides: Mapping[str, Side],
    *,
    related: frozenset[PairOf],
    emptied: Callable[[Sequence[str], frozenset[str], frozenset[str]], frozenset[str]],
) -> Questions:
    """What must be asked to know every pair of ``sides``, whose changes are all against one and the same tree.

    Two sides can clash only at a path that both change, where a file of one stands in the way of a folder of the other,
    or where one renamed a folder that the other adds to.  ``related`` pairs share commits beyond the base.  ``emptied`` tells which of some folders lose all
    of the base's files when the first set of paths goes and the second comes.
    """
    found = Questions()
    for path, pairs in _shared(sides):
        for one, other in pairs:
            _ask(found, sides, (one, other), path, related)
    found.whole.update(_in_the_way(sides), _moved_folders(sides, emptied))
    for pair in found.whole:
        found.triples.pop(pair, None)
        found.gone.pop(pair, None)
    return found


def _shared(sides: Mapping[str, Side]) -> Iterator[tuple[str, Iterable[PairOf]]]:
    """Paths that several sides change, with the pairs, each in the order of names."""
    users: dict[str, list[str]] = {}
    for name in sorted(sides):
        for path in sides[name].changes:
            users.setdefault(path, []).append(name)
    for path, names in users.items():
        if len(names) > 1:
            yield path, combinations(names, 2)


def _ask(found: Questions, sides: Mapping[str, Side], pair: PairOf, path: str, related: frozenset[PairOf]) -> None:
    one, other = (sides[name] for name in pair)
    mine, theirs = one.changes[path], other.changes[path]
    equal = (mine.new_oid, mine.new_mode) == (theirs.new_oid, theirs.new_mode)
    states = {mine.status, theirs.status}
    if equal and (states == {"M"} or not _renames(one, other, states)):
        return
    if pair in related:
        found.whole.add(pair)
    elif states == {"D", "M"} and not _renames(one, other, states) and not _odd(mine, theirs):
        found.gone.setdefault(pair, []).append(path)
    elif _contents(one, other, mine, theirs):
        base = mine.old_oid if mine.status == "M" else ""
        if mine.new_oid != theirs.new_oid or states == {"A"}:
            found.triples.setdefault(pair, []).append(Triple(base, mine.new_oid, theirs.new_oid, path))
    else:
        found.whole.add(pair)


def _renames(one: Side, other: Side, states: AbstractSet[str]) -> bool:
    """Whether git could take a path for the source, or the target, of a rename on either side."""
    if "D" in states:
        return one.adds or other.adds
    return one.removes or other.removes if "A" in states else False


def _odd(*changes: Change) -> bool:
    return any({change.old_mode, change.new_mode} - REGULAR - {0} for change in changes)


def _contents(one: Side, other: Side, mine: Change, theirs: Change) -> bool:
    """Whether three contents decide alone: a regular file on all sides, or one that both made, far from any rename."""
    if _odd(mine, theirs) or mine.status != theirs.status:
        return False
    return mine.status == "M" or (
        mine.status == "A" and mine.new_mode == theirs.new_mode and not (one.removes or other.removes)
    )


def _in_the_way(sides: Mapping[str, Side]) -> Iterator[PairOf]:
    """Pairs of which one adds a file where the other adds a folder."""
    if not any(each.adds for each in sides.values()):
        return
    files: dict[str, list[str]] = {}
    for name, each in sides.items():
        for path, change in each.changes.items():
            if change.status != "D":
                files.setdefault(path, []).append(name)
    for name, each in sides.items():
        for path, change in each.changes.items():
            if change.status == "A":
                for folder in folders_of(path):
                    yield from (ordered(name, other) for other in files.get(folder, ()) if other != name)


def _moved_folders(
    sides: Mapping[str, Side],
    emptied: Callable[[Sequence[str], frozenset[str], frozenset[str]], frozenset[str]],
) -> Iterator[PairOf]:
    """Pairs of which one emptied a folder that the other adds to: git may take the addition along, or ask."""
    moved: dict[str, list[str]] = {}
    for name, each in sides.items():
        if not (each.adds and each.removes):
            continue
        gone = frozenset(path for path, change in each.changes.items() if change.status == "D")
        come = frozenset(path for path, change in each.changes.items() if change.status == "A")
        asked = sorted({folder for path in gone for folder in (*folders_of(path), "")})
        for folder in emptied(asked, gone, come):
            moved.setdefault(folder, []).append(name)
    if not moved:
        return
    for name, each in sides.items():
        for path, change in each.changes.items():
            if change.status == "A":
                for folder in (*folders_of(path), ""):
                    yield from (ordered(name, other) for other in moved.get(folder, ()) if other != name)


def folders_of(path: str) -> Iterator[str]:
    """The folders above a path, the nearest first, without the root."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def ordered(one: str, other: str) -> PairOf:
    """A pair in the order of its names."""
    return (one, other) if one < other else (other, one)
