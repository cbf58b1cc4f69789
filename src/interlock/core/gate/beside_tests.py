"""What tests stand on and a person should look at when it changes: constants, fixtures, helpers, hidden paths; what is refused is conftests'."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Final

from interlock.core.gate.changes import Change
from interlock.core.gate.shadows import Both
from interlock.core.gate.test_code import is_test_side

_HELPERS: Final = re.compile(r".*\.(?:bash|sh|bats|rb|php|ex|exs|cs|go|java|kt|[cm]?[jt]sx?)")
_ASSIGNED: Final = re.compile(
    r"^(?:export\s+)?(?:const|let|var|val|static\s+final\s+\w+|private\s+static\s+final\s+\w+)\s+([A-Z][A-Z0-9_]*)\b[^=\n]*=\s*([^\n]+?);?\s*$",
    re.MULTILINE,
)
_HIDES: Final = re.compile(
    r"\S+\s+.*(?:-diff|linguist-generated|export-ignore|\bfilter=|merge=|working-tree-encoding|ident)\b"
)


def beside_tests(changes: Sequence[Change], both: Both) -> Iterator[str]:
    """What of the tests' surroundings is another one, in words; new files and what went away are named by other rules."""
    for change in changes:
        before, after = both(change.path)
        name = posixpath.basename(change.path)
        if name in (".gitattributes", ".gitignore"):
            yield from _hidden(change.path, before, after)
        if name.endswith(".py") and change.status == "M" and not is_test_side(change.path):
            fewer = (before or b"").count(b">>> ") - (after or b"").count(b">>> ")
            if fewer > 0:
                yield f"{change.path}: {fewer} {'example is' if fewer == 1 else 'examples are'} gone from its docstrings."
        if change.status != "M" or before is None or after is None or not is_test_side(change.path):
            continue
        if name.endswith(".py"):
            yield from _python(change.path, before, after)
        elif _HELPERS.fullmatch(name):
            yield from _constants(change.path, before, after)


def _hidden(path: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    """Lines by which tests are kept out of what people or git look at."""
    known = (before or b"").decode("utf-8", "replace").splitlines()
    for line in (after or b"").decode("utf-8", "replace").splitlines():
        pattern = line.strip().partition(" ")[0].lstrip("/!").rstrip("/*")
        of_tests = is_test_side(f"{pattern}/x") if pattern else False
        if line in known or not (of_tests or "test" in pattern or (path.endswith("s") and pattern == "")):
            continue
        if path.endswith(".gitignore") or _HIDES.search(line):
            yield f"{path}: it keeps tests out of sight: {line.strip()}."


def _python(path: str, before: bytes, after: bytes) -> Iterator[str]:
    old, new = _parts(before), _parts(after)
    for name, (text, line, what) in new.items():
        if name in old and old[name][0] != text and old[name][2] == what:
            yield f"{path}:{line}: the {what} {name} of the tests is another one."


def _parts(data: bytes) -> dict[str, tuple[str, int, str]]:
    """What a file of tests has beside its tests: values at the top, fixtures and helpers, each as its text, line and kind."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, tuple[str, int, str]] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = (ast.dump(node.value), node.lineno, "value")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("test"):
            fixture = any("fixture" in ast.unparse(each) for each in node.decorator_list)
            found[node.name] = (_results(node), node.lineno, "fixture" if fixture else "helper")
    return found


def _results(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """What a function gives and raises: how it gets there is its own matter."""
    parts = [each for part in node.body for each in ast.walk(part)]
    ends = [each for each in parts if isinstance(each, ast.Return | ast.Yield | ast.Raise | ast.Assert)]
    return "\n".join(ast.dump(each) for each in ends)


def _constants(path: str, before: bytes, after: bytes) -> Iterator[str]:
    old, new = (dict(_ASSIGNED.findall(data.decode("utf-8", "replace"))) for data in (before, after))
    for name, value in new.items():
        if name in old and old[name] != value:
            yield f"{path}: the value {name} of the tests is {value[:60]}, the base's {old[name][:60]}."
    if not re.search(
        rb"@Test|@test|#\[test|\bit\(|\btest\(|func Test|\[(?:Fact|Theory|Test)|def test_|^\s*it ['\"]",
        after,
        re.MULTILINE,
    ):
        yield f"{path}: a helper of the tests changed."
