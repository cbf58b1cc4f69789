"""What types of scripts and of Java bear, as far as they are written out: lists, objects, promises, optionals, checked exceptions."""

from __future__ import annotations

import re
from collections.abc import Sequence

_JAVA = {
    "Optional": frozenset(
        [
            "get",
            "orElse",
            "orElseGet",
            "orElseThrow",
            "isPresent",
            "isEmpty",
            "ifPresent",
            "ifPresentOrElse",
            "map",
            "flatMap",
            "filter",
            "or",
            "stream",
        ]
    ),
    "CompletableFuture": frozenset(
        ["get", "join", "thenApply", "thenAccept", "thenCompose", "thenCombine", "whenComplete", "handle"]
    )
    | frozenset(
        [
            "exceptionally",
            "isDone",
            "cancel",
            "complete",
            "thenRun",
            "orTimeout",
            "getNow",
            "thenApplyAsync",
            "thenAcceptAsync",
        ]
    ),
}
_EVERY_OBJECTS = frozenset({"equals", "hashCode", "toString", "getClass"})


_WRAPPED = re.compile(r"(?:java\.util\.)?(Optional|CompletableFuture)<(.*)>", re.DOTALL)
_OFTEN = frozenset({"get", "isEmpty", "filter", "stream", "or", "handle", "cancel", "complete"})
"""Members that what is wrapped may well have itself."""


def unwrapped(old: str, new: str, then: str) -> bool:
    """Whether a function gives what it gave in a wrapper, and a member of the wrapper is taken."""
    what, _, detail = then.partition(":")
    inner = _WRAPPED.fullmatch(old.strip())
    if what != "member" or inner is None or inner[2].strip() != new.strip():
        return False
    return detail in _JAVA[inner[1]] - _OFTEN


def is_written(what: str, result: str) -> bool:
    """Whether it is asked what such a type bears."""
    return what in {"member", "awaited"} or result[:1] in {"[", "{"} or result.endswith("[]")


def outside(text: str) -> str:
    """The text without what stands in brackets."""
    depth, kept = 0, []
    for char in text:
        depth += (char in "[<({") - (char in "]>)}")
        if depth == 0:
            kept.append(char)
    return "".join(kept)


_ARRAYS = frozenset(
    [
        "map",
        "filter",
        "forEach",
        "length",
        "find",
        "findIndex",
        "some",
        "every",
        "reduce",
        "reduceRight",
        "slice",
        "splice",
        "concat",
        "join",
        "includes",
        "indexOf",
        "push",
        "pop",
        "shift",
        "unshift",
        "sort",
        "reverse",
        "flat",
        "flatMap",
        "entries",
        "keys",
        "values",
        "at",
        "fill",
        "lastIndexOf",
        "findLast",
        "findLastIndex",
        "toSorted",
        "toReversed",
    ]
)


_OBJECTS = frozenset({"toString", "hasOwnProperty", "valueOf", "constructor"})


def written_refuses(what: str, detail: str, result: str) -> bool:
    """For a type of a script that is written out: a list, a tuple, an object; what is awaited is looked at without its promise."""
    if what == "member":
        known = _JAVA.get(result.partition("<")[0].rpartition(".")[2].strip())
        return known is not None and detail not in known | _EVERY_OBJECTS
    plain = result.strip()
    if what == "awaited":
        inner = re.fullmatch(r"Promise<(.*)>", plain, re.DOTALL)
        plain, what = (inner[1].strip() if inner else plain), "attr"
    if "|" in outside(plain) or "&" in outside(plain):
        return False
    if plain.startswith("{") and plain.endswith("}"):
        keys = set(re.findall(r"([\w$]+)\??\s*[:(]", plain))
        if re.search(r"[{;,]\s*\[", plain):
            return False
        return what in {"unpack", "iterate"} or (what == "attr" and detail not in keys | _OBJECTS)
    if plain.endswith("[]") or (plain.startswith("[") and plain.endswith("]")):
        return what == "attr" and detail not in _ARRAYS and not detail.isdigit()
    return False


_CHECKED = frozenset(
    [
        "Exception",
        "Throwable",
        "IOException",
        "FileNotFoundException",
        "SQLException",
        "InterruptedException",
        "TimeoutException",
        "ExecutionException",
        "GeneralSecurityException",
        "ClassNotFoundException",
        "NoSuchMethodException",
        "ReflectiveOperationException",
        "URISyntaxException",
        "ParseException",
        "CloneNotSupportedException",
        "MalformedURLException",
    ]
)
_ABOVE = {
    "FileNotFoundException": {"IOException"},
    "MalformedURLException": {"IOException"},
    "ClassNotFoundException": {"ReflectiveOperationException"},
    "NoSuchMethodException": {"ReflectiveOperationException"},
}


def unchecked(raised: str, caught: Sequence[str]) -> bool:
    """Whether an exception that Java makes one handle is neither caught nor thrown on; no for those that are not known."""
    borne = {raised, "Exception", "Throwable"} | _ABOVE.get(raised, set())
    return raised in _CHECKED and not borne & set(caught)


def must_be_declared(name: str) -> bool:
    """Whether an exception is one of those of Java's own that a method must catch or declare."""
    return name in _CHECKED
