"""Data that tests read: emptied, or expected values taken away, it lets every test over it pass; changed, it is worth a look."""

from __future__ import annotations

import ast
import json
import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Final

from interlock.core.gate.changes import Change
from interlock.core.gate.shadows import Both, Trees
from interlock.core.gate.test_code import Weakness, is_test_side

_DATA: Final = re.compile(
    r".*\.(?:json|jsonl|ndjson|ya?ml|csv|tsv|txt|toml|xml|html|sql|golden|expected|snap|approved\.\w+|ambr|out|stdout|dat)"
)
_SETTINGS: Final = re.compile(
    r"(?:.*/)?(?:package|package-lock|tsconfig[\w.]*|composer|deno|biome|renovate)\.jsonc?|(?:.*/)?(?:pyproject|poetry|Cargo|uv)\.(?:toml|lock)"
    r"|(?:.*/)?(?:\w+-)?requirements[\w-]*\.txt|(?:.*/)?(?:docker-)?compose[\w.]*\.ya?ml"
)


def emptied(changes: Sequence[Change], both: Both, trees: Trees) -> Iterator[Weakness]:
    """Data of the tests that holds nothing any more, and stored outcomes that are gone although their test goes on."""
    for change in changes:
        path = change.path
        if change.status == "M" and path.endswith(".py") and not is_test_side(path):
            yield from _lists_emptied(path, both, trees)
        if not is_data(path) or change.status == "A":
            continue
        before, after = both(path)
        if path.endswith((".snap", ".ambr")) and before and not (after or b"").strip():
            test = _test_of(path)
            if trees.has(test)[1]:
                what = f"has no stored outcomes any more, so {posixpath.basename(test)} takes whatever comes"
                yield Weakness(name="the data", before=path, after=path, what=what)
        elif after is not None and before is not None and _rows(before) and not _rows(after) and _is_read(path, trees):
            yield Weakness(
                name="the data", before=path, after=path, what="holds nothing any more of what the tests read"
            )


def _lists_emptied(path: str, both: Both, trees: Trees) -> Iterator[Weakness]:
    """Lists of the product that a test goes through, and that hold nothing any more."""
    before, after = (sizes(data) for data in both(path))
    for name, size in before.items():
        if size and after.get(name) == 0 and is_gone_through(name, trees):
            what = "holds nothing any more of what a test goes through"
            yield Weakness(name=name, before=path, after=path, what=what)


def sizes(data: bytes | None) -> dict[str, int]:
    """The lists and tables at the top of a module by name, with how many entries are written there."""
    try:
        tree = ast.parse(data or b"")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found = {}
    for node in tree.body:
        target = (
            node.targets[0]
            if isinstance(node, ast.Assign)
            else node.target
            if isinstance(node, ast.AnnAssign)
            else None
        )
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if isinstance(target, ast.Name) and isinstance(value, ast.List | ast.Tuple | ast.Set | ast.Dict):
            found[target.id] = len(value.keys if isinstance(value, ast.Dict) else value.elts)
    return found


def is_gone_through(name: str, trees: Trees) -> bool:
    """Whether a test of the base loops over a name, or has it as its table."""
    says = re.compile(
        rf"\bfor\b[^\n]*\bin\b[^\n]*\b{re.escape(name)}\b|parametrize\([^\n]*\b{re.escape(name)}\b".encode()
    )
    return any(map(says.search, trees.tests))


def is_data(path: str) -> bool:
    """Whether a file holds data, and no settings."""
    return bool(_DATA.fullmatch(path)) and not _SETTINGS.fullmatch(path)


def is_of_tests(path: str, trees: Trees) -> bool:
    """Whether a file of data is there for the tests: among them, or named by one of the base."""
    return is_data(path) and _is_read(path, trees)


def _is_read(path: str, trees: Trees) -> bool:
    name = posixpath.basename(path).encode()
    return is_test_side(path) or "__snapshots__" in path or any(name in text for text in trees.tests)


def _test_of(path: str) -> str:
    """The test that a stored outcome is of: ``__snapshots__/a.test.js.snap`` is of ``a.test.js``, ``a.ambr`` of ``a.py``."""
    folder, name = posixpath.split(path)
    above = posixpath.dirname(folder) if posixpath.basename(folder) == "__snapshots__" else folder
    stem = name.rpartition(".")[0]
    return posixpath.join(above, f"{stem}.py" if name.endswith(".ambr") else stem)


def _rows(data: bytes) -> bool:
    """Whether there is anything in it: rows of a table below its head, entries of a list or mapping, or any text."""
    text = data.decode("utf-8", "replace").strip()
    if text[:1] in ("[", "{"):
        try:
            return bool(json.loads(text))
        except ValueError:
            return True
    return bool([line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")])
