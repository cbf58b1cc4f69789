"""Texts by which files of different kinds name each other: keys of catalogues, events, codes, classes of sheets, ids, fields of schemas."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

from interlock.core.merge.conflicts import Spot
from interlock.core.merge.facts import FileFacts, Mark
from interlock.core.merge.meet.bases import script_file
from interlock.core.merge.meet.delta import At, Delta
from interlock.core.merge.meet.modules import family, folder
from interlock.core.merge.meet.sides import Alarm, Tree

_CATALOGUES = re.compile(
    r"(?:^|/)(?:locales?|i18n|lang|langs|translations|messages)/(?:[\w-]+/)*[a-z]{2}(?:[-_][A-Za-z]{2,4})?\.json$"
)
_BUNDLES = re.compile(r"(?:^|/)resources/(?:[\w-]+/)*(?:messages|labels|texts)(?:_\w+)?\.properties$")
_TRANSLATES = frozenset(
    {"t", "$t", "tc", "translate", "formatMessage", "getString", "getMessage", "get", "message", "msg"}
)
_MOST_FILES = 40
Check = Callable[[Tree], bool]
Judge = Callable[[Tree, At, At], bool]


def texts(breaker: Delta, user: Delta) -> list[Alarm]:
    """Texts that one side no longer defines and the other newly counts on."""
    found = []
    for (kind, _), places in breaker.lost.items():
        for old in places if kind == "key" else ():
            if old.mark.role == "defines":
                found += _of(breaker, user, old)
    return found


def _of(breaker: Delta, user: Delta, old: At) -> list[Alarm]:
    scope, name = old.mark.scope, old.mark.name
    if scope == "css":
        return _styles(breaker, user, old)
    if scope in {"event", "event:entry", "html-id"} or scope.startswith("literal:"):
        judge = {"event": _one_bus, "event:entry": _one_bus, "html-id": _on_page}.get(scope, _reached)
        return [
            _alarm(breaker, user, old, new, judge)
            for new in user.marked.get(("key", name), ())
            if new.mark.role == "uses" and new.mark.scope == scope
        ]
    if scope.startswith("graphql:"):
        return [
            _alarm(breaker, user, old, new, _of_type)
            for new in user.marked.get(("key", name), ())
            if new.mark.role == "uses" and new.mark.scope.startswith("graphql:")
        ]
    if old.path.endswith((".json", ".properties")):
        full = f"{scope}.{name}" if scope else name
        return [
            _alarm(breaker, user, old, new, _in_catalogue)
            for new in user.marked.get(("key", full), ())
            if new.mark.role == "uses" and new.mark.scope == "text"
        ]
    return []


_SAID = {
    "css": "the class",
    "event": "the event",
    "event:entry": "the entry",
    "html-id": "the id",
}


def _alarm(breaker: Delta, user: Delta, old: At, new: At, judge: Judge) -> Alarm:
    def check(tree: Tree) -> bool:
        facts, now = tree(new.path), tree(old.path)
        if facts is None or not _marked(facts, new.mark):
            return False
        if now is not None and (now.fault or any(_same(each, old.mark) for each in now.marks)):
            return False
        # Another of the changed files may define it now.
        changed = {each.path for side in (breaker.side, user.side) for each in side.files}
        if old.mark.scope.startswith(("event", "literal:", "html-id")) and any(
            (other := tree(path)) is not None and any(_same(each, old.mark) for each in other.marks)
            for path in sorted(changed)
        ):
            return False
        return judge(tree, old, new)

    noun = _SAID.get(old.mark.scope) or ("the field" if old.mark.scope.startswith("graphql") else "the text")
    return Alarm(
        rule="removed-text",
        symbol=new.mark.name,
        breaker=Spot(change=breaker.name, path=old.path, line=old.mark.line, text=old.mark.name),
        user=Spot(change=user.name, path=new.path, line=new.mark.line, text=new.mark.name),
        why=f"{breaker.name} takes {noun} {new.mark.name} out of {old.path}, and {user.name} newly counts on it in {new.path},"
        f" line {new.mark.line}.",
        action=f"Use in {user.name} what stands in {old.path} now, or keep {new.mark.name} in {breaker.name} until nothing uses it.",
        check=check,
        paths=(new.path, old.path),
    )


def _marked(facts: FileFacts, mark: Mark) -> bool:
    return any((each.kind, each.name, each.role, each.scope) == (mark.kind, mark.name, mark.role, mark.scope) for each in facts.marks)  # fmt: skip


def _same(each: Mark, old: Mark) -> bool:
    return (each.kind, each.name, each.role, each.scope) == ("key", old.name, "defines", old.scope)


def _styles(breaker: Delta, user: Delta, old: At) -> list[Alarm]:
    """A class of a sheet that a script takes as a member of what it imports from there."""
    found = []
    for new in user.uses.get(old.mark.name, ()):
        if new.use.of == "default" and posixpath.normpath(posixpath.join(folder(new.path), new.use.source)) == old.path:
            at = At(new.path, Mark(kind="key", name=old.mark.name, line=new.use.line, role="uses"), new.facts)
            alarm = _alarm(breaker, user, old, at, lambda _tree, _old, _new: True)
            found.append(_with_check(alarm, _styled(old, new.path, new.use.source)))
    return found


def _with_check(alarm: Alarm, check: Check) -> Alarm:
    return Alarm(
        rule=alarm.rule, symbol=alarm.symbol, breaker=alarm.breaker, user=alarm.user, why=alarm.why, action=alarm.action,
        check=check, paths=alarm.paths,
    )  # fmt: skip


def _styled(old: At, path: str, source: str) -> Check:
    def check(tree: Tree) -> bool:
        facts, sheet = tree(path), tree(old.path)
        if facts is None or sheet is None or sheet.fault or sheet.open:
            return False
        used = any((each.name, each.source) == (old.mark.name, source) for each in facts.uses)
        return used and not any(_same(each, old.mark) for each in sheet.marks)

    return check


def reach(tree: Tree, path: str, hops: int = 2) -> list[str]:
    """The project's own files that a script comes to import within some steps, itself first."""
    found, edge = [path], [path]
    for _ in range(hops):
        fresh = []
        for place in edge:
            facts = tree(place)
            for each in facts.imports if facts is not None else ():
                behind = script_file(tree, place, each.module)
                if behind is not None and behind not in found and len(found) < _MOST_FILES:
                    found.append(behind)
                    fresh.append(behind)
        edge = fresh
    return found


def _in_catalogue(tree: Tree, old: At, new: At) -> bool:
    """The user's file comes to import the catalogue; else it is one by its place, and what is called looks up texts."""
    if family(new.facts) == "script" and old.path.endswith(".json"):
        data = [each for each in reach(tree, new.path) if each.endswith(".json")]
        if data:
            return old.path in data
        dotted = "." in new.mark.name or "_" in new.mark.name
        return dotted and bool(_CATALOGUES.search(old.path)) and new.mark.detail in _TRANSLATES
    if family(new.facts) == "java" and "." in new.mark.name:
        return bool(_BUNDLES.search(old.path)) and new.mark.detail in _TRANSLATES
    return False


def _one_bus(tree: Tree, old: At, new: At) -> bool:
    """Both sides take what sends from one file."""
    if not old.mark.detail or not new.mark.detail or family(new.facts) != "script":
        return False
    one, other = script_file(tree, old.path, old.mark.detail), script_file(tree, new.path, new.mark.detail)
    return one is not None and one == other


def _reached(tree: Tree, old: At, new: At) -> bool:
    return new.path != old.path and family(new.facts) == "script" and old.path in reach(tree, new.path)


def _on_page(_: Tree, old: At, new: At) -> bool:
    """The page is above the script, so that the script is likely of that page."""
    return f"{folder(new.path)}/".startswith(f"{folder(old.path)}/") and old.path.rpartition("/")[2] == "index.html"


def _of_type(tree: Tree, old: At, new: At) -> bool:
    """The field that is asked is, wherever the schema has it, of the type that lost the member."""
    schema = tree(old.path)
    owner = old.mark.scope.removeprefix("graphql:")
    parent = new.mark.scope.removeprefix("graphql:")
    if schema is None:
        return False
    if parent == f"on {owner}" or (parent in {"query", "mutation", "subscription"} and parent.capitalize() == owner):
        return True
    types = {each.detail for each in schema.marks if each.name == parent and each.role == "defines" and each.scope.startswith("graphql:")}  # fmt: skip
    return types == {owner}
