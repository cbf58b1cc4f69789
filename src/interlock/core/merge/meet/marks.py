"""Things named by a text that one change takes away and the other newly needs: variables, flags, routes, fixtures, columns, tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.facts import FileFacts, Mark
from interlock.core.merge.meet.delta import At, Delta
from interlock.core.merge.meet.doubles import same_scope
from interlock.core.merge.meet.keys import keys
from interlock.core.merge.meet.modules import folder, provides, python_parts
from interlock.core.merge.meet.sides import Alarm, SideFacts, Tree

_NOUNS = {
    "env": "the environment variable",
    "flag": "the flag",
    "route": "the route",
    "fixture": "the fixture",
    "column": "the column",
    "table": "the table",
    "registration": "the target",
}
Linked = Callable[[Tree, At, At], bool]


def marks(breaker: Delta, user: Delta) -> list[Alarm]:
    """Marks that nothing defines any more on one side and that the other newly uses."""
    found = []
    for key in breaker.lost.keys() & user.marked.keys():
        linked = _LINKED.get(key[0])
        if linked is not None:
            found += [
                _alarm(breaker, user, old, new, linked)
                for old in breaker.lost[key]
                for new in user.marked[key]
                if old.mark.role == "defines" and new.mark.role == "uses" and not _bears_lack(new)
            ]
        if key[0] == "env":
            found += _set_in_vain(breaker, user, key[1])
    return found + _dropped(breaker, user) + _routes(breaker, user) + keys(breaker, user)


def _alarm(breaker: Delta, user: Delta, old: At, new: At, linked: Linked) -> Alarm:
    mark = old.mark
    likely = likely_name(breaker, old)

    def check(tree: Tree) -> bool:
        if not has_mark(tree, new.path, new.mark) or not linked(tree, old, new):
            return False
        return not _defined(tree, (breaker.side, user.side), mark)

    noun = _NOUNS[mark.kind]
    gone = f"renames {noun} {mark.name} to {likely}" if likely else f"removes {noun} {mark.name}"
    return Alarm(
        rule="removed-target" if mark.kind == "registration" else f"removed-{mark.kind}",
        symbol=_said(mark),
        breaker=Spot(change=breaker.name, path=old.path, line=mark.line, text=mark.name),
        user=Spot(change=user.name, path=new.path, line=new.mark.line, text=new.mark.name),
        why=f"{breaker.name} {gone} in {old.path}, and {user.name} newly uses it in {new.path}, line {new.mark.line}.",
        action=(f"Use {likely} in {user.name}" if likely else f"Take the use out of {user.name}")
        + f", or keep {mark.name} in {breaker.name} until nothing uses it.",
        check=check,
        paths=(new.path, old.path),
    )


def _bears_lack(new: At) -> bool:
    """Whether the file asks somewhere if the variable is there, or has something in its place."""
    return new.mark.kind == "env" and any(
        each.kind == "env" and each.name == new.mark.name and each.detail == "default" for each in new.facts.marks
    )


def _said(mark: Mark) -> str:
    return f"{mark.scope}.{mark.name}" if mark.kind == "column" and mark.scope else mark.name


def likely_name(breaker: Delta, old: At) -> str:
    """The one mark of the same kind and scope that the breaker newly has in the same file, if it is one."""
    role = "defines" if old.mark.role == "removes" else old.mark.role
    fresh = {
        each.mark.name
        for (kind, _), places in breaker.marked.items()
        if kind == old.mark.kind
        for each in places
        if each.path == old.path and each.mark.role == role and same_scope(each.mark.scope, old.mark.scope)
    }
    return fresh.pop() if len(fresh) == 1 else ""


def has_mark(tree: Tree, path: str, mark: Mark) -> bool:
    """Whether the file of the tree still has the mark, on whatever line."""
    facts = tree(path)
    wanted = (mark.kind, mark.name, mark.role, mark.scope)
    return facts is not None and any((each.kind, each.name, each.role, each.scope) == wanted for each in facts.marks)


def _changed(sides: tuple[SideFacts, ...]) -> list[str]:
    return sorted({each.path for side in sides for each in side.files})


def _defined(tree: Tree, sides: tuple[SideFacts, ...], mark: Mark) -> bool:
    """Whether any changed file of the merged tree still defines it."""
    return any(
        each.kind == mark.kind
        and each.name == mark.name
        and each.role == "defines"
        and (mark.kind not in {"column", "registration"} or same_scope(each.scope, mark.scope))
        for path in _changed(sides)
        if (facts := tree(path)) is not None
        for each in facts.marks
    )


def _anyway(_: Tree, _old: At, _new: At) -> bool:
    return True


def _same_table(_: Tree, old: At, new: At) -> bool:
    return bool(old.mark.scope) and _table(old.mark.scope) == _table(new.mark.scope)


def _table(name: str) -> str:
    return name.rpartition(".")[2].strip('"`[]').lower()


def _fixture(tree: Tree, old: At, new: At) -> bool:
    """Fixtures are seen below the folder of their conftest, nearest first, and in their own file."""
    name = old.mark.name
    if not old.path.endswith("conftest.py"):
        return old.path == new.path and provides(tree, new.path, name) is False
    top = folder(old.path)
    if top and not new.path.startswith(f"{top}/"):
        return False
    if provides(tree, new.path, name) is not False:
        return False
    place = folder(new.path)
    while True:
        conftest = f"{place}/conftest.py" if place else "conftest.py"
        facts = tree(conftest)
        if facts is not None and (
            facts.fault
            or any(each.kind == "fixture" and each.name == name and each.role == "defines" for each in facts.marks)
            or provides(tree, conftest, name) is not False
            or any(each.kind == "registration" and each.scope == "pytest_plugins" for each in facts.marks)
        ):
            return False
        if not place:
            return True
        place = folder(place)


def _flag(tree: Tree, old: At, new: At) -> bool:
    """Whether the command that is given the flag is the one that had it: by module, file, or the name that it is installed as."""
    command = new.mark.scope
    parts = python_parts(old.path) if old.path.endswith(".py") else ()
    if old.path == new.path or re.search(rf"(?:^|[\s\"'=/]){re.escape(old.path)}(?:$|[\s\"';)])", command):
        return True
    words = set(re.findall(r"[\w.\-/]+", command))
    for count in range(len(parts)):
        dotted = ".".join(parts[count:])
        if dotted in words and (count < len(parts) - 1 or "-m" in words or "." not in dotted):
            return _starts(command, dotted, old.path) or count < len(parts) - 1
    if any(word.endswith(f"/{old.path.rpartition('/')[2]}") or word == old.path.rpartition("/")[2] for word in words):
        return True
    if any(word.startswith(f"{'.'.join(parts[c:])}.") for c in range(max(0, len(parts) - 1)) for word in words):
        return True
    return _package_main(tree, parts, command) or _installed(tree, parts, old.path, command)


def _starts(command: str, dotted: str, path: str) -> bool:
    """A bare stem counts after ``-m``, as the first word or after an import, and never where it is an argument."""
    tail = rf"(?:-m\s+|import\s+|from\s+|^\W*(?:\S*/)?){re.escape(dotted)}(?:$|[\s;,:.])"
    return bool(re.search(tail, command)) and bool(path)


def _package_main(tree: Tree, parts: tuple[str, ...], command: str) -> bool:
    found = re.search(r"-m\s+([\w.]+)", command)
    if found is None or not parts:
        return False
    asked = tuple(found[1].split("."))
    for start in range(len(parts)):
        if parts[start : start + len(asked)] == asked:
            return tree.has("/".join((*parts[: start + len(asked)], "__main__.py")))
    return False


def _installed(tree: Tree, parts: tuple[str, ...], path: str, command: str) -> bool:
    words = set(re.findall(r"[\w.\-]+", command))
    for manifest in ("pyproject.toml", "package.json"):
        facts = tree(manifest)
        for each in facts.marks if facts is not None else ():
            if each.kind == "registration" and each.scope == "script" and each.name in words:
                module = each.detail.partition(":")[0]
                asked = tuple(module.split("."))
                if parts[-len(asked) :] == asked or each.detail.removeprefix("./") == path:
                    return True
    return False


def _target(tree: Tree, old: At, new: At) -> bool:
    named = old.mark.scope in _TARGETS or old.mark.scope.startswith("proto:")
    if not named or old.mark.scope != new.mark.scope:
        return False
    places = [old.path]
    place = new.path
    while place:
        place = folder(place)
        places += [f"{place}/{name}".lstrip("/") for name in _HOLDERS.get(old.mark.scope, ())]
    return not any(_has_target(tree(each), old.mark) for each in dict.fromkeys(places))


def _has_target(facts: FileFacts | None, mark: Mark) -> bool:
    """Whether a file has a target, by its name, by a pattern of a Makefile, or perhaps by what a variable holds."""
    return facts is not None and any(
        each.kind == "registration" and each.role == "defines" and each.scope == mark.scope
        and fnmatchcase(mark.name, each.name.replace("%", "*"))
        for each in facts.marks
    )  # fmt: skip


_HOLDERS = {"make": ("Makefile", "GNUmakefile", "makefile"), "npm-script": ("package.json",)}
"""Where a command of a folder looks for its targets, upwards."""
_TARGETS = frozenset({"make", "npm-script", "gradle-project"})
_LINKED: dict[str, Linked] = {
    "registration": _target,
    "env": _anyway,
    "fixture": _fixture,
    "flag": _flag,
    "column": _same_table,
    "table": _anyway,
}


def _dropped(breaker: Delta, user: Delta) -> list[Alarm]:
    """Columns and tables that a new statement takes away, though what defined them stays in an older migration."""
    found = []
    for key in breaker.marked.keys() & user.marked.keys():
        if key[0] in {"column", "table"}:
            linked = _same_table if key[0] == "column" else _anyway
            found += [
                _alarm(breaker, user, old, new, linked)
                for old in breaker.marked[key]
                for new in user.marked[key]
                if old.mark.role == "removes" and new.mark.role == "uses"
            ]
    for (kind, table), places in breaker.marked.items():
        for old in places:
            if kind == "table" and old.mark.role == "removes":
                found += [
                    _alarm(breaker, user, old, new, _anyway)
                    for (what, _), news in user.marked.items()
                    if what == "column"
                    for new in news
                    if new.mark.role == "uses" and _table(new.mark.scope) == _table(table)
                ][:1]
    return found


def _set_in_vain(breaker: Delta, user: Delta, name: str) -> list[Alarm]:
    """A variable that one side newly sets, while the other no longer reads it but another in its place."""
    found = []
    for old in breaker.lost["env", name]:
        likely = likely_name(breaker, old)
        if old.mark.role != "uses" or not likely:
            continue
        found += [
            _vain(breaker, user, old, new, likely)
            for new in user.marked["env", name]
            if new.mark.role == "defines" and new.path != old.path
        ]
    return found


def _vain(breaker: Delta, user: Delta, old: At, new: At, likely: str) -> Alarm:
    places = _changed((breaker.side, user.side))

    def reads(facts: FileFacts | None) -> bool:
        return facts is not None and any(
            each.kind == "env" and each.name == old.mark.name and each.role == "uses" for each in facts.marks
        )

    def check(tree: Tree) -> bool:
        return has_mark(tree, new.path, new.mark) and not any(reads(tree(path)) for path in places)

    return Alarm(
        rule="removed-env",
        symbol=old.mark.name,
        breaker=Spot(change=breaker.name, path=old.path, line=old.mark.line, text=old.mark.name),
        user=Spot(change=user.name, path=new.path, line=new.mark.line, text=old.mark.name),
        why=f"{breaker.name} reads {likely} instead of {old.mark.name} in {old.path}, and {user.name} newly sets"
        f" {old.mark.name} in {new.path}, line {new.mark.line}.",
        action=f"Set {likely} in {user.name}, or read both in {breaker.name} until nothing sets the old one.",
        check=check,
        paths=(new.path, old.path),
    )


_PARAMETER = re.compile(r"\{[^}]*\}|<[^>]*>|:\w+|\[[^\]]+\]|\$\{[^}]*\}")


def _shape(route: str) -> str:
    """A route without the names of its parameters, its method, its query and a slash at the end."""
    path = route.rpartition(" ")[2].partition("?")[0]
    return _PARAMETER.sub("*", path).rstrip("/") or "/"


def _routes(breaker: Delta, user: Delta) -> list[Alarm]:
    """Routes that are gone, asked for by a path that only they answered."""
    asked = [
        (new, new.mark.name)
        for (kind, _), places in user.marked.items()
        if kind == "route"
        for new in places
        if new.mark.role == "uses"
    ]
    found = []
    for (kind, name), places in breaker.lost.items():
        if kind != "route" or not asked:
            continue
        for old in places:
            if old.mark.role == "defines":
                found += [_route_alarm(breaker, user, old, new) for new, path in asked if _answers(name, path)]
    return found


def _documents(path: str) -> list[str]:
    """Where other descriptions of an API usually are: beside one, and at the top."""
    folders = dict.fromkeys([folder(path), folder(folder(path)), "", "api", "docs"])
    return [
        f"{place}/{name}{end}".lstrip("/")
        for place in folders
        for name in ("openapi", "swagger", "api")
        for end in (".yaml", ".yml", ".json")
    ]


def _answers(route: str, path: str) -> bool:
    """Whether a route, with its method if it has one, is what a request asks for."""
    method, asked_method = route.rpartition(" ")[0], path.rpartition(" ")[0]
    if method and asked_method and method != asked_method:
        return False
    shape, asked = _shape(route), _shape(path)
    if shape in {"/", "*", "/*"}:
        return False
    pattern = "/".join("[^/]+" if part == "*" else re.escape(part) for part in shape.split("/"))
    return shape == asked or re.fullmatch(pattern, asked) is not None


def _route_alarm(breaker: Delta, user: Delta, old: At, new: At) -> Alarm:
    places = [*_changed((breaker.side, user.side)), *(_documents(old.path) if old.mark.scope == "openapi" else ())]
    likely = likely_name(breaker, old)

    def check(tree: Tree) -> bool:
        return has_mark(tree, new.path, new.mark) and not any(
            each.kind == "route" and each.role == "defines" and _answers(each.name, new.mark.name)
            for path in places
            if (facts := tree(path)) is not None
            for each in facts.marks
        )

    moved = f"moves the route {old.mark.name} to {likely}" if likely else f"removes the route {old.mark.name}"
    return Alarm(
        rule="removed-route",
        symbol=old.mark.name,
        breaker=Spot(change=breaker.name, path=old.path, line=old.mark.line, text=old.mark.name),
        user=Spot(change=user.name, path=new.path, line=new.mark.line, text=new.mark.name),
        why=f"{breaker.name} {moved} in {old.path}, and {user.name} newly asks for it in {new.path}, line {new.mark.line}.",
        action=(f"Ask for {likely} in {user.name}" if likely else f"Take the request out of {user.name}")
        + f", or keep the old route in {breaker.name} until nothing asks for it.",
        check=check,
        paths=(new.path, old.path),
    )
