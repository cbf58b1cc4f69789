"""What is settled in a Python file before its tests run: names with one fixed value, conditions on them, and functions that nothing calls."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from interlock.adapters.tests_syntax.python_names import dotted

Fixed = Mapping[str, Any]
_UNKNOWN: Final = object()
_LOOKS: Final = frozenset(
    {"len", "bool", "list", "tuple", "sorted", "enumerate", "zip", "reversed", "set", "any", "all"}
)
_NO_CALL: Final = frozenset({"callable", "isinstance", "hasattr", "type", "id", "repr", "str", "print", "len", "bool"})
_HAS_PLACE: Final = ast.List | ast.Dict | ast.Set


def fixed_of(
    body: list[ast.stmt], nodes: list[ast.AST], outer: Fixed, taken: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Names that have one written value all through a module or function; of ``outer`` what is not bound here again."""
    stored = Counter(name for node in nodes for name in _stored(node))
    found = {name: value for name, value in outer.items() if name not in stored and name not in taken}
    for statement in body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        value = getattr(statement, "value", None)
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or not isinstance(target, ast.Name) or value is None:
            continue
        known = _literal(value)
        if stored[target.id] == 1 and target.id not in taken and known is not _UNKNOWN:
            if isinstance(value, _HAS_PLACE) and _may_change(target.id, nodes):
                continue
            found[target.id] = known
    return found


def _stored(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from (*node.names, *node.names)
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _UNKNOWN


def _may_change(name: str, nodes: list[ast.AST]) -> bool:
    """Whether a list may get entries: everything but a loop over it, a look at its size or truth counts."""
    seen = sum(isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) for node in nodes)
    harmless = 0
    for node in nodes:
        held: list[ast.expr] = []
        if isinstance(node, ast.For | ast.AsyncFor):
            held = [node.iter]
        elif isinstance(node, ast.If | ast.While | ast.Assert):
            held = [node.test]
        elif isinstance(node, ast.Call) and dotted(node.func) in _LOOKS:
            held = node.args
        harmless += sum(isinstance(each, ast.Name) and each.id == name for each in held)
    return harmless < seen


def size_of(node: ast.expr, fixed: Fixed) -> int | None:
    """How many rows a name with a fixed value has; None when that cannot be told."""
    if (
        isinstance(node, ast.Call)
        and dotted(node.func) in ("enumerate", "list", "sorted", "reversed", "tuple")
        and node.args
    ):
        return size_of(node.args[0], fixed)
    value = fixed.get(node.id, _UNKNOWN) if isinstance(node, ast.Name) else _UNKNOWN
    return len(value) if isinstance(value, list | tuple | dict | set | str) else None


def truth_of(node: ast.expr, fixed: Fixed) -> bool | None:
    """Whether a condition holds by what is written alone; None when that depends on anything else."""
    value = _value(node, fixed)
    return None if value is _UNKNOWN else bool(value)


def _value(node: ast.expr, fixed: Fixed) -> Any:  # noqa: PLR0911 -- one form a case
    match node:
        case ast.Name(id=name):
            return fixed.get(name, _UNKNOWN)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            value = _value(operand, fixed)
            return value if value is _UNKNOWN else not value
        case ast.BoolOp(op=op, values=values):
            held = [_value(each, fixed) for each in values]
            short = isinstance(op, ast.Or)
            if any(each is not _UNKNOWN and bool(each) is short for each in held):
                return short
            return _UNKNOWN if _UNKNOWN in held else not short
        case ast.Call(func=ast.Name(id="len" | "bool" as name), args=[only], keywords=[]):
            value = _value(only, fixed)
            try:
                return value if value is _UNKNOWN else len(value) if name == "len" else bool(value)
            except TypeError:
                return _UNKNOWN
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(_value(left, fixed), op, _value(right, fixed))
    return _literal(node)


def _compared(left: Any, op: ast.cmpop, right: Any) -> Any:  # noqa: PLR0911 -- one operator a case
    if left is _UNKNOWN or right is _UNKNOWN:
        return _UNKNOWN
    try:
        match op:
            case ast.Eq():
                return left == right
            case ast.NotEq():
                return left != right
            case ast.Lt():
                return left < right
            case ast.LtE():
                return left <= right
            case ast.Gt():
                return left > right
            case ast.GtE():
                return left >= right
            case ast.In():
                return left in right
    except TypeError:
        pass
    return _UNKNOWN


def used_in(nodes: list[ast.AST]) -> frozenset[str]:
    """Names that a function reads for more than asking what they are: a function within it that is none of them never runs."""
    asked = {
        id(each) for node in nodes if isinstance(node, ast.Call) and dotted(node.func) in _NO_CALL for each in node.args
    }
    return frozenset(
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in asked
    ) | frozenset(name for node in nodes if isinstance(node, ast.Nonlocal | ast.Global) for name in node.names)


def stores_of(nodes: list[ast.AST]) -> list[tuple[int, str]]:
    """Where names get a value, by line."""
    return [(getattr(node, "lineno", 0), name) for node in nodes for name in _stored(node)]
