"""What Python and data name by a text and the other side takes away: files, dotted places, what a register or a constant has."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from interlock.core.merge.meet.delta import At, Delta, Gone
from interlock.core.merge.meet.ends import by_value, endpoint, patched, prefixes, verb
from interlock.core.merge.meet.inside import arguments, settings, starred, within_file
from interlock.core.merge.meet.modules import family, folder, provides, python_parts, resolve
from interlock.core.merge.meet.sides import Alarm, Tree
from interlock.core.merge.meet.telling import Check, module_of, tell

_COMMON = frozenset(
    {
        "index",
        "base",
        "main",
        "list",
        "detail",
        "readme",
        "config",
        "settings",
        "data",
        "requirements",
        "setup",
        "license",
    }
)


def named(breaker: Delta, user: Delta) -> list[Alarm]:
    """Texts of one side that lead to what the other takes away or calls otherwise."""
    asked = [
        at
        for (kind, _), places in user.marked.items()
        if kind == "registration"
        for at in places
        if at.mark.role == "uses"
    ]
    found = []
    for at in asked:
        rule = _RULES.get(at.mark.scope.partition(":")[0])
        if rule is not None:
            found += rule(breaker, user, at)
    for (kind, _), places in user.marked.items():
        if kind == "key":
            found += [
                each
                for at in places
                if at.mark.scope == "text" and at.mark.detail and family(at.facts) == "python"
                for each in _said(breaker, user, at)
            ]
    for rule_of_all in (settings, arguments, prefixes, starred, within_file):
        found += rule_of_all(breaker, user)
    return found


def _file(breaker: Delta, user: Delta, at: At) -> list[Alarm]:
    """A file that is gone, named by its path from the user's folder, from the top, or of a folder of templates or data."""
    text = at.mark.name.lstrip("./")
    found = []
    for path, moved in breaker.modules.items():
        if path != text and not path.endswith(f"/{text}"):
            continue
        stem = text.rpartition("/")[2].partition(".")[0].lower()
        if "/" not in text and (stem in _COMMON or not _close(path, at)):
            continue
        gone = f"moves {path} to {moved}" if moved else f"removes {path}"
        check = _nowhere(path, text, at.path)
        found.append(tell(breaker, user, "removed-file", (path, 1, text), at, gone, "Name what is there now", check))
    return found


def _close(path: str, at: At) -> bool:
    place = folder(path)
    return "template" in place or f"{place}/".startswith(f"{folder(at.path)}/")


def _nowhere(path: str, text: str, asker: str) -> Check:
    def check(tree: Tree) -> bool:
        near = {posixpath.normpath(posixpath.join(folder(asker), text)), text, posixpath.join(folder(path), text)}
        return not tree.has(path) and not any(tree.has(each) for each in near)

    return check


def _dotted(breaker: Delta, user: Delta, at: At) -> list[Alarm]:
    """``"app.core.run"`` and ``"app.core:Run"``, where that name or that module is gone."""
    module, _, name = at.mark.name.replace(":", ".").rpartition(".")
    found = []
    for gone in breaker.gone.get(name, ()):
        if (
            not gone.symbol.owner
            and family(gone.facts) == "python"
            and _is_module(module, gone.path)
            and gone.path not in breaker.modules
        ):
            said = f"renames {name} to {gone.new} in {gone.path}" if gone.new else f"removes {name} in {gone.path}"
            check = _not_given(gone)
            rule = "renamed-symbol" if gone.new else "removed-symbol"
            found.append(
                tell(
                    breaker, user, rule, (gone.path, gone.symbol.line, name), at, said, "Name what is there now", check
                )
            )
    for path, moved in breaker.modules.items():
        if path.endswith(".py") and _is_module(module, path) and "." in module:
            said = f"moves {path} to {moved}" if moved else f"removes {path}"
            found.append(
                tell(
                    breaker,
                    user,
                    "removed-module",
                    (path, 1, module),
                    at,
                    said,
                    "Name what is there now",
                    _no_module(path, module),
                )
            )
    return found


def _is_module(module: str, path: str) -> bool:
    parts, asked = python_parts(path), tuple(module.split("."))
    if parts[-len(asked) :] != asked:
        return False
    return len(asked) > 1 or len(parts) == 1 or parts[0] in {"src", "lib"}


def _not_given(gone: Gone) -> Check:
    return lambda tree: provides(tree, gone.path, gone.symbol.name) is False


def _no_module(path: str, module: str) -> Check:
    return lambda tree: (
        not tree.has(path)
        and resolve(tree, path, module) is None
        and not tree.has(path.removesuffix(".py") + "/__init__.py")
    )


def _said(breaker: Delta, user: Delta, at: At) -> list[Alarm]:
    """A text that a function of a module is given, whose own register, or constant, no longer has it."""
    found = []
    for old in breaker.lost.get(("registration", at.mark.name), ()):
        if old.mark.role == "defines" and old.mark.scope.endswith("()"):
            said = f"takes {at.mark.name} out of what {old.path} registers"
            found.append(
                tell(
                    breaker,
                    user,
                    "removed-target",
                    (old.path, old.mark.line, at.mark.name),
                    at,
                    said,
                    "Use its new name",
                    _of_one_register(breaker, old, at),
                )
            )
    for old in breaker.lost.get(("key", at.mark.name), ()):
        if old.mark.scope.startswith("value:") and old.mark.role == "defines":
            name = old.mark.scope.partition(":")[2]
            said = f"lets {name} in {old.path} be another text than {at.mark.name}"
            found.append(
                tell(
                    breaker,
                    user,
                    "removed-text",
                    (old.path, old.mark.line, at.mark.name),
                    at,
                    said,
                    f"Use {name}",
                    _of_one_module(old, at),
                )
            )
    return found


def _of_one_register(breaker: Delta, old: At, at: At) -> Check:
    """The decorator that kept it and the function that is given it now stand in one file, and none registers it any more."""

    def check(tree: Tree) -> bool:
        kept = module_of(tree, old.path, old.mark.scope.removesuffix("()"))
        asked = module_of(tree, at.path, at.mark.detail)
        if kept is None or kept != asked:
            return False
        changed = [each.path for each in breaker.side.files] + [at.path]
        return not any(
            each.kind == "registration" and each.name == old.mark.name and each.role == "defines"
            for path in changed
            if (facts := tree(path)) is not None
            for each in facts.marks
        )

    return check


def _of_one_module(old: At, at: At) -> Check:
    def check(tree: Tree) -> bool:
        facts = tree(old.path)
        if facts is None or facts.fault or module_of(tree, at.path, at.mark.detail) != old.path:
            return False
        values = [
            each
            for each in facts.marks
            if each.kind == "key" and each.role == "defines" and each.scope.startswith("value:")
        ]
        return any(each.scope == old.mark.scope for each in values) and not any(
            each.name == old.mark.name for each in values
        )

    return check


_RULES: dict[str, Callable[[Delta, Delta, At], list[Alarm]]] = {
    "named-file": _file,
    "file": _file,
    "dotted": _dotted,
    "value": by_value,
    "endpoint": endpoint,
    "argv": verb,
    "patch": patched,
}
