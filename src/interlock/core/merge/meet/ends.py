"""Texts that lead into Python code: members by value, endpoints, prefixes, verbs, patched names, where the other side takes the end away."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.core.merge.facts import FileFacts, Import
from interlock.core.merge.meet.delta import At, Delta
from interlock.core.merge.meet.doubles import same_scope
from interlock.core.merge.meet.links import new_imports
from interlock.core.merge.meet.marks import has_mark
from interlock.core.merge.meet.modules import absolute, names_file, resolve
from interlock.core.merge.meet.sides import Alarm, Tree
from interlock.core.merge.meet.telling import module_of, tell


def by_value(breaker: Delta, user: Delta, at: At) -> list[Alarm]:
    """``Status("packed")``, where no member of the enumeration stands for that any more."""
    wanted = at.mark.scope.removeprefix("value:")
    found = []
    for old in breaker.lost.get(("registration", at.mark.name), ()):
        last = old.mark.scope.rpartition(":")[2]
        if (
            old.mark.role != "defines"
            or ":" not in old.mark.scope
            or wanted.rpartition(":")[2].rpartition(".")[2] != last
        ):
            continue

        def check(tree: Tree, old: At = old, last: str = last) -> bool:
            facts = tree(old.path)
            if facts is None or not any(each.path == last and each.kind == "class" for each in facts.symbols):
                return False
            left = [each for each in facts.marks if each.kind == "registration" and each.scope == old.mark.scope]
            module = module_of(tree, at.path, wanted)
            same = module == old.path or (module is not None and _gives_on(tree, module, last, old.path))
            return same and bool(left) and not any(each.name == old.mark.name for each in left)

        said = f"lets no member of {last} in {old.path} stand for {old.mark.name}"
        found.append(
            tell(
                breaker,
                user,
                "removed-member",
                (old.path, old.mark.line, at.mark.name),
                at,
                said,
                "Use what stands there now",
                check,
            )
        )
    return found


def _gives_on(tree: Tree, path: str, name: str, target: str) -> bool:
    facts = tree(path)
    return facts is not None and any(
        (each.local or each.name) == name and resolve(tree, path, each.module) == target for each in facts.imports
    )


def endpoint(breaker: Delta, user: Delta, at: At) -> list[Alarm]:
    """``url_for("orders.show")`` of a view that is gone, ``reverse("club:member")`` of a name that is."""
    text = at.mark.name
    space, _, name = text.replace(":", ".").rpartition(".")
    found = []
    for old in breaker.lost.get(("registration", name), ()):
        flask = old.mark.scope.endswith(".endpoint") and at.mark.detail == "url_for"
        django = old.mark.scope == "url-name" and at.mark.detail != "url_for"
        if not flask and not django:
            continue

        def check(tree: Tree, old: At = old) -> bool:
            facts = tree(old.path)
            if facts is None or facts.fault:
                return False
            if any(
                (each.kind, each.name) == ("registration", name) and each.scope == old.mark.scope
                for each in facts.marks
            ):
                return False
            known = [each.name for each in facts.marks if each.scope == "blueprint"]
            return not old.mark.scope.endswith(".endpoint") or not known or space in known

        said = f"takes the endpoint {name} out of {old.path}"
        found.append(
            tell(
                breaker,
                user,
                "removed-route",
                (old.path, old.mark.line, name),
                at,
                said,
                "Name what is there now",
                check,
            )
        )
    return found


def _prefix(breaker: Delta, user: Delta) -> Iterator[tuple[At, At]]:
    """Prefixes that are gone, each with a path that a test newly asks for below it."""
    for (kind, name), places in breaker.lost.items():
        if kind == "registration" and name.startswith("/") and len(name) > 2:
            for old in places:
                if old.mark.scope == "prefix":
                    for (what, path), news in user.marked.items():
                        if what == "route" and f"{path.rpartition(' ')[2]}/".startswith(f"{name}/"):
                            yield from ((old, new) for new in news if new.mark.role == "uses" and "test" in new.path)


def prefixes(breaker: Delta, user: Delta) -> list[Alarm]:
    found = []
    for old, new in _prefix(breaker, user):

        def check(tree: Tree, old: At = old) -> bool:
            return tree.has(old.path) and not has_mark(tree, old.path, old.mark)

        said = f"puts nothing below {old.mark.name} in {old.path}"
        found.append(
            tell(
                breaker,
                user,
                "removed-route",
                (old.path, old.mark.line, old.mark.name),
                new,
                said,
                "Ask for where it is now",
                check,
            )
        )
    return found


def verb(breaker: Delta, user: Delta, at: At) -> list[Alarm]:
    """``main(["send", …])``, where the parser of that file has no such verb any more."""
    found = []
    for old in breaker.lost.get(("registration", at.mark.name), ()):
        if not old.mark.scope.endswith(".add_parser"):
            continue

        def check(tree: Tree, old: At = old) -> bool:
            facts = tree(old.path)
            verbs = (
                [
                    each.name
                    for each in facts.marks
                    if each.kind == "registration" and each.scope.endswith(".add_parser")
                ]
                if facts
                else []
            )
            return bool(verbs) and at.mark.name not in verbs and module_of(tree, at.path, at.mark.detail) == old.path

        said = f"takes the verb {at.mark.name} out of {old.path}"
        found.append(
            tell(
                breaker,
                user,
                "removed-flag",
                (old.path, old.mark.line, at.mark.name),
                at,
                said,
                "Use its new name",
                check,
            )
        )
    return found


def patched(breaker: Delta, user: Delta, at: At) -> list[Alarm]:
    """A patch of ``core.x``, while the other side lets the file that is tested take ``x`` by itself: it keeps its own."""
    module, _, name = at.mark.name.rpartition(".")
    found = []
    for path, facts, one in new_imports(breaker):
        change = breaker.side.get(path)
        if one.name != name or change is None or change.base is None or "test" in path.rpartition("/")[2]:
            continue
        if not _same_module(absolute(path, one.module), module) or any(
            each.name == name for each in change.base.imports
        ):
            continue
        before = any(
            each.name == name and f"{each.source}.{each.of}".endswith(module.rpartition(".")[2])
            for each in change.base.uses
        )
        tests = any(_takes(each, at, path, facts) for each in at.facts.imports)
        if before and tests:

            def check(tree: Tree, path: str = path, one: Import = one) -> bool:
                now = tree(path)
                return now is not None and any(
                    (each.module, each.name) == (one.module, one.name) for each in now.imports
                )

            said = f"lets {path} take {name} by a name of its own, which a patch of {at.mark.name} does not reach"
            found.append(
                tell(breaker, user, "patch", (path, one.line, name), at, said, f"Patch {name} in {path}", check)
            )
    return found


def _same_module(one: str, other: str) -> bool:
    return bool(one and other) and same_scope(one, other)


def _takes(each: Import, at: At, path: str, facts: FileFacts) -> bool:
    glue = "" if each.module.endswith(".") else "."
    return names_file(at.path, at.facts, each.module, path, facts) or names_file(
        at.path, at.facts, f"{each.module}{glue}{each.name}", path, facts
    )
