"""Members of types that one change takes away and the other newly uses or overrides, found along the types they come from."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from dataclasses import replace

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.facts import FileFacts, Import, Symbol, Use
from interlock.core.merge.meet.above import nearest
from interlock.core.merge.meet.bases import lacks, script_at, starts
from interlock.core.merge.meet.delta import Delta, Gone, NewUse
from interlock.core.merge.meet.modules import family, folder, names_file, owners, resolve
from interlock.core.merge.meet.names import same_use, still_used, users
from interlock.core.merge.meet.sides import Alarm, Tree

_MOST_HOPS = 8
OPTIONS = "{}"
"""What a script's function takes apart, as a member of it."""
_PLAIN = frozenset(
    {"object", "ABC", "Protocol", "Generic", "Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "NamedTuple", "TypedDict"}
    | {"BaseModel", "Model", "Base", "DeclarativeBase", "TestCase"}
)
"""Bases from outside that bring no member of a project's own naming."""

Where = tuple[str, str]
"""A type: the file and the name in it."""
Defined = tuple[str, Symbol]
"""A symbol and the file that defines it."""


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
    if family(facts) != "python":
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
    if use.of != "?" or family(facts) != "python" or "_" not in name.strip("_"):
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


def _met(seen: list[Where], gone: Gone) -> bool:
    return (gone.path, gone.symbol.owner) in seen and ("?", "") not in seen


def receivers(tree: Tree, path: str, facts: FileFacts, use: Use, hint: str) -> list[Where]:
    """The types that a use may be taken from: by its import, by what a function gives back, or by name in the same package."""
    of = use.of
    if of in {"", "?"}:
        return []
    if family(facts) != "python":
        return _by_name(tree, path, facts, use, hint)
    if of.endswith("()"):
        made = of.removesuffix("()")
        return [
            found
            for where, owner in _python_types(tree, path, use.source, made, facts)
            if (found := _given_back(tree, where, owner)) is not None
        ]
    return [
        found
        for where, owner in _python_types(tree, path, use.source, of, facts)
        if owner and (found := type_at(tree, where, owner) or _held(tree, where, owner)) is not None
    ]


def _python_types(tree: Tree, path: str, source: str, of: str, facts: FileFacts) -> list[Where]:
    """Each way to split a dotted receiver into a module and a name in it."""
    if not source or source == facts.module:
        return [(path, of)]
    parts = of.split(".")
    found = []
    for count in range(len(parts)):
        glue = "" if source.endswith(".") else "."
        module = source + (glue + ".".join(parts[:count]) if count else "")
        if (where := resolve(tree, path, module)) is not None:
            found.append((where, ".".join(parts[count:])))
    return found


def _held(tree: Tree, where: str, name: str) -> Where | None:
    """The type of what a constant holds, as its file shows it."""
    place = defined(tree, where, name)
    if place is None or place[1].kind != "constant" or place[1].signature is None:
        return None
    return type_at(tree, place[0], plain_type(place[1].signature.result))


def of_instance(tree: Tree, path: str, facts: FileFacts, use: Use) -> bool:
    """Whether a use is taken from a name of a Python module that holds one of a type, and not from the type itself."""
    if family(facts) != "python" or not use.of or use.of == "?" or use.of.endswith("()"):
        return False
    return any(
        owner and type_at(tree, where, owner) is None and _held(tree, where, owner) is not None
        for where, owner in _python_types(tree, path, use.source, use.of, facts)
    )


def _given_back(tree: Tree, where: str, function: str) -> Where | None:
    place = defined(tree, where, function)
    if place is None:
        return None
    path, symbol = place
    if symbol.kind == "class":
        return (path, symbol.path)
    result = symbol.signature.result if symbol.signature else ""
    result = result if result.startswith(("list", "dict", "tuple")) else plain_type(result)
    if result == "Self" and symbol.owner:
        return (path, symbol.owner)
    return type_at(tree, path, result) if result.replace(".", "").isidentifier() else None


def type_at(tree: Tree, path: str, name: str, hops: int = _MOST_HOPS) -> Where | None:
    """The type that a name means in a file, following imports; None where it is no type of the project."""
    found = defined(tree, path, name, hops)
    if found is None:
        return None
    where, symbol = found
    return (where, symbol.path) if symbol.kind in {"class", "interface", "type"} else None


def defined(tree: Tree, path: str, name: str, hops: int = _MOST_HOPS) -> Defined | None:
    """Where a dotted name of a Python file is defined, through imports and re-exports."""
    facts = tree(path)
    if facts is None or not hops:
        return None
    for symbol in facts.symbols:
        if symbol.path == name and symbol.kind != "variable":
            return path, symbol
    for each in facts.imports:
        for module, inner in _behind(each, name):
            behind = resolve(tree, path, module)
            if behind and (found := defined(tree, behind, inner, hops - 1)):
                return found
    return None


def _behind(each: Import, name: str) -> list[tuple[str, str]]:
    """Modules that an import may bring a dotted name from, each with the name in it."""
    first, _, rest = name.partition(".")
    if each.name == "*":
        return [(each.module, name)]
    if not each.name:
        whole = each.local if each.local != each.module.partition(".")[0] else each.module
        return [(each.module, name.removeprefix(f"{whole}."))] if name.startswith(f"{whole}.") else []
    if (each.local or each.name) != first:
        return []
    glue = "" if each.module.endswith(".") else "."
    found = [(each.module, each.name + (f".{rest}" if rest else ""))]
    return [*found, (each.module + glue + each.name, rest)] if rest else found


def member(tree: Tree, start: Where, name: str, seen: list[Where], hops: int = _MOST_HOPS) -> tuple[str, Symbol] | None:
    """A member of a type or of what it extends; ``seen`` gets every type on the way, ``("?", "")`` for one that cannot be told."""
    path, owner = start
    seen.append(start)
    facts = tree(path)
    found = [each for each in facts.symbols if each.path == owner] if facts is not None and not facts.fault else []
    if facts is None or not found or not hops:
        seen.append(("?", ""))
        return None
    for each in facts.symbols:
        if each.owner == owner and each.name == name:
            return path, each
        if each.owner == owner and each.name in {"__getattr__", "__getattribute__"}:
            seen.append(("?", ""))
    for base in found[0].bases:
        plain = base.partition("[")[0].partition("<")[0].strip()
        place = _base_at(tree, path, facts, plain)
        if place is None:
            if not _harmless(plain, name):
                seen.append(("?", ""))
        elif place not in seen and (inner := member(tree, place, name, seen, hops - 1)) is not None:
            return inner
    return None


def _harmless(base: str, name: str) -> bool:
    last = base.rpartition(".")[2]
    known = getattr(builtins, last, None)
    if isinstance(known, type):
        return not hasattr(known, name)
    return last in _PLAIN


def _base_at(tree: Tree, path: str, facts: FileFacts, name: str) -> Where | None:
    if family(facts) == "python":
        return type_at(tree, path, name)
    if any(each.path == name for each in facts.symbols):
        return (path, name)
    return None


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


def plain_type(result: str) -> str:
    """The name of a type without pointers, promises and what comes beside it: ``tuple[*Cart, error]`` is ``Cart``."""
    text = result.strip().strip("'\"")
    for start in ("tuple[", "Promise<", "Coroutine[", "Awaitable[", "Optional["):
        text = text.removeprefix(start)
    text = re.sub(r"^(?:\w+\.)?(?:Abstract)?(?:Async)?ContextManager\[", "", text)
    text = text.split(",")[0].split("|")[0].strip(" *&?[]<>()")
    return text.partition("[")[0].partition("<")[0].strip()


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
