"""Files, packages and manifests that one change moves or closes and the other newly leads to; names inside of files are elsewhere."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.facts import FileFacts, Import
from interlock.core.merge.meet.bases import script_at, script_file
from interlock.core.merge.meet.delta import At, Delta
from interlock.core.merge.meet.modules import family, folder, means, names_file
from interlock.core.merge.meet.sides import Alarm, Tree

Where = tuple[str, int]
"""A file and a line in it."""
NewImport = tuple[str, FileFacts, Import]
Check = Callable[[Tree], bool]


def links(breaker: Delta, user: Delta) -> list[Alarm]:
    """What is moved, renamed or taken out on one side and newly imported, copied or run on the other."""
    news = new_imports(user)
    found = _scripts(breaker, user, news) + _aliases(breaker, user, news) + _go(breaker, user, news)
    return found + _copied(breaker, user) + _barred(breaker, user)


def both(a: Delta, b: Delta) -> list[Alarm]:
    """What each side may do alone and both together may not: a circle of packages, one name by two stars."""
    return _circles(a, b) + _stars(a, b)


def new_imports(side: Delta) -> list[NewImport]:
    """Imports that a change brings into a file."""
    found = []
    for each in side.side.files:
        if each.side is None or each.side.fault:
            continue
        before = {(one.module, one.name) for one in each.base.imports} if each.base else set()
        found += [(each.path, each.side, one) for one in each.side.imports if (one.module, one.name) not in before]
    return found


def _tell(breaker: Delta, user: Delta, rule: str, symbol: str, at: Where, to: Where, said: str, do: str, check: Check) -> Alarm:  # fmt: skip
    return Alarm(
        rule=rule,
        symbol=symbol,
        breaker=Spot(change=breaker.name, path=at[0], line=at[1], text=symbol),
        user=Spot(change=user.name, path=to[0], line=to[1], text=symbol),
        why=f"{breaker.name} {said} in {to[0]}, line {to[1]}.",
        action=do,
        check=check,
        paths=(to[0], at[0]),
    )


def _has_import(tree: Tree, path: str, wanted: Import) -> bool:
    facts = tree(path)
    return facts is not None and any(each.module == wanted.module for each in facts.imports)


def _scripts(breaker: Delta, user: Delta, news: list[NewImport]) -> list[Alarm]:
    """Scripts that are gone, imported by a relative path that leads nowhere any more."""
    found = {}
    for gone, moved in breaker.modules.items():
        change = breaker.side.get(gone)
        if change is None or change.base is None or family(change.base) != "script":
            continue
        for path, facts, one in news:
            if not one.module.startswith(".") or (gone, path) in found:
                continue
            if names_file(path, facts, one.module, gone, change.base) and breaker.side.get(path) is None:
                said = f"{f'moves {gone} to {moved}' if moved else f'removes {gone}'}, and {user.name} newly imports it"
                do = f"Import it from {moved} in {user.name}" if moved else f"Take the import out of {user.name}"
                found[gone, path] = _tell(
                    breaker, user, "removed-module", one.module, (gone, 1), (path, one.line), said,
                    f"{do}, or keep {gone} in {breaker.name} until nothing imports it.", _dangles(path, one, gone),
                )  # fmt: skip
    return list(found.values())


def _dangles(path: str, one: Import, gone: str) -> Check:
    def check(tree: Tree) -> bool:
        return not tree.has(gone) and _has_import(tree, path, one) and script_file(tree, path, one.module) is None

    return check


def _aliases(breaker: Delta, user: Delta, news: list[NewImport]) -> list[Alarm]:
    """Aliases of paths (``@lib/*``) that a compiler's configuration no longer has."""
    found = []
    for (kind, name), places in breaker.lost.items():
        if kind != "key" or not name.endswith("*") or len(name) < 3:
            continue
        for old in places:
            if old.mark.scope != "compilerOptions.paths":
                continue
            found += [
                _tell(
                    breaker, user, "removed-alias", name, (old.path, old.mark.line), (path, one.line),
                    f"takes the alias {name} out of {old.path}, and {user.name} newly imports {one.module}",
                    f"Import by what stands in {old.path} now, or keep the alias in {breaker.name}.",
                    _unaliased(old.path, path, one),
                )
                for path, facts, one in news
                if family(facts) == "script" and one.module.startswith(name[:-1])
            ][:1]  # fmt: skip
    return found


def _unaliased(manifest: str, path: str, one: Import) -> Check:
    def check(tree: Tree) -> bool:
        facts = tree(manifest)
        if facts is None or facts.fault or not path.startswith(folder(manifest)):
            return False
        kept = [each.name for each in facts.marks if each.kind == "key" and each.scope == "compilerOptions.paths"]
        return _has_import(tree, path, one) and not any(one.module.startswith(each.rstrip("*")) for each in kept)

    return check


def _go(breaker: Delta, user: Delta, news: list[NewImport]) -> list[Alarm]:
    """Packages of Go that are moved as a whole or called otherwise, and modules that ``go.mod`` no longer wants."""
    found = []
    fresh = [(path, facts, one) for path, facts, one in news if family(facts) == "go" and one.name == ""]
    for (kind, name), places in breaker.lost.items():
        for old in places:
            if kind == "registration" and old.mark.scope == "go-package":
                found += [
                    _tell(
                        breaker, user, "renamed-package", name, (old.path, old.mark.line), (path, one.line),
                        f"gives up the package {name} in {folder(old.path)}, and {user.name} newly imports it",
                        f"Use its new name in {user.name}, or keep {name} in {breaker.name} until nothing imports it.",
                        _unnamed(path, one, old),
                    )
                    for path, facts, one in fresh
                    if one.local == name and names_file(path, facts, one.module, old.path, old.facts)
                ]  # fmt: skip
            elif kind == "package" and old.mark.scope == "go-module" and old.mark.role == "defines":
                found += [
                    _tell(
                        breaker, user, "removed-package", name, (old.path, old.mark.line), (path, one.line),
                        f"takes {name} out of {old.path}, and {user.name} newly imports {one.module}",
                        f"Keep {name} in {breaker.name}, or do without it in {user.name}.", _unrequired(path, one, old),
                    )
                    for path, _, one in fresh
                    if f"{one.module}/".startswith(f"{name}/") and path.startswith(folder(old.path))
                ][:1]  # fmt: skip
    return found


def _unnamed(path: str, one: Import, old: At) -> Check:
    """The import is there, and the package there has another name, or no file that could be looked at."""

    def check(tree: Tree) -> bool:
        facts, now = tree(path), tree(old.path)
        if facts is None or not any((each.module, each.local) == (one.module, one.local) for each in facts.imports):
            return False
        if now is None or now.fault or not means(tree, path, facts, one.module, old.path, now):
            return False
        named = [each.name for each in now.marks if each.scope == "go-package"]
        return bool(named) and old.mark.name not in named

    return check


def _unrequired(path: str, one: Import, old: At) -> Check:
    def check(tree: Tree) -> bool:
        above = folder(path)
        while above and not tree.has(f"{above}/go.mod"):
            above = folder(above)
        manifest = tree(f"{above}/go.mod".lstrip("/"))
        if manifest is None or f"{above}/go.mod".lstrip("/") != old.path or not _has_import(tree, path, one):
            return False
        own = [manifest.module, *(each.name for each in manifest.marks if each.scope == "go-module")]
        return not any(each and f"{one.module}/".startswith(f"{each}/") for each in own)

    return check


def _copied(breaker: Delta, user: Delta) -> list[Alarm]:
    """Files that are gone, named by their path in a new command or a new line of a container's recipe."""
    gone = {each.path: each for each in breaker.side.files if each.base is not None and each.side is None}
    found = []
    for path in gone:
        for new in user.marked.get(("registration", path), ()):
            if new.mark.scope == "path":
                moved = breaker.modules.get(path, "")
                said = f"{f'moves {path} to {moved}' if moved else f'removes {path}'}, and {user.name} newly names it"
                found.append(
                    _tell(
                        breaker, user, "removed-file", path, (path, 1), (new.path, new.mark.line), said,
                        f"Name what is there now in {user.name}, or keep {path} in {breaker.name}.", _unfound(path, new),
                    )
                )  # fmt: skip
    return found


def _unfound(path: str, new: At) -> Check:
    def check(tree: Tree) -> bool:
        facts = tree(new.path)
        kept = facts is not None and any((each.name, each.scope) == (path, "path") for each in facts.marks)
        return kept and not tree.has(path)

    return check


def _barred(breaker: Delta, user: Delta) -> list[Alarm]:
    """Names that a script no longer exports or gives on, newly imported from it by another."""
    found = []
    for name, news in breaker.altered.items():
        for altered in news:
            if altered.new.owner or not altered.old.public or altered.new.public or family(altered.facts) != "script":
                continue
            for new in user.uses.get(name, ()):
                direct = bool(new.use.source) and not new.use.of and new.path != altered.path
                if direct and names_file(new.path, new.facts, new.use.source, altered.path, altered.facts):
                    found.append(_barred_alarm(breaker, user, altered.path, altered.new.line, (new.path, new.use.line), name, new.use.source))  # fmt: skip
    return found


def _barred_alarm(breaker: Delta, user: Delta, at: str, line: int, to: Where, name: str, source: str) -> Alarm:
    def check(tree: Tree) -> bool:
        facts, now = tree(to[0]), tree(at)
        if facts is None or now is None or now.fault or now.open:
            return False
        kept = any((each.name, each.source) == (name, source) for each in facts.uses)
        return kept and not any(not each.owner and each.public and each.name == name for each in now.symbols)

    said = f"no longer exports {name} from {at}, and {user.name} newly takes it from there"
    do = f"Take it in {user.name} as {breaker.name} gives it now, or keep the export until nothing imports it."
    return _tell(breaker, user, "removed-symbol", name, (at, line), to, said, do, check)


def _circles(a: Delta, b: Delta) -> list[Alarm]:
    """Two packages of Go that come to import each other."""
    found: dict[tuple[str, str], Alarm] = {}
    for path, facts, one in new_imports(a):
        for where, again, other in new_imports(b):
            if family(facts) != "go" or family(again) != "go" or folder(path) == folder(where):
                continue
            if "_test" in path + where or "/" not in path or "/" not in where:
                continue
            if names_file(path, facts, one.module, where, again) and names_file(
                where, again, other.module, path, facts
            ):
                key = (folder(path), folder(where))
                said = f"lets {folder(path)} import {folder(where)} ({path}, line {one.line}), and {b.name} the other way round"
                do = "Move what both need into a package of its own."
                found.setdefault(
                    key,
                    _tell(a, b, "import-cycle", folder(path), (path, one.line), (where, other.line), said, do,
                          _circle((path, one), (where, other))),
                )  # fmt: skip
    return list(found.values())


def _circle(one: tuple[str, Import], other: tuple[str, Import]) -> Check:
    def check(tree: Tree) -> bool:
        facts, again = tree(one[0]), tree(other[0])
        if facts is None or again is None or not (_has_import(tree, *one) and _has_import(tree, *other)):
            return False
        return means(tree, one[0], facts, one[1].module, other[0], again) and means(
            tree, other[0], again, other[1].module, one[0], facts
        )

    return check


def _stars(a: Delta, b: Delta) -> list[Alarm]:
    """A name that two files come to export, both given on by the stars of one index."""
    found = []
    for name in a.added.keys() & b.added.keys():
        for path, symbol, facts in a.added[name]:
            for where, again, facts_again in b.added[name]:
                if path == where or symbol.owner or again.owner or not (symbol.public and again.public):
                    continue
                if family(facts) == family(facts_again) == "script" and name != "default":
                    said = f"and {b.name} both export {name}, in {path}, line {symbol.line}, and {where}: an index gives on all of both, so that it is ambiguous"  # fmt: skip
                    do = f"Give one of them another name, or let {b.name} use that of {a.name}."
                    found.append(
                        _tell(a, b, "duplicate-definition", name, (path, symbol.line), (where, again.line), said, do,
                              _ambiguous(name, path, where))
                    )  # fmt: skip
    return found


def _ambiguous(name: str, path: str, where: str) -> Check:
    def check(tree: Tree) -> bool:
        for index in _indexes(path, where):
            facts = tree(index)
            stars = [each.module for each in facts.imports if each.name == "*"] if facts is not None else []
            if facts is None or any(not each.owner and each.name == name for each in facts.symbols):
                continue
            behind = {script_file(tree, index, each) for each in stars}
            if {path, where} <= behind:
                ends = {script_at(tree, index, each, name) for each in stars} - {None}
                return len(ends) > 1
        return False

    return check


def _indexes(path: str, where: str) -> Iterator[str]:
    """Index files of the folders that hold both."""
    place = posixpath.commonpath([path, where]) if "/" in path and "/" in where else ""
    while True:
        for end in ("ts", "tsx", "js", "mjs"):
            yield f"{place}/index.{end}".lstrip("/")
        if not place or re.fullmatch(r"[^/]*", place):
            return
        place = folder(place)
