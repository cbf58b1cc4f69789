"""Python's agreements on a number that no call shows: what a register calls its functions with, how many values a record has."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.facts import FileFacts, Symbol
from interlock.core.merge.meet.defined import defined
from interlock.core.merge.meet.delta import Altered, Delta, NewUse
from interlock.core.merge.meet.meaning import same_uses
from interlock.core.merge.meet.members import receivers
from interlock.core.merge.meet.modules import family
from interlock.core.merge.meet.sides import Alarm, Tree

UNPACKED = "__iter__"
"""The name of a use that takes one of a type apart."""


def arities(breaker: Delta, user: Delta) -> list[Alarm]:
    """Functions of a register that must take another number now, and records that have another number of values."""
    return _registered(breaker, user) + _unpacked(breaker, user)


def _registered(breaker: Delta, user: Delta) -> list[Alarm]:
    found = []
    for altered in (each for news in breaker.altered.values() for each in news):
        for word in _decorators(altered.new) & _decorators(altered.old):
            before, after = (_takes(each) for each in (altered.old, altered.new))
            if before is None or after is None or before == after:
                continue
            found += [
                _register_alarm(breaker, user, altered, (path, symbol), word, after)
                for path, symbol, facts in _added(user)
                if family(facts) == "python" and word in _decorators(symbol) and _takes(symbol) == before
            ]
    return found


def _calls_otherwise(breaker: Delta, path: str, word: str) -> bool:
    """Whether the breaker altered more in the file of a register than what it keeps, as one does who calls that otherwise."""
    change = breaker.side.get(path)
    if change is None or change.base is None or change.side is None:
        return False
    before = {each.path: each.digest for each in change.base.symbols}
    return any(
        each.digest != before.get(each.path, each.digest) and word not in _decorators(each) and each.kind != "class"
        for each in change.side.symbols
    )


def _added(user: Delta) -> Iterator[tuple[str, Symbol, FileFacts]]:
    return (each for added in user.added.values() for each in added)


def _decorators(symbol: Symbol) -> set[str]:
    return {each for each in symbol.shape.split() if each.startswith("@")}


def _takes(symbol: Symbol) -> int | None:
    """How many a function takes by position; None where that is not one number."""
    signature = symbol.signature
    if signature is None or signature.must or signature.most != signature.required:
        return None
    return signature.required


def _register_alarm(
    breaker: Delta, user: Delta, altered: Altered, new: tuple[str, Symbol], word: str, count: int
) -> Alarm:
    path, symbol = new

    def check(tree: Tree) -> bool:
        register = defined(tree, altered.path, word[1:])
        if register is None or register != defined(tree, path, word[1:]) or "keeps" not in register[1].shape.split():
            return False
        if not _calls_otherwise(breaker, register[0], word):
            return False
        kept = [
            each
            for where in {register[0], altered.path}
            if (facts := tree(where)) is not None
            for each in facts.symbols
            if word in _decorators(each) and (where, each.path) != (path, symbol.path)
        ]
        mine = tree(path)
        same = [each for each in mine.symbols if each.path == symbol.path] if mine is not None else []
        return len(same) == 1 and _takes(same[0]) != count and {_takes(each) for each in kept} == {count}  # fmt: skip

    return Alarm(
        rule="signature",
        symbol=altered.new.path,
        breaker=Spot(change=breaker.name, path=altered.path, line=altered.new.line, text=altered.new.path),
        user=Spot(change=user.name, path=path, line=symbol.line, text=symbol.path),
        why=f"{breaker.name} lets all that {word} keeps take {count} in {altered.path}, and {user.name} newly gives it"
        f" {symbol.path} in {path}, line {symbol.line}, which takes {_takes(symbol)}.",
        action=f"Take {count} in {symbol.path} of {user.name}, or call in {breaker.name} with as many as before.",
        check=check,
        paths=(path, altered.path),
    )


def _unpacked(breaker: Delta, user: Delta) -> list[Alarm]:
    found = []
    for altered in (each for news in breaker.altered.values() for each in news):
        before, after = _values(altered.old), _values(altered.new)
        if before is not None and after is not None and before != after:
            found += [
                _unpack_alarm(breaker, user, altered, new)
                for new in user.uses.get(UNPACKED, ())
                if f"unpack:{before}" in new.use.then and family(new.facts) == "python"
            ]
    return found


def _values(symbol: Symbol) -> int | None:
    plain = {base.rpartition(".")[2] for base in symbol.bases}
    return symbol.signature.most if symbol.kind == "class" and "NamedTuple" in plain and symbol.signature else None


def _unpack_alarm(breaker: Delta, user: Delta, altered: Altered, new: NewUse) -> Alarm:
    def check(tree: Tree) -> bool:
        facts = tree(altered.path)
        now = [each for each in facts.symbols if each.path == altered.new.path] if facts is not None else []
        return bool(now) and any(
            (altered.path, altered.new.path) in receivers(tree, path, inner, use, altered.path)
            and f"unpack:{_values(now[0])}" not in use.then
            for path, inner, use in same_uses(tree, breaker.side, new)
        )

    return Alarm(
        rule="return-type",
        symbol=altered.new.path,
        breaker=Spot(change=breaker.name, path=altered.path, line=altered.new.line, text=altered.new.path),
        user=Spot(change=user.name, path=new.path, line=new.use.line, text=altered.new.name),
        why=f"{breaker.name} gives {altered.new.path} in {altered.path} {_values(altered.new)} values, and {user.name} newly"
        f" unpacks it into {_values(altered.old)} in {new.path}, line {new.use.line}.",
        action=f"Take its values by name in {user.name}, or keep their number in {breaker.name}.",
        check=check,
        paths=(new.path, altered.path),
    )
