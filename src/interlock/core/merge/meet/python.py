"""What Python's own ways let two changes do to each other: properties, frozen records, coroutines, defaults, orders, results."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.facts import Symbol, Use
from interlock.core.merge.meet.defined import Where, member, type_at
from interlock.core.merge.meet.delta import Altered, Delta, NewUse
from interlock.core.merge.meet.ducks import duck_types, so_called, so_read
from interlock.core.merge.meet.meaning import meanings, same_uses
from interlock.core.merge.meet.members import of_instance, receivers
from interlock.core.merge.meet.modules import family
from interlock.core.merge.meet.results import covers, kind_of
from interlock.core.merge.meet.sides import Alarm, Tree

Check = Callable[[Tree], bool]


Judge = Callable[[Tree, Symbol, Use], bool]


_ABSENT = re.compile(r"NotFound|Unknown|Missing|DoesNotExist|NoSuch|KeyError|LookupError|NotExist|Absent|NoResult")


_SEQUENCES = frozenset({"NamedTuple", "TypedDict", "BaseModel"})


_INDEXED = {
    "with": "__enter__",
    "async with": "__aenter__",
    "key": "__getitem__",
    "index": "__getitem__",
    "iterate": "__iter__",
    "unpack": "__iter__",
}


def python(breaker: Delta, user: Delta) -> list[Alarm]:
    """Alterations of Python definitions that a call's shape alone does not tell, met by new code."""
    found = []
    for name in breaker.altered.keys() & user.uses.keys():
        for altered in breaker.altered[name]:
            if family(altered.facts) == "python":
                found += [each for new in user.uses[name] for each in _of_use(breaker, user, altered, new)]
    for news in breaker.altered.values():
        for altered in news:
            if altered.new.shape == "frozen" != altered.old.shape:
                found += _frozen(breaker, user, altered)
    for gones in breaker.gone.values():
        for gone in gones:
            if gone.symbol.owner and family(gone.facts) == "python":
                found += so_called(breaker, user, gone)
    return found + duck_types(breaker, user)


def _of_use(breaker: Delta, user: Delta, altered: Altered, new: NewUse) -> list[Alarm]:
    old, now, use = altered.old, altered.new, new.use
    asked: list[tuple[str, str, str, Judge]] = []
    path = f"{now.path} in {altered.path}"
    if old.kind == now.kind == "method" and (old.shape == "property") != (now.shape == "property"):
        if now.shape == "property" and use.call is not None:
            asked.append(
                (
                    "signature",
                    f"{breaker.name} makes {path} a property, and {user.name} newly calls it",
                    "Read it",
                    _not_called,
                )
            )
        elif old.shape == "property" and use.call is None and not use.on_type and set(use.then) - {"set"}:
            asked.append(
                (
                    "signature",
                    f"{breaker.name} makes the property {path} a method, and {user.name} newly reads it",
                    "Call it",
                    _not_read,
                )
            )
    if use.call is not None and old.signature and now.signature:
        asked += _of_call(breaker, user, altered, new)
    found = [_alarm(breaker, user, altered, new, rule, why, do, judge) for rule, why, do, judge in asked]
    called_like = so_read(breaker, altered, new) if found and old.shape == "property" else None
    return found + [replace(each, check=called_like) for each in found if called_like is not None]


def _of_call(breaker: Delta, user: Delta, altered: Altered, new: NewUse) -> list[tuple[str, str, str, Judge]]:
    """What is asked of a call: its result, the places and the defaults of its arguments, what it raises."""
    old, now, use = altered.old, altered.new, new.use
    asked: list[tuple[str, str, str, Judge]] = []
    path = f"{now.path} in {altered.path}"
    if old.signature is None or now.signature is None:
        return asked
    if _turned_async(old, now) and not {"await", "later"} & set(use.then):
        asked.append(
            (
                "return-type",
                f"{breaker.name} lets {path} give a coroutine, and {user.name} does not await it",
                "Await it",
                _unawaited,
            )
        )
    moved = _moved_place(use, old, now)
    if moved:
        asked.append(
            (
                "signature",
                f"{breaker.name} moves the parameter {moved} of {path}, and {user.name} newly gives it by its old place",
                "Give it by name",
                _misplaced(old),
            )
        )
    lacked = _unlike_class(old, now, use)
    if lacked:
        asked.append(
            (
                "return-type",
                f"{breaker.name} lets {path} give {now.signature.result} instead of {old.signature.result}, and {user.name} takes {use.then[0].partition(':')[2] or 'a part'} of it",
                "Use what it gives now",
                _lacking(lacked, altered.path),
            )
        )
    given = _default_missed(breaker, old, now, use)
    if given:
        asked.append(
            (
                "default",
                f"{breaker.name} alters what {given} of {path} stands for where it is not given and gives it in its own calls, and {user.name} newly leaves it out",
                f"Give {given}",
                _omits(given),
            )
        )
    asked += _of_wrapped(breaker, user, path, old, now, use)
    if "none" in use.then and (thrown := _absent(old, now, use)):
        asked.append(
            (
                "raised-type",
                f"{breaker.name} lets {path} raise {thrown}, and {user.name} asks whether it gave None",
                f"Catch {thrown}",
                _raises(thrown),
            )
        )
    return asked


def _alarm(
    breaker: Delta, user: Delta, altered: Altered, new: NewUse, rule: str, why: str, do: str, judge: Judge
) -> Alarm:
    def check(tree: Tree) -> bool:
        for path, facts, use in same_uses(tree, breaker.side, new):
            for where, symbol in meanings(tree, path, facts, use, altered.path):
                if where == altered.path and symbol.path == altered.new.path:
                    return judge(
                        tree, symbol, replace(use, on_type=use.on_type and not of_instance(tree, path, facts, use))
                    )
        return False

    return Alarm(
        rule=rule,
        symbol=altered.new.path,
        breaker=Spot(change=breaker.name, path=altered.path, line=altered.new.line, text=altered.new.path),
        user=Spot(change=user.name, path=new.path, line=new.use.line, text=new.use.name),
        why=f"{why} in {new.path}, line {new.use.line}.",
        action=f"{do} in {user.name}, or give it a new name in {breaker.name}.",
        check=check,
        paths=(new.path, altered.path),
    )


def _not_called(_: Tree, symbol: Symbol, use: Use) -> bool:
    result = symbol.signature.result if symbol.signature else ""
    return symbol.shape == "property" and use.call is not None and not re.search(r"Callable|partial|type\[", result)


def _not_read(_: Tree, symbol: Symbol, use: Use) -> bool:
    return symbol.shape != "property" and symbol.kind == "method" and use.call is None and not use.on_type


def _of_wrapped(
    breaker: Delta, user: Delta, path: str, old: Symbol, now: Symbol, use: Use
) -> list[tuple[str, str, str, Judge]]:
    """A decorator that has to be called now, and a result that may be None now."""
    asked: list[tuple[str, str, str, Judge]] = []
    if "decorates" in use.then and _decorates_later(None, now, use) and not _decorates_later(None, old, use):
        why = f"{breaker.name} lets {path} give a decorator, and {user.name} newly decorates with it as it is"
        asked.append(("signature", why, "Call it", _decorates_later))
    if _called_otherwise(None, now, use) and not _called_otherwise(None, old, use):
        why = (
            f"{breaker.name} lets {path} call what it is given with another number of values, and {user.name} newly gives it"
            " a function of the old one"
        )
        asked.append(("signature", why, "Take what is given now", _called_otherwise))
    if _lacked(None, now, use) and old.signature and old.signature.result and not _may_lack(old):
        why = f"{breaker.name} lets {path} give None, and {user.name} newly takes a part of what it gives"
        asked.append(("may-be-absent", why, "Ask whether it is None", _lacked))
    return asked


def _called_otherwise(_tree: Tree | None, symbol: Symbol, use: Use) -> bool:
    """Whether a function that is written as an argument takes another number than the parameter's type says."""
    names = symbol.signature.names if symbol.signature and not symbol.signature.only else ()
    for each in use.then:
        what, _, rest = each.partition(":")
        at, _, count = rest.partition(":")
        name = names[int(at)] if at.isdigit() and int(at) < len(names) else at
        told = [word for word in symbol.shape.split() if what == "calls" and word.startswith(f"{name}(")]
        if told and told[0] != f"{name}({count})":
            return True
    return False


def _decorates_later(_: Tree | None, symbol: Symbol, __: Use) -> bool:
    return "decorates" in symbol.shape.split()


def _may_lack(symbol: Symbol) -> bool:
    result = symbol.signature.result if symbol.signature else ""
    return re.search(r"\bNone\b|\bOptional\[|\bAny\b|\bobject\b", result) is not None


def _lacked(_: Tree | None, symbol: Symbol, use: Use) -> bool:
    result = symbol.signature.result if symbol.signature else ""
    may = re.search(r"(?:\| *None|^Optional\[.*\])[\]'\"]*$", result) is not None
    taken = any(
        each.partition(":")[0] in {"attr", "key", "index", "iterate", "unpack", "arith", "sized"} for each in use.then
    )
    return (
        may
        and taken
        and not {"none", "tested"} & set(use.then)
        and not {"AttributeError", "TypeError", "Exception"} & set(use.caught)
    )


def _turned_async(old: Symbol, now: Symbol) -> bool:
    before, after = (each.signature.result if each.signature else "" for each in (old, now))
    return after.startswith("Coroutine[") and not re.search(r"Coroutine|Awaitable|Future|Task", before)


def _unawaited(_: Tree, symbol: Symbol, use: Use) -> bool:
    return (
        bool(symbol.signature)
        and _turned_async(replace(symbol, signature=None), symbol)
        and not {"await", "later"} & set(use.then)
    )


def _moved_place(use: Use, old: Symbol, now: Symbol) -> str:
    """A parameter that the call gives by a place where another one stands now, though it is still there."""
    before, after = old.signature, now.signature
    if (
        use.call is None
        or before is None
        or after is None
        or before.unsure
        or after.unsure
        or before.only
        or after.only
    ):
        return ""
    if use.on_type and now.owner and not now.static:
        return ""
    places = zip(before.names[: use.call.positional], after.names, strict=False)
    return next((was for was, is_ in places if was != is_ and was in after.names), "")


def _misplaced(old: Symbol) -> Judge:
    return lambda _, symbol, use: bool(_moved_place(use, old, symbol))


def _unlike_class(old: Symbol, now: Symbol, use: Use) -> str:
    """What the new class of a result would have to have for what is done with it: ``__getitem__`` for a key."""
    before, after = (each.signature.result if each.signature else "" for each in (old, now))
    if (
        kind_of(before) not in {"map", "list", "tuple", "entered", "entered later"}
        or kind_of(after)
        or not after.replace(".", "").isidentifier()
    ):
        return ""
    return next((lack for each in use.then if (lack := _INDEXED.get(each.partition(":")[0]))), "")


def _lacking(wanted: str, path: str) -> Judge:
    def judge(tree: Tree, symbol: Symbol, _: Use) -> bool:
        place = type_at(tree, path, symbol.signature.result if symbol.signature else "")
        facts = tree(place[0]) if place is not None else None
        if place is None or facts is None:
            return False
        bases = {
            base.rpartition(".")[2].partition("[")[0]
            for each in facts.symbols
            if each.path == place[1]
            for base in each.bases
        }
        seen: list[Where] = []
        return member(tree, place, wanted, seen) is None and ("?", "") not in seen and not bases & _SEQUENCES

    return judge


def _default_missed(breaker: Delta, old: Symbol, now: Symbol, use: Use) -> str:
    """A parameter whose default is another now and that the breaker's own calls newly give, but this one does not."""
    before, after = (dict(each.partition("=")[::2] for each in one.shape.split()) for one in (old, now))
    for name in before.keys() & after.keys():
        given = any(_gives(each.use, now, name) for each in breaker.uses.get(now.name, ()))
        if given and before[name] != after[name] and not _gives(use, now, name):
            return name
    return ""


def _gives(use: Use, symbol: Symbol, name: str) -> bool:
    names = symbol.signature.names if symbol.signature else ()
    if use.call is None:
        return False
    return use.call.spread or name in use.call.names or (name in names and names.index(name) < use.call.positional)


def _omits(name: str) -> Judge:
    return lambda _, symbol, use: not _gives(use, symbol, name)


def _absent(old: Symbol, now: Symbol, use: Use) -> str:
    result = now.signature.result if now.signature else ""
    if re.search(r"None|Optional", result):
        return ""
    fresh = [each for each in now.raises if each not in old.raises and not covers(use.caught, each)]
    return next((each for each in fresh if _ABSENT.search(each)), "")


def _raises(name: str) -> Judge:
    return lambda _, symbol, use: name in symbol.raises and "none" in use.then


def _frozen(breaker: Delta, user: Delta, altered: Altered) -> list[Alarm]:
    """New assignments to what is made of a class that bears none now."""
    found = []
    for news in user.uses.values():
        for new in news:
            if (
                "set" in new.use.then
                and (set(".([{") & set(new.use.of) or new.use.of == altered.new.name)
                and family(new.facts) == "python"
            ):
                why = f"{breaker.name} makes {altered.new.path} in {altered.path} frozen, and {user.name} newly sets {new.use.name}"
                found.append(
                    replace(
                        _alarm(breaker, user, altered, new, "frozen", why, "Make a new one", _not_called),
                        check=_sets(breaker, new, altered),
                    )
                )
    return found


def _sets(breaker: Delta, new: NewUse, altered: Altered) -> Check:
    def check(tree: Tree) -> bool:
        facts = tree(altered.path)
        if facts is None or not any(each.path == altered.new.path and each.shape == "frozen" for each in facts.symbols):
            return False
        return any(
            (altered.path, altered.new.path) in receivers(tree, path, inner, use, altered.path)
            for path, inner, use in same_uses(tree, breaker.side, new)
        )

    return check
