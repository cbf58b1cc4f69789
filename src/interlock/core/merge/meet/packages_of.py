"""The folder, the files and the types of a Go package in a tree; what is within a type is bases' and chains'."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from interlock.core.merge.facts import FileFacts
from interlock.core.merge.meet.modules import folder, means
from interlock.core.merge.meet.sides import Tree

_MOST_FILES: Final = 40
"""Files of one package that are looked at; a larger one counts as not known beyond that."""


def folder_of_package(tree: Tree, path: str, module: str) -> str | None:
    """The folder that an import of a Go file leads to, by the nearest ``go.mod`` above it; None for what is from outside."""
    if not module:
        return folder(path)
    above = folder(path)
    while True:
        manifest = tree(f"{above}/go.mod".lstrip("/"))
        if manifest is not None and manifest.module:
            own = manifest.module
            if module == own or module.startswith(f"{own}/"):
                return f"{above}{module.removeprefix(own)}".strip("/")
            return None
        if not above:
            return None
        above = folder(above)


def known_whole(tree: Tree, place: str) -> bool:
    """Whether all files of a package can be looked at."""
    return 0 < sum(each.endswith(".go") for each in tree.within(place)) <= _MOST_FILES


def files_of(tree: Tree, place: str) -> Iterator[str]:
    """The files of Go in a folder, those of tests left out."""
    found = [each for each in tree.within(place) if each.endswith(".go") and not each.endswith("_test.go")]
    yield from sorted(found)[:_MOST_FILES]


def go_type(tree: Tree, path: str, facts: FileFacts, source: str, name: str, hint: str) -> tuple[str, str] | None:
    """The type that a name of a Go file means, with a file of its package; None where the project has none."""
    alias, _, last = name.rpartition(".")
    if alias:
        source = next((each.module for each in facts.imports if each.local == alias), alias)
    target = tree(hint) if hint else None
    near = target is not None and means(tree, path, facts, source, hint, target)
    place = folder(hint) if near else folder_of_package(tree, path, source)
    if place is None:
        return None
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", last).lower()
    likely = [*([hint] if near else []), *(f"{place}/{one}.go".lstrip("/") for one in (snake, last.lower()))]
    for file in dict.fromkeys([*likely, *files_of(tree, place)]):
        found = tree(file)
        if found is not None and any(last in {each.path, each.owner} for each in found.symbols):
            return (file, last)
    return None
