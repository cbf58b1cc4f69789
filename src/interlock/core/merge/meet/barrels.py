"""Names that scripts get by files that give on others: a star that is taken away, a whole module under a name, a value turned function."""

from __future__ import annotations

from dataclasses import replace

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.meet.bases import lost_by_stars, script_file
from interlock.core.merge.meet.delta import Altered, Delta, Gone, NewUse
from interlock.core.merge.meet.meaning import meanings
from interlock.core.merge.meet.modules import family, names_file, provides
from interlock.core.merge.meet.names import same_use, still_used, users
from interlock.core.merge.meet.sides import Alarm, FileChange, Tree

_MOST_HOPS = 8
_KINDS = {"function": "a function"}


def barrels(breaker: Delta, user: Delta) -> list[Alarm]:
    """What a file of scripts no longer gives on, or gives as something else, and the other side newly takes."""
    found = [alarm for change in breaker.side.files for alarm in _stars(breaker, user, change)]
    for name in breaker.gone.keys() & user.uses.keys():
        for gone in breaker.gone[name]:
            if family(gone.facts) == "script" and not gone.symbol.owner:
                found += [_within(breaker, user, gone, new) for new in user.uses[name] if _of_name(new)]
    for altered in (each for news in breaker.altered.values() for each in news):
        if (altered.old.kind, altered.new.kind) == ("constant", "function") and family(altered.facts) == "script":
            found += _now_function(breaker, user, altered)
        elif (
            altered.old.kind == "function"
            and altered.new.kind in {"constant", "variable"}
            and _is_object(breaker, altered)
        ):
            found += [
                _turned(breaker, user, altered, new)
                for new in user.uses.get(altered.new.name, ())
                if new.use.call is not None and family(new.facts) == "script"
            ]
        elif altered.old.kind in {"constant", "variable"} and altered.new.kind == "function":
            found += [
                _turned(breaker, user, altered, new)
                for new in user.uses.get(altered.new.name, ())
                if new.use.call is None and {"iterate", "index", "arith"} & set(new.use.then)
            ]
    return found


def _is_object(breaker: Delta, altered: Altered) -> bool:
    """Whether what was a function is an object that is written out."""
    return family(altered.facts) == "script" and any(
        path == altered.path and symbol.owner == altered.new.name
        for added in breaker.added.values()
        for path, symbol, _ in added
    )


def _of_name(new: NewUse) -> bool:
    return bool(new.use.source) and new.use.of.isidentifier() and family(new.facts) == "script"


def _stars(breaker: Delta, user: Delta, change: FileChange) -> list[Alarm]:
    """``export *`` that is gone from a file, and names that the user takes from it."""
    if change.base is None or change.side is None or family(change.base) != "script":
        return []
    before, after = (
        {each.module for each in facts.imports if each.name == "*"} for facts in (change.base, change.side)
    )
    lost = before - after
    return [
        _star_alarm(breaker, user, change.path, min(lost), new)
        for news in (user.uses.values() if lost else ())
        for new in news
        if new.use.source and not new.use.of and new.use.name != "default" and family(new.facts) == "script"
        and names_file(new.path, new.facts, new.use.source, change.path, change.base)
        and not still_used(breaker.side, new)
    ]  # fmt: skip


def _star_alarm(breaker: Delta, user: Delta, path: str, module: str, new: NewUse) -> Alarm:
    def check(tree: Tree) -> bool:
        return any(
            (use := same_use(facts, new.use)) is not None
            and script_file(tree, where, use.source or new.use.source) == path
            and lost_by_stars(tree, path, use.name)
            for where, facts in users(tree, breaker.side, new.path)
        )

    name = new.use.name
    return Alarm(
        rule="removed-symbol",
        symbol=name,
        breaker=Spot(change=breaker.name, path=path, line=1, text=module),
        user=Spot(change=user.name, path=new.path, line=new.use.line, text=name),
        why=f"{breaker.name} no longer gives on all of {module} in {path}, and {user.name} newly takes {name} from there in"
        f" {new.path}, line {new.use.line}.",
        action=f"Give {name} on in {path} of {breaker.name}, or import it in {user.name} from where it is defined.",
        check=check,
        paths=(new.path, path),
    )


def _given_as(tree: Tree, importer: str, module: str, name: str, hops: int = _MOST_HOPS) -> str | None:
    """The file that is given on as a whole under a name; None where the name is something else."""
    place = script_file(tree, importer, module)
    facts = tree(place) if place is not None else None
    if place is None or facts is None or facts.fault or not hops:
        return None
    for each in facts.imports:
        if each.local == name and each.name != "*":
            if each.name:
                return _given_as(tree, place, each.module, each.name, hops - 1)
            return script_file(tree, place, each.module)
    stars = (_given_as(tree, place, each.module, name, hops - 1) for each in facts.imports if each.name == "*")
    return next((each for each in stars if each is not None), None)


def _within(breaker: Delta, user: Delta, gone: Gone, new: NewUse) -> Alarm:
    name = gone.symbol.name

    def check(tree: Tree) -> bool:
        for path, facts in users(tree, breaker.side, new.path):
            use = same_use(facts, new.use)
            if use is not None and _given_as(tree, path, new.use.source, use.of) == gone.path:
                return provides(tree, gone.path, name) is False or lost_by_stars(tree, gone.path, name)
        return False

    renamed = f"renames {name} to {gone.new}" if gone.new else f"removes {name}"
    return Alarm(
        rule="renamed-symbol" if gone.new else "removed-symbol",
        symbol=name,
        breaker=Spot(change=breaker.name, path=gone.path, line=gone.symbol.line, text=name),
        user=Spot(change=user.name, path=new.path, line=new.use.line, text=name),
        why=f"{breaker.name} {renamed} in {gone.path}, and {user.name} newly uses {new.use.of}.{name} in {new.path},"
        f" line {new.use.line}.",
        action=(f"Use {gone.new} in {user.name}" if gone.new else f"Take the use out of {user.name}")
        + f", or keep {name} in {breaker.name} until nothing uses it.",
        check=check,
        paths=(new.path, gone.path),
    )


def _now_function(breaker: Delta, user: Delta, altered: Altered) -> list[Alarm]:
    """Members that a value had, taken from what is a function now."""
    name = altered.new.name
    return [
        _turned(breaker, user, altered, new)
        for news in user.uses.values()
        for new in news
        if new.use.of == name and any(gone.path == altered.path for gone in breaker.gone.get(new.use.name, ()))
        and family(new.facts) == "script" and not still_used(breaker.side, new)
    ]  # fmt: skip


def _turned(breaker: Delta, user: Delta, altered: Altered, new: NewUse) -> Alarm:
    def check(tree: Tree) -> bool:
        for path, facts in users(tree, breaker.side, new.path):
            use = same_use(facts, new.use)
            member = new.use.of == altered.new.name
            whole = replace(new.use, name=altered.new.name, of="" if member else new.use.of)
            for where, symbol in meanings(tree, path, facts, whole, altered.path) if use is not None else ():
                if (where, symbol.path, symbol.kind) == (altered.path, altered.new.path, altered.new.kind):
                    return True
        return False

    name = "the default" if altered.new.name == "default" else altered.new.name
    return Alarm(
        rule="signature",
        symbol=altered.new.path,
        breaker=Spot(change=breaker.name, path=altered.path, line=altered.new.line, text=altered.new.path),
        user=Spot(change=user.name, path=new.path, line=new.use.line, text=new.use.name),
        why=f"{breaker.name} makes {name} of {altered.path} {_KINDS.get(altered.new.kind, 'a value')}, and {user.name} newly uses"
        f" it as what it was in {new.path}, line {new.use.line}.",
        action=f"Follow in {user.name} what it is now, or give that a new name in {breaker.name}.",
        check=check,
        paths=(new.path, altered.path),
    )
