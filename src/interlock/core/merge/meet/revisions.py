"""Migrations of both changes that claim one number or leave two heads; how each tool names them is the readers' work."""

from __future__ import annotations

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.meet.delta import At, Delta
from interlock.core.merge.meet.sides import Alarm, Tree


def revisions(a: Delta, b: Delta) -> list[Alarm]:
    """Equal numbers in one folder, two heads after the merge, and a parent that the other side takes away."""
    found = []
    for key in a.marked.keys() & b.marked.keys():
        if key[0] == "migration":
            found += [
                _number(a, b, one, other)
                for one in a.marked[key]
                for other in b.marked[key]
                if one.mark.scope == other.mark.scope and one.mark.detail != other.mark.detail
            ]
    return found + _heads(a, b) + _parents(a, b) + _parents(b, a)


def _number(a: Delta, b: Delta, one: At, other: At) -> Alarm:
    def check(tree: Tree) -> bool:
        return all(
            (facts := tree(each.path)) is not None
            and any(mark.kind == "migration" and mark.name == each.mark.name for mark in facts.marks)
            for each in (one, other)
        )

    return Alarm(
        rule="migration-number",
        symbol=one.mark.name,
        breaker=Spot(change=a.name, path=one.path, line=one.mark.line, text=one.mark.name),
        user=Spot(change=b.name, path=other.path, line=other.mark.line, text=other.mark.name),
        why=f"{a.name} and {b.name} both take number {one.mark.name} in {one.mark.scope or 'the top folder'}: {one.path} and"
        f" {other.path}.",
        action=f"Give the migration of {b.name} the next number, after {a.name} has landed.",
        check=check,
        paths=(one.path, other.path),
    )


def _new(delta: Delta) -> dict[str, dict[str, At]]:
    """New revisions by scope and name."""
    found: dict[str, dict[str, At]] = {}
    for (kind, name), places in delta.marked.items():
        if kind == "revision":
            for each in places:
                if each.mark.role == "defines":
                    found.setdefault(each.mark.scope, {})[name] = each
    return found


def _stands_on(at: At) -> tuple[str, ...]:
    return tuple(part for part in at.mark.detail.split(",") if part)


def _roots(new: dict[str, At]) -> set[str]:
    """What a chain of new revisions stands on outside of itself; nothing stands on the empty base."""
    return {parent for each in new.values() for parent in (_stands_on(each) or ("",)) if parent not in new}


def _tips(new: dict[str, At]) -> list[At]:
    below = {parent for each in new.values() for parent in _stands_on(each)}
    return [each for name, each in sorted(new.items()) if name not in below]


def _heads(a: Delta, b: Delta) -> list[Alarm]:
    ours, theirs = _new(a), _new(b)
    found = []
    for scope in ours.keys() & theirs.keys():
        if _roots(ours[scope]) & _roots(theirs[scope]) and not ours[scope].keys() & theirs[scope].keys():
            one, other = _tips(ours[scope])[:1], _tips(theirs[scope])[:1]
            if one and other:
                found.append(_head_alarm(a, b, one[0], other[0]))
        found += [
            _number(a, b, ours[scope][name], theirs[scope][name])
            for name in ours[scope].keys() & theirs[scope].keys()
            if ours[scope][name].path != theirs[scope][name].path
        ]
    return found


def _head_alarm(a: Delta, b: Delta, one: At, other: At) -> Alarm:
    places = sorted({each.path for delta in (a, b) for each in delta.side.files if each.side is not None})

    def check(tree: Tree) -> bool:
        if not (tree.has(one.path) and tree.has(other.path)):
            return False
        known = [
            mark
            for path in places
            if (facts := tree(path)) is not None
            for mark in facts.marks
            if mark.kind == "revision" and mark.scope == one.mark.scope
        ]
        below = {parent for mark in known for parent in mark.detail.split(",")}
        return one.mark.name not in below and other.mark.name not in below

    stands = " and ".join(_stands_on(other)) or "nothing"
    return Alarm(
        rule="migration-heads",
        symbol=other.mark.name,
        breaker=Spot(change=a.name, path=one.path, line=one.mark.line, text=one.mark.name),
        user=Spot(change=b.name, path=other.path, line=other.mark.line, text=other.mark.name),
        why=f"{a.name} and {b.name} both add a migration beside the other: {one.mark.name} and {other.mark.name} (on {stands}) are two"
        f" heads of {one.mark.scope or 'the top folder'} after the merge.",
        action=f"Let {other.mark.name} of {b.name} stand on {one.mark.name}, after {a.name} has landed.",
        check=check,
        paths=(one.path, other.path),
    )


def _parents(breaker: Delta, user: Delta) -> list[Alarm]:
    """New revisions that stand on one which the other side renamed or took away."""
    found = []
    for scope, new in _new(user).items():
        for name, at in new.items():
            for parent in _stands_on(at):
                gone = [each for each in breaker.lost.get(("revision", parent), ()) if each.mark.scope == scope]
                if gone and not breaker.marked.get(("revision", parent)):
                    found.append(_parent_alarm(breaker, user, gone[0], at, name))
    return found


def _parent_alarm(breaker: Delta, user: Delta, gone: At, at: At, name: str) -> Alarm:
    def check(tree: Tree) -> bool:
        facts, old = tree(at.path), tree(gone.path)
        stands = facts is not None and any(
            mark.kind == "revision" and gone.mark.name in mark.detail.split(",") for mark in facts.marks
        )
        return stands and not any(
            mark.kind == "revision" and mark.name == gone.mark.name for mark in (old.marks if old is not None else ())
        )

    return Alarm(
        rule="migration-parent",
        symbol=gone.mark.name,
        breaker=Spot(change=breaker.name, path=gone.path, line=gone.mark.line, text=gone.mark.name),
        user=Spot(change=user.name, path=at.path, line=at.mark.line, text=name),
        why=f"{breaker.name} takes away or renames the migration {gone.mark.name}, and {name} of {user.name} stands on it.",
        action=f"Let {name} stand on what is there now, in {user.name}.",
        check=check,
        paths=(at.path, gone.path),
    )
