"""What a call must give, what it gets back, what it may raise, and what a subtype must define, where one change alters it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.facts import FileFacts, Symbol, Use
from interlock.core.merge.meet.bases import owes
from interlock.core.merge.meet.calls import misfit
from interlock.core.merge.meet.chains import is_foreign, is_held
from interlock.core.merge.meet.decorated import as_called
from interlock.core.merge.meet.defined import Where, member, type_at
from interlock.core.merge.meet.delta import Altered, Delta, NewUse
from interlock.core.merge.meet.meaning import meanings, same_uses
from interlock.core.merge.meet.members import of_instance
from interlock.core.merge.meet.modules import family, folder_of
from interlock.core.merge.meet.results import covers, said, unsuited
from interlock.core.merge.meet.sides import Alarm, Tree


def types(breaker: Delta, user: Delta) -> list[Alarm]:
    """Altered signatures, results, exceptions and duties of subtypes on one side, met by new code on the other."""
    found = []
    for name in breaker.altered.keys() & user.uses.keys():
        for altered in breaker.altered[name]:
            for new in user.uses[name]:
                if family(new.facts) == family(altered.facts):
                    found += _of_use(breaker, user, altered, new)
    found += [
        alarm for altered, new in _behind_an_index(breaker, user) for alarm in _of_use(breaker, user, altered, new)
    ]
    for news in breaker.altered.values():
        for altered in news:
            if altered.new.kind in {"interface", "type", "member"} and altered.old.signature != altered.new.signature:
                found += [one for new in user.uses.get("=literal", ()) for one in _of_use(breaker, user, altered, new)]
            found += _overriding(breaker, user, altered) + _uncaught(breaker, user, altered)
            if altered.new.kind == "class" and altered.old.signature != altered.new.signature:
                found += _inherited(breaker, user, altered)
    for path, duty in _new_duties(breaker):
        found += _duties(breaker, user, path, duty)
    return found


def _behind_an_index(breaker: Delta, user: Delta) -> list[tuple[Altered, NewUse]]:
    """Calls of what a folder of scripts gives on, perhaps by another name; the merged tree tells whether it does."""
    top = [
        each
        for news in breaker.altered.values()
        for each in news
        if family(each.facts) == "script" and not each.new.owner
    ]
    places = {each.path.rpartition("/")[0] for each in top}
    calls = [
        (place, new)
        for news in (user.uses.values() if top else ())
        for new in news
        if new.use.call and not new.use.of and (place := folder_of(new.path, new.use.source)) in places
    ]
    return [
        (altered, new)
        for altered in top
        for place, new in calls
        if place == altered.path.rpartition("/")[0] and new.use.name != altered.new.name
    ]


def _new_duties(breaker: Delta) -> list[tuple[str, Symbol]]:
    """Members that were not abstract, or not there, of types that were."""
    found = [
        (altered.path, altered.new)
        for news in breaker.altered.values()
        for altered in news
        if altered.new.abstract and not altered.old.abstract and altered.new.owner
    ]
    for added in breaker.added.values():
        for path, symbol, _ in added:
            change = breaker.side.get(path)
            base = change.base if change is not None else None
            if symbol.abstract and symbol.owner and base and any(each.path == symbol.owner for each in base.symbols):
                found.append((path, symbol))
    return found


def _of_use(breaker: Delta, user: Delta, altered: Altered, new: NewUse) -> list[Alarm]:
    found = []
    old, now, use = altered.old, altered.new, new.use
    if old.signature and now.signature:
        if use.call and misfit(use.call, now.signature) and not misfit(use.call, old.signature):
            why = f"{now.path} in {altered.path} {misfit(use.call, now.signature)} after {breaker.name}"
            found.append(_alarm(breaker, user, altered, new, "signature", why, _unfit))
        gives = bool(use.call) or (_is_value(old) and _is_value(now))
        if gives and (done := unsuited(old.signature.result, now.signature.result, use.then)):
            why = (
                f"{breaker.name} lets {now.path} in {altered.path} give {now.signature.result or 'something else'} instead of"
                f" {old.signature.result or 'what it was'}, and {user.name} {said(done)}"
            )
            found.append(
                _alarm(breaker, user, altered, new, "return-type", why, _unsuitable(old.signature.result, altered.path))
            )
    escaped = [each for each in now.raises if each not in old.raises and not covers(use.caught, each)]
    dropped = [each for each in old.raises if each not in now.raises and each in use.caught]
    if use.call and escaped and dropped:
        why = (
            f"{breaker.name} lets {now.path} in {altered.path} raise {escaped[0]} instead of {dropped[0]}, and"
            f" {user.name} newly catches {dropped[0]}"
        )
        found.append(_alarm(breaker, user, altered, new, "raised-type", why, _escaping(altered.path)))
    return found


def _is_value(symbol: Symbol) -> bool:
    """Whether reading it, not calling it, gives what its type says."""
    nothing_yet = symbol.signature is not None and symbol.signature.result == "None"
    return (symbol.kind in {"field", "constant"} and not nothing_yet) or symbol.shape == "property"


def _uncaught(breaker: Delta, user: Delta, altered: Altered) -> list[Alarm]:
    """New handlers of what an exception no longer is, around calls of what raises it."""
    lost = {base.rpartition(".")[2] for base in set(altered.old.bases) - set(altered.new.bases)}
    if altered.new.kind != "class" or not lost or family(altered.facts) != "python":
        return []
    what = (
        f"{breaker.name} lets {altered.new.path} in {altered.path} no longer be a {min(lost)}, and {user.name} newly"
        " catches that around what raises it"
    )
    return [
        _alarm(breaker, user, altered, new, "raised-type", what, _unfit, _escapes(breaker, altered, new))
        for news in user.uses.values()
        for new in news
        if new.use.call and lost & set(new.use.caught) and family(new.facts) == "python"
    ]


def _escapes(breaker: Delta, altered: Altered, new: NewUse) -> Callable[[Tree], bool]:
    name = altered.new.name

    def check(tree: Tree) -> bool:
        for path, facts, use in same_uses(tree, breaker.side, new):
            for where, symbol in meanings(tree, path, facts, use, altered.path):
                if name in symbol.raises and type_at(tree, where, name) == (altered.path, altered.new.path):
                    return not any(covers(use.caught, each) for each in kinds(tree, where, name))
        return False

    return check


def _unfit(_: Tree, symbol: Symbol, use: Use) -> bool:
    bound = not (use.on_type and symbol.owner and not symbol.static)
    return bool(symbol.signature and use.call and bound and misfit(use.call, symbol.signature))


def _unsuitable(old: str, path: str) -> Callable[[Tree, Symbol, Use], bool]:
    def judge(tree: Tree, symbol: Symbol, use: Use) -> bool:
        gives = use.call or _is_value(symbol)
        given = symbol.signature.result if symbol.signature else ""
        return bool(gives and unsuited(old, given, use.then)) and not _foreign(tree, path, given)

    return judge


def _foreign(tree: Tree, path: str, text: str) -> bool:
    """Whether a result is only called like a type of the language; Go and scripts have no such names to take."""
    facts = tree(path)
    if facts is None or family(facts) != "python":
        return facts is not None and family(facts) == "java" and is_foreign(tree, (path, text))
    name = text.strip("'\"").partition("[")[0]
    return name.replace(".", "").isidentifier() and type_at(tree, path, name) is not None


def _escaping(path: str) -> Callable[[Tree, Symbol, Use], bool]:
    def judge(tree: Tree, symbol: Symbol, use: Use) -> bool:
        return any(not any(covers(use.caught, one) for one in kinds(tree, path, each)) for each in symbol.raises)

    return judge


def kinds(tree: Tree, path: str, name: str, hops: int = 6) -> set[str]:
    """An exception and all that it is derived from, by their last names, as far as the tree shows."""
    found = {name.rpartition(".")[2]}
    place = type_at(tree, path, name) if hops else None
    if place is not None:
        for base in _bases(tree, *place):
            found |= kinds(tree, place[0], base, hops - 1)
    return found


_ACTIONS = {
    "signature": "Give in {user} what it needs now, or give the parameter a default in {breaker}.",
    "return-type": "Use in {user} what it gives now, or give it a new name in {breaker}.",
    "raised-type": "Catch in {user} what is raised now, or raise a subtype of the old one in {breaker}.",
}


def _alarm(
    breaker: Delta,
    user: Delta,
    altered: Altered,
    new: NewUse,
    rule: str,
    why: str,
    judge: Callable[[Tree, Symbol, Use], bool],
    asked: Callable[[Tree], bool] | None = None,
) -> Alarm:
    def check(tree: Tree) -> bool:
        for path, facts, use in same_uses(tree, breaker.side, new):
            for where, symbol in meanings(tree, path, facts, use, altered.path):
                if where == altered.path and symbol.path == altered.new.path:
                    alike = [each for each in _symbols(tree, where) if each.path == symbol.path]
                    twice = sum((each.kind == "method") == (symbol.kind == "method") for each in alike) > 1
                    plain = replace(use, on_type=use.on_type and not (of_instance(tree, path, facts, use) or is_held(tree, path, facts, use)))  # fmt: skip
                    return not twice and judge(tree, symbol, plain)
        return False

    return Alarm(
        rule=rule,
        symbol=altered.new.path,
        breaker=Spot(change=breaker.name, path=altered.path, line=altered.new.line, text=altered.new.path),
        user=Spot(change=user.name, path=new.path, line=new.use.line, text=new.use.name),
        why=f"{why} in {new.path}, line {new.use.line}.",
        action=_ACTIONS[rule].format(breaker=breaker.name, user=user.name),
        check=asked or check,
        paths=(new.path, altered.path),
    )


def _symbols(tree: Tree, path: str) -> tuple[Symbol, ...]:
    facts = tree(path)
    return facts.symbols if facts is not None else ()


def _overriding(breaker: Delta, user: Delta, altered: Altered) -> list[Alarm]:
    """A new override with the old signature of a method whose callers now give more."""
    old, now = altered.old.signature, altered.new.signature
    if not altered.new.owner or old is None or now is None or now.unsure or altered.new.name.startswith("__"):
        return []
    found = []
    for path, symbol, facts in user.added.get(altered.new.name, ()):
        mine = symbol.signature
        if not symbol.owner or mine is None or mine.unsure or family(facts) != "python":
            continue
        if mine.most is not None and not mine.any_name and mine.most < now.required and mine.most >= old.required:
            found.append(_override_alarm(breaker, user, altered, path, symbol))
    return found


def _override_alarm(breaker: Delta, user: Delta, altered: Altered, path: str, symbol: Symbol) -> Alarm:
    def check(tree: Tree) -> bool:
        facts = tree(path)
        mine = [each for each in facts.symbols if each.path == symbol.path] if facts else []
        if not mine or mine[0].signature is None:
            return False
        for base in _bases(tree, path, symbol.owner):
            place = type_at(tree, path, base)
            found = member(tree, place, symbol.name, []) if place else None
            if found is not None and found[0] == altered.path and found[1].signature is not None:
                taken, wanted = (as_called(tree, each)[1].signature for each in ((path, mine[0]), found))
                if taken is None or wanted is None or taken.unsure or wanted.unsure:
                    return False
                return taken.most is not None and not taken.any_name and taken.most < wanted.required
        return False

    return Alarm(
        rule="signature",
        symbol=altered.new.path,
        breaker=Spot(change=breaker.name, path=altered.path, line=altered.new.line, text=altered.new.path),
        user=Spot(change=user.name, path=path, line=symbol.line, text=symbol.path),
        why=f"{breaker.name} gives {altered.new.path} in {altered.path} another parameter, and {user.name} newly overrides it"
        f" as {symbol.path} in {path}, line {symbol.line}, without that.",
        action=f"Take the new parameter in {user.name}, or give it another way in {breaker.name}.",
        check=check,
        paths=(path, altered.path),
    )


def _inherited(breaker: Delta, user: Delta, altered: Altered) -> list[Alarm]:
    """New makings of a new subtype that takes over how its base is made."""
    old, now = altered.old.signature, altered.new.signature
    if old is None or now is None:
        return []
    return [
        _made_alarm(breaker, user, altered, (path, symbol), use)
        for added in user.added.values()
        for path, symbol, facts in added
        if symbol.kind == "class"
        and symbol.signature is None
        and altered.new.name in {base.rpartition(".")[2] for base in symbol.bases}
        for use in facts.uses
        if use.name == symbol.name and use.call and misfit(use.call, now) and not misfit(use.call, old)
    ][:1]


def _made_alarm(breaker: Delta, user: Delta, altered: Altered, sub: tuple[str, Symbol], use: Use) -> Alarm:
    path, symbol = sub

    def check(tree: Tree) -> bool:
        facts = tree(path)
        if facts is None or facts.fault or any(each.path == f"{symbol.path}.__init__" for each in facts.symbols):
            return False
        if not any(each.name == symbol.name and each.call == use.call for each in facts.uses):
            return False
        bases = _bases(tree, path, symbol.path)
        place = type_at(tree, path, bases[0]) if bases else None
        base = [each for each in _symbols(tree, altered.path) if each.path == altered.new.path]
        return place == (altered.path, altered.new.path) and len(base) == 1 and _unfit(tree, base[0], use)

    return _alarm(
        breaker,
        user,
        altered,
        NewUse(path, use, FileFacts(language="python")),
        "signature",
        (
            f"{altered.new.path} in {altered.path}, which {symbol.path} is made as,"
            f" {misfit(use.call, altered.new.signature) if use.call and altered.new.signature else 'differs'} after {breaker.name}"
        ),
        _unfit,
        check,
    )


def _bases(tree: Tree, path: str, owner: str) -> list[str]:
    return [
        base.partition("[")[0].partition("<")[0].strip()
        for each in _symbols(tree, path)
        if each.path == owner
        for base in each.bases
    ]


def _duties(breaker: Delta, user: Delta, path: str, duty: Symbol) -> list[Alarm]:
    """New subtypes of a type that one side gives a new abstract member."""
    found = []
    for added in user.added.values():
        for where, symbol, facts in added:
            if symbol.kind not in {"class", "type"} or symbol.abstract or not symbol.bases:
                continue
            if any(each.owner == symbol.path and each.abstract for each in facts.symbols):
                continue
            if where != path and any(each.path == duty.owner for each in facts.symbols):
                continue
            found.append(_duty_alarm(breaker, user, (path, duty), (where, symbol)))
    return found


def _duty_alarm(breaker: Delta, user: Delta, asked: tuple[str, Symbol], new: tuple[str, Symbol]) -> Alarm:
    (path, duty), (where, symbol) = asked, new

    def check(tree: Tree) -> bool:
        facts = tree(where)
        if facts is None or facts.fault or not any(each.path == symbol.path for each in facts.symbols):
            return False
        if not any(each.path == duty.path and each.abstract for each in _symbols(tree, path)):
            return False
        if family(facts) != "python":
            return _must_define(tree, where, facts, symbol, (path, duty))
        seen: list[Where] = []
        found = member(tree, (where, symbol.path), duty.name, seen)
        return found is not None and found[0] == path and found[1].path == duty.path and ("?", "") not in seen

    return Alarm(
        rule="new-abstract",
        symbol=duty.path,
        breaker=Spot(change=breaker.name, path=path, line=duty.line, text=duty.path),
        user=Spot(change=user.name, path=where, line=symbol.line, text=symbol.path),
        why=f"{breaker.name} makes every subtype of {duty.owner} define {duty.name} in {path}, and {user.name} adds"
        f" {symbol.path} in {where}, line {symbol.line}, without it.",
        action=f"Define {duty.name} in {symbol.path} of {user.name}, or give it a body in {breaker.name}.",
        check=check,
        paths=(where, path),
    )


def _must_define(tree: Tree, where: str, facts: FileFacts, symbol: Symbol, asked: tuple[str, Symbol]) -> bool:
    """For other languages: the type comes to be the other along its bases, and none of them brings the member."""
    path, duty = asked
    target = tree(path)
    if target is None or any(each.owner == symbol.path and each.name == duty.name for each in facts.symbols):
        return False
    if family(facts) == "go" and any(
        each.owner == symbol.path and each.kind == "field" and each.name == duty.owner for each in facts.symbols
    ):
        return False
    return owes(tree, (where, symbol.path), duty, path)
