"""What a conftest.py may do to the judgement of tests: hooks, plugins, exits and marks that are new in it; fixtures are the work's."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

_MAY: Final = frozenset(
    {
        "pytest_addoption",
        "pytest_addhooks",
        "pytest_report_header",
        "pytest_make_parametrize_id",
        "pytest_asyncio_loop_factories",
    }
)
_EXITS: Final = frozenset({"sys.exit", "os._exit", "os.abort", "pytest.exit", "atexit.register", "os.execv", "os.kill"})
_SETS_ASIDE: Final = frozenset({"pytest.skip", "pytest.xfail", "pytest.importorskip", "skip", "xfail", "add_marker"})
_JUDGES: Final = frozenset({"pytest", "_pytest", "unittest", "builtins", "pluggy", "sys"})


def weaker(before: bytes | None, after: bytes | None) -> Iterator[str]:
    """What is new in a conftest.py and can change what passes, in words; nothing for fixtures, options and helpers."""
    if after is None:
        if before is not None and _hooks(_tree(before)):
            yield "its hooks are gone"
        return
    new = _tree(after)
    if new is None:
        yield "it cannot be read any more"
        return
    old = _tree(before)
    known = _hooks(old)
    for name, text in _hooks(new).items():
        if known.get(name) != text:
            yield f"{name} is {'changed' if name in known else 'new'}"
    for name in known:
        if name not in _hooks(new):
            yield f"{name} is gone"
    before_acts = set(_acts(old)) if old is not None else set()
    for each in dict.fromkeys(_acts(new)):
        if each not in before_acts:
            yield each


def _tree(data: bytes | None) -> ast.Module | None:
    if data is None:
        return None
    try:
        return ast.parse(data)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _hooks(tree: ast.Module | None) -> dict[str, str]:
    """Functions that pytest calls by name, wherever they are defined, also as methods of plugins."""
    found: dict[str, str] = {}
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_hook(node):
            found[node.name] = ast.dump(node)
        if isinstance(node, ast.Assign):
            for target in node.targets:
                name = _dotted(target)
                if name.startswith("pytest_") or name in ("collect_ignore", "collect_ignore_glob", "pytestmark"):
                    found[name] = ast.dump(node)
    return found


def _is_hook(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    if not node.name.startswith("pytest_") or node.name in _MAY:
        return False
    return node.name != "pytest_configure" or not _only_markers(node)


def _only_markers(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return all(
        isinstance(part, ast.Expr)
        and (isinstance(part.value, ast.Constant) or (isinstance(part.value, ast.Call) and _adds_marker(part.value)))
        for part in node.body
    )


def _adds_marker(call: ast.Call) -> bool:
    first = call.args[0] if call.args else None
    return (
        _dotted(call.func).endswith("addinivalue_line") and isinstance(first, ast.Constant) and first.value == "markers"
    )


def _acts(tree: ast.Module) -> Iterator[str]:  # noqa: C901 -- one form a case
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = _dotted(node.func)
            if name in _EXITS:
                yield f"it calls {name}"
            if name in _SETS_ASIDE or name.endswith((".add_marker", ".skip", ".xfail")):
                yield f"it sets tests aside by {name}"
            if name.endswith("setattr") and node.args and _dotted(node.args[0]).partition(".")[0] in _JUDGES:
                yield f"it changes {_dotted(node.args[0])}"
            if name.endswith("register") and "plugin" in name:
                yield f"it registers a plugin by {name}"
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Attribute):
                name = _dotted(target)
                if name.partition(".")[0] in _JUDGES or name.endswith(
                    ("exitstatus", "outcome", "passed", "option.xmlpath")
                ):
                    yield f"it changes {name}"
        if isinstance(node, ast.Attribute) and node.attr in ("xmlpath", "junitxml"):
            yield f"it uses {node.attr}"
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "<testsuite" in node.value:
            yield "it writes a report"


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return f"{before}.{node.attr}" if before else node.attr
    return node.id if isinstance(node, ast.Name) else ""
