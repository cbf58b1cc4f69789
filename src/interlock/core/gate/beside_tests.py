"""What tests stand on and a person should look at when it changes: constants, fixtures, helpers, hidden paths; what is refused is conftests'."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from interlock.core.counting import count
from interlock.core.gate.changes import Change
from interlock.core.gate.helper_changes import may_let_pass
from interlock.core.gate.shadows import Both
from interlock.core.gate.test_code import is_test_side

_HELPERS: Final = re.compile(r".*\.(?:bash|sh|bats|rb|php|ex|exs|cs|go|java|kt|[cm]?[jt]sx?)")
_ASSIGNED: Final = re.compile(
    r"^(?:export\s+)?(?:const|let|var|val|static\s+final\s+\w+|private\s+static\s+final\s+\w+)\s+([A-Z][A-Z0-9_]*)\b[^=\n]*=\s*([^\n]+?);?\s*$",
    re.MULTILINE,
)
_HAS_TESTS: Final = re.compile(
    rb"@Test|@test|#\[test|\bit\(|\btest\(|func Test|\[(?:Fact|Theory|Test)|def test_|^\s*it ['\"]", re.MULTILINE
)
_CLOSE: Final = re.compile(r"(?i)tol|eps|delta|precision|accuracy|slack")
_HIDES: Final = re.compile(
    r"\S+\s+.*(?:-diff|linguist-generated|export-ignore|\bfilter=|merge=|working-tree-encoding|ident)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What tests stand on, as what it gives; ``closeness`` tells that a smaller number asks for more."""

    kind: Literal["value", "fixture", "helper"]
    line: int
    gives: tuple[ast.AST, ...]
    closeness: bool = False


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
                yield f"{change.path}: {count(fewer, 'example is', 'examples are')} gone from its docstrings."
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
    for name, part in new.items():
        if name in old and old[name].kind == part.kind and not _same_or_more(old[name], part):
            yield f"{path}:{part.line}: the {part.kind} {name} of the tests is another one."


def _parts(data: bytes) -> dict[str, _Part]:
    """What a file of tests has beside its tests: values at the top, fixtures and helpers."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, _Part] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            found[name] = _Part(
                kind="value", line=node.lineno, gives=(node.value,), closeness=bool(_CLOSE.search(name))
            )
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("test"):
            fixture = any("fixture" in ast.unparse(each) for each in node.decorator_list)
            found[node.name] = _Part(kind="fixture" if fixture else "helper", line=node.lineno, gives=_results(node))
    return found


def _results(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[ast.AST, ...]:
    """What a function gives and raises: how it gets there, and by which names of its own, is its own matter."""
    own: dict[str, str] = {}
    for each in (each for part in node.body for each in ast.walk(part)):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            own.setdefault(each.id, f"own {len(own)}")
    parts = [each for part in node.body for each in ast.walk(part)]
    for each in parts:
        if isinstance(each, ast.Name):
            each.id = own.get(each.id, each.id)
    return tuple(each for each in parts if isinstance(each, ast.Return | ast.Yield | ast.Raise | ast.Assert))


def _same_or_more(old: _Part, new: _Part) -> bool:
    """Whether nothing of it is another one: fields and entries may be added, and what may differ by so much may be less."""
    if len(old.gives) != len(new.gives):
        return False
    return all(
        ast.dump(one) == ast.dump(other) or _grown(one, other) or (old.closeness and _closer(one, other))
        for one, other in zip(old.gives, new.gives, strict=True)
    )


def _grown(old: ast.AST | None, new: ast.AST | None) -> bool:
    match old, new:
        case (ast.Return(value=one), ast.Return(value=other)) | (ast.Yield(value=one), ast.Yield(value=other)):
            return _grown(one, other)
        case ast.Dict(), ast.Dict():
            had = [(key and ast.dump(key), ast.dump(value)) for key, value in zip(old.keys, old.values, strict=True)]
            has = [(key and ast.dump(key), ast.dump(value)) for key, value in zip(new.keys, new.values, strict=True)]
            keys = [key for key, _ in has]
            return _in_order(had, has) and len(set(keys)) == len(keys) and (None in keys) == (None in dict(had))
        case (ast.List(elts=one), ast.List(elts=other)) | (ast.Tuple(elts=one), ast.Tuple(elts=other)):
            rows = all(isinstance(each, ast.Tuple | ast.List | ast.Dict | ast.Call) for each in other)
            return rows and _in_order(list(map(ast.dump, one)), list(map(ast.dump, other)))
        case _:
            return False


def _in_order(few: Sequence[object], many: Sequence[object]) -> bool:
    left = iter(many)
    return all(each in left for each in few)


def _closer(old: ast.AST, new: ast.AST) -> bool:
    match old, new:
        case ast.Constant(value=int() | float() as was), ast.Constant(value=int() | float() as now):
            return 0 <= now < was
        case _:
            return False


def _constants(path: str, before: bytes, after: bytes) -> Iterator[str]:
    texts = [data.decode("utf-8", "replace") for data in (before, after)]
    old, new = (dict(_ASSIGNED.findall(text)) for text in texts)
    for name, value in new.items():
        if name in old and old[name] != value:
            yield f"{path}: the value {name} of the tests is {value[:60]}, the base's {old[name][:60]}."
    if not _HAS_TESTS.search(after) and may_let_pass(*texts):
        yield f"{path}: a helper of the tests changed."
