"""Which type of the project a chain of fields, calls and elements is of, along declared types in the merged tree; what that means for a use is not here."""

from __future__ import annotations

import re
from typing import Final

from interlock.core.merge.facts import FileFacts, Symbol, Use
from interlock.core.merge.meet.bases import EVERYBODYS, OF_ENUMS, Where, givers, type_at
from interlock.core.merge.meet.containers import bare, element, filled, given_by, indexed, nth, plain
from interlock.core.merge.meet.modules import family, folder
from interlock.core.merge.meet.packages_of import files_of, known_whole
from interlock.core.merge.meet.sides import Tree

Typed = tuple[str, str]
"""A type as it is written in a file: the file, the text."""
_MOST_HOPS: Final = 8


def is_chain(of: str) -> bool:
    """Whether a use is taken from a chain, and not from one named type."""
    return "//" in of or of.startswith(":") or "@" in of


def is_held(tree: Tree, path: str, facts: FileFacts, use: Use) -> bool:
    """Whether a script takes a use from a name that holds one of a type, and not from the type itself."""
    if family(facts) != "script" or not use.of.replace(".", "").isidentifier():
        return False
    held = chained(tree, path, facts, use.source, use.of, "")
    return held is not None and held != type_at(tree, path, facts, use.source, use.of)


def typed(tree: Tree, path: str, facts: FileFacts, source: str, of: str, hint: str) -> Typed | None:
    """The type of a chain as written where it is declared; None where a step of it cannot be told.

    ``of`` is what it begins with (a type, ``f()`` for what a function gives, ``:TEXT`` for a type as written in the file) and
    steps after ``//``: ``.field``, ``.method()``, ``.method@N`` for its Nth parameter, ``[]`` for an element, ``[0]``, ``#N``.
    """
    head, *steps = of.split("//")
    at = _head(tree, path, facts, source, head, hint)
    for step in filter(None, steps):
        at = _step(tree, at, step, hint) if at is not None else None
    return at


def chained(tree: Tree, path: str, facts: FileFacts, source: str, of: str, hint: str) -> Where | None:
    """The type of the project that a chain is of."""
    found = typed(tree, path, facts, source, of, hint)
    return named(tree, found, hint) if found is not None else None


def named(tree: Tree, of: Typed, hint: str, hops: int = 4) -> Where | None:
    """The type of the project that a written type names, or that a constant of that name holds."""
    path, text = of
    facts = tree(path)
    name = bare(text)
    where = type_at(tree, path, facts, "", name, hint) if facts is not None and not facts.fault and name else None
    inside = tree(where[0]) if where is not None else None
    for each in inside.symbols if where is not None and inside is not None else ():
        if where is not None and each.path == where[1] and each.kind in {"constant", "variable"} and inside is not None:
            if each.shape.startswith(":") and hops:
                return named(tree, (where[0], each.shape[1:]), hint, hops - 1)
            made = _given(tree, where[0], inside, "", each.shape[1:], hint) if each.shape.startswith("=") else None
            if made is not None and hops:
                return named(tree, made, hint, hops - 1)
    return where


def is_foreign(tree: Tree, of: Typed) -> bool:
    """Whether a type that is called like one of the language itself is the project's own or a library's where it is written."""
    path, text = of
    outer, _, name = bare(text).rpartition(".")
    facts = tree(path)
    if facts is None or named(tree, of, path) is not None:
        return True
    brought = [outer] if outer else [each.module for each in facts.imports if each.name == name]
    return family(facts) == "java" and not all(each.startswith("java.") for each in brought)


def _head(tree: Tree, path: str, facts: FileFacts, source: str, head: str, hint: str) -> Typed | None:
    if head.startswith(":"):
        return path, head[1:]
    asked = re.fullmatch(r"(.+)@(\d+)", head)
    if head.endswith("()") or asked is not None:
        return _given(tree, path, facts, source, head, hint)
    where = type_at(tree, path, facts, source, head, hint)
    if where is not None:
        return where
    outer, _, last = head.rpartition(".")
    before = _head(tree, path, facts, source, outer, hint) if outer else None
    return _step(tree, before, f".{last}", hint) if before is not None else None


def _given(tree: Tree, path: str, facts: FileFacts, source: str, head: str, hint: str) -> Typed | None:
    """What a function gives back, or (``f@1``) takes in one place."""
    name, _, at = head.partition("@")
    name = name.removesuffix("()")
    found = list(givers(tree, path, facts, source, name, hint))
    if not found and not source:
        brought = [each for each in facts.imports if each.local == name and each.name not in {"", "*"}]
        found = [one for each in brought for one in givers(tree, path, facts, each.module, each.name, hint)]
    if not found and "." in name:
        outer, _, last = name.rpartition(".")
        before = _head(tree, path, facts, source, outer, hint)
        return _step(tree, before, f".{last}@{at}" if at else f".{last}()", hint) if before is not None else None
    if at and not found and (where := type_at(tree, path, facts, source, name, hint)) is not None:
        inside = tree(where[0])
        found = [(where[0], each) for each in (inside.symbols if inside else ()) if each.path == where[1]]
    texts = {(place, _said(symbol, at)) for place, symbol in found}
    return texts.pop() if len(texts) == 1 else None


def _said(symbol: Symbol, at: str) -> str:
    if symbol.signature is None:
        return ""
    names = symbol.signature.names
    if not at:
        return symbol.owner if symbol.signature.result == "this" else symbol.signature.result
    return names[int(at)] if int(at) < len(names) else ""


def _step(tree: Tree, at: Typed, step: str, hint: str) -> Typed | None:
    path, text = at
    if step in {"[]", "[0]"}:
        text = _underlying(tree, at, hint)
        inside = element(text) if step == "[]" else indexed(text)
        return (path, inside) if inside else None
    if step.startswith("#"):
        part = nth(text, int(step[1:]))
        return (path, part) if part else None
    name, _, place = step[1:].partition("@")
    call = name.endswith("()") or bool(place)
    name = name.removesuffix("()")
    start = named(tree, at, hint)
    if start is None:
        given = given_by(text, name) if call and not place else ""
        return (path, given) if given else None
    found = member_of(tree, start, name, hint, call=call)
    if found is None:
        return None
    where, symbol = found
    of = (
        _said(symbol, place)
        if call
        else symbol.shape.rpartition(":")[2]
        if symbol.shape.startswith("func")
        else _field(symbol)
    )
    if of == symbol.owner and call:
        return where, of
    return _substituted(at, (where, of)) if of else None


def _underlying(tree: Tree, at: Typed, hint: str) -> str:
    """What a named type of Go is written as, where that is a list or a map; else the type itself."""
    where = named(tree, at, hint)
    facts = tree(where[0]) if where is not None else None
    for each in facts.symbols if facts is not None and where is not None and family(facts) == "go" else ():
        if each.path == where[1] and each.kind == "type" and element(each.shape):  # type: ignore[index]
            return each.shape
    return at[1]


def _field(symbol: Symbol) -> str:
    """The type of a field as its declaration says it."""
    before, colon, of = symbol.shape.partition(":")
    return of.strip() if colon and set(before.split()) <= {"readonly", "optional"} else symbol.shape


def _substituted(at: Typed, found: Typed) -> Typed:
    """A lone parameter of a generic type (``T``) is what the type is filled with."""
    given, letters = filled(at[1]), set(re.findall(r"\b[A-Z]\b", found[1]))
    if len(given) != 1 or len(letters) != 1:
        return found
    return at[0], re.sub(r"\b[A-Z]\b", lambda _: plain(given[0]), found[1])


def member_of(tree: Tree, start: Where, name: str, hint: str, *, call: bool | None) -> tuple[str, Symbol] | None:
    """A member of a type or the nearest of what it extends, with ``call`` a method, or no method; None where it cannot be told."""
    waiting, seen = [start], set[Where]()
    while waiting:
        where = waiting.pop(0)
        if where in seen or len(seen) > _MOST_HOPS:
            continue
        seen.add(where)
        path, owner = where
        for place in _places(tree, path, hint):
            facts = tree(place)
            for each in facts.symbols if facts is not None and not facts.fault else ():
                fits = call is None or (each.signature is not None if call else each.kind != "method")
                if each.owner == owner and each.name == name and fits:
                    return place, each
        facts = tree(path)
        for base in (base for each in (facts.symbols if facts else ()) if each.path == owner for base in each.bases):
            above = named(tree, (path, base), hint)
            if above is not None:
                waiting.append(above)
    return None


def _places(tree: Tree, path: str, hint: str) -> list[str]:
    """The files that may have members of a type: its own, and for Go all of its package."""
    facts = tree(path)
    if facts is None or family(facts) != "go":
        return [path]
    return list(dict.fromkeys([path, *([hint] if folder(hint) == folder(path) else []), *files_of(tree, folder(path))]))


def lacks_surely(tree: Tree, start: Where, name: str, hint: str) -> bool:
    """Whether a type has no member of a name, and all that it comes from is known."""
    waiting, seen = [start], set[Where]()
    while waiting:
        where = waiting.pop(0)
        if where in seen:
            continue
        seen.add(where)
        path, owner = where
        facts = tree(path)
        mine = [each for each in facts.symbols if each.path == owner] if facts is not None and not facts.fault else []
        go = facts is not None and family(facts) == "go"
        if facts is None or len(mine) != 1 or mine[0].kind not in {"class", "interface"} or len(seen) > _MOST_HOPS:
            return False
        if not known_whole(tree, folder(path)) if go else name in EVERYBODYS | OF_ENUMS:
            return False
        for place in _places(tree, path, hint):
            inside = tree(place)
            if (
                inside is None
                or inside.fault
                or any((each.owner, each.name) == (owner, name) for each in inside.symbols)
            ):
                return False
        above = [named(tree, (path, base), hint) for base in mine[0].bases]
        if None in above:
            return False
        waiting += [each for each in above if each is not None]
    return True
