"""Classes of unittest: methods that are called and never run, and assertions that a class brings of its own; other marks are python_marks'."""

from __future__ import annotations

import ast
import unittest
from collections.abc import Iterator
from typing import Final

from interlock.adapters.tests_syntax.python_names import dotted
from interlock.core.gate.test_code import Mark

_OWN: Final = frozenset(name for name in dir(unittest.TestCase) if name.startswith("assert"))


def plain_cases(tree: ast.Module) -> frozenset[str]:
    """The names under which a file has unittest's own TestCase, which calls its methods and awaits none."""
    names = {"unittest.TestCase"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "unittest":
            names |= {each.asname or each.name for each in node.names if each.name == "TestCase"}
    return frozenset(names)


def never_awaited(body: list[ast.stmt]) -> dict[str, Mark]:
    """Test methods of such a class whose body never runs, since calling them only makes a coroutine or a generator."""
    return {
        node.name: Mark(
            line=node.lineno, key="never run", what="is only called: unittest runs no coroutine or generator"
        )
        for node in body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test")
        and (isinstance(node, ast.AsyncFunctionDef) or _yields(node))
    }


def _yields(node: ast.FunctionDef) -> bool:
    """Whether the function itself is a generator, not one within it."""
    left: list[ast.AST] = [*node.body]
    while left:
        each = left.pop()
        if isinstance(each, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            left += ast.iter_child_nodes(each)
    return False


def own_judges(tree: ast.Module) -> Iterator[Mark]:
    """Methods of a class that stand in for unittest's assertions and do not ask these."""
    for node in (each for each in ast.walk(tree) if isinstance(each, ast.ClassDef)):
        for each in node.body:
            named = _names(each) & _OWN
            if named and "super()" not in ast.unparse(each) and node.bases:
                name = min(named)
                yield Mark(
                    line=each.lineno, key=f"own {node.name}.{name}", what=f"changes what judges it: its own {name}"
                )


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return {node.name}
    return {dotted(each) for each in node.targets} if isinstance(node, ast.Assign) else set()
