"""Where a dotted name of Python is defined, and who has a member along the types that one comes from; what uses mean is members'."""

from __future__ import annotations

import builtins
import re

from interlock.core.merge.facts import FileFacts, Import, Symbol
from interlock.core.merge.meet.modules import family, resolve
from interlock.core.merge.meet.sides import Tree

_MOST_HOPS = 8
_PLAIN = frozenset(
    {"object", "ABC", "Protocol", "Generic", "Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "NamedTuple", "TypedDict"}
    | {"BaseModel", "Model", "Base", "DeclarativeBase", "TestCase"}
)
"""Bases from outside that bring no member of a project's own naming."""

Where = tuple[str, str]
"""A type: the file and the name in it."""
Defined = tuple[str, Symbol]
"""A symbol and the file that defines it."""


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


def plain_type(result: str) -> str:
    """The name of a type without pointers, promises and what comes beside it: ``tuple[*Cart, error]`` is ``Cart``."""
    text = result.strip().strip("'\"")
    for start in ("tuple[", "Promise<", "Coroutine[", "Awaitable[", "Optional["):
        text = text.removeprefix(start)
    text = re.sub(r"^(?:\w+\.)?(?:Abstract)?(?:Async)?ContextManager\[", "", text)
    text = text.split(",")[0].split("|")[0].strip(" *&?[]<>()")
    return text.partition("[")[0].partition("<")[0].strip()
