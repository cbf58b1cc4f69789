"""What a Python statement demands: assert, unittest, pytest.raises and helpers, or nothing since it is always true; where it stands is flow's."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, Final

from interlock.core.gate.test_code import Assertion

_HELPER: Final = re.compile(r"_*(?:assert|check|verify|expect|ensure|should|validate)(?:_|[A-Z]|$)")
_EXACT: Final = re.compile(r"assert_?(?:\w*_)?(?:\w*equals?|is|is_?none|in_order)$", re.IGNORECASE)
_ONLY_THERE: Final = frozenset({"isinstance", "hasattr", "callable", "bool"})
_RAISES: Final = frozenset(
    {
        "raises",
        "warns",
        "deprecated_call",
        "assertRaises",
        "assertRaisesRegex",
        "assertWarns",
        "assertLogs",
        "RaisesGroup",
    }
)


def of_assert(node: ast.Assert) -> Iterator[Assertion]:
    """What an assert statement demands; ``a and b`` are two."""
    yield from of_test(node.test)


def of_test(test: ast.expr) -> Iterator[Assertion]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from of_test(value)
        return
    strength = 0 if always_true(test) else _strength(test)
    yield Assertion(
        subject=_subject(test),
        text=text_of(test),
        shape=shape_of(test),
        line=test.lineno,
        strength=strength,
        parts=_parts(test),
        loose=tolerance_of(test),
        truth=isinstance(test, ast.Compare) and any(_is_flag(each) for each in test.comparators),
    )


def _is_flag(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def tolerance_of(node: ast.AST) -> float:
    """The share of a value by which a comparison may be off, as far as it is written out: 1 is all of it, 0 none."""
    found = 0.0
    for call in (each for each in ast.walk(node) if isinstance(each, ast.Call)):
        words = {word.arg: word.value for word in call.keywords}
        name = name_of(call.func)
        given = next((each for each in call.args[:2] if isinstance(each, ast.Constant)), None)
        value = given.value if given is not None and isinstance(given.value, int | float) else 0
        for key in ("rel", "rtol", "rel_tol"):
            found = max(found, _number(words.get(key)))
        for key in ("abs", "atol", "abs_tol", "delta"):
            found = max(found, _number(words.get(key)) / (abs(value) or 1))
        if name == "round" and len(call.args) == 1 and not words:
            continue
        if name in ("assertAlmostEqual", "assert_almost_equal") and "places" in words:
            found = max(found, 0.5 * 10 ** -_number(words["places"]) / (abs(value) or 1))
    return found


def _number(node: ast.expr | None) -> float:
    return float(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, int | float) else 0.0


def _any_error(call: ast.Call) -> float:
    """1 where every error passes: ``raises(Exception)`` without a word of its text."""
    broad = any(
        name_of(part) in ("Exception", "BaseException")
        for each in call.args[:1]
        for part in ast.walk(each)
        if isinstance(part, ast.expr)
    )
    return (
        1.0
        if broad
        and not any(word.arg == "match" for word in call.keywords)
        and name_of(call.func) != "assertRaisesRegex"
        else 0.0
    )


def of_call(call: ast.Call) -> Assertion | None:
    """What a call demands by itself: a method of unittest, numpy or a mock; None for others, also for helpers of the project."""
    name = name_of(call.func)
    if name in _RAISES:
        return Assertion(
            text=text_of(call),
            shape=f"raises {_callee(call.args)}",
            line=call.lineno,
            strength=2,
            loose=_any_error(call),
        )
    if name == "fail":
        return Assertion(text=text_of(call), shape="fail", line=call.lineno, strength=2)
    if not isinstance(call.func, ast.Attribute) or not re.match(r"assert(?:_|[A-Z])", name):
        return None
    return _unittest(call, name)


def _unittest(call: ast.Call, name: str) -> Assertion:
    args = call.args
    if name in ("assertTrue", "assert_") and args:
        (first, *_) = of_test(args[0])
        return first
    if name == "assertFalse" and args:
        test = ast.UnaryOp(op=ast.Not(), operand=args[0], lineno=call.lineno, col_offset=call.col_offset)
        (first, *_) = of_test(test)
        return first
    strength = 1 if name in ("assertIsNotNone", "assertIsInstance") else 3 if _EXACT.match(name) else 2
    if len(args) >= 2 and name.startswith("assert") and _same(args[0], args[1]) and strength == 3:
        strength = 0
    shape = f"{_masked(args[0])} == {_masked(args[1])}" if strength == 3 and len(args) > 1 else _masked(call)
    parts = max((_size(each) for each in args), default=1)
    subject = ast.unparse(args[0]) if args else ""
    return Assertion(
        text=text_of(call),
        shape=shape,
        line=call.lineno,
        strength=strength,
        parts=parts,
        subject=subject,
        loose=tolerance_of(call),
        truth=any(map(_is_flag, args[1:2])),
    )


def is_helper(call: ast.Call) -> bool:
    """Whether a call is named like a helper that asserts."""
    return is_helper_name(name_of(call.func))


def is_helper_name(name: str) -> bool:
    return bool(_HELPER.match(name))


def name_of(function: ast.expr) -> str:
    """The last name of what is called."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def always_true(test: ast.expr) -> bool:  # noqa: C901, PLR0911, PLR0912 -- one form a case
    """Whether a condition holds whatever the code under test does."""
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Tuple(elts=held) | ast.List(elts=held) | ast.Set(elts=held):
            return bool(held)
        case ast.Dict(keys=keys):
            return bool(keys)
        case ast.Lambda():
            return True
        case ast.JoinedStr(values=values):
            return any(isinstance(value, ast.Constant) and value.value for value in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(always_true, values))
        case ast.BoolOp(values=values):
            return all(map(always_true, values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return isinstance(operand, ast.Constant) and not operand.value
        case ast.IfExp(body=body, orelse=other):
            return always_true(body) and always_true(other)
        case ast.NamedExpr(value=value):
            return always_true(value)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _settled(left, op, right)
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id="object")]):
            return True
        case ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp() | ast.ListComp() as each]):
            return any(_is_nothing(part.iter) for part in each.generators)
        case ast.Call(func=ast.Name(id="bool" | "any" | "all"), args=[only]):
            return always_true(only)
    return False


def _is_nothing(node: ast.expr) -> bool:
    return isinstance(node, ast.List | ast.Tuple | ast.Set) and not node.elts


def _settled(left: ast.expr, op: ast.cmpop, right: ast.expr) -> bool:
    if isinstance(op, ast.Eq | ast.Is | ast.LtE | ast.GtE) and _same(left, right):
        return True
    if isinstance(op, ast.Eq) and (_any(left) or _any(right)):
        return True
    if isinstance(op, ast.NotEq | ast.IsNot) and _fixed(left) and _fixed(right):
        return not _same(left, right)
    counted = isinstance(left, ast.Call) and name_of(left.func) == "len"
    return counted and isinstance(op, ast.GtE) and isinstance(right, ast.Constant) and right.value == 0


def _any(node: ast.expr) -> bool:
    """What is equal to everything: mock's ANY, and an approximation wider than its value."""
    if isinstance(node, ast.Name | ast.Attribute):
        return name_of(node) == "ANY"
    if not isinstance(node, ast.Call) or name_of(node.func) != "approx" or not node.args:
        return False
    wide = {word.arg: word.value.value for word in node.keywords if isinstance(word.value, ast.Constant)}
    first = node.args[0].operand if isinstance(node.args[0], ast.UnaryOp) else node.args[0]
    value = first.value if isinstance(first, ast.Constant) else None
    if not isinstance(value, int | float):
        return False
    absolute, relative = wide.get("abs"), wide.get("rel")
    return (
        isinstance(absolute, int | float) and absolute > max(1, abs(value)) and (value != 0 or absolute >= 1000)
    ) or (isinstance(relative, int | float) and relative >= 1)


def _same(left: ast.expr, right: ast.expr) -> bool:
    return ast.dump(left) == ast.dump(right)


def _fixed(node: ast.expr) -> bool:
    return all(isinstance(each, ast.Constant | ast.Tuple | ast.List | ast.Load) for each in ast.walk(node))


def _strength(test: ast.expr) -> int:
    match test:
        case ast.Compare(ops=[ast.IsNot()]):
            return 1
        case ast.Compare(ops=[ast.Eq() | ast.Is()]):
            return 3
        case ast.Compare():
            return 2
        case ast.Call(func=function):
            return 1 if name_of(function) in _ONLY_THERE else 2
        case ast.UnaryOp():
            return 2
    return 1


def _parts(test: ast.expr) -> int:
    """How many values one comparison looks at: the elements of what it compares with."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq | ast.Is):
        return max(_size(test.left), *map(_size, test.comparators))
    return 1


def _size(node: ast.expr) -> int:
    match node:
        case ast.Tuple(elts=held) | ast.List(elts=held) | ast.Set(elts=held):
            return max(1, sum(map(_size, held)))
        case ast.Dict(values=values):
            return max(1, sum(map(_size, values)))
        case ast.Call(args=args, keywords=keywords):
            return max(1, len(args) + len(keywords))
    return 1


def _subject(test: ast.expr) -> str:
    match test:
        case ast.Compare(
            left=ast.Constant(), ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE(), *_], comparators=[held, *_]
        ):
            return ast.unparse(held)
        case ast.Compare(left=left):
            return ast.unparse(left)
        case ast.Call(args=[first, *_]) if name_of(test.func) in _ONLY_THERE:
            return ast.unparse(first)
    return ast.unparse(test)


def shape_of(test: ast.expr) -> str:
    """A condition without names of variables and without values; ``a == b`` is the same as assertEqual(a, b)."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq | ast.Is):
        return f"{_masked(test.left)} == {_masked(test.comparators[0])}"
    return _masked(test)


def _masked(node: ast.expr) -> str:
    copy = ast.parse(ast.unparse(node), mode="eval").body
    return ast.unparse(_mask(copy))


def _mask(node: ast.AST) -> Any:
    """Every value, list and variable as ``_``; what is called keeps its name.  Changes the node."""
    if isinstance(node, ast.Constant | ast.Name | ast.List | ast.Tuple | ast.Dict | ast.Set | ast.JoinedStr):
        return ast.Name(id="_")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return ast.Name(id="_")
    for name, value in ast.iter_fields(node):
        if isinstance(node, ast.Call) and name == "func" and isinstance(value, ast.Name):
            continue
        if isinstance(value, ast.AST) and not isinstance(value, ast.expr_context | ast.operator | ast.cmpop):
            setattr(node, name, _mask(value))
        elif isinstance(value, list):
            setattr(node, name, [_mask(each) if isinstance(each, ast.expr | ast.keyword) else each for each in value])
    return node


def _callee(args: list[ast.expr]) -> str:
    return ast.unparse(args[0]) if args else ""


def text_of(node: ast.expr) -> str:
    """The source, short enough for a sentence."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
