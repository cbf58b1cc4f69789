"""Which open changes do not go together, tier by tier from cheap to dear; merging, reading and running are ports' work."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from interlock.app.conflict_facts import facts_tier, text_only, unread_code
from interlock.core.contract.overlap import Claim, overlap_table
from interlock.core.counting import count, some
from interlock.core.merge.conflicts import Pair, Prediction, Skipped, Spot, Tier
from interlock.core.merge.landing_order import landing_order, stands_before
from interlock.core.merge.melted import Clash, Matrix
from interlock.core.problems import InterlockError
from interlock.ports.isolation import Place
from interlock.ports.meeting import FactsReader, Melting
from interlock.ports.repository import Reader

if TYPE_CHECKING:
    from interlock.app.scope import Against

PLACED: Final = 1000
"""So many clashes get their lines; of more the file is named."""
Named = tuple[str, str]
_COMMIT: Final = re.compile(r"\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """An open change: its name as people know it, its commit, and what is known of its task.

    ``since`` says which of two is older (None: the commit's own time); ``depends_on`` are names of changes.  ``place`` is the tree of
    ``task``, which may hold work that is not committed; ``quiet``: without such work there is nothing to look at.  ``claim`` is
    what its card declares.
    """

    name: str
    head: str
    since: float | None = None
    depends_on: tuple[str, ...] = ()
    place: Place | None = None
    claim: Claim | None = None
    task: str = ""
    quiet: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What the dearer tiers get: the changes by name, their commits, and pairs that merge as text, the older first.

    ``flagged`` are those that share a file or were found by a cheaper tier; with ``whole`` no tier stops at its limit.  ``unread``
    are the files of changes that are code and that no reader of facts reads.
    """

    heads: Mapping[str, str]
    matrix: Matrix
    free: tuple[Named, ...]
    flagged: tuple[Named, ...] = ()
    whole: bool = False
    unread: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosed:
    """What checkers found, what they could not look at, and the pairs whose ``unread`` files they did look at."""

    pairs: Sequence[Pair] = ()
    skipped: Sequence[Skipped] = ()
    covered: frozenset[Named] = frozenset()


Diagnose = Callable[[Melting, Looked], Diagnosed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for: the open changes on a base, and what the dearer tiers look with (None: that tier is left out).

    ``only``: pairs without one of these names are left out.  ``without`` says why a tier is left out; it is said as skipped.
    """

    base: Against
    changes: tuple[Open, ...]
    facts: FactsReader | None = None
    diagnose: Diagnose | None = None
    only: frozenset[str] = frozenset()
    without: Mapping[Tier, str] = field(default_factory=dict)
    whole: bool = False


def predict(reader: Reader, asked: Asked) -> Prediction:
    """All pairs of open changes that do not go together, by every tier that can look, with what could not and why.

    A pair that clashes in its text is not looked at by the dearer tiers, since there is no merged tree.  Raises GitFailed.
    """
    cost: dict[str, float] = {}
    with reader.melting(asked.base.oid) as pot:
        with _timed(cost, "declared"):
            overlaps = _declared(asked)
        with _timed(cost, "text"):
            changes, renamed, skipped = _with_uncommitted(pot, asked)
            heads = {change.name: change.head for change in changes}
            matrix = pot.matrix(tuple(heads.values()))
            order = _order(pot, changes, renamed, matrix)
            rank = {name: number for number, name in enumerate(order)}
            pairs = _textual(pot, asked, heads, matrix, rank)
            skipped += _unread(asked, heads, matrix)
        looked = Looked(heads=heads, matrix=matrix, free=_free(asked, heads, matrix, rank, pairs), whole=asked.whole)
        with _timed(cost, "facts"):
            if asked.facts is None:
                skipped.append(Skipped(tier="facts", why=asked.without.get("facts", "No reader of facts is here.")))
            else:
                looked = replace(looked, unread=unread_code(asked.facts, looked))
                found, missed = facts_tier(pot, asked.facts, looked)
                pairs += found
                skipped += missed
        with _timed(cost, "diagnostics"):
            diagnosed = _diagnosed(pot, asked, looked, pairs)
            pairs += diagnosed.pairs
            skipped += [*text_only(looked, diagnosed.covered), *diagnosed.skipped]
    pairs.sort(
        key=lambda pair: (rank.get(pair.a, 0), rank.get(pair.b, 0), pair.tier != "text", pair.path, pair.line or 0)
    )
    return Prediction(
        pairs=tuple(pairs),
        skipped=tuple(skipped),
        order=order,
        cost=cost,
        changes=tuple(heads),
        overlaps=overlaps,
        files=_files(heads, matrix),
        notes=_notes(asked, len(heads), matrix),
    )


@contextmanager
def _timed(cost: dict[str, float], tier: Tier) -> Iterator[None]:
    began = time.perf_counter()
    yield
    cost[tier] = time.perf_counter() - began


def _declared(asked: Asked) -> tuple[dict[str, object], ...]:
    """What the cards of open changes declare alike, under the changes' names."""
    claims = [change.claim for change in asked.changes if change.claim is not None]
    needs = {change.name: change.depends_on for change in asked.changes}

    def ordered(one: str, other: str) -> bool:
        return other in needs.get(one, ()) or one in needs.get(other, ())

    return tuple(row.as_json() for row in overlap_table(claims, ordered))


def _with_uncommitted(pot: Melting, asked: Asked) -> tuple[list[Open], dict[str, str], list[Skipped]]:
    """The changes, each task with what its tree holds now, and the names that changed so; what cannot be looked at is said."""
    found: list[Open] = []
    renamed: dict[str, str] = {}
    skipped: list[Skipped] = []
    for change in asked.changes:
        now = None
        if change.place is not None:
            try:
                now = pot.present(change.place, change.head)
            except (InterlockError, OSError) as fault:
                why = f"What is not committed in {change.name} could not be looked at: {fault}"
                skipped.append(Skipped(tier="text", why=why))
        if now is not None:
            renamed[change.name] = f"{change.task} (uncommitted)"
            found.append(replace(change, name=renamed[change.name], head=now))
        elif not change.quiet:
            found.append(change)
    return found, renamed, skipped


def _order(pot: Melting, changes: Sequence[Open], renamed: Mapping[str, str], matrix: Matrix) -> tuple[str, ...]:
    known = {change.name: change.since for change in changes if change.since is not None}
    times = pot.times([change.head for change in changes if change.name not in known])
    since = {change.name: known.get(change.name, times.get(change.head, 0.0)) for change in changes}
    needs = {change.name: tuple(renamed.get(need, need) for need in change.depends_on) for change in changes}
    unfit = {change.name for change in changes if change.head in matrix.with_base or change.head in matrix.refused}
    return landing_order([*since], since=since, depends_on=needs, unfit=unfit)


def _textual(
    pot: Melting, asked: Asked, heads: Mapping[str, str], matrix: Matrix, rank: Mapping[str, int]
) -> list[Pair]:
    rows = [
        (name, asked.base.ref, clash)
        for name, head in heads.items()
        for clash in matrix.with_base.get(head, ())
        if not asked.only or name in asked.only
    ]
    owners = _owners(heads)
    between = [
        (one, other, clash)
        for (first, second), clashes in matrix.pairs.items()
        for one in owners[first]
        for other in owners[second]
        if not asked.only or asked.only & {one, other}
        for clash in clashes
    ]
    placed = dict(zip((c for *_, c in between[:PLACED]), pot.placed([c for *_, c in between[:PLACED]]), strict=True))
    said = _Named(heads)
    return [_base_pair(name, base, said(clash)) for name, base, clash in rows] + [
        _text_pair(one, other, said(placed.get(clash, clash)), rank) for one, other, clash in between
    ]


class _Named:
    """Git's sentences with the names of changes where it says commits; content clashes say nothing more than their kind."""

    def __init__(self, heads: Mapping[str, str]) -> None:
        self._names = {head: name for name, head in heads.items()}

    def __call__(self, clash: Clash) -> Clash:
        if clash.kind in ("content", "add/add", "binary"):
            why = (
                f"Its attributes give it to the merge driver {clash.driver}, which is never run."
                if clash.driver
                else ""
            )
            return replace(clash, why=why)
        return replace(clash, why=_COMMIT.sub(lambda found: self._names.get(found[0], found[0][:12]), clash.why))


def _owners(heads: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, head in heads.items():
        found.setdefault(head, []).append(name)
    return found


def _base_pair(name: str, base: str, clash: Clash) -> Pair:
    return Pair(
        a=name,
        b=base,
        kind="textual",
        tier="text",
        rule="text-conflict",
        path=clash.path,
        why=f"It does not merge with the base ({clash.kind}). {clash.why}".strip(),
        places=(Spot(change=name, path=clash.path),),
        action=f"Bring {name} up to date with {base}, before anything else of it is judged.",
    )


def _text_pair(one: str, other: str, clash: Clash, rank: Mapping[str, int]) -> Pair:
    spots, paths = clash.lines, clash.paths or (clash.path, clash.path)
    if not stands_before(one, other, rank):
        one, other = other, one
        spots = (spots[1], spots[0]) if spots else None
        paths = (paths[1], paths[0])
    places = tuple(
        Spot(change=name, path=path, line=spot.line if spot else None, text=spot.text if spot else "")
        for name, path, spot in zip((one, other), paths, spots or (None, None), strict=True)
    )
    return Pair(
        a=one,
        b=other,
        kind="textual",
        tier="text",
        rule="text-conflict",
        path=clash.path,
        line=spots[1].line if spots else None,
        why=f"Both change it, and git cannot put it together ({clash.kind}). {clash.why}".strip(),
        places=places,
        action=f"Land {one} first; {other} then tries again on top of it. Or make one change of the two.",
    )


def _unread(asked: Asked, heads: Mapping[str, str], matrix: Matrix) -> list[Skipped]:
    names = _owners(heads)
    skipped = [
        Skipped(tier="text", why=f"{name}: {refused.refusal.what} {refused.refusal.would_change}")
        for head, refused in matrix.refused.items()
        for name in names[head]
    ]
    unfit = [name for head in matrix.with_base for name in names[head]]
    if unfit and len(heads) > 1:
        why = f"{some(unfit, 5)}: not merged with the others, since it does not merge with {asked.base.ref}."
        skipped.append(Skipped(tier="text", why=why))
    return skipped


def _free(
    asked: Asked, heads: Mapping[str, str], matrix: Matrix, rank: Mapping[str, int], pairs: Sequence[Pair]
) -> tuple[Named, ...]:
    """Pairs that merge as text, of different commits, the older first; those of old changes come before those of younger ones."""
    clashing = {(pair.a, pair.b) for pair in pairs}
    names = sorted((name for name, head in heads.items() if head in matrix.changes), key=lambda name: rank[name])
    return tuple(
        (one, other)
        for number, other in enumerate(names)
        for one in names[:number]
        if (one, other) not in clashing
        and heads[one] != heads[other]
        and (not asked.only or one in asked.only or other in asked.only)
    )


def _diagnosed(pot: Melting, asked: Asked, looked: Looked, pairs: Sequence[Pair]) -> Diagnosed:
    if asked.diagnose is None:
        why = asked.without.get("diagnostics", "")
        return Diagnosed(skipped=[Skipped(tier="diagnostics", why=why)] if why else [])
    touched = {frozenset((pair.a, pair.b)) for pair in pairs}
    flagged = [pair for pair in looked.free if frozenset(pair) in touched or _share(looked, pair) or asked.whole]
    return asked.diagnose(pot, replace(looked, flagged=tuple(flagged)))


def _share(looked: Looked, pair: Named) -> bool:
    one, other = ({c.path for c in looked.matrix.changes[looked.heads[name]]} for name in pair)
    return bool(one & other)


def _files(heads: Mapping[str, str], matrix: Matrix) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for name, head in heads.items():
        for change in matrix.changes.get(head, ()):
            found.setdefault(change.path, []).append(name)
    return {path: tuple(names) for path, names in sorted(found.items()) if len(names) > 1}


def _notes(asked: Asked, changes: int, matrix: Matrix) -> tuple[str, ...]:
    return (f"{count(changes, 'change')} on {asked.base.ref}, {count(matrix.asked, 'pair')}.",)
