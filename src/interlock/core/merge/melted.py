"""What comes of merging many heads on one base, as values; merging is git's (adapters.git.matrix), which pairs can clash is textual's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from interlock.core.gate.changes import Change
from interlock.core.merge.textual import PairOf, Triple
from interlock.core.problems import Refused


@dataclass(frozen=True, slots=True)
class Spot:
    """A line of a file, counted from 1, and what stands there."""

    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """A path where two heads do not merge: ``kind`` in git's words (content, add/add, modify/delete, …), ``why`` its sentence.

    ``lines`` are where the contents meet, on the first and on the second side, as far as they were asked for; until then ``triple``, or
    ``specs`` (the merged file and both sides), say where that can be found.  ``paths`` are the names that the file has on the
    first and on the second side, where one of them renamed it.  ``driver`` is the program that the attributes give the file to, which is
    not run: two changes of such a file clash.
    """

    path: str
    kind: str
    why: str = ""
    triple: Triple | None = None
    specs: tuple[str, str, str] | None = None
    lines: tuple[Spot, Spot] | None = None
    paths: tuple[str, str] | None = None
    driver: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Textual clashes of many heads on one base; heads are commits, and a pair is in the order of its names.

    ``refused`` heads have no ancestor in common with the base; ``with_base`` clash with it, so that nothing is known of their pairs.
    ``changes`` are of all others, against the base as it is now; ``related`` pairs of them share commits that the base has not.
    ``asked`` counts the pairs that are told of.
    """

    base: str
    refused: Mapping[str, Refused]
    with_base: Mapping[str, tuple[Clash, ...]]
    pairs: Mapping[PairOf, tuple[Clash, ...]]
    changes: Mapping[str, tuple[Change, ...]]
    related: frozenset[PairOf]
    asked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedTree:
    """What two heads make together on the base: the tree, and how it differs from the base's."""

    tree: str
    changes: tuple[Change, ...]
