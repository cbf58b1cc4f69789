"""Python tests that are replaced, or that replace what they test: bound again, wrapped away, the subject put in place by the tests themselves."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from interlock.adapters.tests_syntax.python_made import hides_failure
from interlock.adapters.tests_syntax.python_names import dotted
from interlock.core.gate.test_code import Mark, is_test_side

Function = ast.FunctionDef | ast.AsyncFunctionDef
_PATCHES: Final = ("patch", "patch.object", "setattr", "setitem", "patch.dict")
_RUNS: Final = frozenset({"run", "__call__", "debug", "runTest", "_callTestMethod"})
_LOADS: Final = frozenset({"load_tests", "pytest_generate_tests", "pytest_pycollect_makeitem"})


def rebound(body: list[ast.stmt]) -> dict[str, Mark]:
    """Tests of a module or class that something else stands in for when it is loaded, by name."""
    found: dict[str, Mark] = {}
    for node in _plain(body):
        for name, line in _bound(node):
            if name.startswith("test"):
                found[name] = Mark(line=line, key="rebound", what=f"is replaced after it is defined: {_short(node)}")
    names = Counter(node.name for node in body if isinstance(node, Function))
    for node in body:
        if isinstance(node, Function) and node.name.startswith("test") and names[node.name] > 1:
            found[node.name] = Mark(line=node.lineno, key="twice", what="is defined twice, and only the last one runs")
    return found


def _plain(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.If | ast.Try | ast.With | ast.For):
            yield from _plain(node.body)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node


def _bound(node: ast.stmt) -> Iterator[tuple[str, int]]:
    """Names that a statement gives a value or takes away, also by an attribute or the module's namespace, with its line."""
    for name in (*_by_call(node), *(each for target in _targets(node) for each in _named(target))):
        if name:
            yield name, node.lineno


def _targets(node: ast.stmt) -> Iterator[ast.expr]:
    if isinstance(node, ast.Assign | ast.Delete):
        yield from node.targets
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target
    elif isinstance(node, ast.Expr):
        yield from (each.target for each in ast.walk(node) if isinstance(each, ast.NamedExpr))


def _by_call(node: ast.stmt) -> Iterator[str]:
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return
    if dotted(call.func) in ("setattr", "delattr") and len(call.args) > 1:
        yield from (_word(each) for each in call.args[:2])
    if isinstance(call.func, ast.Attribute) and _is_space(call.func.value):
        yield from (_word(each) for each in call.args[:1])


def _named(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Tuple(elts=held) | ast.List(elts=held):
            for each in held:
                yield from _named(each)
        case ast.Name(id=name):
            yield name
        case ast.Attribute(value=value, attr="__code__" | "__wrapped__" | "__call__" | "__test__"):
            yield dotted(value).rpartition(".")[2]
        case ast.Attribute(attr=name):
            yield name
        case ast.Subscript(value=value, slice=index) if _is_space(value):
            yield _word(index)


def _is_space(node: ast.expr) -> bool:
    return (isinstance(node, ast.Call) and dotted(node.func) in ("globals", "locals", "vars")) or (
        isinstance(node, ast.Attribute) and node.attr == "__dict__"
    )


def _word(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return dotted(node)


def wrapped_away(node: Function, known: Mapping[str, Function]) -> Iterator[Mark]:
    """Decorators that can be read here, and neither call what they are given nor hand it on."""
    for each in node.decorator_list:
        made = known.get(dotted(each))
        if isinstance(each, ast.Lambda):
            given = each.args
            body: list[ast.AST] = [each.body]
        elif made is not None:
            given, body = made.args, [*made.body]
        else:
            continue
        first = given.args[0].arg if given.args else ""
        if first and not any(_hands_on(part, first) for part in body):
            yield Mark(
                line=each.lineno, key="wrapped", what=f"never runs behind @{_short(each)}, which does not call it"
            )
        elif first and any(_calls_quietly(part, first) for part in body):
            yield Mark(line=each.lineno, key="wrapped", what=f"may fail without being seen behind @{_short(each)}")


def _calls_quietly(part: ast.AST, name: str) -> bool:
    """Whether a function is called where its failed assertions are caught and forgotten."""
    return any(
        isinstance(node, ast.Try)
        and any(map(hides_failure, node.handlers))
        and any(isinstance(each, ast.Call) and dotted(each.func) == name for one in node.body for each in ast.walk(one))
        for node in ast.walk(part)
    )


def _hands_on(part: ast.AST, name: str) -> bool:
    """Whether a function is called, returned, stored or given to something that may call it."""
    marks = {
        id(each)
        for node in ast.walk(part)
        if isinstance(node, ast.Call)
        and dotted(node.func).rpartition(".")[2] in ("wraps", "update_wrapper", "callable")
        for each in node.args
    }
    marks |= {id(node.value) for node in ast.walk(part) if isinstance(node, ast.Attribute)}
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) and id(node) not in marks
        for node in ast.walk(part)
    )


def of_loading(body: list[ast.stmt], *, unit: bool) -> Iterator[Mark]:
    """Functions by which a file or a TestCase takes loading or running of its tests into its own hands."""
    for node in body:
        names = [node.name] if isinstance(node, Function) else [name for name, _ in _bound(node)]
        for name in names:
            if name in (_RUNS if unit else _LOADS - {"pytest_generate_tests"}):
                yield Mark(line=node.lineno, key=f"own {name}", what=f"takes into its own hands what runs, by {name}")


def products(tree: ast.Module) -> frozenset[str]:
    """Names that a file imports from what is tested: from neither the standard library nor the tests."""
    return frozenset(
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and not node.level and node.module and _is_product(node.module)
        for alias in node.names
    ) | frozenset(
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if _is_product(alias.name)
    )


def _is_product(module: str) -> bool:
    first = module.partition(".")[0]
    tools = ("pytest", "unittest", "mock", "hypothesis", "_pytest")
    return (
        first not in sys.stdlib_module_names
        and first not in tools
        and not is_test_side(f"{module.replace('.', '/')}.py")
    )


def swaps(tree: ast.Module, near: frozenset[str]) -> dict[str, Mark]:
    """Names that the tests put in place themselves; ``near`` are modules of the tests, as they are imported.

    A function that reads anything imported from elsewhere may well ask what is tested, and is none.
    """
    found: dict[str, Mark] = {}
    nodes = [*ast.walk(tree)]
    taken = _taken(nodes, near)
    inner = [each for node in nodes if isinstance(node, Function) for each in node.body if _makes_function(each)]
    inside = [each for node in nodes if isinstance(node, Function) for each in ast.walk(node)]
    for node in (*tree.body, *inner):
        for name in _made(node) if not _reads(node, taken) else ():
            found[name] = _swap(name, node.lineno, "defines itself")
        if isinstance(node, ast.ImportFrom) and node.module in near:
            for alias in node.names:
                name = alias.asname or alias.name
                found[name] = _swap(name, node.lineno, f"takes from {node.module}")
    for name, line in _of_modules(nodes):
        found[name] = _swap(name, line, "puts a module in place of")
    for call in (each for each in nodes if isinstance(each, ast.Call)):
        for name in _patched(call):
            found[name] = _swap(name, call.lineno, "patches")
            found |= {late: _swap(late, call.lineno, "patches") for late in _taken_later(name, inside)}
    return found


def _taken_later(name: str, inside: list[ast.AST]) -> Iterator[str]:
    """The names that functions import themselves from where a patch of that name stands: at that time they get the patch."""
    module, _, last = name.rpartition(".")
    for node in inside:
        if isinstance(node, ast.ImportFrom) and node.module == module:
            yield from (each.asname or each.name for each in node.names if each.name == last)


def _of_modules(nodes: list[ast.AST]) -> Iterator[tuple[str, int]]:
    """What is imported from a module that the file puts into ``sys.modules`` itself."""
    put = {
        _word(target.slice): node.lineno
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Subscript) and dotted(target.value) == "sys.modules"
    }
    for each in nodes:
        if isinstance(each, ast.ImportFrom) and each.module in put:
            yield from ((alias.asname or alias.name, put[each.module]) for alias in each.names)


def _taken(nodes: list[ast.AST], near: frozenset[str]) -> set[str]:
    """Names that are imported from neither the standard library nor the tests."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and not (node.level or node.module in near):
            found |= {each.asname or each.name for each in node.names if not _is_library(node.module or "")}
        elif isinstance(node, ast.Import):
            found |= {(each.asname or each.name).partition(".")[0] for each in node.names if not _is_library(each.name)}
    return found - {"pytest", "mock"}


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _made(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    return [name for name, _ in _bound(node)] if isinstance(node, ast.Assign | ast.AnnAssign) else []


def _makes_function(node: ast.stmt) -> bool:
    return isinstance(node, Function) or (isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda))


def _swap(name: str, line: int, how: str) -> Mark:
    return Mark(
        line=line,
        key=f"swap {name}",
        what=f"asserts on {name}, which it {how}, where the base took it from what is tested",
    )


def _reads(node: ast.AST, names: set[str]) -> bool:
    return any(
        isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and each.id in names for each in ast.walk(node)
    )


def _patched(call: ast.Call) -> Iterator[str]:
    """The names that a call of mock or monkeypatch puts something else in place of, in the test file itself."""
    name = dotted(call.func)
    if not name.endswith(_PATCHES) or not call.args:
        return
    first = call.args[0]
    own = _is_space(first) or any(isinstance(each, ast.Name) and each.id == "__name__" for each in ast.walk(first))
    if name.endswith("patch"):
        text = "".join(
            each.value for each in ast.walk(first) if isinstance(each, ast.Constant) and isinstance(each.value, str)
        )
        if text:
            yield text.rpartition(".")[2] if own else text
    elif len(call.args) > 1 and isinstance(call.args[1], ast.Constant):
        yield f"{call.args[1].value!s}" if own else f"{dotted(first)}.{call.args[1].value!s}"
    elif isinstance(first, ast.Constant) and isinstance(first.value, str) and len(call.args) > 1:
        yield first.value


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
