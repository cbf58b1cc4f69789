"""The same name claimed by both changes: two definitions in one namespace, two registrations of one thing; what is gone is elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.facts import FileFacts, Mark, Symbol
from interlock.core.merge.meet.delta import At, Delta
from interlock.core.merge.meet.modules import family, folder
from interlock.core.merge.meet.sides import Alarm, Tree

_KINDS = frozenset({"function", "method", "class", "interface", "type", "constant", "member", "field"})
_MANY = frozenset({"init", "_", "main"})
_CLAIMS = frozenset({"registration", "route", "flag", "table", "column", "key"})
_OF_ONE_FILE = frozenset({"make", "npm-script"})
"""Scopes that each file has of its own: two packages may both have a script of one name."""

Found = tuple[str, Symbol, FileFacts]


def doubles(a: Delta, b: Delta) -> list[Alarm]:
    """Definitions and registrations that both sides add under one name."""
    found = []
    for name in a.added.keys() & b.added.keys():
        found += [
            _definition(a, b, one, other)
            for one in a.added[name]
            for other in b.added[name]
            if _one_namespace(one, other)
        ]
    for key in a.marked.keys() & b.marked.keys():
        if key[0] in _CLAIMS:
            found += [
                _registration(a, b, one, other)
                for one in a.marked[key]
                for other in b.marked[key]
                if one.mark.role == other.mark.role == "defines" and _one_scope(one, other)
            ]
    return found + _shadows(a, b) + _shadows(b, a)


def _one_namespace(one: Found, other: Found) -> bool:
    (path, symbol, facts), (where, again, facts_again) = one, other
    if symbol.kind not in _KINDS or again.kind not in _KINDS or symbol.path != again.path:
        return False
    if family(facts) != family(facts_again) or (symbol.digest and symbol.digest == again.digest):
        return False
    if symbol.kind == "field" and not symbol.digest:
        return False
    if path == where:
        return not (family(facts) == "java" and symbol.kind == "method" and symbol.signature != again.signature)
    if family(facts) == "go":
        same = folder(path) == folder(where) and facts.module == facts_again.module
        return same and symbol.name not in _MANY and not symbol.owner
    near = family(facts) == "java" and _module(path) == _module(where)
    return near and bool(facts.module) and facts.module == facts_again.module and not symbol.owner


def _module(path: str) -> str:
    """The folder of the build module that a Java file is of: variants of one class stand in modules that are never built together."""
    top, cut, _ = f"/{path}".partition("/src/")
    return top if cut else ""


def _definition(a: Delta, b: Delta, one: Found, other: Found) -> Alarm:
    (path, symbol, facts), (where, again, again_in) = one, other

    def check(tree: Tree) -> bool:
        overloads = family(facts) == "java" and symbol.kind == "method"
        if not overloads and any(
            sum(each.path == symbol.path for each in side.symbols) > 1 for side in (facts, again_in)
        ):
            return False
        if overloads:
            return _count(tree, path, lambda each: each.path == symbol.path and each.signature == symbol.signature) > 1
        places = {path, where}
        return sum(_count(tree, place, lambda each: each.path == symbol.path) for place in places) > 1

    return Alarm(
        rule="duplicate-definition",
        symbol=symbol.path,
        breaker=Spot(change=a.name, path=path, line=symbol.line, text=symbol.path),
        user=Spot(change=b.name, path=where, line=again.line, text=again.path),
        why=f"{a.name} and {b.name} both add {symbol.path}, in {path}, line {symbol.line}, and {where}, line {again.line}:"
        " after the merge it is there twice.",
        action=f"Give one of them another name, or let {b.name} use that of {a.name}.",
        check=check,
        paths=(path, where),
    )


def _count(tree: Tree, path: str, wanted: Callable[[Symbol], bool]) -> int:
    facts = tree(path)
    return sum(wanted(each) for each in facts.symbols) if facts is not None else 0


def same_scope(one: str, other: str) -> bool:
    """Whether two dotted scopes mean one thing: equal, or one told from further up (``src.app.main:app`` and ``app.main:app``)."""
    return one == other or one.endswith(f".{other}") or other.endswith(f".{one}")


def _one_scope(one: At, other: At) -> bool:
    if one.path == other.path:
        return same_scope(one.mark.scope, other.mark.scope)
    if one.mark.scope in _OF_ONE_FILE:
        return False
    if one.mark.kind in {"table", "column"}:
        return one.mark.scope == other.mark.scope and one.mark.detail == other.mark.detail == ""
    return bool(one.mark.scope) and one.mark.kind != "key" and same_scope(one.mark.scope, other.mark.scope)


_NOUNS = {"registration": "an entry", "route": "the route", "flag": "the flag", "key": "the key"}


def _registration(a: Delta, b: Delta, one: At, other: At) -> Alarm:
    def check(tree: Tree) -> bool:
        if max(_marks_of(one), _marks_of(other)) > 1:
            return False
        return sum(_marked(tree, place, one.mark) for place in {one.path, other.path}) > 1

    noun = _NOUNS.get(one.mark.kind, f"the {one.mark.kind}")
    scope = f" of {one.mark.scope}" if one.mark.scope else ""
    return Alarm(
        rule="duplicate-registration",
        symbol=one.mark.name,
        breaker=Spot(change=a.name, path=one.path, line=one.mark.line, text=one.mark.name),
        user=Spot(change=b.name, path=other.path, line=other.mark.line, text=other.mark.name),
        why=f"{a.name} and {b.name} both add {noun} {one.mark.name}{scope}, in {one.path}, line {one.mark.line}, and {other.path},"
        f" line {other.mark.line}.",
        action=f"Give one of them another name, or let {b.name} build on that of {a.name}.",
        check=check,
        paths=(one.path, other.path),
    )


def _marks_of(at: At) -> int:
    """How often a side's own file claims it: what is there twice by design says nothing."""
    return sum(
        (each.kind, each.name, each.role, each.scope) == (at.mark.kind, at.mark.name, at.mark.role, at.mark.scope)
        for each in at.facts.marks
    )


def _marked(tree: Tree, path: str, wanted: Mark) -> int:
    facts = tree(path)
    return sum(
        each.kind == wanted.kind
        and each.name == wanted.name
        and each.role == "defines"
        and same_scope(each.scope, wanted.scope)
        for each in (facts.marks if facts is not None else ())
    )


def _shadows(a: Delta, b: Delta) -> list[Alarm]:
    """A Python module of one side and a package of the other that have one name: the package hides the module."""
    found = []
    new = {each.path for each in a.side.files if each.base is None and each.path.endswith(".py")}
    for each in b.side.files:
        if each.base is None and each.path.endswith("/__init__.py") and each.side is not None:
            module = each.path.removesuffix("/__init__.py") + ".py"
            if module in new:
                found.append(_shadow(a, b, module, each.path))
    return found


def _shadow(a: Delta, b: Delta, module: str, package: str) -> Alarm:
    return Alarm(
        rule="duplicate-definition",
        symbol=module.removesuffix(".py").replace("/", "."),
        breaker=Spot(change=b.name, path=package, line=1),
        user=Spot(change=a.name, path=module, line=1),
        why=f"{a.name} adds the module {module}, and {b.name} the package {package}: the package hides the module.",
        action="Give one of them another name.",
        check=lambda tree: tree.has(module) and tree.has(package),
        paths=(module, package),
    )
