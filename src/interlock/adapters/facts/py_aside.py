"""Tells which texts of a Python file name nothing that must be there: what it writes itself, loggers, variables that it asks for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

_WORTH: Final = re.compile(rb"getLogger|get_logger|tmp|temp|open\(|\.write_|\.touch\(|environ|getenv")
_LOGGERS: Final = frozenset({"getLogger", "get_logger"})
_WRITES: Final = frozenset({"write_text", "write_bytes", "touch", "mkdir"})
_TEMPORARY: Final = re.compile(r"tmp|temp", re.IGNORECASE)


def aside(tree: ast.Module, data: bytes) -> tuple[frozenset[int], frozenset[str]]:
    """Constants (by ``id`` of their node) that name nothing of the project, and variables whose lack the file bears."""
    if _WORTH.search(data) is None:
        return frozenset(), frozenset()
    texts: set[int] = set()
    asked: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            texts.update(id(each) for each in _made(node))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and _is_temporary(node.left):
            texts.update(id(each) for each in _constants(node))
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Constant):
            if isinstance(node.ops[0], ast.In | ast.NotIn) and _last(node.comparators[0]) == "environ":
                asked.add(str(node.left.value))
        elif isinstance(node, ast.BoolOp):
            asked.update(name for each in node.values if (name := _variable(each)))
        elif isinstance(node, ast.If | ast.IfExp) and (name := _variable(node.test)):
            asked.add(name)
    return frozenset(texts), frozenset(asked)


def _made(call: ast.Call) -> Iterator[ast.Constant]:
    """Texts of a call that writes a file, puts one into a folder for the time being, or names a logger."""
    name = _last(call.func)
    if name in _LOGGERS or (name == "open" and _writes(call)):
        yield from _constants(*call.args[:1])
    elif name in _WRITES and isinstance(call.func, ast.Attribute):
        yield from _constants(call.func.value)
    elif name in {"join", "joinpath"} and any(
        _is_temporary(each)
        for each in [*call.args[:1], *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
    ):
        yield from _constants(*call.args)


def _writes(call: ast.Call) -> bool:
    mode = next(
        (each.value for each in call.keywords if each.arg == "mode"), call.args[1] if len(call.args) > 1 else None
    )
    return isinstance(mode, ast.Constant) and isinstance(mode.value, str) and mode.value[:1] in {"w", "x", "a"}


def _is_temporary(node: ast.expr) -> bool:
    """Whether what a path begins with is called a temporary one."""
    while isinstance(node, ast.BinOp):
        node = node.left
    return _TEMPORARY.search(_last(node)) is not None


def _variable(node: ast.expr) -> str:
    """The variable of ``os.environ.get("X")`` or ``os.getenv("X")``."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node = node.operand
    if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
        return ""
    of = _last(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    reads = _last(node.func) == "getenv" or (of == "environ" and _last(node.func) == "get")
    return str(node.args[0].value) if reads else ""


def _constants(*nodes: ast.expr) -> Iterator[ast.Constant]:
    for node in nodes:
        yield from (each for each in ast.walk(node) if isinstance(each, ast.Constant))


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _last(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
