"""Members of types that one change takes away and the other newly uses or overrides, found along the types they come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.facts import FileFacts, Symbol, Use
from interlock.core.merge.meet.above import nearest
from interlock.core.merge.meet.along import along
from interlock.core.merge.meet.bases import lacks, lost, script_at, starts
from interlock.core.merge.meet.chains import chained, is_chain
from interlock.core.merge.meet.defined import Where, member, plain_type, type_at
from interlock.core.merge.meet.delta import Delta, Gone, NewUse
from interlock.core.merge.meet.modules import family, folder, names_file, owners, resolve
from interlock.core.merge.meet.names import same_use, still_used, users
from interlock.core.merge.meet.sides import Alarm, Tree

OPTIONS = "{}"
"""What a script's function takes apart, as a member of it."""


def members(breaker: Delta, user: Delta) -> list[Alarm]:
    """Methods, fields and members that are gone on one side and newly used or overridden on the other."""
    found = []
    for name, gones in breaker.gone.items():
        for gone in gones:
            if not gone.symbol.owner or name == OPTIONS:
                continue
            found += [
                _alarm(breaker, user, gone, new)
                for new in user.uses.get(name, ())
                if new.use.of and family(new.facts) == family(gone.facts) and not still_used(breaker.side, new)
            ]
            found += [
                replace(_alarm(breaker, user, gone, new), check=_no_longer_within(breaker, gone, new))
                for new in user.uses.get(name, ())
                if family(gone.facts) == family(new.facts) == "java"
                and not new.use.of
                and _imports_from(gone, new.use.source)
            ][:1]
            found += _overrides(breaker, user, gone)
    return found


def _imports_from(gone: Gone, source: str) -> bool:
    """Whether a Java import takes a type from within the type that lost it."""
    return gone.symbol.kind in {"class", "interface"} and source == f"{gone.facts.module}.{gone.symbol.owner}"


def _no_longer_within(breaker: Delta, gone: Gone, new: NewUse) -> Callable[[Tree], bool]:
    def check(tree: Tree) -> bool:
        target = tree(gone.path)
        has = target is not None and (target.fault or any(each.path == gone.symbol.path for each in target.symbols))
        return not has and any(
            (each.name, each.source) == (new.use.name, new.use.source)
            for _, facts in users(tree, breaker.side, new.path)
            for each in facts.uses
        )

    return check


def _alarm(breaker: Delta, user: Delta, gone: Gone, new: NewUse) -> Alarm:
    def check(tree: Tree) -> bool:
        for path, facts in users(tree, breaker.side, new.path):
            use = same_use(facts, new.use)
            if use is not None and (lacks_member(tree, path, facts, use, gone) or _vague(tree, path, facts, use, gone)):
                return True
        return False

    owner, name = gone.symbol.owner, gone.symbol.name
    renamed = f"renames {owner}.{name} to {gone.new}" if gone.new else f"removes {owner}.{name}"
    return Alarm(
        rule="renamed-member" if gone.new else "removed-member",
        symbol=gone.symbol.path,
        breaker=Spot(change=breaker.name, path=gone.path, line=gone.symbol.line, text=gone.symbol.path),
        user=Spot(change=user.name, path=new.path, line=new.use.line, text=name),
        why=f"{breaker.name} {renamed} in {gone.path}, and {user.name} newly uses {name} in {new.path}, line {new.use.line}.",
        action=(f"Use {gone.new} in {user.name}" if gone.new else f"Take the use out of {user.name}")
        + f", or keep {name} in {breaker.name} until nothing uses it.",
        check=check,
        paths=(new.path, gone.path),
    )


def lacks_member(tree: Tree, path: str, facts: FileFacts, use: Use, gone: Gone) -> bool:
    """Whether a use in the merged tree means the type that lost the member, and nothing along its types has it."""
    if family(facts) != "python" and is_chain(use.of):
        start = chained(tree, path, facts, use.source, use.of, gone.path)
        return start is not None and lost(tree, start, use, gone.path, gone.symbol)
    if family(facts) != "python":
        if family(facts) == "script" and use.of.replace(".", "").isidentifier() and not use.on_type:
            held = chained(tree, path, facts, use.source, use.of, gone.path)
            if held is not None and lost(tree, held, use, gone.path, gone.symbol):
                return True
        return lacks(tree, path, facts, use, gone.path, gone.symbol)
    for start in receivers(tree, path, facts, use, gone.path):
        seen: list[Where] = []
        if member(tree, start, gone.symbol.name, seen) is None and _met(seen, gone):
            return True
    return False


def _vague(tree: Tree, path: str, facts: FileFacts, use: Use, gone: Gone) -> bool:
    """A receiver that nothing tells: counted if the file imports that very type, and nothing near has a member of the name.

    Only names of two words are, since ``total`` or ``close`` are members of too much that is not seen here.
    """
    name = gone.symbol.name
    if family(facts) != "python" or "_" not in name.strip("_") or not untold(tree, path, facts, use):
        return False
    near = []
    for each in facts.imports:
        found = type_at(tree, path, each.local or each.name)
        near.append((found, each.module))
    if (gone.path, gone.symbol.owner) not in {found for found, _ in near}:
        return False
    places = {found[0] for found, _ in near if found is not None} | {path, gone.path}
    places |= {where for _, module in near if (where := resolve(tree, path, module)) is not None}
    return not any(
        each.name == name for place in places if (inner := tree(place)) is not None for each in inner.symbols
    )


def untold(tree: Tree, path: str, facts: FileFacts, use: Use) -> bool:
    """Whether nothing tells the type of a receiver of Python that has a name."""
    if use.of == "?":
        return True
    return any(each.startswith("on:") for each in use.then) and not receivers(tree, path, facts, use, "")


def _met(seen: list[Where], gone: Gone) -> bool:
    return (gone.path, gone.symbol.owner) in seen and ("?", "") not in seen


def receivers(tree: Tree, path: str, facts: FileFacts, use: Use, hint: str) -> list[Where]:
    """The types that a use may be taken from: by how the code came to it, or by name in the same package."""
    of = use.of
    if of in {"", "?"} or is_chain(of):
        return []
    if family(facts) != "python":
        return _by_name(tree, path, facts, use, hint)
    return [
        found
        for where, inner in sources(tree, path, use.source, of, facts)
        if inner and (found := along(tree, where, inner)) is not None
    ]


def sources(tree: Tree, path: str, source: str, of: str, facts: FileFacts) -> list[Where]:
    """Each way to split a dotted receiver into a module and what is taken from it."""
    if not source or source == facts.module:
        return [(path, of)]
    parts = of.split(".")
    found = []
    for count in range(len(parts)):
        if count and not parts[count - 1].isidentifier():
            break
        glue = "" if source.endswith(".") else "."
        module = source + (glue + ".".join(parts[:count]) if count else "")
        if (where := resolve(tree, path, module)) is not None:
            found.append((where, ".".join(parts[count:])))
    return found


def of_instance(tree: Tree, path: str, facts: FileFacts, use: Use) -> bool:
    """Whether a use is taken from a name of a Python module that holds one of a type, and not from the type itself."""
    if family(facts) != "python" or not use.of or use.of == "?" or "(" in use.of:
        return False
    return any(
        owner and type_at(tree, where, owner) is None and along(tree, where, owner) is not None
        for where, owner in sources(tree, path, use.source, use.of, facts)
    )


def _by_name(tree: Tree, path: str, facts: FileFacts, use: Use, hint: str) -> list[Where]:
    """For other languages: the type in the file that lost the member, if the use's file can mean it by its imports or package."""
    target = tree(hint)
    if target is None:
        return []
    last = use.of.rpartition(".")[2]
    if "." in use.of and family(facts) == "script":
        return [
            each for each in starts(tree, path, facts, use.source, use.of, hint) if each is not None and each[0] == hint
        ]
    if last.endswith("()"):
        made = [each for each in target.symbols if each.name == last[:-2] and each.signature is not None]
        given = {plain_type(each.signature.result) for each in made if each.signature is not None}
        return [(hint, each) for each in sorted(given) if any(one.path == each for one in target.symbols)]
    if not any(each.path == last for each in target.symbols):
        along = nearest(tree, path, facts, use, hint)
        return [along] if along is not None else []
    sources = {use.source} | {each.module for each in facts.imports if last in {each.name, each.local}}
    sources |= {f"{each.module}.{each.name}" for each in facts.imports if last in {each.name, each.local}}
    near = path == hint or (folder(path) == folder(hint) and family(facts) in {"go", "java"})
    meant = any(source and names_file(path, facts, source, hint, target) for source in sources)
    meant = meant or bool(owners(path, facts, use, hint, target))
    if not meant and family(facts) == "script" and use.source.startswith((".", "@/", "~/", "#")):
        meant = script_at(tree, path, use.source, last) == (hint, last)
    return [(hint, last)] if near or meant else []


def _overrides(breaker: Delta, user: Delta, gone: Gone) -> list[Alarm]:
    """A new subtype that overrides what its base no longer has: the hook is never called."""
    if gone.symbol.kind != "method" or gone.symbol.name.startswith("__") or not gone.new:
        return []
    return [
        _override_alarm(breaker, user, gone, path, symbol)
        for path, symbol, facts in user.added.get(gone.symbol.name, ())
        if symbol.owner and symbol.kind == "method" and family(facts) == family(gone.facts) == "python"
    ]


def _override_alarm(breaker: Delta, user: Delta, gone: Gone, path: str, symbol: Symbol) -> Alarm:
    def check(tree: Tree) -> bool:
        facts = tree(path)
        if facts is None or not any(each.path == symbol.path for each in facts.symbols):
            return False
        types = [each for each in facts.symbols if each.path == symbol.owner]
        seen: list[Where] = []
        for base in types[0].bases if types else ():
            place = type_at(tree, path, base.partition("[")[0])
            if place is None or member(tree, place, gone.symbol.name, seen) is not None:
                return False
        new_seen: list[Where] = []
        renewed = member(tree, (path, symbol.owner), gone.new, new_seen)
        return _met(seen, gone) and renewed is not None and renewed[0] == gone.path

    owner, name = gone.symbol.owner, gone.symbol.name
    return Alarm(
        rule="renamed-member",
        symbol=gone.symbol.path,
        breaker=Spot(change=breaker.name, path=gone.path, line=gone.symbol.line, text=gone.symbol.path),
        user=Spot(change=user.name, path=path, line=symbol.line, text=symbol.path),
        why=f"{breaker.name} renames {owner}.{name} to {gone.new} in {gone.path}, and {user.name} newly overrides {name} in"
        f" {symbol.owner}: nothing calls it any more.",
        action=f"Override {gone.new} in {user.name}, or keep {name} in {breaker.name} until nothing overrides it.",
        check=check,
        paths=(path, gone.path),
    )
