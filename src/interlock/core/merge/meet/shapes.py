"""What a new use counts on beyond names and calls: every case of an enum, how a thing is made, that it may be extended, set or seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.facts import Symbol, Use
from interlock.core.merge.meet.bases import type_at
from interlock.core.merge.meet.delta import Altered, Delta, NewUse
from interlock.core.merge.meet.forms import counts, regrouped, turned_checked, uncountable
from interlock.core.merge.meet.given import clash, fits_interface, misfits
from interlock.core.merge.meet.meaning import meanings, same_uses
from interlock.core.merge.meet.modules import family
from interlock.core.merge.meet.sides import Alarm, Tree
from interlock.core.merge.meet.written import unchecked

Judge = Callable[[Tree, str, Symbol, Use], bool]
"""From the merged tree: the file and the symbol that a use means, and the use."""


def shapes(breaker: Delta, user: Delta) -> list[Alarm]:
    """Types and members that one side changes in what can be done with them, met by what the other newly does."""
    found: list[Alarm] = []
    for name in breaker.altered.keys() & user.uses.keys():
        for altered in breaker.altered[name]:
            for new in user.uses[name]:
                if family(new.facts) == family(altered.facts):
                    found += _of_altered(breaker, user, altered, new)
    found += _grown(breaker, user) + _literals(breaker, user)
    return found


def _of_altered(breaker: Delta, user: Delta, altered: Altered, new: NewUse) -> Iterator[Alarm]:
    old, now, use = altered.old, altered.new, new.use
    language = family(altered.facts)
    if old.public and not now.public and _from_outside(altered, new, language):
        yield alarm(breaker, user, altered, new, "hidden-symbol", f"hides {now.path}", _hidden)
    if use.call and "private-new" in now.shape.split() and "private-new" not in old.shape.split() and new.path != altered.path:  # fmt: skip
        yield alarm(breaker, user, altered, new, "hidden-symbol", f"lets nothing else make {now.path}", lambda _t, _p, s, _u: "private-new" in s.shape.split())  # fmt: skip
    if old.static and not now.static and use.on_type and use.call and now.kind == old.kind == "method":
        yield alarm(breaker, user, altered, new, "static-member", f"makes {now.path} a member of each instance", _bound)
    if "set" in use.then and "readonly" in now.shape.split() and "readonly" not in old.shape.split():
        yield alarm(breaker, user, altered, new, "read-only", f"makes {now.path} read-only", _read_only)
    if "deref" in use.then and old.kind == now.kind == "field" and language == "script" and _lackable(now) and not _lackable(old):  # fmt: skip
        yield alarm(breaker, user, altered, new, "may-be-absent", f"lets {now.path} be absent", lambda _t, _p, s, _u: _lackable(s))  # fmt: skip
    fresh = [each for each in now.raises if each not in old.raises and unchecked(each, use.caught)]
    if fresh and use.call and language == "java":
        yield alarm(breaker, user, altered, new, "raised-type", f"lets {now.path} throw {fresh[0]}", _thrown)
    yield from _of_form(breaker, user, altered, new)
    if _clashes(now, use) and not _clashes(old, use):
        what = f"takes another type in {now.path}" if now.signature else f"gives {now.path} another type"
        yield alarm(breaker, user, altered, new, "argument-type", what, lambda _t, _p, s, u: _clashes(s, u))
    if use.call and use.call.positional > 1 and _turned(old, now):
        yield alarm(
            breaker, user, altered, new, "signature", f"changes the order of what {now.path} takes", _as_now(now)
        )
    if _calls_back(old, use) and not _calls_back(now, use) and now.signature and now.signature.only < _place(use):
        yield alarm(breaker, user, altered, new, "signature", f"no longer lets {now.path} call back", _uncalled)


def _of_form(breaker: Delta, user: Delta, altered: Altered, new: NewUse) -> Iterator[Alarm]:
    """Exceptions that must be declared now, fields that are no numbers any more, arguments that are grouped in another way."""
    old, now, use = altered.old, altered.new, new.use
    language = family(altered.facts)
    if (
        "thrown" in use.then
        and language == "java"
        and turned_checked(old.bases, now.bases, (now.name, *now.bases), use.caught)
    ):
        yield alarm(breaker, user, altered, new, "raised-type", f"makes {now.path} an exception that must be declared", _as_based(now))  # fmt: skip
    if "arith" in use.then and old.kind == now.kind == "field" and counts(old.shape) and uncountable(now.shape):
        yield alarm(breaker, user, altered, new, "field-type", f"gives {now.path} another type", lambda _t, _p, s, _u: uncountable(s.shape))  # fmt: skip
    if (
        language == "go"
        and old.shape != now.shape
        and (said := _compared(use))
        and not clash(said, old.shape)
        and not _number_of_units(now.shape)
    ):
        yield alarm(breaker, user, altered, new, "field-type", f"gives {now.path} another type", _unequal)
    if (
        language == "script"
        and (old.kind, now.kind) == ("field", "method")
        and use.call is None
        and "set" not in use.then
    ):
        yield alarm(breaker, user, altered, new, "signature", f"makes {now.path} a method", lambda _t, _p, s, _u: s.kind == "method")  # fmt: skip
    if language == "script" and use.call and regrouped(old.signature, now.signature, use):
        yield alarm(breaker, user, altered, new, "signature", f"lets {now.path} take its arguments in another form", _as_now(now))  # fmt: skip


def _compared(use: Use) -> str:
    """The kind of literal that a member is compared with."""
    return next((each.partition(":")[2] for each in use.then if each.startswith("eq:")), "")


def _number_of_units(shape: str) -> bool:
    """Whether a type of Go is a number that is called otherwise: a plain number may stand where it does."""
    return shape.endswith("Duration")


def _unequal(tree: Tree, path: str, symbol: Symbol, use: Use) -> bool:
    """Whether a field's type, or what its named type is made of, cannot be compared with a literal."""
    facts = tree(path)
    place = type_at(tree, path, facts, "", symbol.shape, path) if facts is not None else None
    made_of = [each.shape for each in (_symbols(tree, place[0]) if place else ()) if each.path == (place or path)[1]]
    return clash(_compared(use), made_of[0] if len(made_of) == 1 else symbol.shape)


def _symbols(tree: Tree, path: str) -> tuple[Symbol, ...]:
    facts = tree(path)
    return facts.symbols if facts is not None else ()


def _from_outside(altered: Altered, new: NewUse, language: str) -> bool:
    """Whether a use is where what is hidden now is not seen: for scripts another file, for Java another package."""
    if language == "script":
        return bool(altered.new.owner) and new.path != altered.path
    return language == "java" and new.facts.module != altered.facts.module


def _turned(old: Symbol, now: Symbol) -> bool:
    """Whether the same parameters stand in another order."""
    before, after = (each.signature.names if each.signature and each.signature.only else () for each in (old, now))
    return before != after and sorted(before) == sorted(after) and len(set(before)) == len(before) and all(before)


def _as_now(now: Symbol) -> Judge:
    return lambda _tree, _path, symbol, _use: symbol.signature == now.signature


def _as_based(now: Symbol) -> Judge:
    return lambda _tree, _path, symbol, _use: symbol.bases == now.bases


def _lackable(symbol: Symbol) -> bool:
    """Whether a field may be absent, by its mark or its type."""
    return symbol.kind == "field" and "optional" in symbol.shape.partition(":")[0].split()


def _hidden(_: Tree, __: str, symbol: Symbol, _use: Use) -> bool:
    return not symbol.public


def _bound(_: Tree, __: str, symbol: Symbol, _use: Use) -> bool:
    return not symbol.static


def _read_only(_: Tree, __: str, symbol: Symbol, _use: Use) -> bool:
    return "readonly" in symbol.shape.split()


def _thrown(_: Tree, __: str, symbol: Symbol, use: Use) -> bool:
    return any(unchecked(each, use.caught) for each in symbol.raises)


def _uncalled(_: Tree, __: str, symbol: Symbol, use: Use) -> bool:
    return symbol.signature is not None and symbol.signature.only < _place(use)


def _place(use: Use) -> int:
    return next((int(each.rpartition(":")[2]) for each in use.then if each.startswith("calls back:")), 0)


def _calls_back(symbol: Symbol, use: Use) -> bool:
    return symbol.signature is not None and 0 < _place(use) <= symbol.signature.only


def _clashes(symbol: Symbol, use: Use) -> bool:
    """Whether a literal that is given has a type that the parameter or the field cannot have."""
    given = [each.split(":", 2) for each in use.then if each.startswith(("gives:", "given:", "types:"))]
    names = symbol.signature.names if symbol.signature else ()
    for words in given:
        if words[0] == "given" and symbol.kind == "field" and symbol.shape and clash(words[1], symbol.shape):
            return True
        if words[0] == "types" and symbol.shape.startswith("<") and not _filled(int(words[1]), symbol.shape):
            return True
        if words[0] == "gives" and int(words[1]) < len(names) and clash(words[2], names[int(words[1])]):
            return True
    return False


def _filled(count: int, shape: str) -> bool:
    least, _, most = shape.split(maxsplit=1)[0].strip("<>").partition("-")
    return int(least) <= count <= int(most or least)


def alarm(
    breaker: Delta, user: Delta, altered: Altered, new: NewUse, rule: str, what: str, judge: Judge, at: str = ""
) -> Alarm:
    """An alarm of a use of an altered symbol, verified by what the use means in the merged tree."""

    def check(tree: Tree) -> bool:
        return any(
            where == altered.path and symbol.path == altered.new.path and judge(tree, where, symbol, use)
            for path, facts, use in same_uses(tree, breaker.side, new)
            for where, symbol in meanings(tree, path, facts, use, altered.path)
        )

    return Alarm(
        rule=rule,
        symbol=altered.new.path,
        breaker=Spot(change=breaker.name, path=altered.path, line=altered.new.line, text=altered.new.path),
        user=Spot(change=user.name, path=new.path, line=new.use.line, text=at or new.use.name),
        why=f"{breaker.name} {what} in {altered.path}, and {user.name} newly uses it as before in {new.path}, line {new.use.line}.",
        action=f"Follow in {user.name} what {altered.new.path} is now, or keep the old way in {breaker.name} until nothing uses it.",
        check=check,
        paths=(new.path, altered.path),
    )


def _grown(breaker: Delta, user: Delta) -> list[Alarm]:
    """Types that get another member: a switch over every case, a literal by place, a function in the place of an interface."""
    found = []
    for path, owner, member in _touched(breaker):
        whole = Altered(path, member, member, breaker.side.get(path).side)  # type: ignore[union-attr,arg-type]
        for new in (*user.uses.get(owner, ()), *user.uses.get("=switch", ())):
            for then in new.use.then:
                judge = _JUDGES.get(then.partition(":")[0])
                if judge is not None and family(new.facts) == family(whole.facts):
                    found.append(_grown_alarm(breaker, user, whole, owner, new, judge))
        found += _handed(breaker, user, whole, owner)
    return found


def _touched(breaker: Delta) -> Iterator[tuple[str, str, Symbol]]:
    """Types that were there and got a member or have one altered, and types that are written otherwise; each with that."""
    seen = set()
    for path, symbol, _ in (each for added in breaker.added.values() for each in added):
        key = (path, symbol.owner, symbol.abstract)
        if symbol.owner and key not in seen and _was_there(breaker, path, symbol.owner):
            seen.add(key)
            yield path, symbol.owner, symbol
    for altered in (each for news in breaker.altered.values() for each in news):
        if altered.new.owner and altered.new.abstract:
            yield altered.path, altered.new.owner, altered.new
        elif altered.new.kind == "type" and altered.old.shape != altered.new.shape:
            yield altered.path, altered.new.path, altered.new


def _was_there(breaker: Delta, path: str, owner: str) -> bool:
    change = breaker.side.get(path)
    return change is not None and change.base is not None and any(each.path == owner for each in change.base.symbols)


def _members(tree: Tree, path: str, owner: str, kinds: set[str]) -> list[Symbol]:
    facts = tree(path)
    return [each for each in facts.symbols if each.owner == owner and each.kind in kinds] if facts is not None else []


def _all_cases(tree: Tree, path: str, symbol: Symbol, use: Use) -> bool:
    named = set(_word(use, "every").split(","))
    cases = {each.name for each in _members(tree, path, symbol.path, {"member"})}
    return bool(cases) and named < cases


def _by_place(tree: Tree, path: str, symbol: Symbol, use: Use) -> bool:
    fields = _members(tree, path, symbol.path, {"field"})
    return symbol.kind == "class" and bool(fields) and len(fields) != int(_word(use, "fill"))


def _as_function(tree: Tree, path: str, symbol: Symbol, use: Use) -> bool:
    return not fits_interface(tree, path, symbol, int(_word(use, "lambda")))


_JUDGES: dict[str, Judge] = {"every": _all_cases, "fill": _by_place, "lambda": _as_function}


def _word(use: Use, what: str) -> str:
    return next(each.partition(":")[2] for each in use.then if each.startswith(f"{what}:"))


def _grown_alarm(breaker: Delta, user: Delta, whole: Altered, owner: str, new: NewUse, judge: Judge) -> Alarm:
    def check(tree: Tree) -> bool:
        return any(
            where == whole.path and symbol.path == owner and judge(tree, where, symbol, use)
            for path, facts, use in same_uses(tree, breaker.side, new)
            for where, symbol in meanings(tree, path, facts, use, whole.path)
        )

    what = f"gives {owner} {whole.new.name}" if whole.new.path != owner else f"changes {owner}"
    made = alarm(
        breaker, user, replace(whole, new=replace(whole.new, owner="", name=owner)), new, "grown-type", what, judge
    )
    return replace(made, check=check)


def _handed(breaker: Delta, user: Delta, whole: Altered, owner: str) -> list[Alarm]:
    """Functions and own types that are handed to a parameter of the altered type."""
    found = []
    for news in user.uses.values():
        for new in news:
            if family(new.facts) != family(whole.facts):
                continue
            for then in new.use.then:
                words = then.split(":", 2)
                if words[0] == "gives" and words[2].startswith(("lambda/", "func", "type/")):
                    found.append(_handed_alarm(breaker, user, whole, owner, new, words[2], int(words[1])))
    return found


def _handed_alarm(breaker: Delta, user: Delta, whole: Altered, owner: str, new: NewUse, given: str, at: int) -> Alarm:
    def check(tree: Tree) -> bool:
        return any(
            misfits(tree, path, facts, use, at, given, (whole.path, owner))
            for path, facts, use in same_uses(tree, breaker.side, new)
        )

    what = f"gives {owner} {whole.new.name}" if whole.new.path != owner else f"changes {owner}"
    made = alarm(
        breaker, user, replace(whole, new=replace(whole.new, owner="", name=owner)), new, "grown-type", what, _hidden
    )
    return replace(made, check=check)


def _literals(breaker: Delta, user: Delta) -> list[Alarm]:
    """Texts of a union that it no longer has, given to a field of that type."""
    found = []
    for name, gones in breaker.gone.items():
        for gone in gones:
            if gone.symbol.kind != "member" or family(gone.facts) != "script":
                continue
            for new in user.uses.get(name, ()):
                key = next((each.partition(":")[2] for each in new.use.then if each.startswith("at:")), "")
                if key:
                    altered = Altered(gone.path, gone.symbol, gone.symbol, gone.facts)
                    made = alarm(breaker, user, altered, new, "removed-member", f"takes {name} out of {gone.symbol.owner}", _hidden)  # fmt: skip
                    found.append(replace(made, check=_outside(breaker, new, altered, key)))
    return found


def _outside(breaker: Delta, new: NewUse, altered: Altered, key: str) -> Callable[[Tree], bool]:
    def check(tree: Tree) -> bool:
        for path, facts, use in same_uses(tree, breaker.side, new):
            place = type_at(tree, path, facts, use.source, use.of)
            fields = _members(tree, place[0], place[1], {"field"}) if place is not None else []
            for each in fields:
                inside = tree(place[0]) if place is not None else None
                of = type_at(tree, place[0], inside, "", each.shape.partition(":")[2]) if place and inside else None
                if each.name == key and of == (altered.path, altered.new.owner):
                    now = {one.name for one in _members(tree, altered.path, altered.new.owner, {"member"})}
                    return bool(now) and altered.new.name not in now
        return False

    return check
