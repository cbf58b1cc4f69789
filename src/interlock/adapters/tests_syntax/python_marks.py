"""What sets a Python test aside: skip marks and calls, of a function, a class or a file, and which depend on the platform alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from interlock.adapters.tests_syntax import python_cases
from interlock.adapters.tests_syntax.python_flow import EXITS
from interlock.adapters.tests_syntax.python_made import is_setup
from interlock.adapters.tests_syntax.python_names import dotted, of_platform
from interlock.core.gate.test_code import Mark

_SKIPS: Final = frozenset({"skip", "skipif", "xfail", "skipIf", "skipUnless", "expectedFailure"})
_CALLS: Final = frozenset({"pytest.skip", "pytest.xfail", "pytest.importorskip", "skipTest", "importorskip"})
_ENDS: Final = frozenset({"atexit.register", "os._exit", "os.abort"})
_RETRIES: Final = frozenset({"flaky", "retry", "rerun", "retries"})
_SETS: Final = frozenset({"setattr", "monkeypatch.setattr", "patch", "mock.patch", "patch.object", "mock.patch.object"})
_JUDGES: Final = frozenset({"pytest", "_pytest", "unittest", "builtins", "pluggy", "TestCase"})


def of_decorators(nodes: list[ast.expr], platform: str) -> Iterator[Mark]:
    """Marks in the decorators of a function or class, or in what ``pytestmark`` is set to."""
    for node in nodes:
        call = node if isinstance(node, ast.Call) else None
        name = dotted(call.func if call else node)
        last = name.rpartition(".")[2]
        if last in _SKIPS and (name.startswith(("pytest", "unittest", "mark", "skip", "expected")) or "mark." in name):
            yield Mark(
                line=node.lineno,
                key=f"mark {ast.unparse(node)}",
                what=f"is set aside by @{_short(node)}",
                declared=call is not None and _is_declared(call, last),
                here=call is not None and bool(call.args) and holds(call.args[0], platform) is (last != "skipUnless"),
            )


def of_retries(nodes: list[ast.expr]) -> Iterator[Mark]:
    """Decorators by which a failed test is run again until it passes."""
    for node in nodes:
        name = dotted(node.func if isinstance(node, ast.Call) else node)
        if name.rpartition(".")[2] in _RETRIES:
            yield Mark(line=node.lineno, key=f"retry {name}", what=f"is run again until it passes by @{_short(node)}")


def of_calls(body: list[ast.stmt]) -> Iterator[Mark]:
    """Calls that set a test aside while it runs, or a module while it is imported."""
    for call in (each for part in body for each in ast.walk(part) if isinstance(each, ast.Call)):
        name = dotted(call.func)
        if name in _CALLS or name.endswith((".skipTest", ".importorskip")):
            yield Mark(line=call.lineno, key=f"call {name}", what=f"is set aside by {_short(call)}")
        if name.endswith("add_marker") and any(word in ast.unparse(call) for word in ("xfail", "skip")):
            yield Mark(line=call.lineno, key="add_marker", what=f"is set aside by {_short(call)}")
    for node in (each for part in body for each in ast.walk(part) if isinstance(each, ast.Raise) and each.exc):
        named = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if named is not None and dotted(named).rpartition(".")[2] in ("SkipTest", "Skipped"):
            yield Mark(line=node.lineno, key="SkipTest", what="is set aside by SkipTest")


def of_setups(body: list[ast.stmt]) -> Iterator[Mark]:
    """Skips in what runs before each test of a class or file, where no condition holds them back."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_setup(node.name):
            yield from of_calls([each for each in node.body if not isinstance(each, ast.If)])


def of_module(tree: ast.Module, platform: str) -> Iterator[Mark]:
    """What holds for a whole file: pytestmark, ends at import, patched judges, a report that it writes itself."""
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if value is not None and any(dotted(target) == "pytestmark" for target in targets):
            yield from of_decorators(value.elts if isinstance(value, ast.List | ast.Tuple) else [value], platform)
        if value is not None and any(
            dotted(each) in ("__test__", "collect_ignore", "collect_ignore_glob") for each in targets
        ):
            yield Mark(line=node.lineno, key=ast.unparse(node), what=f"is not collected: {_short(node)}")
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from of_calls([node])
    yield from _patches(tree)
    yield from python_cases.own_judges(tree)


def of_runs(tree: ast.Module) -> Iterator[Mark]:
    """In a file that is collected: what ends the run, or writes the report in its place."""
    for call in _plain_calls(tree.body):
        name = dotted(call.func)
        if name in _ENDS:
            yield Mark(line=call.lineno, key=name, what=f"takes the end of the run into its own hands by {name}")
    ends = any(isinstance(node, ast.Call) and dotted(node.func) in _ENDS for node in ast.walk(tree))
    for node in ast.walk(tree):
        if ends and isinstance(node, ast.Constant) and isinstance(node.value, str) and "<testsuite" in node.value:
            yield Mark(line=node.lineno, key="<testsuite", what="writes its own report, and ends the run")
        if isinstance(node, ast.Attribute) and node.attr == "xmlpath":
            yield Mark(line=node.lineno, key=node.attr, what="asks where the report is")


def _plain_calls(body: list[ast.stmt], *, inside: bool = False) -> Iterator[ast.Call]:
    """Calls that happen when a file is loaded or a test runs; not what stands under a condition or in another function."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _plain_calls(node.body)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("test") and not inside:
                yield from _plain_calls(node.body, inside=True)
        elif isinstance(node, ast.With | ast.AsyncWith | ast.Try | ast.For | ast.While):
            yield from _plain_calls(node.body, inside=inside)
        elif not isinstance(node, ast.If):
            yield from (each for each in ast.walk(node) if isinstance(each, ast.Call))


def _patches(tree: ast.Module) -> Iterator[Mark]:
    """Changes of what judges: a setattr of it, a patch, or an assignment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func) in _SETS:
            text = ast.unparse(node.args[0]) if node.args else ""
            if text.strip("'\"").partition(".")[0] in _JUDGES - {"builtins"}:
                yield Mark(line=node.lineno, key=f"patch {text}", what=f"changes what judges it: {_short(node)}")
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Attribute) and dotted(target).partition(".")[0] in _JUDGES:
                key = f"patch {dotted(target)}"
                yield Mark(line=target.lineno, key=key, what=f"changes what judges it: {_short(target)}")
    for statement in tree.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and dotted(call.func) in EXITS - {"os._exit"}:
            yield Mark(line=statement.lineno, key=dotted(call.func), what=f"ends the run by {dotted(call.func)}")


def _is_declared(call: ast.Call, last: str) -> bool:
    """A condition on the platform alone that gives its reason."""
    if last not in ("skipif", "skipIf", "skipUnless", "xfail") or not call.args:
        return False
    condition = call.args[0]
    reason = any(word.arg == "reason" for word in call.keywords) or (
        last in ("skipIf", "skipUnless") and len(call.args) > 1
    )
    return reason and of_platform(condition)


def holds(condition: ast.expr, platform: str) -> bool | None:
    """Whether a condition on ``sys.platform`` or ``os.name`` holds on a platform; None when that cannot be told."""
    match condition:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[ast.Constant(value=str(value))]):
            here = {"sys.platform": platform, "os.name": "nt" if platform == "win32" else "posix"}.get(dotted(left))
            return None if here is None else (here == value) is isinstance(op, ast.Eq)
        case ast.Call(func=ast.Attribute(value=left, attr="startswith"), args=[ast.Constant(value=str(value))]):
            return platform.startswith(value) if dotted(left) == "sys.platform" else None
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = holds(operand, platform)
            return None if inner is None else not inner
    return None


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
