"""Ways in which Python code asks whether it is being tested, or takes a part of its judge into its own hands; whether that is new is knows_tests'."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_VARIABLES: Final = re.compile(
    r"PYTEST_(?:CURRENT_TEST|VERSION|XDIST_WORKER(?:_COUNT)?)|TOX_ENV_NAME|NOX_CURRENT_SESSION"
)
_RUNNERS: Final = frozenset({"pytest", "_pytest", "unittest", "nose", "nose2", "hypothesis", "py.test"})
_FRAMES: Final = frozenset(
    {"inspect.stack", "inspect.currentframe", "sys._getframe", "traceback.extract_stack", "traceback.format_stack"}
    | {"sys._current_frames", "traceback.walk_stack", "stack", "currentframe", "_getframe", "extract_stack"}
)
_OF_TESTS: Final = re.compile(r"_?tests?_?|test[_/].*|.*(?:pytest|unittest|conftest).*|tests?/.*|[/\\]tests?[/\\]?")
_ASKS: Final = frozenset(
    {"any", "next", "filter", "endswith", "startswith", "search", "match", "fullmatch", "find", "count"}
)
_CMDLINE: Final = re.compile(r"/proc/(?:self|\d+)/cmdline")
_LOOKS: Final = frozenset({"find_spec", "import_module", "__import__", "find_loader"})
_SKIPS: Final = frozenset(
    {"SkipTest", "pytest.skip", "pytest.xfail", "pytest.exit", "unittest.SkipTest", "unittest.case.SkipTest"}
)
_JUDGES: Final = frozenset({"unittest", "pytest", "_pytest", "pluggy"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question: a key that is equal wherever it is asked, what it asks for in words, and its line."""

    key: str
    what: str
    line: int


def python_asks(data: bytes) -> Iterator[Asked]:
    """Every question of a module, in code alone: comments and docstrings ask nothing."""
    if not re.search(
        rb"pytest|PYTEST|unittest|nose|hypothesis|TOX_|NOX_|stack|frame|SkipTest|sys\.modules|cmdline", data
    ):
        return
    tree = _tree(data)
    if tree is None:
        return
    told = _docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in told and _VARIABLES.fullmatch(_word(node)):
            yield Asked(key="variable", what=_word(node), line=node.lineno)
        yield from _of_expression(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _of_frames(node)
    yield from _inner_imports(tree, around=None)


@lru_cache(maxsize=256)
def _tree(data: bytes) -> ast.Module | None:
    try:
        return ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _docstrings(tree: ast.Module) -> set[int]:
    return {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def _of_expression(node: ast.AST) -> Iterator[Asked]:
    """What is loaded, what is there, how the process was started, and outcomes that only a runner knows."""
    if isinstance(node, ast.Compare | ast.Subscript | ast.Call):
        yield from _of_modules(node)
        if not isinstance(node, ast.Subscript):
            yield from _of_start(node)
    if isinstance(node, ast.Call) or (isinstance(node, ast.Raise) and node.exc is not None):
        yield from _of_outcomes(node)
    for target in node.targets if isinstance(node, ast.Assign) else ():
        if isinstance(target, ast.Attribute) and _dotted(target).partition(".")[0] in _JUDGES:
            yield Asked(key="judge", what=f"another {_dotted(target)}", line=target.lineno)


def _of_modules(node: ast.Compare | ast.Subscript | ast.Call) -> Iterator[Asked]:
    match node:
        case ast.Compare(left=asked, comparators=held):
            places = [part for each in held for part in ast.walk(each)]
        case ast.Subscript(value=value, slice=asked):
            places = [value]
        case ast.Call(func=ast.Attribute(value=value, attr="get" | "__contains__"), args=[asked, *_]):
            places = [value]
        case _:
            return
    if _word(asked).partition(".")[0] in _RUNNERS and any(_is(each, "sys.modules") for each in places):
        yield Asked(key="modules", what=f"{_word(asked)} in sys.modules", line=node.lineno)


def _of_outcomes(node: ast.Call | ast.Raise) -> Iterator[Asked]:
    """A runner that is looked for, and a test that is set aside from within the product."""
    exc = node.exc if isinstance(node, ast.Raise) else None
    call = node if isinstance(node, ast.Call) else exc if isinstance(exc, ast.Call) else None
    name = _dotted(call.func) if call is not None else _dotted(exc) if exc is not None else ""
    first = _word(call.args[0]) if call is not None and call.args else ""
    if name.rpartition(".")[2] in _LOOKS and first.partition(".")[0] in _RUNNERS - {"unittest"}:
        yield Asked(key="installed", what=f"whether {first} is there", line=node.lineno)
    if name in _SKIPS and (exc is not None or not name.endswith("SkipTest")):
        yield Asked(key="skips", what=f"a test to be set aside, by {name}", line=node.lineno)


def _of_start(node: ast.Call | ast.Compare) -> Iterator[Asked]:
    if isinstance(node, ast.Call) and _dotted(node.func).rpartition(".")[2] not in _ASKS:
        return  # such as a command that starts the tests with its own arguments
    parts = [*ast.walk(node)]
    words = [_word(each) for each in parts if isinstance(each, ast.expr)]
    runner = next((word for word in words if re.search(r"py\.?test|unittest", word)), "")
    places = ("sys.argv", "sys.orig_argv", "__main__.__file__")
    started = any(_is(each, place) for each in parts for place in places) or any(map(_CMDLINE.search, words))
    if runner and (started or any(_dotted(each) == "__main__" for each in parts)):
        yield Asked(key="argv", what=f"{runner} among the words by which it was started", line=node.lineno)


def _of_frames(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Asked]:
    """A function that looks at who called it, and for the names that tests have."""
    parts = [each for part in node.body for each in ast.walk(part)]
    looks = next((each for each in parts if isinstance(each, ast.Call) and _dotted(each.func) in _FRAMES), None)
    words = [_word(each) for each in parts if isinstance(each, ast.Constant)]
    if looks is not None and any(map(_OF_TESTS.fullmatch, words)):
        yield Asked(key="frames", what="a test among its callers", line=looks.lineno)


def _inner_imports(node: ast.AST, *, around: ast.AST | None) -> Iterator[Asked]:
    """A runner that is imported in a function, or only tried: whoever needs it imports it at the top, or starts it there."""
    for child in ast.iter_child_nodes(node):
        if around is not None and isinstance(child, ast.Import | ast.ImportFrom):
            names = [each.name for each in child.names] if isinstance(child, ast.Import) else [child.module or ""]
            runner = next((name for name in names if name.partition(".")[0] in ("pytest", "_pytest")), "")
            if runner and not _starts_it(around) and not _for_types(node):
                yield Asked(key="installed", what=f"whether {runner} is there", line=child.lineno)
        inner = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Try | ast.If)
        yield from _inner_imports(child, around=child if inner else around)


def _starts_it(node: ast.AST) -> bool:
    calls = any(isinstance(each, ast.Call) and _dotted(each.func).endswith("pytest.main") for each in ast.walk(node))
    return calls and not isinstance(node, ast.Try)


def _for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and _dotted(node.test).endswith("TYPE_CHECKING")


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute | ast.Name) and _dotted(node) in (name, name.partition(".")[2])


def _word(node: ast.AST) -> str:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _word(node.left), _word(node.right)
        return left + right if left and right else ""
    if isinstance(node, ast.Constant) and isinstance(node.value, bytes):
        return node.value.decode("latin-1")
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return f"{before}.{node.attr}" if before else node.attr
    return node.id if isinstance(node, ast.Name) else ""
