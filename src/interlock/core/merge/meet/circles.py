"""Imports of Python names that two changes together lead round in a circle; those of Go are in links."""

from __future__ import annotations

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.facts import Import
from interlock.core.merge.meet.delta import Delta
from interlock.core.merge.meet.links import new_imports
from interlock.core.merge.meet.modules import family, names_file, resolve
from interlock.core.merge.meet.sides import Alarm, Tree


def circles(a: Delta, b: Delta) -> list[Alarm]:
    """Imports of names that lead round in a circle when both sides' are there."""
    found: dict[tuple[str, str], Alarm] = {}
    ours = [each for each in new_imports(a) if family(each[1]) == "python" and each[2].name not in {"", "*"}]
    theirs = [each for each in new_imports(b) if family(each[1]) == "python" and each[2].name not in {"", "*"}]
    for path, facts, one in ours:
        for where, again, other in theirs:
            if (
                path != where
                and names_file(path, facts, one.module, where, again)
                and names_file(where, again, other.module, path, facts)
            ):
                found.setdefault((path, where), _circle(a, b, (path, one), (where, other)))
    return list(found.values())


def _circle(a: Delta, b: Delta, one: tuple[str, Import], other: tuple[str, Import]) -> Alarm:
    def check(tree: Tree) -> bool:
        return _fails(tree, one, other) and _fails(tree, other, one)

    return Alarm(
        rule="import-cycle",
        symbol=one[1].module,
        breaker=Spot(change=a.name, path=one[0], line=one[1].line, text=one[1].module),
        user=Spot(change=b.name, path=other[0], line=other[1].line, text=other[1].module),
        why=f"{a.name} lets {one[0]}, line {one[1].line}, import {other[0]}, and {b.name} the other way round in {other[0]}, line {other[1].line}.",
        action="Move what both need into a module of its own, or import it where it is used.",
        check=check,
        paths=(one[0], other[0]),
    )


def _fails(tree: Tree, first: tuple[str, Import], second: tuple[str, Import]) -> bool:
    """Whether loading the first file fails: the second asks it for a name before that is defined."""
    facts, again = tree(first[0]), tree(second[0])
    if facts is None or again is None:
        return False
    mine = [each for each in facts.imports if (each.module, each.name) == (first[1].module, first[1].name)]
    back = [each for each in again.imports if (each.module, each.name) == (second[1].module, second[1].name)]
    # What only type checkers see is no use.
    real = any(each.name == first[1].name and each.source == first[1].module for each in facts.uses)
    real = real and any(each.name == second[1].name and each.source == second[1].module for each in again.uses)
    if not mine or not back or not real or resolve(tree, first[0], first[1].module) != second[0]:
        return False
    defined = [each.line for each in facts.symbols if not each.owner and each.name == second[1].name]
    return bool(defined) and min(defined) > mine[0].line and resolve(tree, second[0], second[1].module) == first[0]
