"""Declared overlaps: paths that two cards both own, or that one owns and the other reads; overlap of real changes is the gate's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from interlock.core.contract.paths import Pattern, inside, intersect, parse

OverlapKind = Literal["write-write", "write-read"]


class HasPaths(Protocol):
    """What declares paths: a card, or the record of a job in flight."""

    @property
    def slug(self) -> str: ...
    @property
    def owned_paths(self) -> tuple[str, ...]: ...
    @property
    def read_only_paths(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Claim:
    """The declared paths of one card as patterns; ``shut`` are exceptions from what it owns."""

    slug: str
    owned: tuple[Pattern, ...]
    read: tuple[Pattern, ...]
    shut: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """A path that two cards both claim: for ``write-read`` a owns it and b reads it; ``path`` is a witness."""

    a: str
    b: str
    kind: OverlapKind
    path: str
    a_pattern: str
    b_pattern: str
    fix: str

    def as_json(self) -> dict[str, Any]:
        return {
            "a": self.a,
            "b": self.b,
            "kind": self.kind,
            "path": self.path,
            "fix": self.fix,
            "a_pattern": self.a_pattern,
            "b_pattern": self.b_pattern,
        }


def claim(card: HasPaths, prohibited_paths: Sequence[str] = ()) -> Claim:
    """The declared paths of a card: what it may only read or must not touch is not owned (case PG-05).

    Raises PatternError.
    """
    read = tuple(map(parse, card.read_only_paths))
    shut = (*read, *map(parse, prohibited_paths))
    return Claim(card.slug, tuple(map(parse, card.owned_paths)), read, shut)


def overlaps_of(one: Claim, other: Claim) -> tuple[Overlap, ...]:
    """Every pair of patterns of the two that meet, each with a witness path and a proposed fix."""
    found = [
        *_meetings(one, other, "write-write"),
        *_meetings(one, other, "write-read"),
        *_meetings(other, one, "write-read"),
    ]
    return tuple(_distinct(found))


def overlap_table(claims: Sequence[Claim], ordered: Callable[[str, str], bool]) -> tuple[Overlap, ...]:
    """The overlaps of all pairs that nothing orders, in the order of the claims.

    Pairs whose patterns cannot meet, since their literal beginnings differ, are never looked at.
    """
    owners: dict[str, set[int]] = {}
    readers: dict[str, set[int]] = {}
    for number, each in enumerate(claims):
        for places, patterns in ((owners, each.owned), (readers, each.read)):
            for pattern in patterns:
                places.setdefault(pattern.head, set()).add(number)
    pairs = set()
    for number, each in enumerate(claims):
        near = {
            other for pattern in each.owned for other in (*_near(pattern.head, owners), *_near(pattern.head, readers))
        }
        near |= {other for pattern in each.read for other in _near(pattern.head, owners)}
        pairs |= {(min(number, other), max(number, other)) for other in near if other != number}
    rows = (
        row
        for one, other in sorted(pairs)
        if not ordered(claims[one].slug, claims[other].slug)
        for row in overlaps_of(claims[one], claims[other])
    )
    return tuple(rows)


def _near(head: str, places: dict[str, set[int]]) -> Iterator[int]:
    """The claims with a pattern that begins with a folder of this beginning, or with all of it."""
    while True:
        yield from places.get(head, ())
        if not head:
            return
        head = head.rpartition("/")[0]


def _meetings(a: Claim, b: Claim, kind: OverlapKind) -> Iterator[Overlap]:
    reads = kind == "write-read"
    shut = a.shut if reads else (*a.shut, *b.shut)
    for mine in a.owned:
        for other in b.read if reads else b.owned:
            path = intersect(mine, other, outside=shut)
            if path is not None:
                fix = _fix_read(a, b, mine, path) if reads else _fix_write(a, b, mine, other, path)
                yield Overlap(
                    a=a.slug, b=b.slug, kind=kind, path=path, a_pattern=mine.text, b_pattern=other.text, fix=fix
                )


def _fix_write(a: Claim, b: Claim, mine: Pattern, other: Pattern, path: str) -> str:
    """Merge where one card has nothing of its own; narrow the wider pattern; else a serial card for the shared part."""
    if _all_inside(a, b) or _all_inside(b, a):
        smaller, larger = (a, b) if _all_inside(a, b) else (b, a)
        return f"Merge {smaller.slug} into {larger.slug}: everything that it owns, {larger.slug} owns as well."
    if inside(mine, other):
        return f"Narrow {b.slug}: add {mine.text} to its prohibited_paths; or let one card depend on the other."
    if inside(other, mine):
        return f"Narrow {a.slug}: add {other.text} to its prohibited_paths; or let one card depend on the other."
    return (
        f"Move what both need of {path} into a serial card that lands first and that both depend on, "
        f"or narrow {mine.text} or {other.text}."
    )


def _fix_read(a: Claim, b: Claim, mine: Pattern, path: str) -> str:
    if mine.plain:
        return f"Let {b.slug} depend on {a.slug}, so that it reads what has landed; or take {path} out of {a.slug}."
    return (
        f"Let {b.slug} depend on {a.slug}, so that it reads what has landed; "
        f"or narrow {mine.text} of {a.slug} so that it does not reach {path}."
    )


def _all_inside(small: Claim, large: Claim) -> bool:
    return all(any(inside(one, other) for other in large.owned) for one in small.owned)


def _distinct(found: Iterable[Overlap]) -> Iterator[Overlap]:
    seen: set[tuple[str, str, str]] = set()
    for each in found:
        key = (each.a, each.kind, each.path)
        if key not in seen:
            seen.add(key)
            yield each
