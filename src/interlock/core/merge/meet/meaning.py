"""What a use in a tree means: the symbols that its name leads to; whether that still fits is not decided here."""

from __future__ import annotations

from interlock.core.merge.facts import FileFacts, Symbol, Use
from interlock.core.merge.meet.bases import script_at
from interlock.core.merge.meet.chains import chained, is_chain, member_of
from interlock.core.merge.meet.decorated import as_called
from interlock.core.merge.meet.defined import Where, defined, member
from interlock.core.merge.meet.delta import NewUse
from interlock.core.merge.meet.members import receivers
from interlock.core.merge.meet.modules import by_manifest, family, folder, means, owners, resolve
from interlock.core.merge.meet.names import users
from interlock.core.merge.meet.sides import SideFacts, Tree

_OWN = frozenset({"./", "..", "@/", "~/", "."})


def meanings(tree: Tree, path: str, facts: FileFacts, use: Use, hint: str) -> list[tuple[str, Symbol]]:
    """Symbols of the tree that a use may mean; ``hint`` is the file that the question is about."""
    python = family(facts) == "python"
    if not python and is_chain(use.of):
        start = chained(tree, path, facts, use.source, use.of, hint)
        if use.name.startswith("="):
            return _type_itself(tree, start, use) if start is not None else []
        call = use.call is not None if family(facts) == "java" else None
        of_it = member_of(tree, start, use.name, hint, call=call) if start is not None else None
        return [of_it] if of_it is not None else []
    if family(facts) == "script" and use.of and use.of.replace(".", "").isidentifier():
        held = chained(tree, path, facts, use.source, use.of, hint)
        within = member_of(tree, held, use.name, hint, call=None) if held is not None else None
        if within is not None:
            return [within]
    found = _at_top(tree, path, facts, use) if python else _elsewhere(tree, path, facts, use, hint)
    for start in receivers(tree, path, facts, use, hint):
        seen: list[Where] = []
        inner = member(tree, start, use.name, seen)
        if inner is not None and ("?", "") not in seen:
            found.append(inner)
    return [as_called(tree, each) for each in found] if python else found


def _type_itself(tree: Tree, start: Where, use: Use) -> list[tuple[str, Symbol]]:
    """What is counted on as a whole: a type, or of a union of objects the one that a literal says it is."""
    facts = tree(start[0])
    symbols = facts.symbols if facts is not None else ()
    said = {each.partition(":")[2] for each in use.then if each.startswith("said:")}
    cases = [each for each in symbols if each.owner == start[1] and each.name in said and each.signature is not None]
    return [(start[0], each) for each in cases or [each for each in symbols if each.path == start[1]]]


def _at_top(tree: Tree, path: str, facts: FileFacts, use: Use) -> list[tuple[str, Symbol]]:
    if use.of == "?" or "(" in use.of:
        return []
    dotted = f"{use.of}.{use.name}" if use.of else use.name
    if not use.source or use.source == facts.module:
        found = defined(tree, path, dotted)
        return [found] if found else []
    answers = []
    parts = dotted.split(".")
    for count in range(len(parts)):
        glue = "" if use.source.endswith(".") else "."
        module = use.source + (glue + ".".join(parts[:count]) if count else "")
        where = resolve(tree, path, module)
        rest = ".".join(parts[count:])
        if where and "." not in rest and (found := defined(tree, where, rest)):
            answers.append(found)
    return answers


def _elsewhere(tree: Tree, path: str, facts: FileFacts, use: Use, hint: str) -> list[tuple[str, Symbol]]:
    target = tree(hint)
    if target is None:
        return []
    near = folder(path) == folder(hint) and family(facts) in {"go", "java"} and not use.of and not use.source
    sources = {use.source} | {each.module for each in facts.imports if use.name in {each.name, each.local}}
    meant = (
        near
        or ("" in owners(path, facts, use, hint, target) and by_manifest(tree, facts, use.source, hint))
        or (not use.of and any(source and means(tree, path, facts, source, hint, target) for source in sources))
    )
    name = use.name
    if (
        not meant
        and not use.of
        and family(facts) == family(target) == "script"
        and (use.source[:2] in _OWN or use.source[:1] == "#")
    ):
        # Not the file that is imported, but one that it gives on, perhaps by another name.
        where = script_at(tree, path, use.source, use.name)
        meant, name = where is not None and where[0] == hint, where[1] if where is not None else name
    return [(hint, each) for each in target.symbols if meant and not each.owner and each.name == name]


def same_uses(tree: Tree, breaker: SideFacts, new: NewUse) -> list[tuple[str, FileFacts, Use]]:
    """The use as it stands in the merged tree, with its call and what is done with it."""
    wanted = (new.use.name, new.use.of, new.use.call, new.use.then, new.use.caught)
    return [
        (path, facts, use)
        for path, facts in users(tree, breaker, new.path)
        for use in facts.uses
        if (use.name, use.of, use.call, use.then, use.caught) == wanted and use.source in {new.use.source, ""}
    ]
