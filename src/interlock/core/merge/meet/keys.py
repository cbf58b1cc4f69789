"""Keys of a function's result, of a constant, of a configuration file and of an API's answers that are gone and newly read."""

from __future__ import annotations

from collections.abc import Callable

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.facts import FileFacts
from interlock.core.merge.meet.delta import At, Delta, NewUse
from interlock.core.merge.meet.meaning import meanings, same_uses
from interlock.core.merge.meet.modules import family, resolve
from interlock.core.merge.meet.sides import Alarm, Tree

_DATA = "data"
Check = Callable[[Tree], bool]


def keys(breaker: Delta, user: Delta) -> list[Alarm]:
    """Keys that one side takes out of what it gives and the other newly takes from it."""
    found = []
    for (kind, name), places in breaker.lost.items():
        if kind != "key":
            continue
        for old in places:
            if old.mark.role != "defines":
                continue
            if old.facts.language == _DATA:
                found += _of_data(breaker, user, old, name)
            elif old.mark.scope:
                found += _of_symbol(breaker, user, old, name)
    return found


def _of_symbol(breaker: Delta, user: Delta, old: At, name: str) -> list[Alarm]:
    """By the function or constant: ``orders()["total"]``, or a mark that names the function as its scope."""
    last = old.mark.scope.partition(":")[0].rpartition(".")[2]
    wanted = {f"key:{name}"} | ({f"attr:{name}"} if family(old.facts) == "script" else set())
    found = [
        _alarm(breaker, user, old, new.path, new.use.line, _still_taken(breaker, old, new))
        for new in user.uses.get(last, ())
        if wanted & set(new.use.then) and family(new.facts) == family(old.facts)
    ]
    return found + [
        _alarm(breaker, user, old, new.path, new.mark.line, _still_marked(old, new))
        for new in user.marked.get(("key", name), ())
        if new.mark.role == "uses" and new.mark.scope.rpartition(".")[2].rpartition(":")[2] == last
    ]


def _gives(facts: FileFacts | None, old: At) -> bool | None:
    """Whether the symbol still gives the key; None where it gives no known keys at all any more."""
    if facts is None or facts.fault:
        return None
    given = {
        each.name
        for each in facts.marks
        if each.kind == "key" and each.role == "defines" and each.scope == old.mark.scope
    }
    if not given or "*" in given:
        return None
    return old.mark.name in given


def _still_taken(breaker: Delta, old: At, new: NewUse) -> Check:
    def check(tree: Tree) -> bool:
        if _gives(tree(old.path), old) is not False:
            return False
        return any(
            where == old.path and symbol.path == old.mark.scope.partition(":")[0]
            for path, facts, use in same_uses(tree, breaker.side, new)
            for where, symbol in meanings(tree, path, facts, use, old.path)
        )

    return check


def _still_marked(old: At, new: At) -> Check:
    def check(tree: Tree) -> bool:
        facts = tree(new.path)
        has = facts is not None and any(
            (each.kind, each.name, each.role, each.scope) == ("key", new.mark.name, "uses", new.mark.scope)
            for each in facts.marks
        )
        last = old.mark.scope.rpartition(".")[2]
        imported = facts is not None and (
            new.path == old.path or any(last in {each.name, each.local} for each in facts.imports)
        )
        return has and imported and _gives(tree(old.path), old) is False

    return check


def _of_data(breaker: Delta, user: Delta, old: At, name: str) -> list[Alarm]:
    """By the file: a key of a configuration that the user's code opens, or a field of an API whose paths it asks for."""
    found = []
    api = old.mark.scope.startswith("openapi")
    for new in user.marked.get(("key", name), ()):
        if new.mark.role == "uses" and new.facts.language != _DATA:
            line = new.mark.line
            found.append(_alarm(breaker, user, old, new.path, line, _reads(old, new.path, name, api=api)))
    found += [
        _alarm(breaker, user, old, each.path, each.use.line, _reads(old, each.path, name, api=api))
        for news in user.uses.values()
        for each in news
        if f"key:{name}" in each.use.then
    ]
    if api:
        found += [
            _alarm(breaker, user, old, new.path, new.use.line, _reads(old, new.path, name, api=api))
            for new in user.uses.get(name, ())
            if new.use.of == "?" and new.use.call is None and family(new.facts) == "script"
        ]
    return found


def _reads(old: At, path: str, name: str, *, api: bool) -> Check:
    def check(tree: Tree) -> bool:
        source, facts = tree(old.path), tree(path)
        if source is None or source.fault or facts is None:
            return False
        if any(each.kind == "key" and each.name == name and each.role == "defines" for each in source.marks):
            return False
        if not _takes(facts, name):
            return False
        if api:
            return _asks(facts)
        # A file that itself opens other data of that kind most likely takes the key of that.
        own = [facts] if _opens_other(facts, old.path) else _with_imports(tree, path, facts)
        return any(_opens(each, old.path) for each in own)

    return check


def _takes(facts: FileFacts, name: str) -> bool:
    return any(each.kind == "key" and each.name == name and each.role == "uses" for each in facts.marks) or any(
        f"key:{name}" in each.then or (each.name == name and (each.of == "?" or set("([{") & set(each.of)))
        for each in facts.uses
    )


def _asks(facts: FileFacts) -> bool:
    return any(each.kind == "route" and each.role == "uses" for each in facts.marks)


def _opens(facts: FileFacts, path: str) -> bool:
    base = path.rpartition("/")[2]
    return any(
        each.kind == "registration"
        and each.scope == "file"
        and each.role == "uses"
        and each.name.rpartition("/")[2] == base
        for each in facts.marks
    )


def _opens_other(facts: FileFacts, path: str) -> bool:
    """Whether a file names data of the same kind by itself, and not that one."""
    end = path.rpartition(".")[2]
    named = [
        each.name
        for each in facts.marks
        if each.kind == "registration" and each.scope == "file" and each.role == "uses"
    ]
    return any(each.endswith(f".{end}") for each in named) and not _opens(facts, path)


def _with_imports(tree: Tree, path: str, facts: FileFacts) -> list[FileFacts]:
    """The file and the project's own files that it imports, one step far."""
    found = [facts]
    if facts.language == "python":
        for each in facts.imports:
            glue = "" if each.module.endswith(".") else "."
            for module in (each.module, f"{each.module}{glue}{each.name}" if each.name not in {"", "*"} else ""):
                where = resolve(tree, path, module) if module else None
                if where is not None and (inner := tree(where)) is not None:
                    found.append(inner)
    return found


def _alarm(breaker: Delta, user: Delta, old: At, path: str, line: int, check: Check) -> Alarm:
    fresh = [
        each.mark.name
        for (kind, _), places in breaker.marked.items()
        if kind == "key"
        for each in places
        if each.path == old.path and each.mark.role == "defines" and each.mark.scope == old.mark.scope
    ]
    likely = fresh[0] if len(set(fresh)) == 1 else ""
    gone = f"renames the key {old.mark.name} to {likely}" if likely else f"removes the key {old.mark.name}"
    scope = f" of {old.mark.scope}" if old.mark.scope else ""
    return Alarm(
        rule="removed-key",
        symbol=old.mark.name,
        breaker=Spot(change=breaker.name, path=old.path, line=old.mark.line, text=old.mark.name),
        user=Spot(change=user.name, path=path, line=line, text=old.mark.name),
        why=f"{breaker.name} {gone}{scope} in {old.path}, and {user.name} newly reads it in {path}, line {line}.",
        action=(f"Read {likely} in {user.name}" if likely else f"Take the use out of {user.name}")
        + f", or keep {old.mark.name} in {breaker.name} until nothing reads it.",
        check=check,
        paths=(path, old.path),
    )
