"""Whether what comes back from a call, or is raised by it, still suits what is done with it; names of types only, no checker."""

from __future__ import annotations

import builtins
import re
from collections.abc import Sequence

from interlock.core.merge.meet.written import is_written, unwrapped, written_refuses

_NUMBERS = frozenset({"int", "float", "complex", "bool", "Decimal"})
_LISTS = frozenset({"list", "List", "Sequence", "MutableSequence"})
_MAPS = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "OrderedDict", "Counter"})
_STREAMS = frozenset({"Iterator", "Generator", "Iterable"})
_STREAMS_LATER = frozenset({"AsyncIterator", "AsyncGenerator", "AsyncIterable"})
_LATER = frozenset({"Coroutine", "Awaitable", "Promise", "Future"})
_SETS = frozenset({"set", "Set", "frozenset", "FrozenSet"})
_TUPLES = frozenset({"tuple", "Tuple"})
_ENTERED = frozenset({"AbstractContextManager", "ContextManager"})
_ENTERED_LATER = frozenset({"AbstractAsyncContextManager", "AsyncContextManager"})
_BOXED = frozenset({"BigDecimal", "BigInteger", "Optional", "OptionalInt", "OptionalLong", "OptionalDouble"})
_NOTHING = frozenset({"None", "NoReturn", "void"})


def kind_of(result: str) -> str:
    """A declared type as one of a few shapes; empty for everything of a project's own and for unions."""
    text = result.strip().strip("'\"").strip()
    if "|" in _outside(text) or text.startswith(("Optional[", "Union[")):
        return ""
    head = re.split(r"[\[<(]", text, maxsplit=1)[0].rpartition(".")[2].strip()
    for names, kind in (
        (_NUMBERS, "number"),
        (_LISTS, "list"),
        (_MAPS, "map"),
        (_STREAMS, "stream"),
        (_STREAMS_LATER, "stream later"),
        (_LATER, "later"),
        (_SETS, "set"),
        (_TUPLES, "tuple"),
        (_NOTHING, "nothing"),
        (_ENTERED, "entered"),
        (_ENTERED_LATER, "entered later"),
        (_BOXED, "boxed"),
        (frozenset({"str", "bytes", "string"}), "text"),
    ):
        if head in names:
            return kind
    return ""


def _outside(text: str) -> str:
    """The text without what stands in brackets."""
    depth, kept = 0, []
    for char in text:
        depth += (char in "[<(") - (char in "]>)")
        if depth == 0:
            kept.append(char)
    return "".join(kept)


def arity(result: str) -> int | None:
    """How many values a tuple type has; None where it is any number or no tuple."""
    inside = re.match(r"\s*(?:typing\.)?[tT]uple\[(.*)\]\s*$", result, re.DOTALL)
    if inside is None or "..." in inside[1]:
        return None
    depth, count = 0, 1
    for char in inside[1]:
        depth += (char in "[(") - (char in "])")
        count += char == "," and depth == 0
    return count


_CONTEXTS = frozenset({"entered", "entered later"})
_VALUES = frozenset({"number", "nothing", "set", "list", "tuple", "text", "map", "stream"})
_REFUSED: dict[str, frozenset[str]] = {
    "arith": frozenset({"boxed", "tuple", "list", "map", "set", "nothing", "later", "stream"}) | _CONTEXTS,
    "iterate": frozenset({"number", "nothing", "later", "stream later"}) | _CONTEXTS,
    "async iterate": _VALUES | {"later"} | _CONTEXTS,
    "index": frozenset({"number", "nothing", "later", "set", "stream", "stream later"}) | _CONTEXTS,
    "key": frozenset({"number", "nothing", "later", "set", "stream", "list", "tuple", "text", "stream later"})
    | _CONTEXTS,
    "sized": frozenset({"number", "nothing", "later", "stream", "stream later"}) | _CONTEXTS,
    "call": frozenset({"number", "nothing", "later", "set", "stream", "list", "tuple", "text", "map"}),
    "await": frozenset({"number", "nothing", "set", "list", "tuple", "text", "map"}) | _CONTEXTS,
    "kept": frozenset({"later"}),
    "with": _VALUES | {"later", "entered later"},
    "async with": _VALUES | {"later", "entered"},
}

_TYPES: dict[str, type] = {"tuple": tuple, "list": list, "map": dict, "set": set, "nothing": type(None), "text": str}


def unsuited(old: str, new: str, then: Sequence[str]) -> str:
    """What is done with the value that the new type does not bear and the old one may; nothing where all goes or is not known."""
    for each in then:
        what, _, detail = each.partition(":")
        if (_refuses(what, detail, new) or unwrapped(old, new, each)) and not _refuses(what, detail, old):
            return each
    return ""


def _refuses(what: str, detail: str, result: str) -> bool:  # noqa: PLR0911 -- one answer a line
    if is_written(what, result):
        return written_refuses(what, detail, result)
    if what == "deref":
        return bool(re.search(r"\|\s*(?:undefined|null)\b|\b(?:undefined|null)\s*\|", _outside(result)))
    if what in {"truth", "nil"}:
        return _cannot_be(what, detail, result)
    kind = kind_of(result)
    if not kind:
        return False
    if what == "unpack":
        size = arity(result)
        return kind in {"number", "nothing", "later"} | _CONTEXTS or (
            size is not None and detail.isdigit() and size != int(detail)
        )
    if what == "attr":
        if kind in _CONTEXTS:
            return not detail.startswith("__")
        return kind == "later" or (kind in _TYPES and not hasattr(_TYPES[kind], detail)) or _number_lacks(kind, detail)
    return kind in _REFUSED.get(what, frozenset())


def _number_lacks(kind: str, name: str) -> bool:
    return kind == "number" and not any(hasattr(each, name) for each in (int, float, complex))


def _cannot_be(what: str, place: str, result: str) -> bool:
    """Whether one of several values of Go is surely no truth, or surely never nil."""
    parts = _parts(result)
    if not place.isdigit() or int(place) >= len(parts):
        return False
    part = parts[int(place)]
    if what == "truth":
        return part == "error" or part[:1] in {"*", "["} or part in _GO_PLAIN
    return part == "bool" or part in _GO_PLAIN


_GO_PLAIN = frozenset(
    {"int", "int32", "int64", "uint", "uint32", "uint64", "float32", "float64", "string", "byte", "rune"}
)


def _parts(result: str) -> list[str]:
    inside = re.fullmatch(r"tuple\[(.*)\]", result, re.DOTALL)
    parts, depth = [""], 0
    for char in inside[1] if inside is not None else "":
        depth += (char in "[({") - (char in "])}")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [each.strip() for each in parts]


_SAID = {
    "arith": "calculates with it",
    "iterate": "goes through it",
    "async iterate": "goes through it by async for",
    "index": "takes an item of it",
    "await": "awaits it",
    "sized": "asks how many it has",
    "call": "calls it",
    "kept": "keeps it without awaiting it",
    "with": "enters it by with",
    "async with": "enters it by async with",
}


def said(then: str) -> str:
    """What is done with a value, as a part of a sentence."""
    what, _, detail = then.partition(":")
    if what == "key":
        return f"takes the key {detail} of it"
    if what == "deref":
        return "takes a part of it at once"
    if what in {"attr", "member", "awaited"}:
        return f"takes {detail} of it"
    if what == "unpack":
        return f"unpacks it into {detail}"
    if what in {"truth", "nil"}:
        return "asks whether one of its values is true" if what == "truth" else "compares one of its values with nil"
    return _SAID.get(what, "uses it")


def covers(caught: Sequence[str], raised: str) -> bool:
    """Whether one of the caught exceptions is the raised one or above it; names from outside of the built-in ones are equal or not."""
    if raised in caught or {"Exception", "BaseException"} & set(caught):
        return True
    thrown = getattr(builtins, raised, None)
    if not isinstance(thrown, type):
        return False
    return any(
        isinstance(above := getattr(builtins, each, None), type) and issubclass(thrown, above) for each in caught
    )
