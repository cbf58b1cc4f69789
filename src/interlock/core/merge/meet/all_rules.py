"""The third tier: what two changes that merge cleanly do to each other, told from the facts of their files; reading files is not here."""

from __future__ import annotations

from collections.abc import Callable

from interlock.core.merge.conflicts import Pair
from interlock.core.merge.meet.arities import arities
from interlock.core.merge.meet.barrels import barrels
from interlock.core.merge.meet.circles import circles
from interlock.core.merge.meet.delta import Delta, delta_of
from interlock.core.merge.meet.doubles import doubles
from interlock.core.merge.meet.inserts import inserts
from interlock.core.merge.meet.links import both, links
from interlock.core.merge.meet.lost import lost
from interlock.core.merge.meet.marks import marks
from interlock.core.merge.meet.members import members
from interlock.core.merge.meet.named import named
from interlock.core.merge.meet.names import names
from interlock.core.merge.meet.packages import packages
from interlock.core.merge.meet.python import python
from interlock.core.merge.meet.revisions import revisions
from interlock.core.merge.meet.shapes import shapes
from interlock.core.merge.meet.sides import Alarm, FileChange, Read, SideFacts, Tree
from interlock.core.merge.meet.steps import steps
from interlock.core.merge.meet.subtypes import subtypes
from interlock.core.merge.meet.texts import texts
from interlock.core.merge.meet.types import types

__all__ = ["Alarm", "FileChange", "Read", "SideFacts", "Tree", "candidates", "confirmed", "findings", "unread"]

_ONE_WAY: tuple[Callable[[Delta, Delta], list[Alarm]], ...] = (
    names,
    members,
    types,
    marks,
    packages,
    links,
    texts,
    shapes,
    subtypes,
    python,
    arities,
    lost,
    named,
    barrels,
    inserts,
    steps,
)
_BOTH: tuple[Callable[[Delta, Delta], list[Alarm]], ...] = (doubles, revisions, both, circles)


def candidates(a: SideFacts, b: SideFacts) -> tuple[Alarm, ...]:
    """Everything that may not go together of two changes that merge without textual conflict; cheap, and too much.

    Both are facts against one merge base.  ``a`` is the older change, which lands first.  Each alarm has yet to be confirmed:
    without that step more than a quarter of known-good merges is flagged, with it less than one in a hundred (facts/gating §2.2).
    """
    ours, theirs = delta_of(a), delta_of(b)
    found: list[Alarm] = []
    for rule in _ONE_WAY:
        found += rule(ours, theirs)
        found += rule(theirs, ours)
    for rule in _BOTH:
        found += rule(ours, theirs)
    return tuple(found)


def confirmed(alarm: Alarm, a: str, b: str, merged: Tree | Read) -> Pair | None:
    """The alarm as a finding if the merged tree shows it, else None.

    ``merged`` gives the facts of any path of the merge result; give one ``Tree`` for all alarms of a pair, so that no file is
    read twice.  A file that cannot be read as its language confirms nothing.
    """
    tree = merged if isinstance(merged, Tree) else Tree(merged)
    return alarm.as_pair(a, b) if alarm.check(tree) else None


def findings(a: SideFacts, b: SideFacts, merged: Tree | Read) -> tuple[Pair, ...]:
    """Candidates, each confirmed, each told once: one finding for a rule, a symbol and a file of the user."""
    tree = merged if isinstance(merged, Tree) else Tree(merged)
    told: dict[tuple[str, str | None, str], Pair] = {}
    for alarm in candidates(a, b):
        key = (alarm.rule, alarm.symbol, alarm.user.path)
        if key not in told and (pair := confirmed(alarm, a.change, b.change, tree)) is not None:
            told[key] = pair
    return tuple(told.values())


def unread(side: SideFacts) -> tuple[str, ...]:
    """Paths of a change that could not be read as their language, each with the reason: the tier did not look at them."""
    return tuple(
        f"{each.path}: {facts.fault}"
        for each in side.files
        for facts in (each.side if each.side is not None else each.base,)
        if facts is not None and facts.fault
    )
