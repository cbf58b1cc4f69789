"""What a written type of a script, Go or Java holds: elements, values of maps, parts of tuples, what its own methods give; the project's own types are chains'."""

from __future__ import annotations

import re
from typing import Final

_OPEN, _CLOSE = "<[({", ">])}"
_LISTS: Final = frozenset(
    {"List", "ArrayList", "LinkedList", "Set", "HashSet", "LinkedHashSet", "TreeSet", "SortedSet", "Collection", "Iterable"}
    | {"Stream", "Optional", "Queue", "Deque", "ArrayDeque", "Iterator", "Array", "ReadonlyArray", "ReadonlySet", "Generator"}
    | {"AsyncIterable", "IterableIterator", "AsyncGenerator", "ImmutableList", "ImmutableSet", "CopyOnWriteArrayList"}
)  # fmt: skip
_MAPS: Final = frozenset(
    {"Map", "HashMap", "LinkedHashMap", "TreeMap", "SortedMap", "ConcurrentMap", "ConcurrentHashMap", "ReadonlyMap"}
    | {"ImmutableMap", "EnumMap", "WeakMap", "Record"}
)  # fmt: skip
_SAME: Final = frozenset(
    {"filter", "sorted", "distinct", "limit", "skip", "subList", "takeWhile", "dropWhile", "slice", "sort", "reverse"}
    | {"concat", "toSorted", "toReversed", "or"}
)  # fmt: skip
_ONE: Final = frozenset(
    {"get", "getFirst", "getLast", "orElse", "orElseThrow", "orElseGet", "next", "remove", "poll", "first", "last", "element"}
    | {"find", "findLast", "at", "pop", "shift"}
)  # fmt: skip
_MADE: Final = {
    "stream": "Stream<{}>", "parallelStream": "Stream<{}>", "findFirst": "Optional<{}>", "findAny": "Optional<{}>",
    "max": "Optional<{}>", "min": "Optional<{}>", "iterator": "Iterator<{}>", "toList": "List<{}>",
}  # fmt: skip
_OF_MAP: Final = {
    "get": "{1}", "getOrDefault": "{1}", "put": "{1}", "remove": "{1}", "computeIfAbsent": "{1}", "putIfAbsent": "{1}",
    "values": "Collection<{1}>", "keySet": "Set<{0}>", "keys": "Iterable<{0}>", "entrySet": "Set<Entry<{0}, {1}>>",
}  # fmt: skip
_ENTRY: Final = {"getKey": 0, "getValue": 1}
_WRAPPED: Final = re.compile(r"(?:Promise|PromiseLike|Readonly|NonNullable|Awaited)<(.*)>", re.DOTALL)


def parts(text: str, mark: str = ",") -> list[str]:
    """The parts of a text between marks that stand in no bracket."""
    found, depth, start = [], 0, 0
    for at, each in enumerate(text):
        if each in _OPEN:
            depth += 1
        elif each in _CLOSE and text[at - 1 : at] != "=":
            depth -= 1
        elif each == mark and not depth:
            found.append(text[start:at].strip())
            start = at + 1
    return [*found, text[start:].strip()]


def plain(text: str) -> str:
    """A type without pointers, promises, what may be absent beside it, and the results of Go behind its first."""
    text = text.strip()
    if text.startswith("tuple["):
        text = nth(text, 0)
    text = text.removeprefix("...").lstrip("*&").removeprefix("readonly ").strip()
    some = [each for each in parts(text, "|") if each not in {"null", "undefined", ""}]
    text = some[0] if len(some) == 1 else text
    wrapped = _WRAPPED.fullmatch(text)
    if wrapped is not None:
        return plain(wrapped[1])
    return text[1:-1].strip() if text.startswith("(") and text.endswith(")") and "=>" not in text else text


def bare(text: str) -> str:
    """The name of a type without what it is filled with; empty for what has no name."""
    if plain(text).endswith("[]"):
        return ""
    name = plain(text).partition("<")[0].partition("[")[0].strip()
    return name if re.fullmatch(r"[\w$.]+", name) else ""


def nth(text: str, at: int) -> str:
    """One part of a tuple."""
    inner = re.fullmatch(r"(?:readonly\s+)?(?:tuple)?\[(.*)\]", text.strip(), re.DOTALL)
    found = parts(inner[1]) if inner is not None else []
    return found[at].partition(":")[2].strip() or found[at] if at < len(found) else ""


def filled(text: str) -> list[str]:
    """What a type is filled with."""
    inner = re.fullmatch(r"[\w$.]+\s*[<\[](.*)[>\]]", plain(text), re.DOTALL)
    return parts(inner[1]) if inner is not None and inner[1] else []


def element(text: str) -> str:
    """What a list, a map of Go, a channel or a stream holds; empty where that cannot be told."""
    text = plain(text)
    of_go = re.match(r"(?:\[\d*\]|map\[[^\[\]]*\]|(?:<-)?chan(?:<-)?\s)\s*(.+)", text, re.DOTALL)
    if of_go is not None:
        return of_go[1]
    if text.endswith("[]"):
        return text.removesuffix("[]").strip()
    name, given = bare(text).rpartition(".")[2], filled(text)
    if name in _LISTS and given:
        return given[0].removeprefix("? extends ")
    return f"[{', '.join(given)}]" if name in {"Map", "ReadonlyMap"} and len(given) > 1 else ""


def indexed(text: str) -> str:
    """What stands in one place of a list or a map."""
    name, given = bare(text), filled(text)
    return given[1] if name == "Record" and len(given) > 1 else element(text)


def given_by(text: str, method: str) -> str:
    """What a method of a container gives; empty for all others."""
    name, given = bare(text).rpartition(".")[2], filled(text)
    if name in _MAPS and len(given) > 1:
        return _OF_MAP.get(method, "").format(*given)
    if name == "Entry" and len(given) > 1 and method in _ENTRY:
        return given[_ENTRY[method]]
    if not plain(text).endswith("[]") and name not in _LISTS:
        return ""
    inside = element(text)
    if not inside:
        return ""
    if method in _SAME:
        return plain(text)
    return inside if method in _ONE else _MADE.get(method, "").format(inside)
