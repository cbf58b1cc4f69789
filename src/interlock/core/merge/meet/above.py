"""What stands above a type of scripts, Go and Java: all that it comes from, or the nearest in a file; who has a member is meet_bases'."""

from __future__ import annotations

from typing import Final

from interlock.core.merge.facts import FileFacts, Use
from interlock.core.merge.meet.bases import Where, type_at
from interlock.core.merge.meet.sides import Tree

_MOST_HOPS: Final = 8


def supers(tree: Tree, start: Where, file: str) -> list[Where] | None:
    """All types that one comes from, nearest first; None where one of them cannot be told."""
    found: list[Where] = []
    waiting = [start]
    while waiting:
        path, owner = waiting.pop(0)
        facts = tree(path)
        if facts is None or facts.fault or len(found) > _MOST_HOPS:
            return None
        for base in (base for each in facts.symbols if each.path == owner for base in each.bases):
            place = type_at(tree, path, facts, "", base.partition("<")[0].strip(), file)
            if place is None:
                return None
            if place not in found:
                found.append(place)
                waiting.append(place)
    return found


def nearest(tree: Tree, path: str, facts: FileFacts, use: Use, file: str) -> Where | None:
    """The type of a file that another type comes to be along its bases, where nothing on the way defines the member itself.

    None too where a base on the way cannot be told.
    """
    start = type_at(tree, path, facts, use.source, use.of, file) if use.of.isidentifier() else None
    waiting, seen = [start] if start is not None else [], list[Where]()
    while waiting:
        place, owner = waiting.pop(0)
        if place == file:
            return (place, owner)
        inside = tree(place)
        seen.append((place, owner))
        if inside is None or inside.fault or len(seen) > _MOST_HOPS:
            return None
        if any(each.owner == owner and each.name == use.name for each in inside.symbols):
            return None
        for base in (base for each in inside.symbols if each.path == owner for base in each.bases):
            above = type_at(
                tree, place, inside, "", base.lstrip("*&").partition("<")[0].partition("[")[0].strip(), file
            )
            if above is None:
                return None
            waiting += [above] if above not in seen else []
    return None
