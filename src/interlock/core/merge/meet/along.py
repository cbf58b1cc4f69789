"""Follows how Python code came to a value, step by step through the merged tree, to the type that it has; no checker, no generics."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from interlock.core.merge.facts import Symbol
from interlock.core.merge.meet.decorated import as_called
from interlock.core.merge.meet.defined import Where, defined, member, type_at
from interlock.core.merge.meet.sides import Tree

STEPS: Final = re.compile(r"[^\W\d]\w*|\(\)|\[\]|\{\}|#\d+")
"""A name, a call, what a loop gives, an item, one of several values."""
_WRAPPED: Final = re.compile(
    r"(?:\w+\.)*(?:Optional|Annotated|Final|ClassVar|Coroutine|Awaitable|Mapped|(?:Abstract)?(?:Async)?ContextManager)\["
)
_HOLDERS: Final = frozenset(
    [
        "list",
        "List",
        "Sequence",
        "MutableSequence",
        "Iterable",
        "Iterator",
        "AsyncIterator",
        "AsyncIterable",
        "Collection",
        "set",
        "Set",
        "frozenset",
        "FrozenSet",
        "deque",
        "Generator",
        "AsyncGenerator",
        "KeysView",
        "ValuesView",
        "Reversible",
    ]
)
_MAPS: Final = frozenset(["dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "OrderedDict"])
_MOST: Final = 6


@dataclass(frozen=True, slots=True)
class _Symbol:
    """What a name leads to."""

    path: str
    symbol: Symbol


@dataclass(frozen=True, slots=True)
class _Text:
    """A type as a file writes it; ``owner`` is the class that ``Self`` means there."""

    path: str
    text: str
    owner: str = ""


@dataclass(frozen=True, slots=True)
class _One:
    """One of a type of the project."""

    where: Where


_State = _Symbol | _Text | _One


def along(tree: Tree, path: str, of: str, hops: int = _MOST) -> Where | None:
    """The type of what ``of`` leads to, read from the top of a file; None where a step cannot be told."""
    steps = STEPS.findall(of)
    state: _State | None = None
    for count in range(1, 1 + next((at for at, each in enumerate(steps) if not each.isidentifier()), len(steps))):
        # What is before the name is modules that the file imports.
        if (place := defined(tree, path, ".".join(steps[:count]))) is not None:
            state, steps = _Symbol(*place), steps[count:]
            break
    for step in steps:
        if state is None:
            return None
        state = _after(tree, state, step, hops)
    return _type(tree, state, hops) if state is not None else None


def _after(tree: Tree, state: _State, step: str, hops: int) -> _State | None:
    if step == "()":
        return _called(tree, state, hops)
    if step in {"[]", "{}"} or step[0] == "#":
        return _part(tree, state, step, hops)
    if isinstance(state, _Text) and (known := _of_map(state, step)) is not None:
        return known
    if isinstance(state, _Symbol):
        held = _text_of(state)
        if held is not None and (known := _of_map(held, step)) is not None:
            return known
    start = _type(tree, state, hops)
    found = member(tree, start, step, []) if start is not None else None
    return _Symbol(*found) if found is not None else None


def _called(tree: Tree, state: _State, hops: int) -> _State | None:
    match state:
        case _Symbol(path, symbol) if symbol.kind == "class":
            return _One((path, symbol.path))
        case _Symbol(path, symbol) if symbol.kind in {"function", "method"} and symbol.shape != "property":
            seen = as_called(tree, (path, symbol))[1].signature
            return _Text(path, seen.result, symbol.owner) if seen is not None else None
        case _Text(path, text, owner) if (inner := _arguments(text, {"Callable"})) is not None:
            return _Text(path, inner[-1], owner)
        case _:
            start = _type(tree, state, hops)
            found = member(tree, start, "__call__", []) if start is not None else None
            return _called(tree, _Symbol(*found), hops) if found is not None else None


def _part(tree: Tree, state: _State, step: str, hops: int) -> _State | None:
    """What a loop, an index or a place gives of a value."""
    held = _text_of(state)
    if held is None or (start := _type(tree, held, hops)) is not None:
        start = start if held is not None else _type(tree, state, hops)
        name = "__getitem__" if step == "{}" else "__iter__"
        found = member(tree, start, name, []) if start is not None and step[0] != "#" else None
        back = _called(tree, _Symbol(*found), hops) if found is not None else None
        return back if step == "{}" or back is None else _part(tree, back, step, hops)
    text = _plain(held.text)
    if (inner := _arguments(text, _HOLDERS)) is not None and step[0] != "#":
        return _Text(held.path, inner[0], held.owner)
    if (inner := _arguments(text, _MAPS)) is not None and len(inner) == 2 and step[0] != "#":
        return _Text(held.path, inner[step == "{}"], held.owner)
    if (inner := _arguments(text, {"tuple", "Tuple"})) is None:
        return None
    if step[0] == "#":
        at = int(step[1:])
        return _Text(held.path, inner[at], held.owner) if at < len(inner) and "..." not in inner else None
    same = inner[1:] == ["..."] or len(set(inner)) == 1
    return _Text(held.path, inner[0], held.owner) if same else None


def _of_map(held: _Text, name: str) -> _Text | None:
    """A method of a mapping, as what calling it gives."""
    inner = _arguments(_plain(held.text), _MAPS)
    if inner is None or len(inner) != 2:
        return None
    key, value = inner
    gives = {
        "values": f"list[{value}]",
        "keys": f"list[{key}]",
        "items": f"list[tuple[{key}, {value}]]",
        "copy": f"dict[{key}, {value}]",
        **dict.fromkeys(("get", "pop", "setdefault"), value),
    }.get(name)
    return _Text(held.path, f"Callable[[], {gives}]", held.owner) if gives else None


def _text_of(state: _State) -> _Text | None:
    """The type that is written for a constant, a field, a property or a result."""
    if isinstance(state, _Text):
        return state
    if not isinstance(state, _Symbol) or state.symbol.signature is None:
        return None
    symbol = state.symbol
    if symbol.kind in {"constant", "field"} or symbol.shape == "property":
        return _Text(state.path, state.symbol.signature.result, symbol.owner) if state.symbol.signature.result else None
    return None


def _type(tree: Tree, state: _State, hops: int) -> Where | None:
    if isinstance(state, _One):
        return state.where
    if isinstance(state, _Symbol) and state.symbol.kind in {"class", "interface", "type"}:
        return (state.path, state.symbol.path)
    held = _text_of(state)
    if held is None or not hops:
        return None
    text = _plain(held.text)
    if text == "Self" and held.owner:
        return (held.path, held.owner)
    if text.endswith(")"):
        return along(tree, held.path, text, hops - 1)
    name = text.partition("[")[0]
    return type_at(tree, held.path, name) if name.replace(".", "").isidentifier() else None


def _plain(text: str) -> str:
    """A written type without quotes, without None beside it, and without what only wraps it."""
    for _ in range(_MOST):
        text = text.strip().strip("'\"").strip()
        parts = [each for each in split(text, "|") if each not in {"None", "'None'"}]
        if len(parts) == 1 and parts[0] != text:
            text = parts[0]
        elif _WRAPPED.match(text) and text.endswith("]"):
            inner = split(text[text.index("[") + 1 : -1], ",")
            text = inner[-1] if "Coroutine" in text.partition("[")[0] else inner[0]
        else:
            break
    return text


def _arguments(text: str, heads: frozenset[str] | set[str]) -> list[str] | None:
    """What stands in the brackets of one of these generic types."""
    head, bracket, rest = text.partition("[")
    if not bracket or not rest.endswith("]") or head.rpartition(".")[2].strip() not in heads:
        return None
    return split(rest[:-1], ",")


def split(text: str, mark: str) -> list[str]:
    """The parts of a text between marks that stand outside of brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "[({") - (char in "])}")
        if char == mark and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [each.strip() for each in parts]
