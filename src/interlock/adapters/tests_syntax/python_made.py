"""What a Python test makes itself: doubles and functions of its own, values that it compares with themselves, blocks that hide a failure."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from interlock.adapters.tests_syntax.python_names import dotted

_DOUBLES: Final = frozenset({"Mock", "MagicMock", "AsyncMock", "create_autospec", "SimpleNamespace", "NonCallableMock"})
_BROAD: Final = frozenset({"Exception", "BaseException", "AssertionError"})
_BESIDE: Final = frozenset({"Thread", "Timer", "Process"})
_SETUPS: Final = frozenset(
    {"setUp", "setUpClass", "asyncSetUp", "setup_method", "setup_class", "setup_function", "setup_module", "setup"}
    | {"setUpModule", "setUpTestData"}
)


@dataclass(frozen=True, slots=True)
class Made:
    """Names of one function that get their only value there: doubles and lambdas, and the texts of all others; and what runs in threads."""

    own: frozenset[str] = frozenset()
    texts: dict[str, str] = field(default_factory=dict)
    beside: frozenset[str] = frozenset()

    def proves_nothing(self, test: ast.expr | None, subject: str) -> bool:
        """Whether an assertion looks at what the test made itself, or compares a value with what gave it."""
        root = subject.partition("(")[0].partition(".")[0]
        if root in self.own and subject in (root, *([subject] if subject.startswith(f"{root}(") else [])):
            return True
        match test:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
                sides = [
                    self.texts.get(each.id, "") if isinstance(each, ast.Name) else ast.unparse(each)
                    for each in (left, right)
                ]
                named = any(isinstance(each, ast.Name) for each in (left, right))
                return named and bool(sides[0]) and sides[0] == sides[1] and "(" in sides[0]
        return False


def made_in(nodes: list[ast.AST]) -> Made:
    """What one function makes, by all nodes of its body."""
    stored = Counter(each.id for each in nodes if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load))
    own, texts = set(), {}
    for node in nodes:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if not isinstance(node, ast.Assign) or not isinstance(target, ast.Name) or stored[target.id] != 1:
            continue
        texts[target.id] = ast.unparse(node.value)
        if isinstance(node.value, ast.Lambda) or _is_double(node.value):
            own.add(target.id)
    return Made(frozenset(own), texts, frozenset(_beside(nodes)))


def _is_double(value: ast.expr) -> bool:
    """A double that answers with a written value."""
    if not isinstance(value, ast.Call) or dotted(value.func).rpartition(".")[2] not in _DOUBLES:
        return False
    answers = [word.value for word in value.keywords if word.arg in ("return_value", "side_effect")]
    return bool(answers) and all(
        isinstance(each, ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.Lambda) for each in answers
    )


def _beside(nodes: list[ast.AST]) -> Iterator[str]:
    """Functions that a thread or another process runs: a failed assertion in one fails no test."""
    for node in nodes:
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in _BESIDE:
            given = [*node.args[1:2], *(word.value for word in node.keywords if word.arg in ("target", "function"))]
            yield from (each.id for each in given if isinstance(each, ast.Name))


def quiet_names(tree: ast.Module) -> frozenset[str]:
    """Classes and context managers of a file that hide every error of the block they are used for."""
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if (isinstance(node, ast.ClassDef) and any(map(_hides, node.body)))
        or (isinstance(node, ast.FunctionDef) and _is_manager(node) and _yields_quietly(node))
    )


def _hides(node: ast.stmt) -> bool:
    named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in ("__exit__", "__aexit__")
    return named and any(
        isinstance(each, ast.Return) and isinstance(each.value, ast.Constant) and each.value.value is True
        for each in getattr(node, "body", ())
    )


def _is_manager(node: ast.FunctionDef) -> bool:
    return any("contextmanager" in dotted(each) for each in node.decorator_list)


def _yields_quietly(node: ast.FunctionDef) -> bool:
    for each in (one for part in node.body for one in ast.walk(part) if isinstance(one, ast.Try)):
        inside = any(isinstance(one, ast.Yield) for part in each.body for one in ast.walk(part))
        if inside and any(map(hides_failure, each.handlers)):
            return True
    return False


def hides_failure(handler: ast.ExceptHandler) -> bool:
    """Whether a handler takes every failed assertion, and nothing in it fails or hands the error on."""
    nodes = [each for part in handler.body for each in ast.walk(part)]
    kept = any(isinstance(each, ast.Raise | ast.Assert) for each in nodes) or (
        handler.name is not None and any(isinstance(each, ast.Name) and each.id == handler.name for each in nodes)
    )
    return takes_failures(handler) and not kept


def takes_failures(handler: ast.ExceptHandler) -> bool:
    """Whether a handler takes every failed assertion."""
    if handler.type is None:
        return True
    return is_broad(handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type])


def is_broad(kinds: Iterable[ast.expr]) -> bool:
    """Whether one of these kinds of error is that of a failed assertion, or holds it."""
    return any(dotted(kind).rpartition(".")[2] in _BROAD for kind in kinds)


def is_setup(name: str) -> bool:
    """Whether a function runs before the tests of its class or file, so that its skip is one of each."""
    return name in _SETUPS
