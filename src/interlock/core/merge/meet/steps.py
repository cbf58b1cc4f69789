"""Chains of fields and calls that lead to another type since one change: what is newly taken of it is not there, or is held as the old one."""

from __future__ import annotations

import re
from typing import Final

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.facts import FileFacts, Symbol, Use
from interlock.core.merge.meet.chains import Typed, chained, is_chain, is_foreign, lacks_surely, named, typed
from interlock.core.merge.meet.containers import bare, plain
from interlock.core.merge.meet.delta import Altered, Delta, NewUse
from interlock.core.merge.meet.meaning import same_uses
from interlock.core.merge.meet.modules import family
from interlock.core.merge.meet.shapes import Judge, alarm
from interlock.core.merge.meet.sides import Alarm, Tree

_OPTIONAL: Final = frozenset(
    {"get", "isPresent", "isEmpty", "ifPresent", "ifPresentOrElse", "filter", "map", "flatMap", "or", "stream", "orElse"}
    | {"orElseGet", "orElseThrow", "equals", "hashCode", "toString"}
)  # fmt: skip
_ARRAY: Final = frozenset(
    {"at", "concat", "copyWithin", "entries", "every", "fill", "filter", "find", "findIndex", "findLast", "findLastIndex"}
    | {"flat", "flatMap", "forEach", "includes", "indexOf", "join", "keys", "lastIndexOf", "length", "map", "pop", "push"}
    | {"reduce", "reduceRight", "reverse", "shift", "slice", "some", "sort", "splice", "toLocaleString", "toReversed"}
    | {"toSorted", "toSpliced", "toString", "unshift", "values", "with", "then", "catch", "finally"}
)  # fmt: skip
_PLAIN_JAVA: Final = frozenset({"int", "long", "short", "byte", "char", "boolean", "double", "float", "void"})
_PLAIN_GO: Final = frozenset(
    {"bool", "byte", "rune", "string", "int", "uint", "float32", "float64"}
    | {f"{kind}{size}" for kind in ("int", "uint") for size in (8, 16, 32, 64)}
)  # fmt: skip
_UNITERABLE: Final = frozenset({"Map", "HashMap", "LinkedHashMap", "TreeMap", "SortedMap", "Optional", "Stream"})
_HOLDERS: Final = frozenset({"Optional", "CompletableFuture", "CompletionStage", "Future", "List", "Set", "Map", "Stream", "Mono", "Flux"})  # fmt: skip


def steps(breaker: Delta, user: Delta) -> list[Alarm]:
    """Fields and functions whose type one side changes, on the way to what the other newly takes or holds."""
    found = [
        _based(breaker, user, altered, new)
        for news in breaker.altered.values()
        for altered in news
        if set(altered.old.bases) - set(altered.new.bases) and family(altered.facts) != "python"
        for uses in user.uses.values()
        for new in uses
        if new.use.of not in {"", "?"} and new.use.name[:1] != "=" and family(new.facts) == family(altered.facts)
    ]
    found += [
        alarm(breaker, user, altered, new, "signature", f"calls {altered.new.path} with less", _overtaken(altered.old))
        for news in breaker.altered.values()
        for altered in news
        if altered.new.kind == "type" and altered.new.signature and altered.old.signature != altered.new.signature
        for new in user.uses.get("=function", ())
    ]
    changed = [each for news in breaker.altered.values() for each in news if _of(each.old) != _of(each.new)]
    chains = [new for news in user.uses.values() for new in news if _walks(new.use)] if changed else []
    return found + [
        _alarm(breaker, user, altered, new)
        for altered in changed
        for new in chains
        if family(altered.facts) == family(new.facts) and _passes(new.use.of, altered)
    ]


def _overtaken(old: Symbol) -> Judge:
    """A function that is handed over counts on more parameters than its type is called with now."""

    def judge(_: Tree, __: str, symbol: Symbol, use: Use) -> bool:
        before, now = (each.signature.most if each.signature else None for each in (old, symbol))
        count = use.call.positional if use.call else 0
        return now is not None and count > now and (before is None or count <= before)

    return judge


def _based(breaker: Delta, user: Delta, altered: Altered, new: NewUse) -> Alarm:
    """What a type had from a base, or from what was embedded in it, and has no more."""

    def check(tree: Tree) -> bool:
        here = (altered.path, altered.new.path)
        return any(
            facts.language != "javascript"
            and not path.endswith("_test.go")
            and chained(tree, path, facts, use.source, use.of, altered.path) == here
            and lacks_surely(tree, here, use.name, altered.path)
            for path, facts, use in same_uses(tree, breaker.side, new)
        )

    lost = ", ".join(sorted(set(altered.old.bases) - set(altered.new.bases)))
    name = altered.new.path
    return Alarm(
        rule="removed-member",
        symbol=f"{name}.{new.use.name}",
        breaker=Spot(change=breaker.name, path=altered.path, line=altered.new.line, text=name),
        user=Spot(change=user.name, path=new.path, line=new.use.line, text=new.use.name),
        why=f"{breaker.name} takes {lost} out of what {name} in {altered.path} is made of, and {user.name} newly uses"
        f" {new.use.name} of it in {new.path}, line {new.use.line}.",
        action=f"Do without {new.use.name} in {user.name}, or keep {lost} in {breaker.name}.",
        check=check,
        paths=(new.path, altered.path),
    )


def _of(symbol: Symbol) -> str:
    """The type of a field or of what a function gives, as declared."""
    return symbol.signature.result if symbol.signature is not None else symbol.shape


def _walks(use: Use) -> bool:
    return (is_chain(use.of) or use.of.endswith("()")) and (use.name == "=held" or use.name[:1] != "=")


def _passes(of: str, altered: Altered) -> bool:
    """Whether a chain has a step of that name."""
    call = r"\(\)" if altered.new.signature is not None else r"(?!\(|@)"
    return re.search(rf"(?:^|[.:/]){re.escape(altered.new.name)}{call}(?=/|\.|$)", of) is not None


def _alarm(breaker: Delta, user: Delta, altered: Altered, new: NewUse) -> Alarm:
    def check(tree: Tree) -> bool:
        same = tree(altered.path)
        call = altered.new.signature is not None
        symbols = same.symbols if same is not None else ()
        now = [each for each in symbols if each.path == altered.new.path and (each.signature is not None) == call]
        if len(now) != 1 or _of(now[0]) != _of(altered.new):
            return False
        return any(_broken(tree, path, facts, use, altered) for path, facts, use in same_uses(tree, breaker.side, new))

    name = altered.new.path
    done = f"newly takes {new.use.name} of it" if not new.use.name.startswith("=") else "newly holds it as before"
    return Alarm(
        rule="return-type" if altered.new.signature is not None else "field-type",
        symbol=name,
        breaker=Spot(change=breaker.name, path=altered.path, line=altered.new.line, text=name),
        user=Spot(change=user.name, path=new.path, line=new.use.line, text=new.use.name.lstrip("=") or name),
        why=f"{breaker.name} lets {name} in {altered.path} be {_of(altered.new)} instead of {_of(altered.old)}, and"
        f" {user.name} {done} in {new.path}, line {new.use.line}.",
        action=f"Follow in {user.name} what {name} is now, or keep the old type in {breaker.name}.",
        check=check,
        paths=(new.path, altered.path),
    )


def _taken_of_own(tree: Tree, language: str, found: Typed, name: str) -> bool:
    """Whether a type of the language itself is known to have no member of a name."""
    text = plain(found[1])
    if language == "script":
        return text.endswith("[]") and name not in _ARRAY
    if language == "java" and bare(text).rpartition(".")[2] == "Optional":
        return name not in _OPTIONAL and not is_foreign(tree, found)
    return text in (_PLAIN_GO if language == "go" else _PLAIN_JAVA)


def _broken(tree: Tree, path: str, facts: FileFacts, use: Use, altered: Altered) -> bool:
    found = typed(tree, path, facts, use.source, use.of, altered.path)
    if found is None:
        return False
    where = named(tree, found, altered.path)
    if use.name == "=held":
        return where is None and not is_foreign(tree, found) and _holds_another(tree, path, use, found)
    if path.endswith("_test.go"):
        # Tests of a package may bring members of its types.
        return False
    if where is None:
        return _taken_of_own(tree, family(facts), found, use.name)
    return facts.language != "javascript" and lacks_surely(tree, where, use.name, altered.path)


def _holds_another(tree: Tree, path: str, use: Use, found: Typed) -> bool:
    """Whether what is held as one of a type, or gone through, is a type of the language around it, or one that no loop takes."""
    wanted = next(each.partition(":")[2] for each in use.then if each.startswith("as:"))
    outer = bare(found[1]).rpartition(".")[2]
    if wanted == "[]":
        return outer in _UNITERABLE
    return outer in _HOLDERS and named(tree, (path, wanted), path) is not None
