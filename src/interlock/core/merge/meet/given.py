"""Whether what a call is given suits the parameter there: literals by their kind, functions and own types by the interface's members."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from interlock.core.merge.facts import FileFacts, Symbol, Use
from interlock.core.merge.meet.bases import type_at
from interlock.core.merge.meet.meaning import meanings
from interlock.core.merge.meet.modules import family, folder
from interlock.core.merge.meet.sides import Tree

_NUMBERS: Final = frozenset(
    [
        "byte",
        "short",
        "int",
        "long",
        "float",
        "double",
        "char",
        "Byte",
        "Short",
        "Integer",
        "Long",
        "Float",
        "Double",
        "Character",
        "number",
        "bigint",
        "rune",
        "uint",
    ]
) | frozenset(f"{kind}{size}" for kind in ("int", "uint", "float") for size in (8, 16, 32, 64))
_TEXTS: Final = frozenset({"string", "String"})
_TRUTHS: Final = frozenset({"boolean", "Boolean", "bool"})
_OTHERS: Final = frozenset(
    [
        "BigDecimal",
        "BigInteger",
        "Duration",
        "Period",
        "Instant",
        "LocalDate",
        "LocalDateTime",
        "UUID",
        "URI",
        "Path",
        "File",
        "Date",
        "Locale",
    ]
)
_SUITS: Final = {"number": _NUMBERS, "text": _TEXTS, "truth": _TRUTHS}
_KNOWN: Final = _NUMBERS | _TEXTS | _TRUTHS | _OTHERS


def plain_name(of: str) -> str:
    """The name of a type of Go without its pointer and its package."""
    return of.lstrip("*").rpartition(".")[2]


def clash(given: str, wanted: str) -> bool:
    """Whether a literal of a kind, or a value of a plain type of Go, cannot be where a type is wanted; no for types that are not known."""
    plain = wanted.strip().lstrip(": ").removeprefix("final ").rpartition(".")[2]
    if given.startswith("made/"):
        # A struct that is made here, or a pointer to one, is never the other.
        held = given.removeprefix("made/")
        return plain_name(held) == plain_name(wanted) and held.startswith("*") != wanted.startswith("*")
    if given in _SUITS and wanted.strip().startswith("{"):
        return True
    if given in _SUITS:
        return plain in _KNOWN and plain not in _SUITS[given]
    if re.fullmatch(r"bool|byte|rune|string|u?int\d*|float\d+|time\.Duration", given):
        alike = {"byte": "uint8", "rune": "int32"}
        known = re.fullmatch(r"bool|byte|rune|string|u?int\d*|float\d+|time\.Duration", wanted.strip()) is not None
        return known and alike.get(given, given) != alike.get(wanted.strip(), wanted.strip())
    return False


def fits_interface(tree: Tree, path: str, symbol: Symbol, count: int) -> bool:
    """Whether a function of so many parameters may stand for an interface; yes where its members cannot all be told."""
    facts = tree(path)
    if facts is None or symbol.kind != "interface" or symbol.bases:
        return True
    duties = [each for each in facts.symbols if each.owner == symbol.path and each.abstract and each.kind == "method"]
    if len(duties) != 1:
        return not duties
    signature = duties[0].signature
    return signature is None or signature.most is None or signature.required <= count <= signature.most


def misfits(tree: Tree, path: str, facts: FileFacts, use: Use, at: int, given: str, wanted: tuple[str, str]) -> bool:
    """Whether the parameter that gets it has the wanted type, and what is given does not suit that in the tree."""
    for where, symbol in _called(tree, path, facts, use, wanted[0]):
        names = symbol.signature.names if symbol.signature is not None else ()
        inner = tree(where)
        if at >= len(names) or inner is None:
            continue
        name = names[at].lstrip("*").partition("<")[0].strip()
        place = _type(tree, where, inner, name, wanted)
        if place != wanted:
            continue
        target = tree(wanted[0])
        mine = [each for each in (target.symbols if target is not None else ()) if each.path == wanted[1]]
        if not mine or target is None:
            return False
        if given.startswith("lambda/"):
            return not fits_interface(tree, wanted[0], mine[0], int(given.removeprefix("lambda/")))
        if given.startswith("func"):
            return mine[0].shape.startswith("func(") and bare(mine[0].shape) != bare(given)
        return mine[0].kind == "interface" and _owing(facts, given.removeprefix("type/"), target, wanted[1])
    return False


def bare(shape: str) -> str:
    """A type of a function without the packages of its types, which two files may call differently."""
    return re.sub(r"\b\w+\.", "", shape)


def _owing(facts: FileFacts, name: str, target: FileFacts, owner: str) -> bool:
    """Whether a type of a file lacks one of the methods of an interface; embedded ones may bring it."""
    own = [each for each in facts.symbols if each.path == name]
    if not own or any(
        each.owner == name and each.kind == "field" and each.name in _embedded(own[0]) for each in facts.symbols
    ):
        return False
    has = {each.name: written(each) for each in facts.symbols if each.owner == name and each.kind == "method"}
    duties = {each.name: written(each) for each in target.symbols if each.owner == owner and each.abstract and each.kind == "method"}  # fmt: skip
    both = has.keys() & duties.keys()
    return bool(both) and (not duties.keys() <= has.keys() or any(has[each] != duties[each] for each in both))


def written(symbol: Symbol) -> tuple[object, ...]:
    """What a method of Go takes and gives, without the names of packages."""
    signature = symbol.signature
    return () if signature is None else (tuple(bare(each) for each in signature.names), bare(signature.result))


def _embedded(symbol: Symbol) -> set[str]:
    return {base.lstrip("*&").rpartition(".")[2].partition("[")[0] for base in symbol.bases}


def _type(tree: Tree, where: str, facts: FileFacts, name: str, wanted: tuple[str, str]) -> tuple[str, str] | None:
    if family(facts) == "go" and "." not in name and folder(where) == folder(wanted[0]):
        return wanted if name == wanted[1] else None
    return type_at(tree, where, facts, "", name, wanted[0])


def _called(tree: Tree, path: str, facts: FileFacts, use: Use, hint: str) -> Iterator[tuple[str, Symbol]]:
    """The function or method that a use means, in the files where it may be."""
    if family(facts) == "java":
        place = type_at(tree, path, facts, use.source, use.of)
        yield from meanings(tree, path, facts, use, place[0] if place is not None else hint)
        return
    for each in dict.fromkeys([hint, *_go_files(tree, path, use)]):
        if tree.has(each):
            yield from meanings(tree, path, facts, use, each)


def _go_files(tree: Tree, path: str, use: Use) -> Iterator[str]:
    """Where a function of Go likely is, going by its name: a tree cannot be asked for all files of a folder."""
    manifest = tree("go.mod")
    module = manifest.module if manifest is not None else ""
    place = folder(path)
    if use.source and module and use.source.startswith(module):
        place = use.source.removeprefix(module).strip("/")
    elif use.source:
        return
    owner = use.of if use.of not in {"", "?"} and not use.of.endswith("()") else ""
    for name in (use.name.removeprefix("New"), owner, use.name, place.rpartition("/")[2]):
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
        for stem in (snake, snake.replace("_", "")):
            if stem:
                yield f"{place}/{stem}.go".lstrip("/")
    yield path
