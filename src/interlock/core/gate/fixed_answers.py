"""Product code that newly answers one written input with one written value, as code made for its tests does; a person looks, no rule refuses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Final

from interlock.core.gate.changes import Change
from interlock.core.gate.shadows import Both, Trees
from interlock.core.gate.test_code import is_test_side

_PLAIN: Final = (0, 1, -1, "", None, True, False)
_LITERAL: Final = r"(?:-?\d[\w.]*|'[^'\n]*'|\"[^\"\n]*\")"
_OTHER: Final = re.compile(
    rf"\bif\s*\(?\s*\w+\s*===?\s*{_LITERAL}\s*&&\s*\w+\s*===?\s*{_LITERAL}\s*\)?\s*\{{?\s*return\s+{_LITERAL}"
)
_CODE: Final = re.compile(r".*\.(?:[cm]?[jt]sx?|go|rs|java|kt|cs|php)")


def fixed_answers(changes: Sequence[Change], both: Both, trees: Trees) -> Iterator[str]:
    """Where the product has such an answer that it did not have, in words; in Python only for inputs that a test has."""
    for change in changes:
        if is_test_side(change.path) or change.status == "D":
            continue
        old, new = both(change.path)
        if change.path.endswith(".py"):
            known = {text for text, _, _ in _python(old)}
            for text, line, name in _python(new):
                if text not in known and any(_asks(name, text, each) for each in trees.tests):
                    yield f"{change.path}:{line}: {name} answers {text} with a fixed value, and a test asks just that."
        elif _CODE.fullmatch(change.path):
            texts = [(data or b"").decode("utf-8", "replace") for data in (old, new)]
            for match in _OTHER.finditer(texts[1]):
                if match[0] not in texts[0]:
                    line = texts[1].count("\n", 0, match.start()) + 1
                    yield f"{change.path}:{line}: it answers a fixed input with a fixed value: {match[0][:80]}."


def _asks(name: str, text: str, test: bytes) -> bool:
    """Whether a test names the function and has the values of the input in one line, or in rows of a table."""
    words = re.findall(r"[\w.]+|'[^']*'", text)
    body = test.decode("utf-8", "replace").replace('"', "'")
    if not re.search(rf"\b{re.escape(name)}\b", body):
        return False
    return any(
        all(re.search(rf"(?<![\w.]){re.escape(word)}(?![\w.])", line) for word in words) for line in body.splitlines()
    )


def _python(data: bytes | None) -> Iterator[tuple[str, int, str]]:
    """Inputs that a function answers with a constant, by its parameters' values as text, with line and function."""
    try:
        tree = ast.parse(data or b"")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for function in (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)):
        given = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
        for node in (each for part in function.body for each in ast.walk(part)):
            for values, line in _answers(node, given):
                if any(not isinstance(each, tuple) and each not in _PLAIN for each in values):
                    yield ", ".join(map(repr, values)), line, function.name


def _answers(node: ast.AST, given: set[str]) -> Iterator[tuple[tuple[object, ...], int]]:
    if (
        isinstance(node, ast.If)
        and isinstance(node.body[0], ast.Return)
        and isinstance(node.body[0].value, ast.Constant)
    ):
        values = tuple(_values(node.test, given))
        if values and node.body[0].value.value is not None:
            yield values, node.lineno
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if (
                isinstance(key, ast.Tuple)
                and isinstance(value, ast.Constant)
                and all(isinstance(each, ast.Constant) for each in key.elts)
            ):
                yield tuple(each.value for each in key.elts if isinstance(each, ast.Constant)), node.lineno


def _values(test: ast.expr, given: set[str]) -> Iterator[object]:
    """The constants that parameters are equal to, when that is all that a condition asks; else nothing."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    found: list[object] = []
    for part in parts:
        match part:
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq()], comparators=[ast.Constant(value=value)]) if (
                name in given
            ):
                found.append(value)
            case ast.Compare(left=ast.Tuple(elts=names), ops=[ast.Eq()], comparators=[ast.Tuple(elts=held)]) if all(
                isinstance(each, ast.Name) and each.id in given for each in names
            ) and all(isinstance(each, ast.Constant) for each in held):
                found += [each.value for each in held if isinstance(each, ast.Constant)]
            case _:
                return
    yield from found
