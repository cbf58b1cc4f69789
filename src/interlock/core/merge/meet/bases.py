"""Members of types in scripts, Go and Java along what they come from, across files; Python's are members', names at the top names'."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from interlock.core.merge.facts import FileFacts, Symbol, Use
from interlock.core.merge.meet.modules import family, folder, means
from interlock.core.merge.meet.packages_of import files_of, folder_of_package, go_type
from interlock.core.merge.meet.sides import Tree

Where = tuple[str, str]
"""A type: the file and the name in it; for Go any file of the package."""

_ENDS: Final = (
    ".ts",
    ".tsx",
    ".d.ts",
    ".js",
    ".jsx",
    ".mts",
    ".mjs",
    ".cts",
    ".cjs",
    "/index.ts",
    "/index.tsx",
    "/index.js",
)
_WRITTEN_ENDS: Final = (".js", ".jsx", ".mjs", ".cjs")
EVERYBODYS: Final = frozenset(
    {
        "toString",
        "equals",
        "hashCode",
        "getClass",
        "notify",
        "notifyAll",
        "wait",
        "clone",
        "valueOf",
        "hasOwnProperty",
        "constructor",
    }
    | {"Error", "String", "Lock", "Unlock"}
)
"""Members that every object, error or lock has from its language."""
OF_ENUMS: Final = frozenset({"name", "ordinal", "values", "compareTo", "length"})
"""Members that enums, and types themselves, have from their language."""
_OUTSIDE: Final = frozenset(
    {
        "Object",
        "Serializable",
        "Comparable",
        "Cloneable",
        "Iterable",
        "Runnable",
        "Record",
        "Enum",
        "Error",
        "Exception",
    }
    | {"RuntimeException", "EventEmitter", "Component", "PureComponent", "error", "Stringer", "Mutex", "RWMutex"}
)
"""Types from outside that bring no member of a project's own naming."""
_MOST_HOPS: Final = 8


def lacks(tree: Tree, path: str, facts: FileFacts, use: Use, file: str, gone: Symbol) -> bool:
    """Whether a use in the merged tree means the type that lost a member, and nothing that the type comes from has it.

    ``file`` is where the member was.  A base that cannot be told may have it, so that the answer is no.
    """
    if use.of in {"", "?"}:
        return False
    found = starts(tree, path, facts, use.source, use.of, file)
    return any(lost(tree, start, use, file, gone) for start in found if start is not None)


def lost(tree: Tree, start: Where, use: Use, file: str, gone: Symbol) -> bool:
    """The same for a use whose type is known."""
    target = tree(file)
    enum = target is not None and any(each.owner == gone.owner and each.kind == "member" for each in target.symbols)
    if gone.name in EVERYBODYS or (gone.name in OF_ENUMS and (enum or use.on_type)):
        return False
    if target is not None and family(target) == "java" and gone.kind != "member":
        taken = use.call is not None or "reference" in use.then
        if taken != (gone.kind == "method") and "imported" not in use.then:
            return False
    return _climb(tree, start, gone, file, []) is True


def starts(tree: Tree, path: str, facts: FileFacts, source: str, of: str, file: str) -> Iterator[Where | None]:
    """The types that a use may be taken from, along what calls give back one after the other."""
    if not of.endswith("()"):
        yield type_at(tree, path, facts, source, of, file)
        return
    for place, symbol in givers(tree, path, facts, source, of.removesuffix("()"), file):
        given = tree(place)
        result = result_type(symbol.signature.result) if symbol.signature is not None else ""
        if result == "this" and symbol.owner:
            yield (place, symbol.owner)
        elif result and given is not None:
            yield type_at(tree, place, given, "", result, file)


def givers(tree: Tree, path: str, facts: FileFacts, source: str, made: str, file: str) -> Iterator[tuple[str, Symbol]]:
    """The functions, or with a dot the methods, that a name may mean where it is called, each with its file."""
    owner, _, name = made.rpartition(".")
    holders = [each for each in starts(tree, path, facts, source, owner, file) if each] if owner else []
    given_on = script_at(tree, path, source, name) if family(facts) == "script" and source and not owner else None
    places = [each[0] for each in holders] or [path, file, *_files(tree, path, facts, source)]
    if given_on is not None:
        places, name = [given_on[0]], given_on[1]
    for place in dict.fromkeys(places):
        if place != path and not owner and given_on is None and not _may_mean(tree, path, facts, source, place):
            continue
        given = tree(place)
        wanted = {f"{each[1]}.{name}" for each in holders if each[0] == place} or {name}
        for symbol in given.symbols if given is not None and not given.fault else ():
            if symbol.path in wanted and symbol.signature is not None and (place != path or not source or owner):
                yield place, symbol


def _may_mean(tree: Tree, path: str, facts: FileFacts, source: str, place: str) -> bool:
    found = tree(place)
    return found is not None and means(tree, path, facts, source, place, found)


def through_stars(tree: Tree, importer: str, module: str, name: str, target: str) -> bool:
    """Whether a script's import leads by ``export *`` alone to a file, and nothing on the way or beside it gives the name."""
    waiting, seen = [script_file(tree, importer, module)], set[str]()
    while waiting:
        place = waiting.pop()
        facts = tree(place) if place is not None else None
        if place is None or facts is None or facts.fault or len(seen) > _MOST_HOPS * 4:
            return False
        if place in seen:
            continue
        seen.add(place)
        behind = [each.module for each in facts.imports if each.name == "*"]
        given = {each.path for each in facts.symbols} | {each.local or each.name for each in facts.imports}
        if name in given or (facts.open and not behind):
            return False
        waiting += [script_file(tree, place, each) for each in behind]
    return target in seen


def lost_by_stars(tree: Tree, path: str, name: str) -> bool:
    """Whether no star of a script gives a name, where each leads to a file of the project that is understood."""
    waiting, seen = [path], set[str]()
    while waiting:
        place = waiting.pop()
        facts = tree(place)
        if facts is None or facts.fault or len(seen) > _MOST_HOPS * 4:
            return False
        seen.add(place)
        given = {each.path for each in facts.symbols} | {each.local or each.name for each in facts.imports}
        behind = [script_file(tree, place, each.module) for each in facts.imports if each.name == "*"]
        if name in given or None in behind or (facts.open and not behind):
            return False
        waiting += [each for each in behind if each is not None and each not in seen]
    return True


def script_at(tree: Tree, importer: str, module: str, name: str, hops: int = _MOST_HOPS) -> Where | None:
    """Where a name that a script imports is defined, along what files give on by name or as a whole."""
    place = script_file(tree, importer, module) if module else importer
    facts = tree(place) if place is not None else None
    if place is None or facts is None or facts.fault or not hops:
        return None
    for each in facts.imports:
        if each.local == name and each.name not in {"", "*"}:
            return script_at(tree, place, each.module, each.name, hops - 1)
    if any(each.path == name for each in facts.symbols):
        return (place, name)
    stars = (script_at(tree, place, each.module, name, hops - 1) for each in facts.imports if each.name == "*")
    return next((each for each in stars if each is not None), None)


def owes(tree: Tree, start: Where, duty: Symbol, file: str) -> bool:
    """Whether a type comes to be the one with an abstract member, and nothing that it comes from defines that.

    A base of the project's own that cannot be told may define it, so that the answer is no.
    """
    seen: list[Where] = []
    return _owes(tree, start, duty, file, seen) is True


def _owes(tree: Tree, start: Where, duty: Symbol, file: str, seen: list[Where]) -> bool | None:  # noqa: PLR0911 -- one answer a line
    """True: it comes to be that type; False: it does not; None: the member is there, or it cannot be told."""
    path, owner = start
    facts = tree(path)
    if facts is None or facts.fault or len(seen) > _MOST_HOPS:
        return None
    if start in seen:
        return False
    seen.append(start)
    mine = [each for each in facts.symbols if each.owner == owner and each.name == duty.name]
    if owner == duty.owner and (path == file or (family(facts) == "go" and folder(path) == folder(file))):
        return True
    if any(not each.abstract for each in mine):
        return None
    met = False
    for base in (base for each in facts.symbols if each.path == owner for base in each.bases):
        plain = base.lstrip("*&").partition("<")[0].partition("[")[0].strip()
        place = type_at(tree, path, facts, "", plain, file)
        if place is None:
            if plain.rpartition(".")[2] not in _OUTSIDE:
                return None
            continue
        answer = _owes(tree, place, duty, file, seen)
        if answer is None:
            return None
        met = met or answer
    return met


def result_type(result: str) -> str:
    """The one named type in what a function says it gives back; empty where there are more or none."""
    text = result.removeprefix("tuple[").removesuffix("]") if result.startswith("tuple[") else result
    text = text.split(",")[0] if result.startswith("tuple[") else text
    wrapped = re.fullmatch(r"(?:Promise|Optional|Readonly)<(.*)>", text.strip())
    text = wrapped[1] if wrapped else text
    text = re.sub(r"\|\s*(?:null|undefined)\b", "", text).strip().lstrip("*&").partition("<")[0].partition("[")[0]
    return text if re.fullmatch(r"[\w$.]+", text) else ""


def type_at(  # noqa: PLR0911 -- one answer a line
    tree: Tree, path: str, facts: FileFacts, source: str, name: str, hint: str = ""
) -> Where | None:
    """The type that a name means in a file: of that file, of its package, or by an import; None where the project has none."""
    if not name:
        return None
    if not source and any(each.path == name for each in facts.symbols):
        return (path, name)
    within = [
        each.path for each in facts.symbols if each.name == name and each.owner and each.kind in {"class", "interface"}
    ]
    if not source and within and family(facts) == "java":
        # A type within a type hides one of the package.
        return (path, within[0]) if len(within) == 1 else None
    match family(facts):
        case "script":
            return _script_type(tree, path, facts, source, name)
        case "java":
            return _java_type(tree, path, facts, source, name)
        case "go":
            return go_type(tree, path, facts, source, name, hint)
        case _:
            return None


def _files(tree: Tree, path: str, facts: FileFacts, source: str) -> list[str]:
    """The file that a script's import means, or those of the package that a Go file's does."""
    if family(facts) == "go":
        place = folder_of_package(tree, path, source)
        return list(files_of(tree, place)) if place is not None else []
    found = script_file(tree, path, source) if family(facts) == "script" and source else None
    return [found] if found else []


def script_file(tree: Tree, path: str, module: str) -> str | None:
    """The file of a tree that a script's relative or ``@/`` import leads to."""
    if module.startswith("."):
        stems = [posixpath.normpath(posixpath.join(folder(path), module))]
    elif module[:1] == "#" and len(module) > 1:
        stems = [module[1:].lstrip("/"), f"src/{module[1:].lstrip('/')}"]
    elif module[:2] in {"@/", "~/"}:
        stems = [f"{top}{module[2:]}" for top in ("src/", "", "app/")]
    else:
        return None
    for stem in stems:
        plain = next((stem.removesuffix(end) for end in _WRITTEN_ENDS if stem.endswith(end)), stem)
        for candidate in dict.fromkeys([stem, *(f"{plain}{end}" for end in _ENDS), *(f"{stem}{end}" for end in _ENDS)]):
            if tree.has(candidate.lstrip("/")):
                return candidate.lstrip("/")
    return None


def _script_type(  # noqa: PLR0911 -- one answer a line
    tree: Tree, path: str, facts: FileFacts, source: str, name: str, hops: int = _MOST_HOPS
) -> Where | None:
    if not source:
        return _imported(tree, path, facts, name, hops)
    place = script_file(tree, path, source)
    found = tree(place) if place else None
    if place is None or found is None or found.fault or not hops:
        return None
    kinds = {each.path: each.kind for each in found.symbols}
    if kinds.get(name) == "variable" and any(each.local == name for each in found.imports):
        # Given on by name: the type is where it comes from.
        return _imported(tree, place, found, name, hops)
    if kinds.get(name) in {"class", "interface", "type", "constant", "variable", "module"}:
        return (place, name)
    if (known := _imported(tree, place, found, name, hops)) is not None:
        return known
    if "." in name and (held := _of_field(tree, path, facts, source, name, hops)) is not None:
        return held
    stars = (
        _script_type(tree, place, found, each.module, name, hops - 1) for each in found.imports if each.name == "*"
    )
    return next((each for each in stars if each is not None), None)


def _of_field(tree: Tree, path: str, facts: FileFacts, source: str, name: str, hops: int) -> Where | None:
    """What a field of a type is of: an object type that is written out there, or another type of the project."""
    outer, _, last = name.rpartition(".")
    holder = _script_type(tree, path, facts, source, outer, hops - 1)
    inside = tree(holder[0]) if holder is not None else None
    if holder is None or inside is None:
        return None
    shapes = [each.shape for each in inside.symbols if each.path == f"{holder[1]}.{last}" and each.kind == "field"]
    of = shapes[0].partition(":")[2].strip() if len(shapes) == 1 else ""
    if of.startswith("{"):
        return (holder[0], f"{holder[1]}.{last}")
    plain = re.sub(r"\|\s*(?:null|undefined)\b", "", of).strip()
    return type_at(tree, holder[0], inside, "", plain) if re.fullmatch(r"[\w$.]+", plain) else None


def _imported(tree: Tree, path: str, facts: FileFacts, name: str, hops: int) -> Where | None:
    first, _, rest = name.partition(".")
    for each in facts.imports:
        if each.local == first and each.name != "*" and hops:
            wanted = ".".join(part for part in (each.name, rest) if part)
            return _script_type(tree, path, facts, each.module, wanted, hops - 1) if wanted else None
    return None


def _java_type(tree: Tree, path: str, facts: FileFacts, source: str, name: str) -> Where | None:
    first = name.partition(".")[0]
    packages = [source] if source else [each.module for each in facts.imports if each.local == first]
    packages += [] if source or packages else [facts.module]
    packages += [each.module for each in facts.imports if each.name == "*"] if not source else []
    own = facts.module.replace(".", "/")
    root = folder(path).removesuffix(own) if own else folder(path)
    for package in packages:
        for top in dict.fromkeys([root, root.replace("src/test/", "src/main/")]):
            place = f"{top}{package.replace('.', '/')}/{first}.java".lstrip("/")
            found = tree(place)
            if found is not None and any(each.path == name for each in found.symbols):
                return (place, name)
    return None


def _climb(tree: Tree, start: Where, gone: Symbol, file: str, seen: list[Where]) -> bool | None:
    """True: the member is gone all along; False: something has it, or the type never came by there; None: it cannot be told."""
    path, owner = start
    facts = tree(path)
    if start in seen:
        return False
    if facts is None or facts.fault or len(seen) > _MOST_HOPS:
        return None
    seen.append(start)
    if any(each.owner == owner and each.name == gone.name and _alike(facts, each, gone) for each in facts.symbols):
        return False
    met = owner == gone.owner and (path == file or (family(facts) == "go" and folder(path) == folder(file)))
    for base in (base for each in facts.symbols if each.path == owner for base in each.bases):
        plain = base.lstrip("*&").partition("<")[0].partition("[")[0].strip()
        if family(facts) == "go" and not _embedded(facts, owner, plain):
            continue
        place = type_at(tree, path, facts, "", plain, file)
        if place is None:
            return None
        answer = _climb(tree, place, gone, file, seen)
        if answer is None or (answer is False and _has(tree, seen, gone)):
            return answer
        met = met or answer
    return met


def _has(tree: Tree, seen: list[Where], gone: Symbol) -> bool:
    """Whether one of the types that were seen has the member."""
    return any(
        each.owner == owner and each.name == gone.name and _alike(facts, each, gone)
        for path, owner in seen
        if (facts := tree(path)) is not None
        for each in facts.symbols
    )


def _alike(facts: FileFacts, one: Symbol, other: Symbol) -> bool:
    """Whether two members of one name can stand for each other: in Java a field and a method cannot."""
    return family(facts) != "java" or (one.kind == "method") == (other.kind == "method")


def _embedded(facts: FileFacts, owner: str, base: str) -> bool:
    """A Go type that is embedded is a field too; others among the bases are interfaces, which bring nothing."""
    last = base.rpartition(".")[2]
    return any(each.path == f"{owner}.{last}" and each.kind == "field" for each in facts.symbols) or any(
        each.path == owner and each.kind != "class" for each in facts.symbols
    )
