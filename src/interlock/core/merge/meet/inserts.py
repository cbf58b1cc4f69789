"""Columns that one change makes every row need, and rows that the other newly inserts without them; what is gone is in marks."""

from __future__ import annotations

from collections.abc import Callable

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.meet.delta import At, Delta
from interlock.core.merge.meet.marks import has_mark
from interlock.core.merge.meet.sides import Alarm, Tree


def inserts(breaker: Delta, user: Delta) -> list[Alarm]:
    """New ``INSERT`` statements that leave out a column which a table that was there now needs."""
    found = []
    for (kind, name), places in breaker.marked.items():
        for at in places if kind == "column" else ():
            if at.mark.role != "defines" or at.mark.detail != "required" or not _was_there(breaker, at):
                continue
            found += [
                _alarm(breaker, user, at, new)
                for new in user.marked.get(("table", at.mark.scope), ())
                if new.mark.detail.startswith("insert:") and name not in new.mark.detail[7:].split(",")
            ]
    return found


def _was_there(breaker: Delta, at: At) -> bool:
    change = breaker.side.get(at.path)
    base = change.base if change is not None else None
    return base is not None and any(
        (each.kind, each.name, each.role) == ("table", at.mark.scope, "defines") for each in base.marks
    )


def _alarm(breaker: Delta, user: Delta, at: At, new: At) -> Alarm:
    column = f"{at.mark.scope}.{at.mark.name}"
    return Alarm(
        rule="required-column",
        symbol=column,
        breaker=Spot(change=breaker.name, path=at.path, line=at.mark.line, text=column),
        user=Spot(change=user.name, path=new.path, line=new.mark.line, text=at.mark.scope),
        why=f"{breaker.name} makes every row of {at.mark.scope} need {at.mark.name} in {at.path}, and {user.name} newly inserts"
        f" one without it in {new.path}, line {new.mark.line}.",
        action=f"Give {at.mark.name} in {user.name}, or let it have a default in {breaker.name}.",
        check=_still(at, new),
        paths=(new.path, at.path),
    )


def _still(at: At, new: At) -> Callable[[Tree], bool]:
    def check(tree: Tree) -> bool:
        schema = tree(at.path)
        asked = schema is not None and any(
            (each.kind, each.name, each.scope, each.detail) == ("column", at.mark.name, at.mark.scope, "required")
            for each in schema.marks
        )
        return asked and has_mark(tree, new.path, new.mark)

    return check
