"""What a Python class has from a base of a library, or a function from its decorator, and loses with it, met by new uses of that."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import FunctionType
from typing import Final

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.facts import FileFacts, Use
from interlock.core.merge.meet.along import along
from interlock.core.merge.meet.defined import Where, defined, member
from interlock.core.merge.meet.delta import Altered, Delta, NewUse
from interlock.core.merge.meet.meaning import same_uses
from interlock.core.merge.meet.members import receivers, sources
from interlock.core.merge.meet.modules import family
from interlock.core.merge.meet.sides import Alarm, Tree

_ENUM: Final = frozenset({"value", "name", "_value_", "_name_", "__members__"})
_BRING: Final = {
    **dict.fromkeys(("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"), _ENUM),
    "NamedTuple": frozenset({"_asdict", "_replace", "_fields", "_make"}),
    "BaseModel": frozenset(
        [
            "model_dump",
            "model_dump_json",
            "model_validate",
            "model_validate_json",
            "model_copy",
            "model_fields",
            "model_json_schema",
            "dict",
            "json",
            "parse_obj",
            "parse_raw",
        ]
    ),
    "Thread": frozenset({"start", "join", "is_alive", "daemon"}),
}
"""Names that bases of libraries bring."""


def lost(breaker: Delta, user: Delta) -> list[Alarm]:
    """New uses of what came from a base or a decorator that is no longer there."""
    found = []
    for altered in (each for news in breaker.altered.values() for each in news):
        if family(altered.facts) != "python":
            continue
        if altered.new.kind == "class":
            found += _of_base(breaker, user, altered)
        elif "@" in altered.old.shape and "@" not in altered.new.shape:
            found += _of_decorator(breaker, user, altered)
    return found


def _of_base(breaker: Delta, user: Delta, altered: Altered) -> list[Alarm]:
    gone = {base.rpartition(".")[2] for base in altered.old.bases} - {
        base.rpartition(".")[2] for base in altered.new.bases
    }
    names = {name: base for base in gone for name in _brought(base)}
    found = [
        _alarm(breaker, user, altered, new, names[name], _of_type(breaker, altered, new))
        for name in names.keys() & user.uses.keys()
        for new in user.uses[name]
        if new.use.of not in {"", "?"}
    ]
    enums = [base for base in gone if _BRING.get(base) is _ENUM]
    found += [
        _alarm(breaker, user, altered, new, enums[0], _of_itself(breaker, altered, new))
        for new in user.uses.get(altered.new.name, ())
        if enums and {"iterate", "index"} & set(new.use.then) and not altered.new.owner
    ]
    return found


def _brought(base: str) -> frozenset[str]:
    known = getattr(builtins, base, None)
    if isinstance(known, type) and known is not object and not issubclass(known, BaseException):
        return frozenset(dir(known)) - frozenset(dir(object))
    return _BRING.get(base, frozenset())


def _of_type(breaker: Delta, altered: Altered, new: NewUse) -> Callable[[Tree], bool]:
    wanted = (altered.path, altered.new.path)

    def check(tree: Tree) -> bool:
        for path, facts, use in same_uses(tree, breaker.side, new):
            if wanted in receivers(tree, path, facts, use, altered.path) or _of_case(tree, path, facts, use, wanted):
                seen: list[Where] = []
                return member(tree, wanted, use.name, seen) is None and ("?", "") not in seen
        return False

    return check


def _of_case(tree: Tree, path: str, facts: FileFacts, use: Use, wanted: Where) -> bool:
    """Whether it is taken from what the class itself holds by a name: ``Mode.APPEND.value``, where that was a case."""
    owner, _, case = use.of.rpartition(".")
    target = tree(wanted[0])
    held = [each for each in (target.symbols if target is not None else ()) if each.path == f"{wanted[1]}.{case}"]
    plain = len(held) == 1 and held[0].kind == "field" and (held[0].signature is None)
    return plain and use.name in _ENUM and any(
        inner and along(tree, where, inner) == wanted for where, inner in sources(tree, path, use.source, owner, facts)
    )  # fmt: skip


def _of_itself(breaker: Delta, altered: Altered, new: NewUse) -> Callable[[Tree], bool]:
    def check(tree: Tree) -> bool:
        target = tree(altered.path)
        now = [each for each in target.symbols if each.path == altered.new.path] if target is not None else []
        return len(now) == 1 and now[0].bases == altered.new.bases == () and any(
            defined(tree, where, inner) == (altered.path, now[0])
            for path, facts, use in same_uses(tree, breaker.side, new)
            for where, inner in sources(tree, path, use.source, f"{use.of}.{use.name}".lstrip("."), facts)
        )  # fmt: skip

    return check


def _of_decorator(breaker: Delta, user: Delta, altered: Altered) -> list[Alarm]:
    word = next(each for each in altered.old.shape.split() if each.startswith("@"))
    return [
        _alarm(breaker, user, altered, new, word, _of_function(breaker, altered, new))
        for name, news in user.uses.items()
        if not hasattr(FunctionType, name)
        for new in news
        if new.use.of.rpartition(".")[2] == altered.new.name and "binds" not in new.use.then
    ]


def _of_function(breaker: Delta, altered: Altered, new: NewUse) -> Callable[[Tree], bool]:
    def check(tree: Tree) -> bool:
        for path, facts, use in same_uses(tree, breaker.side, new):
            for where, inner in sources(tree, path, use.source, use.of, facts):
                place = defined(tree, where, inner) if inner else None
                if place is not None and (place[0], place[1].path) == (altered.path, altered.new.path):
                    kept = tree(altered.path)
                    sets = kept is not None and any(
                        each.name == use.name and "binds" in each.then for each in kept.uses
                    )
                    return place[1].kind in {"function", "method"} and "@" not in place[1].shape and not sets
        return False

    return check


def _alarm(
    breaker: Delta, user: Delta, altered: Altered, new: NewUse, base: str, check: Callable[[Tree], bool]
) -> Alarm:
    return Alarm(
        rule="removed-member",
        symbol=altered.new.path,
        breaker=Spot(change=breaker.name, path=altered.path, line=altered.new.line, text=altered.new.path),
        user=Spot(change=user.name, path=new.path, line=new.use.line, text=new.use.name),
        why=f"{breaker.name} takes {base} from {altered.new.path} in {altered.path}, and {user.name} newly uses what it has"
        f" from that, {new.use.name}, in {new.path}, line {new.use.line}.",
        action=f"Do without it in {user.name}, or keep {base} in {breaker.name} until nothing uses what it brings.",
        check=check,
        paths=(new.path, altered.path),
    )
