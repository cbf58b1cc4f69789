"""Product code that newly answers one written input with one written value, as code made for its tests does; a person looks, no rule refuses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from interlock.core.gate.changes import Change
from interlock.core.gate.shadows import Both, Trees
from interlock.core.gate.test_code import is_test_side

_PLAIN: Final = (0, 1, -1, "", None, True, False)
_PLAIN_TEXTS: Final = ("0", "1", "-1", "''", '""')
_LITERAL: Final = r"(-?\d[\w.]*|'[^'\n]*'|\"[^\"\n]*\")"
_OTHER: Final = re.compile(
    rf"\bif\s*\(?\s*\w+\s*===?\s*{_LITERAL}\s*&&\s*\w+\s*===?\s*{_LITERAL}\s*\)?\s*\{{?\s*return\s+{_LITERAL}"
)
_CLOSED: Final = re.compile(
    r"(?:\w+_)?(?:code|status|kind|type|mode|level|state|country|currency|lang(?:uage)?|locale|unit|role|method|colou?r|category|tier|region"
    r"|weekday|month|suffix|ext(?:ension)?|scheme|format|severity|priority)"
)
_CODE: Final = re.compile(r".*\.(?:[cm]?[jt]sx?|go|rs|java|kt|cs|php)")


def fixed_answers(changes: Sequence[Change], both: Both, trees: Trees) -> Iterator[str]:
    """Where the product has such an answer that it did not have, in words; in Python only for inputs that a test has."""
    for change in changes:
        if is_test_side(change.path) or change.status == "D":
            continue
        old, new = both(change.path)
        if change.path.endswith(".py"):
            yield from _in_python(change.path, old, new, trees)
        elif _CODE.fullmatch(change.path):
            yield from _in_others(change.path, *((data or b"").decode("utf-8", "replace") for data in (old, new)))


def _in_python(path: str, old: bytes | None, new: bytes | None, trees: Trees) -> Iterator[str]:
    """A function that only looks up is left out where its parameter has few values, or where no test asks for half of what it holds."""
    known = {text for function in _python(old) for text, _ in function.answers}
    for function in _python(new):
        asked = [each for each in function.answers if any(_asks(function.name, each[0], test) for test in trees.tests)]
        if function.looks_up and (function.closed or 2 * len(asked) <= len(function.answers)):
            continue
        for text, line in asked:
            if text not in known:
                yield f"{path}:{line}: {function.name} answers {text} with a fixed value, and a test asks just that."


def _in_others(path: str, old: str, new: str) -> Iterator[str]:
    for match in _OTHER.finditer(new):
        if match[0] not in old and any(each not in _PLAIN_TEXTS for each in match.groups()):
            line = new.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: it answers a fixed input with a fixed value: {match[0][:80]}."


def _asks(name: str, text: str, test: bytes) -> bool:
    """Whether a test names the function and has the values of the input in one line, or in rows of a table."""
    words = re.findall(r"[\w.]+|'[^']*'", text)
    body = test.decode("utf-8", "replace").replace('"', "'")
    if not re.search(rf"\b{re.escape(name)}\b", body):
        return False
    return any(
        all(re.search(rf"(?<![\w.]){re.escape(word)}(?![\w.])", line) for word in words) for line in body.splitlines()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Function:
    """A function with the inputs that it answers with a constant, as text, and their lines.

    ``looks_up`` tells that it gives nothing but constants, for values of one parameter; ``closed``, that the parameter's name is of
    something that has few values.
    """

    name: str
    answers: tuple[tuple[str, int], ...]
    looks_up: bool
    closed: bool


def _python(data: bytes | None) -> Iterator[_Function]:
    """The functions of a module that answer an input with a constant."""
    try:
        tree = ast.parse(data or b"")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for function in (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)):
        given = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
        parts = [each for part in function.body for each in ast.walk(part)]
        found = [each for node in parts for each in _answers(node, given)]
        answers = tuple(
            (", ".join(map(repr, values)), line)
            for values, line in found
            if any(not isinstance(each, tuple) and each not in _PLAIN for each in values)
        )
        if answers:
            gives = [each.value for each in parts if isinstance(each, ast.Return)]
            yield _Function(
                name=function.name,
                answers=answers,
                looks_up=len(given - {"self", "cls"}) == 1
                and all(each is None or isinstance(each, ast.Constant) for each in gives),
                closed=any(map(_CLOSED.fullmatch, given)),
            )


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
