"""Reads files of data: lock files and manifests as packages, API descriptions as routes and fields, configuration as keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from interlock.adapters.facts import lockfiles, manifests
from interlock.adapters.facts.shell import moves, of_command
from interlock.core.merge.facts import FileFacts, Mark

MOST_MARKS: Final = 3000
MOST_TREE: Final = 400_000
"""A larger file of YAML costs more than its keys are worth."""
_METHODS: Final = frozenset({"get", "post", "put", "patch", "delete", "head", "options"})
_ENVS: Final = frozenset({"env", "environment"})
_RUNS: Final = frozenset({"run", "command", "script", "args", "entrypoint", "cmd"})
_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]{2,}")
_WITHIN: Final = {
    "formatter": "formatters",
    "handlers": "handlers",
    "filters": "filters",
    "needs": "jobs",
    "depends_on": "services",
}
"""Keys whose value names a key of another part of the same file."""
_PLACE: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*[.:][A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")

Pairs = list[tuple[str, int, Any]]
"""A mapping as it stands: every key, its line, its value; one that is there twice is here twice."""


def read(path: str, data: bytes) -> FileFacts:
    """The facts of a file of data; the reason as the fault where it is not what its name says."""
    name = path.rpartition("/")[2]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return FileFacts(language="data", fault="The file is not UTF-8.")
    try:
        if name in lockfiles.READERS:
            return FileFacts(language="data", marks=tuple(lockfiles.READERS[name](text)))
        marks = [*manifests.marks(name, text), *_keys(name, text)]
        if "working-directory:" in text:
            # Which command runs in which folder is not followed.
            marks = [each for each in marks if each.role != "uses" or each.scope not in {"make", "npm-script"}]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        return FileFacts(language="data", fault=f"The file cannot be read: {type(fault).__name__}.")
    kept = marks if len(marks) <= MOST_MARKS else [each for each in marks if each.kind != "key"][:MOST_MARKS]
    return FileFacts(language="data", marks=tuple(kept))


def _keys(name: str, text: str) -> Iterator[Mark]:
    if len(text) > MOST_TREE:
        return
    if name.endswith((".yaml", ".yml")):
        for tree in _yaml(text):
            yield from _told(tree)
    elif name.endswith(".json"):
        yield from _told(_json(text))
    elif name.endswith((".ini", ".cfg", ".toml")) and name != "pyproject.toml":
        yield from _ini(text)
    elif name.endswith(".properties"):
        yield from _properties(text)


def _properties(text: str) -> Iterator[Mark]:
    for number, line in enumerate(text.splitlines(), 1):
        if (found := re.match(r"\s*([\w.-]+)\s*[=:]", line)) and not line.lstrip().startswith(("#", "!")):
            yield Mark(kind="key", name=found[1], line=number, role="defines")


def _told(tree: Any) -> Iterator[Mark]:
    if isinstance(tree, list) and any(key in {"openapi", "swagger"} for key, _, _ in _pairs(tree)):
        yield from _api(tree)
    else:
        yield from _walk(tree, "", 0)


def _pairs(tree: Any) -> Pairs:
    return tree if isinstance(tree, list) and all(isinstance(each, tuple) for each in tree) else []


def _walk(tree: Any, scope: str, depth: int) -> Iterator[Mark]:
    if depth > 12:
        return
    for key, line, value in _pairs(tree):
        yield Mark(kind="key", name=key, line=line, role="defines", scope=scope)
        if key in _ENVS:
            yield from _variables(value, line)
        yield from _commands(key, value, line)
        yield from _refers(key, value, line)
        yield from _walk(value, f"{scope}.{key}" if scope else key, depth + 1)
    if isinstance(tree, Items):
        for item in tree.items:
            yield from _inner(item, depth + 1)


def _inner(tree: Any, depth: int) -> Iterator[Mark]:
    """What stands in a list: its commands and variables, but not its keys, which every item has."""
    for mark in _walk(tree, "[]", depth):
        if mark.kind != "key":
            yield mark


def _refers(key: str, value: Any, line: int) -> Iterator[Mark]:
    """Names that a value refers to: in the file itself (``formatter: long``), or a dotted place in code."""
    for text in value.items if isinstance(value, Items) else [value]:
        if not isinstance(text, str) or len(text) > 120:
            continue
        if key in _WITHIN:
            yield Mark(kind="registration", name=text, line=line, role="uses", scope=f"within:{_WITHIN[key]}")
        if _PLACE.fullmatch(text):
            yield Mark(kind="registration", name=text, line=line, role="uses", scope="dotted")


def _commands(key: str, value: Any, line: int) -> Iterator[Mark]:
    if key in _RUNS and isinstance(value, str):
        moved = False
        for place, each in enumerate(value.splitlines()):
            moved = moved or moves(each)
            yield from of_command(each, line + place, moved=moved)
    elif key in _RUNS and isinstance(value, Items):
        words = [each for each in value.items if isinstance(each, str)]
        yield from of_command(" ".join(words), line)


def _variables(value: Any, line: int) -> Iterator[Mark]:
    for key, at, _ in _pairs(value):
        if _NAME.fullmatch(key):
            yield Mark(kind="env", name=key, line=at, role="defines")
    for item in value.items if isinstance(value, Items) else ():
        given = next((inner for key, _, inner in _pairs(item) if key == "name"), None)
        text = item.partition("=")[0] if isinstance(item, str) else given
        if isinstance(text, str) and _NAME.fullmatch(text):
            yield Mark(kind="env", name=text, line=line, role="defines")


def _api(tree: Any) -> Iterator[Mark]:
    for key, _, value in _pairs(tree):
        if key == "paths":
            for path, line, methods in _pairs(value):
                for method, at, inner in _pairs(methods):
                    if method in _METHODS:
                        yield Mark(
                            kind="route",
                            name=f"{method.upper()} {path}",
                            line=at or line,
                            role="defines",
                            scope="openapi",
                        )
                        yield from _fields(inner, f"openapi:{path}", 0)
        else:
            yield from _fields(value, f"openapi:{key}", 0)


def _fields(tree: Any, scope: str, depth: int) -> Iterator[Mark]:
    if depth > 24:
        return
    for key, _, value in _pairs(tree):
        if key == "properties":
            for name, line, inner in _pairs(value):
                yield Mark(kind="key", name=name, line=line, role="defines", scope=scope)
                yield from _fields(inner, f"{scope}.{name}", depth + 1)
        else:
            yield from _fields(value, f"{scope}/{key}" if scope.count("/") < 3 else scope, depth + 1)
    for item in tree.items if isinstance(tree, Items) else ():
        yield from _fields(item, scope, depth + 1)


class Items:
    """A list of a file of data."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items


def _json(text: str) -> Any:
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        for found in re.finditer(r'"((?:[^"\\]|\\.)*)"\s*:', line):
            lines.setdefault(found[1], number)

    def wrap(value: Any) -> Any:
        return (
            Items([wrap(each) for each in value])
            if isinstance(value, list) and not isinstance(value, Object)
            else value
        )

    class Object(list[Any]):
        pass

    def pairs(given: list[tuple[str, Any]]) -> Any:
        return Object([(key, lines.get(key, 1), wrap(value)) for key, value in given])

    return wrap(json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE), object_pairs_hook=pairs))


def _yaml(text: str) -> Iterator[Any]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        nodes = list(yaml.compose_all(text, Loader=loader))
    except yaml.YAMLError as fault:
        # Templates are no YAML until they are filled in.
        if "{{" in text or "{%" in text:
            return
        raise ValueError(str(fault)) from fault
    for node in nodes:
        if node is not None:
            yield _plain(node, 0)


def _plain(node: Any, depth: int) -> Any:
    import yaml

    if depth > 40:
        return ""
    if isinstance(node, yaml.MappingNode):
        return [
            (key.value, key.start_mark.line + 1, _plain(value, depth + 1))
            for key, value in node.value
            if isinstance(key, yaml.ScalarNode)
        ]
    if isinstance(node, yaml.SequenceNode):
        return Items([_plain(each, depth + 1) for each in node.value])
    return node.value


def _ini(text: str) -> Iterator[Mark]:
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line):
            listed = line.lstrip().startswith("[[")
            section = f"{found[1]}#{number}" if listed else found[1]
            outer, _, name = found[1].rpartition(".")
            if not listed and re.fullmatch(r"[\w-]+", name):
                yield Mark(kind="key", name=name, line=number, role="defines", scope=outer)
        elif found := re.match(r"([A-Za-z_][\w.-]*)\s*[=:]", line):
            yield Mark(kind="key", name=found[1], line=number, role="defines", scope=section)
            yield from _refers("", line.partition(found[0])[2].strip().strip("'\""), number)
