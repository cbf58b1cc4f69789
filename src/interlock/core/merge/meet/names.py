"""Names at the top of a file, and files themselves, that one change takes away and the other newly uses; members are elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.facts import FileFacts, Use
from interlock.core.merge.meet.bases import lost_by_stars, script_file, through_stars
from interlock.core.merge.meet.delta import At, Delta, Gone, NewUse
from interlock.core.merge.meet.modules import (
    by_manifest,
    family,
    folder,
    is_root_of,
    names_file,
    owners,
    provides,
    resolve,
)
from interlock.core.merge.meet.sides import Alarm, SideFacts, Tree


def names(breaker: Delta, user: Delta) -> list[Alarm]:
    """Names and files that are gone on one side and newly used on the other."""
    found = []
    for name in breaker.gone.keys() & user.uses.keys():
        for gone in breaker.gone[name]:
            if not gone.symbol.owner:
                found += [_alarm(breaker, user, gone, new) for new in user.uses[name] if _links(breaker, gone, new)]
    return found + _modules(breaker, user) + _entries(breaker, user) + _split(breaker, user)


def _split(breaker: Delta, user: Delta) -> list[Alarm]:
    """Names of a Python module that is a package now, and does not give them on."""
    return [
        _alarm(breaker, user, gone, new, _not_in_package(breaker, gone, new))
        for path in breaker.modules
        if path.endswith(".py") and breaker.side.get(f"{path.removesuffix('.py')}/__init__.py") is not None
        for gones in breaker.gone.values()
        for gone in gones
        if gone.path == path and not gone.symbol.owner
        for new in user.uses.get(gone.symbol.name, ())
        if "" in owners(new.path, new.facts, new.use, gone.path, gone.facts) and not still_used(breaker.side, new)
    ]


def _not_in_package(breaker: Delta, gone: Gone, new: NewUse) -> Callable[[Tree], bool]:
    package = f"{gone.path.removesuffix('.py')}/__init__.py"

    def check(tree: Tree) -> bool:
        if tree.has(gone.path) or not tree.has(package):
            return False
        told = [
            use for _, facts in users(tree, breaker.side, new.path) if (use := same_use(facts, new.use)) is not None
        ]
        return bool(told) and provides(tree, package, gone.symbol.name) is False

    return check


def _entries(breaker: Delta, user: Delta) -> list[Alarm]:
    """New scripts of a manifest that start a function which the other side takes away."""
    return [
        _entry(breaker, user, gone, at)
        for (kind, _), places in user.marked.items()
        if kind == "registration"
        for at in places
        if at.mark.scope == "script"
        for gone in breaker.gone.get(at.mark.detail.partition(":")[2], ())
        if not gone.symbol.owner
        and names_file(at.path, FileFacts(language="python"), at.mark.detail.partition(":")[0], gone.path, gone.facts)
    ]


def _entry(breaker: Delta, user: Delta, gone: Gone, at: At) -> Alarm:
    def check(tree: Tree) -> bool:
        facts = tree(at.path)
        kept = facts is not None and any(
            (each.kind, each.name, each.detail) == (at.mark.kind, at.mark.name, at.mark.detail) for each in facts.marks
        )
        return kept and provides(tree, gone.path, gone.symbol.name) is False

    return _alarm(breaker, user, gone, NewUse(at.path, Use(name=gone.symbol.name, line=at.mark.line), at.facts), check)


def _links(breaker: Delta, gone: Gone, new: NewUse) -> bool:
    if gone.facts.language == "python" and gone.path in breaker.modules:
        return False
    if {"AttributeError", "NameError", "ImportError"} & set(new.use.caught):
        return False
    if (
        "" not in owners(new.path, new.facts, new.use, gone.path, gone.facts)
        and not _by_star(gone, new)
        and not _by_barrel(gone, new)
    ):
        return False
    return not still_used(breaker.side, new)


def _by_star(gone: Gone, new: NewUse) -> bool:
    """Whether a name that the file does not bind may come by one of its star imports."""
    return (
        not new.use.source
        and not new.use.of
        and any(
            each.name == "*" and names_file(new.path, new.facts, each.module, gone.path, gone.facts)
            for each in new.facts.imports
        )
    )


def _by_barrel(gone: Gone, new: NewUse) -> bool:
    """Whether a script may get the name by a file that gives on all of another one; the merged tree tells whether it does."""
    own = new.use.source.startswith((".", "@/", "~/", "#"))
    return own and family(new.facts) == family(gone.facts) == "script" and not new.use.of


def still_used(side: SideFacts, new: NewUse) -> bool:
    """Whether the breaker's own tree uses it in that very file too: then it is broken alone, or it is no break."""
    change = side.get(new.path)
    facts = change.side if change is not None else None
    key = (new.use.name, new.use.source, new.use.of)
    return facts is not None and any((each.name, each.source, each.of) == key for each in facts.uses)


def users(tree: Tree, side: SideFacts, path: str) -> list[tuple[str, FileFacts]]:
    """The file of the user in the merged tree: where it was, or where the other side moved it."""
    facts = tree(path)
    if facts is not None:
        return [] if facts.fault else [(path, facts)]
    base = path.rpartition("/")[2]
    found = [each.path for each in side.files if each.base is None and each.path.rpartition("/")[2] == base]
    return [(moved, again) for moved in found if (again := tree(moved)) is not None and not again.fault]


def same_use(facts: FileFacts, use: Use) -> Use | None:
    """The same use in another version of the file, or the import of it."""
    for each in facts.uses:
        if each.name == use.name and each.of == use.of and each.source in {use.source, ""}:
            return each
    for imported in facts.imports:
        if imported.name == use.name and imported.module == use.source:
            return Use(name=use.name, line=imported.line, source=use.source, of=use.of)
    return None


def _alarm(breaker: Delta, user: Delta, gone: Gone, new: NewUse, asked: Callable[[Tree], bool] | None = None) -> Alarm:
    def check(tree: Tree) -> bool:
        for path, facts in users(tree, breaker.side, new.path):
            use = same_use(facts, new.use)
            if use is not None and _lacks(tree, (breaker.side, user.side), gone, path, facts, use):
                return True
        return False

    renamed = f"renames {gone.symbol.name} to {gone.new}" if gone.new else f"removes {gone.symbol.name}"
    return Alarm(
        rule="renamed-symbol" if gone.new else "removed-symbol",
        symbol=gone.symbol.name,
        breaker=Spot(change=breaker.name, path=gone.path, line=gone.symbol.line, text=gone.symbol.name),
        user=Spot(change=user.name, path=new.path, line=new.use.line, text=new.use.name),
        why=f"{breaker.name} {renamed} in {gone.path}, and {user.name} newly uses it in {new.path}, line {new.use.line}.",
        action=(f"Use {gone.new} in {user.name}" if gone.new else f"Take the use out of {user.name}")
        + f", or keep {gone.symbol.name} in {breaker.name} until nothing uses it.",
        check=asked or check,
        paths=(new.path, gone.path),
    )


def _lacks(tree: Tree, sides: tuple[SideFacts, ...], gone: Gone, path: str, facts: FileFacts, use: Use) -> bool:
    """Whether the merged tree has the use and nothing that it could mean."""
    name = gone.symbol.name
    if path == gone.path and not use.of:
        return provides(tree, path, name) is False
    if family(facts) == "python":
        return _python_lacks(tree, gone, path, use)
    if _still_given(tree, gone.path, name) or not by_manifest(tree, facts, use.source, gone.path):
        return False
    if family(facts) == "script" and not tree.has(gone.path):
        # Another file may answer to the same import: its folder's index, or itself in TypeScript.
        where = script_file(tree, path, use.source)
        if where is not None and _still_given(tree, where, name):
            return False
    if family(facts) == "script" and not names_file(path, facts, use.source, gone.path, gone.facts):
        return through_stars(tree, path, use.source, name, gone.path)
    return not _in_package(tree, sides, gone, name)


def _still_given(tree: Tree, path: str, name: str) -> bool:
    """Whether a file still provides a name, or that cannot be told; the stars of a script are followed."""
    answer = provides(tree, path, name)
    facts = tree(path)
    if answer is None and facts is not None and not facts.fault and family(facts) == "script":
        return not lost_by_stars(tree, path, name)
    return answer is not False


def _python_lacks(tree: Tree, gone: Gone, path: str, use: Use) -> bool:
    parts = [part for part in use.of.split(".") if part]
    if not use.source:
        return not use.of and provides(tree, path, gone.symbol.name) is False
    for count in range(len(parts) + 1):
        glue = "" if use.source.endswith(".") else "."
        module = use.source + (glue + ".".join(parts[:count]) if count else "")
        if ".".join(parts[count:]) or not names_file(path, gone.facts, module, gone.path, gone.facts):
            continue
        meant = resolve(tree, path, module)
        if meant is not None and meant != gone.path:
            return False
        if not is_root_of(tree, gone.path, module):
            return False
        if meant is None and tree.has(gone.path):
            continue
        return provides(tree, gone.path, gone.symbol.name) is False
    return False


def _in_package(tree: Tree, sides: tuple[SideFacts, ...], gone: Gone, name: str) -> bool:
    """Whether another changed file of the same package has the name now, for languages where files do not matter."""
    if family(gone.facts) not in {"go", "java"}:
        return False
    near = {each.path for side in sides for each in side.files if folder(each.path) == folder(gone.path)}
    return any(
        (facts := tree(path)) is not None and any(each.path == name for each in facts.symbols) for path in sorted(near)
    )


def _modules(breaker: Delta, user: Delta) -> list[Alarm]:
    """Python files that one side moved or took away and the other newly imports, as a whole or in part."""
    found = {}
    for path, moved in breaker.modules.items():
        change = breaker.side.get(path)
        if change is None or change.base is None or change.base.language != "python":
            continue
        for news in user.uses.values():
            for new in news:
                asked = _asked(new.path, new.facts, new.use, path)
                if asked and (path, new.path) not in found and not still_used(breaker.side, new):
                    found[path, new.path] = _module_alarm(breaker, user, (path, moved), new, asked)
    return list(found.values())


def _asked(importer: str, facts: FileFacts, use: Use, target: str) -> str:
    """The module by which a use means a file: the source itself, or a name that is taken from a package; else nothing."""
    if not use.source or facts.language != "python":
        return ""
    if names_file(importer, facts, use.source, target, facts):
        return use.source
    first = use.of.split(".")[0] if use.of else use.name
    whole = use.source + ("" if use.source.endswith(".") else ".") + first
    return whole if first and names_file(importer, facts, whole, target, facts) else ""


def _module_alarm(breaker: Delta, user: Delta, gone: tuple[str, str], new: NewUse, module: str) -> Alarm:
    path, moved = gone

    def check(tree: Tree) -> bool:
        if tree.has(path) or _folder_stays(tree, breaker.side, user.side, path):
            return False
        return any(
            _dangles(tree, where, facts, use, path)
            for where, facts in users(tree, breaker.side, new.path)
            for use in facts.uses
        )

    where = f"moves {path} to {moved}" if moved else f"removes {path}"
    return Alarm(
        rule="removed-module",
        symbol=module,
        breaker=Spot(change=breaker.name, path=path, text=moved),
        user=Spot(change=user.name, path=new.path, line=new.use.line, text=module),
        why=f"{breaker.name} {where}, and {user.name} newly imports it in {new.path}, line {new.use.line}.",
        action=(f"Import it from {moved} in {user.name}" if moved else f"Take the import out of {user.name}")
        + f", or keep {path} in {breaker.name} until nothing imports it.",
        check=check,
        paths=(path, new.path),
    )


def _dangles(tree: Tree, importer: str, facts: FileFacts, use: Use, path: str) -> bool:
    asked = _asked(importer, facts, use, path)
    if not asked or resolve(tree, importer, asked) is not None or not is_root_of(tree, path, asked):
        return False
    if asked == use.source:
        return True
    package = resolve(tree, importer, use.source)
    return package is None or provides(tree, package, asked.rpartition(".")[2]) is False


def _folder_stays(tree: Tree, one: SideFacts, other: SideFacts, path: str) -> bool:
    """Whether a package without an __init__ stands where the module was, as far as the two changes show."""
    stem = path.removesuffix(".py").removesuffix("/__init__")
    return any(
        each.path.startswith(f"{stem}/") and each.side is not None and tree.has(each.path)
        for side in (one, other)
        for each in side.files
    )
