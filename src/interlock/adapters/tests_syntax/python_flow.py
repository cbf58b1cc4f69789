"""Which assertions of a Python function count when it runs, and what lets it off: swallowed errors, early ends, exits; pure syntax."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from interlock.adapters.tests_syntax import python_asserts as asserts
from interlock.adapters.tests_syntax import python_fixed as fixed
from interlock.adapters.tests_syntax.python_made import Made, is_broad, made_in, takes_failures
from interlock.adapters.tests_syntax.python_names import dotted, of_platform
from interlock.core.gate.test_code import Assertion, Mark

Function = ast.FunctionDef | ast.AsyncFunctionDef

EXITS: Final = frozenset({"sys.exit", "os._exit", "os.abort", "os.kill", "os.execv", "exit", "quit", "pytest.exit"})
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_UNCOUNTED: Final = "counts for nothing"
_ENDS: Final = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(slots=True)
class Flow:
    """What one function does: assertions that count, calls that may be helpers, and marks."""

    found: list[Assertion] = field(default_factory=list)
    calls: list[tuple[ast.Call, int, str]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    returns: list[int] = field(default_factory=list)
    caught: list[int] = field(default_factory=list)
    fixed: fixed.Fixed = field(default_factory=dict)
    used: frozenset[str] = frozenset()
    stores: list[tuple[int, str]] = field(default_factory=list)
    guard: str = ""
    handling: bool = False
    made: Made = field(default_factory=Made)
    quiet: frozenset[str] = frozenset()


def flow_of(function: Function, outer: fixed.Fixed | None = None, quiet: frozenset[str] = frozenset()) -> Flow:
    """Walk through a function's body once; ``outer`` are names with a fixed value around it, ``quiet`` what hides the errors of a block."""
    given = frozenset(each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg))
    nodes = [each for part in function.body for each in ast.walk(part)]
    flow = Flow(
        fixed=fixed.fixed_of(function.body, nodes, outer or {}, given),
        used=fixed.used_in(nodes),
        stores=fixed.stores_of(nodes),
        made=made_in(nodes),
        quiet=quiet,
    )
    _block(flow, function.body, live="", times=1, depth=0)
    last = max((each.line for each in flow.found), default=0)
    told = max((each.line for each in flow.found if each.shape != "fail"), default=0)
    for line, end in (*((line, last) for line in flow.returns), *((line, told) for line in flow.caught)):
        if line < end:
            flow.marks.append(Mark(line=line, key="return", what="returns before its assertions"))
    return flow


def _block(flow: Flow, body: Iterable[ast.stmt], *, live: str, times: int, depth: int) -> None:
    """``live`` is empty where assertions count, else why they do not; ``times`` how often the body runs by a table."""
    for statement in body:
        _statement(flow, statement, live=live, times=times, depth=depth)
        if isinstance(statement, _ENDS) or _is_end(statement):
            live = live or "is never reached"


def _is_end(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and (
        dotted(call.func) in EXITS or dotted(call.func) in ("pytest.skip", "pytest.xfail")
    )


def _statement(flow: Flow, node: ast.stmt, *, live: str, times: int, depth: int) -> None:  # noqa: C901, PLR0912 -- one form a case
    match node:
        case ast.Assert():
            for each in asserts.of_assert(node):
                hollow = flow.made.proves_nothing(node.test, each.subject) and each.strength > 0
                _take(flow, each, live or (_UNCOUNTED if hollow else ""), times)
        case ast.Return():
            if depth or not live:
                (flow.caught if flow.handling else flow.returns).append(node.lineno)
        case ast.If():
            _branches(flow, node, live=live, times=times, depth=depth)
        case ast.For() | ast.AsyncFor():
            rows = rows_of(node.iter)
            rows = fixed.size_of(node.iter, flow.fixed) if rows is None else rows
            inner = live or ("stands in a loop over nothing" if rows == 0 else "")
            _block(flow, node.body, live=inner, times=times * (rows or 1), depth=depth + 1)
            _block(flow, node.orelse, live=live, times=times, depth=depth + 1)
        case ast.While():
            off = fixed.truth_of(node.test, flow.fixed) is False
            _block(flow, node.body, live=live or ("is never reached" if off else ""), times=times, depth=depth + 1)
        case ast.With() | ast.AsyncWith():
            _with(flow, node, live=live, times=times, depth=depth)
        case ast.Try() | ast.TryStar():
            _try(flow, node, live=live, times=times, depth=depth)
        case ast.Match():
            for case in node.cases:
                _block(flow, case.body, live=live, times=times, depth=depth + 1)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            idle = not node.decorator_list and node.name not in flow.used
            inner = live or ("stands in a function that nothing calls" if idle else "")
            inner = inner or (_UNCOUNTED if node.name in flow.made.beside else "")
            _block(flow, node.body, live=inner, times=times, depth=depth + 1)
            return
        case ast.Raise() if node.exc is not None:
            name = dotted(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
            if name == "AssertionError" and depth:
                _take(flow, Assertion(text=name, shape="fail", line=node.lineno, strength=2), live, times)
            if name in ("SystemExit", "KeyboardInterrupt"):
                flow.marks.append(Mark(line=node.lineno, key=name, what=f"ends the run by {name}"))
    _expressions(flow, node, live=live, times=times)


def _branches(flow: Flow, node: ast.If, *, live: str, times: int, depth: int) -> None:
    truth = fixed.truth_of(node.test, flow.fixed)
    never = "is never reached"
    off = live or (never if truth is False else "")
    other = live or (never if truth is True else "")
    guard, told = flow.guard, asserts.text_of(node.test)
    free = truth is not None or of_platform(node.test)
    flow.guard = guard or ("" if free or _fails(node.orelse) else told)
    _block(flow, node.body, live=off, times=times, depth=depth + 1)
    flow.guard = guard or ("" if free or _fails(node.body) else f"not ({told})")
    _block(flow, node.orelse, live=other, times=times, depth=depth + 1)
    flow.guard = guard


def _fails(body: list[ast.stmt]) -> bool:
    """Whether a branch asserts or fails by itself, so that one of both always says something."""
    return any(
        isinstance(node, ast.Assert | ast.Raise)
        or (
            isinstance(node, ast.Call)
            and (asserts.of_call(node) is not None or asserts.is_helper(node) or dotted(node.func).endswith("skip"))
        )
        for part in body
        for node in ast.walk(part)
    )


def _with(flow: Flow, node: ast.With | ast.AsyncWith, *, live: str, times: int, depth: int) -> None:
    quiet = any(
        isinstance(item.context_expr, ast.Call)
        and dotted(item.context_expr.func).endswith("suppress")
        and is_broad(item.context_expr.args)
        for item in node.items
    )
    given = [each.context_expr for each in node.items]
    quiet = quiet or any(dotted(each.func if isinstance(each, ast.Call) else each) in flow.quiet for each in given)
    expected = any(isinstance(each, ast.Call) and _expects_any(each) for each in given)
    inverted = expected and any(isinstance(each, ast.Assert) for each in node.body)
    why = "may fail without being seen" if quiet else "is to fail" if inverted else _UNCOUNTED if expected else ""
    _block(flow, node.body, live=live or why, times=times, depth=depth)


def _expects_any(call: ast.Call) -> bool:
    """A block that is to fail, with whatever error: a failed assertion in it is as good."""
    return dotted(call.func).rpartition(".")[2] in ("raises", "assertRaises") and is_broad(call.args)


def _try(flow: Flow, node: ast.Try | ast.TryStar, *, live: str, times: int, depth: int) -> None:
    swallows = any(_swallows(handler) for handler in node.handlers) or any(
        isinstance(each, ast.Return) for part in node.finalbody for each in ast.walk(part)
    )
    _block(flow, node.body, live=live or ("may fail without being seen" if swallows else ""), times=times, depth=depth)
    before, flow.handling = flow.handling, True
    for handler in node.handlers:
        _block(flow, handler.body, live=live, times=times, depth=depth + 1)
    flow.handling = before
    _block(flow, node.orelse, live=live, times=times, depth=depth)
    _block(flow, node.finalbody, live=live, times=times, depth=depth)


def _swallows(handler: ast.ExceptHandler) -> bool:
    """Whether a failed assertion ends here: caught, and nothing in the handler fails."""
    if not takes_failures(handler):
        return False
    for node in (each for part in handler.body for each in ast.walk(part)):
        if isinstance(node, ast.Raise | ast.Assert):
            return False
        if isinstance(node, ast.Call) and (dotted(node.func).endswith("fail") or asserts.of_call(node)):
            return False
    return True


def _take(flow: Flow, found: Assertion, live: str, times: int) -> None:
    """An assertion that counts, or a mark that says why it does not."""
    if live == _UNCOUNTED:
        return
    if live:
        key = f"{live}"
        flow.marks.append(Mark(line=found.line, key=key, what=f"has an assertion that {live}: {found.text}"))
    elif found.strength == 0:
        flow.marks.append(
            Mark(line=found.line, key="always", what=f"has an assertion that is always true: {found.text}")
        )
    else:
        names = set(_NAME.findall(found.subject))
        bound = sum(line < found.line and name in names for line, name in flow.stores)
        flow.found.append(replace(found, weight=found.weight * times, bound=bound, guard=flow.guard))


def _expressions(flow: Flow, node: ast.stmt, *, live: str, times: int) -> None:
    """Calls in the statement itself, not in the blocks below it."""
    for call in _own_calls(node):
        found = asserts.of_call(call)
        if found is not None:
            _take(flow, found, live, times)
        elif not live:
            flow.calls.append((call, times, flow.guard))
        name = dotted(call.func)
        if name in EXITS:
            flow.marks.append(Mark(line=call.lineno, key=name, what=f"ends the run by {name}"))


def _own_calls(node: ast.stmt) -> Iterator[ast.Call]:
    for _, value in ast.iter_fields(node):
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.expr):
                yield from (each for each in ast.walk(part) if isinstance(each, ast.Call))
            elif isinstance(part, ast.withitem):
                yield from (each for each in ast.walk(part.context_expr) if isinstance(each, ast.Call))


def rows_of(node: ast.expr) -> int | None:
    """How many rows a literal table has; None when that cannot be told."""
    match node:
        case ast.List(elts=held) | ast.Tuple(elts=held) | ast.Set(elts=held):
            return None if any(isinstance(each, ast.Starred) for each in held) else len(held)
        case ast.Dict(keys=keys):
            return None if None in keys else len(keys)
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(number))]):
            return number
        case ast.Call(func=ast.Name(id="enumerate" | "list" | "sorted"), args=[first, *_]):
            return rows_of(first)
        case ast.Call(func=ast.Attribute(value=ast.Dict() as table, attr="items"), args=[]):
            return rows_of(table)
    return None
