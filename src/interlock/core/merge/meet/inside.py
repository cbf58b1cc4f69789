"""Names that stay inside one file or come by a star: settings, what a parser gave, ``__all__``, references within a file of data."""

from __future__ import annotations

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.facts import FileFacts, Import
from interlock.core.merge.meet.delta import At, Delta, Gone
from interlock.core.merge.meet.modules import names_file, provides, resolve
from interlock.core.merge.meet.sides import Alarm, Tree
from interlock.core.merge.meet.telling import Check, tell

_PARSED = frozenset({"on:args", "on:options", "on:opts", "on:namespace", "on:parsed", "on:arguments"})


def _of_name(
    breaker: Delta,
    user: Delta,
    rule: str,
    old: tuple[str, int, str],
    new: tuple[str, int, str],
    gone: str,
    do: str,
    check: Check,
) -> Alarm:
    return Alarm(
        rule=rule,
        symbol=old[2],
        breaker=Spot(change=breaker.name, path=old[0], line=old[1], text=old[2]),
        user=Spot(change=user.name, path=new[0], line=new[1], text=new[2]),
        why=f"{breaker.name} {gone}, and {user.name} newly uses it in {new[0]}, line {new[1]}.",
        action=f"{do} in {user.name}, or keep the old one in {breaker.name} until nothing uses it.",
        check=check,
        paths=(new[0], old[0]),
    )


def settings(breaker: Delta, user: Delta) -> list[Alarm]:
    """``settings.PAGE_SIZE`` of Django, which the project's settings no longer have."""
    found = []
    for name, gones in breaker.gone.items():
        for gone in gones:
            if (
                not name.isupper()
                or gone.symbol.owner
                or "settings" not in gone.path
                or gone.facts.language != "python"
            ):
                continue
            for new in user.uses.get(name, ()):
                if new.use.source == "django.conf" and new.use.of == "settings":

                    def check(tree: Tree, gone: Gone = gone, path: str = new.path, name: str = name) -> bool:
                        facts = tree(path)
                        used = facts is not None and any(
                            (each.name, each.source) == (name, "django.conf") for each in facts.uses
                        )
                        return used and provides(tree, gone.path, name) is False

                    said = f"renames the setting {name} to {gone.new}" if gone.new else f"removes the setting {name}"
                    found.append(
                        _of_name(
                            breaker,
                            user,
                            "removed-key",
                            (gone.path, gone.symbol.line, name),
                            (new.path, new.use.line, name),
                            f"{said} in {gone.path}",
                            "Use what stands there now",
                            check,
                        )
                    )
    return found


def arguments(breaker: Delta, user: Delta) -> list[Alarm]:
    """``args.dry_run``, where the parser of the same file no longer has ``--dry-run``, and only the user's side still reads it."""
    found = []
    for (kind, flag), places in breaker.lost.items():
        name = flag.lstrip("-").replace("-", "_")
        for old in places if kind == "flag" else ():
            mine, theirs = user.side.get(old.path), breaker.side.get(old.path)
            if old.mark.role != "defines" or not old.path.endswith(".py") or mine is None or theirs is None:
                continue
            if (
                mine.side is None
                or theirs.side is None
                or _reads(theirs.side, name)
                or not (line := _reads(mine.side, name))
            ):
                continue

            def check(tree: Tree, old: At = old, flag: str = flag, name: str = name) -> bool:
                facts = tree(old.path)
                if facts is None or facts.fault:
                    return False
                marks = {
                    (each.kind, each.name, each.role)
                    for each in facts.marks
                    if each.kind == "flag" or each.scope == "dest"
                }
                return (
                    bool(_reads(facts, name))
                    and not {("flag", flag, "defines"), ("registration", name, "uses")} & marks
                )

            found.append(
                _of_name(
                    breaker,
                    user,
                    "removed-flag",
                    (old.path, old.mark.line, flag),
                    (old.path, line, name),
                    f"removes the flag {flag} in {old.path}",
                    "Read what it is called now",
                    check,
                )
            )
    return found


def _reads(facts: FileFacts, name: str) -> int:
    """The line where a file takes that of what a parser gave; 0 where it does not."""
    return next((each.line for each in facts.uses if each.name == name and _PARSED & set(each.then)), 0)


def starred(breaker: Delta, user: Delta) -> list[Alarm]:
    """A name that comes by a star import, which the module's ``__all__`` no longer gives."""
    found = []
    for change in breaker.side.files:
        if change.base is None or change.side is None or change.side.language != "python":
            continue
        now = _all(change.side)
        if now is None or "*" in now or _all(change.base) == now:
            continue
        before = _all(change.base)
        for symbol in change.base.symbols:
            name = symbol.name
            if symbol.owner or name in now or name.startswith("_") or (before is not None and name not in before):
                continue
            for new in user.uses.get(name, ()):
                stars = [
                    each
                    for each in new.facts.imports
                    if each.name == "*" and names_file(new.path, new.facts, each.module, change.path, change.side)
                ]
                if new.use.source or new.use.of or not stars:
                    continue

                def check(tree: Tree, path: str = change.path, where: str = new.path, name: str = name) -> bool:
                    facts, source = tree(where), tree(path)
                    given = _all(source) if source is not None else None
                    if facts is None or given is None or name in given or "*" in given:
                        return False
                    others = [
                        each for each in facts.imports if each.name == "*" and resolve(tree, where, each.module) != path
                    ]
                    used = any((each.name, each.source, each.of) == (name, "", "") for each in facts.uses)
                    return (
                        used
                        and not any(each.name == name for each in facts.imports)
                        and not any(each.name == name and not each.owner for each in facts.symbols)
                        and all(_plainly_lacks(tree, where, each, name) for each in others)
                    )

                found.append(
                    _of_name(
                        breaker,
                        user,
                        "removed-symbol",
                        (change.path, symbol.line, name),
                        (new.path, new.use.line, name),
                        f"leaves {name} out of __all__ in {change.path}",
                        f"Import {name} by its name",
                        check,
                    )
                )
    return found


def _plainly_lacks(tree: Tree, path: str, star: Import, name: str) -> bool:
    behind = resolve(tree, path, star.module)
    return behind is not None and provides(tree, behind, name) is False


def _all(facts: FileFacts) -> set[str] | None:
    names = {each.name for each in facts.marks if each.kind == "registration" and each.scope == "__all__"}
    return names or None


def within_file(breaker: Delta, user: Delta) -> list[Alarm]:
    """A name that a file of data refers to in itself (``formatter: long``) and that the other side calls otherwise there."""
    found = []
    for (kind, name), places in user.marked.items():
        for at in places if kind == "registration" else ():
            if at.mark.scope.startswith("within:"):
                wanted = at.mark.scope.partition(":")[2]
                for old in breaker.lost.get(("key", name), ()):
                    if old.path == at.path and old.mark.scope.rpartition(".")[2] == wanted:

                        def check(tree: Tree, old: At = old, wanted: str = wanted) -> bool:
                            facts = tree(old.path)
                            kept = (
                                [
                                    each.name
                                    for each in facts.marks
                                    if each.kind == "key" and each.scope.rpartition(".")[2] == wanted
                                ]
                                if facts
                                else []
                            )
                            return bool(kept) and old.mark.name not in kept

                        said = f"takes {name} out of {wanted} in {old.path}"
                        found.append(
                            tell(
                                breaker,
                                user,
                                "removed-key",
                                (old.path, old.mark.line, name),
                                at,
                                said,
                                "Use what stands there now",
                                check,
                            )
                        )
    return found
