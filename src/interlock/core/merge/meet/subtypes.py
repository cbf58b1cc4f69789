"""What a new subtype counts on: that its base may be extended, that what it overrides is there, that an interface is written so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from interlock.core.merge.facts import FileFacts, Symbol, Use
from interlock.core.merge.meet.above import supers
from interlock.core.merge.meet.bases import type_at
from interlock.core.merge.meet.delta import Altered, Delta, NewUse
from interlock.core.merge.meet.given import written
from interlock.core.merge.meet.modules import family
from interlock.core.merge.meet.shapes import alarm
from interlock.core.merge.meet.sides import Alarm, Tree


def subtypes(breaker: Delta, user: Delta) -> list[Alarm]:
    """New subtypes of what one side closes, or whose methods no longer are those of their base."""
    return _extended(breaker, user) + _overridden(breaker, user) + _implemented(breaker, user)


def _seen(_tree: Tree, _path: str, symbol: Symbol, _use: Use) -> bool:
    """What stands in for a check until the subtype's own takes its place."""
    return not symbol.public


def _extended(breaker: Delta, user: Delta) -> list[Alarm]:
    """Classes that may no longer be extended."""
    found = []
    for news in breaker.altered.values():
        for altered in news:
            closed = {"final", "sealed"} & set(altered.new.shape.split()) - set(altered.old.shape.split())
            if not closed or altered.new.kind != "class":
                continue
            for added in user.added.values():
                found += [
                    _subtype_alarm(breaker, user, altered, path, symbol, facts)
                    for path, symbol, facts in added
                    if altered.new.name in {base.rpartition(".")[2] for base in symbol.bases}
                ]
    return found


def _subtype_alarm(breaker: Delta, user: Delta, altered: Altered, path: str, symbol: Symbol, facts: FileFacts) -> Alarm:
    def check(tree: Tree) -> bool:
        now, mine = tree(altered.path), tree(path)
        if now is None or mine is None or not any(each.path == symbol.path for each in mine.symbols):
            return False
        closed = any(
            each.path == altered.new.path and {"final", "sealed"} & set(each.shape.split()) for each in now.symbols
        )
        return closed and any(
            type_at(tree, path, mine, "", base) == (altered.path, altered.new.path) for base in symbol.bases
        )

    use = NewUse(path, Use(name=symbol.name, line=symbol.line), facts)
    made = alarm(breaker, user, altered, use, "closed-type", f"lets nothing extend {altered.new.path}", _seen)
    return replace(made, check=check)


def _overridden(breaker: Delta, user: Delta) -> list[Alarm]:
    """New methods that say they override what has other parameters now, or is gone."""
    found = []
    olds = [(each.path, each.old, each.facts) for news in breaker.altered.values() for each in news]
    olds += [(each.path, each.symbol, each.facts) for gones in breaker.gone.values() for each in gones]
    for at, old, base in olds:
        if not old.owner or old.signature is None:
            continue
        for path, symbol, facts in user.added.get(old.name, ()):
            if altered_final(breaker, at, old) and symbol.owner and family(facts) == family(base) == "java":
                use = NewUse(path, Use(name=symbol.name, line=symbol.line), facts)
                made = alarm(breaker, user, Altered(at, old, old, base), use, "overridden-member", f"makes {old.path} final", _seen)  # fmt: skip
                found.append(replace(made, check=_overrides_final(path, symbol, (at, old))))
            if (
                facts.language == base.language == "typescript"
                and symbol.owner
                and _asks_more(symbol, breaker, at, old)
            ):
                use = NewUse(path, Use(name=symbol.name, line=symbol.line), facts)
                made = alarm(breaker, user, Altered(at, old, old, base), use, "overridden-member", f"gives {old.path} less", _seen)  # fmt: skip
                found.append(replace(made, check=_overrides_nothing(path, symbol, (at, old))))
            said = "override" in symbol.shape.split() and family(facts) == family(base) == "java"
            if said and symbol.signature and symbol.signature.required == old.signature.required:
                use = NewUse(path, Use(name=symbol.name, line=symbol.line), facts)
                altered = Altered(at, old, old, base)
                made = alarm(breaker, user, altered, use, "overridden-member", f"changes or removes {old.path}", _seen)
                found.append(replace(made, check=_overrides_nothing(path, symbol, (at, old))))
    return found


def _asks_more(symbol: Symbol, breaker: Delta, at: str, old: Symbol) -> bool:
    """Whether a method of a script's class wants more than what it overrides is given now, and not more than before."""
    now = [each.new.signature for each in breaker.altered.get(old.name, ()) if each.path == at and each.old is old]
    mine, before = symbol.signature, old.signature
    if len(now) != 1 or now[0] is None or now[0].most is None or mine is None or before is None:
        return False
    return mine.required > now[0].most and (before.most is None or mine.required <= before.most)


def altered_final(breaker: Delta, at: str, old: Symbol) -> bool:
    """Whether a change makes a method final."""
    now = [each.new for each in breaker.altered.get(old.name, ()) if each.path == at and each.old is old]
    return any("final" in each.shape.split() and "final" not in old.shape.split() for each in now)


def _overrides_final(path: str, symbol: Symbol, old: tuple[str, Symbol]) -> Callable[[Tree], bool]:
    def check(tree: Tree) -> bool:
        facts, base = tree(path), tree(old[0])
        if facts is None or base is None or not any(each == symbol for each in facts.symbols):
            return False
        closed = [each for each in base.symbols if each.path == old[1].path and "final" in each.shape.split()]
        above = supers(tree, (path, symbol.owner), old[0])
        meant = above is not None and (old[0], old[1].owner) in above
        taken = [each.signature.names if each.signature else None for each in (symbol, *closed)]
        return meant and len(closed) == 1 and taken[0] == taken[1]

    return check


def _implemented(breaker: Delta, user: Delta) -> list[Alarm]:
    """New types of Go with a method as an interface had it, where that is written otherwise now."""
    found = []
    for altered in (each for news in breaker.altered.values() for each in news):
        if not altered.new.abstract or family(altered.facts) != "go" or altered.new.signature is None:
            continue
        for path, symbol, facts in user.added.get(altered.new.name, ()):
            own = [each for each in facts.symbols if each.path == symbol.owner]
            named = any(altered.new.owner == base.rpartition(".")[2] for each in own for base in each.bases)
            if named and family(facts) == "go" and written(symbol) != written(altered.new):
                use = NewUse(path, Use(name=symbol.name, line=symbol.line), facts)
                made = alarm(breaker, user, altered, use, "new-abstract", f"writes {altered.new.path} otherwise", _seen)
                found.append(replace(made, check=_unlike(path, symbol, altered)))
    return found


def _unlike(path: str, symbol: Symbol, altered: Altered) -> Callable[[Tree], bool]:
    def check(tree: Tree) -> bool:
        facts, now = tree(path), tree(altered.path)
        if facts is None or now is None:
            return False
        mine = [each for each in facts.symbols if each.path == symbol.path]
        duty = [each for each in now.symbols if each.path == altered.new.path and each.abstract]
        bases = [base for each in facts.symbols if each.path == symbol.owner for base in each.bases]
        meant = any(
            type_at(tree, path, facts, "", base, altered.path) == (altered.path, altered.new.owner) for base in bases
        )
        return meant and len(mine) == len(duty) == 1 and written(mine[0]) != written(duty[0])

    return check


def _overrides_nothing(path: str, symbol: Symbol, old: tuple[str, Symbol]) -> Callable[[Tree], bool]:
    def check(tree: Tree) -> bool:
        facts = tree(path)
        script = facts is not None and family(facts) == "script"
        if facts is None or not any(
            each.path == symbol.path and (script or "override" in each.shape.split()) for each in facts.symbols
        ):
            return False
        above = supers(tree, (path, symbol.owner), old[0])
        if above is None or (old[0], old[1].owner) not in above or symbol.signature is None:
            return False
        count = symbol.signature.required
        return not any(
            each.owner == owner and each.name == symbol.name and each.signature is not None
            and each.signature.required <= count <= (count if each.signature.most is None else each.signature.most)
            for where, owner in above
            if (inner := tree(where)) is not None
            for each in inner.symbols
        )  # fmt: skip

    return check
