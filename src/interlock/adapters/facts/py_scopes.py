"""Names of a Python file in their scopes, and what each means: a module, a name in one, something of a type; visiting code is not here."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field
from typing import Literal

from interlock.adapters.facts.py_results import inside, statements

_MORE = """
    __file__ __name__ __doc__ __path__ __spec__ __package__ __loader__ __builtins__ __annotations__ __class__ __module__
    __qualname__ __dict__ reveal_type WindowsError ExceptionGroup BaseExceptionGroup anext aiter
"""
_MOST_STEPS = 8
_OUTER = (ast.Global, ast.Nonlocal)
_BINDING = frozenset(
    {
        ast.Import,
        ast.ImportFrom,
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
        ast.Name,
        ast.Assign,
        ast.AnnAssign,
    }
    | {ast.NamedExpr, ast.withitem, ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping}
    | ({ast.TypeVar} if hasattr(ast, "TypeVar") else set())
)
"""Kinds of nodes that may bind a name."""
BUILTINS = frozenset(dir(builtins)) | frozenset(_MORE.split())


@dataclass(slots=True)
class Noted:
    """A use while it is still being read: what is done with its value may follow later."""

    name: str
    line: int
    source: str
    of: str
    call: tuple[int, tuple[str, ...], bool] | None
    then: list[str]
    caught: tuple[str, ...]
    on_type: bool


@dataclass(slots=True)
class Ref:
    """What an expression means: a module, a name in a module, something of a type, or what steps from one of these lead to.

    The path of what is ``led`` holds the steps as they are written: ``Shop.orders()[].customer``; ``[]`` is what a loop
    gives, ``{}`` an item, ``#1`` the second of several values.
    """

    kind: Literal["module", "name", "instance", "led"]
    source: str
    path: str = ""
    typing: bool = False
    noted: Noted | None = None

    def then(self, step: str) -> Ref | None:
        """What one more step leads to; nothing where the way would be too long to be of use."""
        if self.kind == "module" or self.path.count("(") + self.path.count(".") > _MOST_STEPS:
            return None
        return Ref("led", self.source, f"{self.path}{step}", typing=self.typing)

    @property
    def text(self) -> str:
        return f"{self.source}:{self.path}" if self.path else self.source


@dataclass(slots=True)
class Lazy:
    """A name whose meaning is that of an expression, found out when it is asked for."""

    value: ast.expr
    annotation: bool = False
    top: bool = False
    known: Ref | None = None
    asked: bool = False


Meaning = Ref | Lazy | None


@dataclass(slots=True)
class Scope:
    """Names that a module, class or function binds; those of a class are seen in its own body alone."""

    kind: Literal["module", "class", "function"]
    outer: Scope | None = None
    names: dict[str, Meaning] = field(default_factory=dict)
    owner: str = ""
    path: str = ""

    def find(self, name: str) -> tuple[bool, Meaning, Scope | None]:
        """Whether the name is bound, what it means, and where."""
        scope: Scope | None = self
        first = True
        while scope is not None:
            if name in scope.names and (first or scope.kind != "class"):
                return True, scope.names[name], scope
            first = False
            scope = scope.outer
        return False, None, None


def bind(scope: Scope, node: ast.AST, module: str, apart: frozenset[int]) -> None:
    """Bind all that a module, class or function body binds; ``apart`` are imports that only type checkers see."""
    outside: set[str] = set()
    counts: dict[str, int] = {}
    nodes = inside(node)
    for each in nodes:
        if isinstance(each, _OUTER):
            outside |= set(each.names)
    for each in nodes:
        if each.__class__ in _BINDING and (each.__class__ is not ast.Name or not isinstance(each.ctx, ast.Load)):
            _bind_one(scope, each, module, apart, counts)
    for name in outside:
        if scope.kind == "function":
            scope.names.pop(name, None)
    for name, count in counts.items():
        if count > 1 and isinstance(scope.names.get(name), Lazy):
            scope.names[name] = Ref("name", module, name) if scope.kind == "module" else None


def _bind_one(scope: Scope, node: ast.AST, module: str, apart: frozenset[int], counts: dict[str, int]) -> None:  # noqa: C901, PLR0912 -- one form a case
    names = scope.names
    match node:
        case ast.Import():
            for alias in node.names:
                local = alias.asname or alias.name.partition(".")[0]
                source = alias.name if alias.asname else local
                names[local] = Ref("module", source, typing=id(node) in apart)
        case ast.ImportFrom():
            source = "." * node.level + (node.module or "")
            for alias in node.names:
                if alias.name != "*":
                    names[alias.asname or alias.name] = Ref("name", source, alias.name, typing=id(node) in apart)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            path = f"{scope.path}.{node.name}" if scope.kind == "class" else node.name
            names[node.name] = Ref("name", module, path) if scope.kind != "function" else None
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            counts[name] = counts.get(name, 0) + 1
            if name not in names:
                names[name] = Ref("name", module, name) if scope.kind == "module" else None
        case ast.Assign(targets=[ast.Name(id=name)]):
            names[name] = Lazy(node.value, top=scope.kind == "module")
        case ast.AnnAssign(target=ast.Name(id=name)):
            names[name] = Lazy(node.annotation, annotation=True, top=scope.kind == "module")
        case ast.NamedExpr(target=ast.Name(id=name)):
            names[name] = Lazy(node.value)
        case ast.withitem(optional_vars=ast.Name(id=name)):
            names[name] = Lazy(node.context_expr)
        case ast.ExceptHandler(name=str(name), type=ast.Name() | ast.Attribute() as kind) if name not in names:
            names[name] = Lazy(kind, annotation=True)
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            names[name] = None
        case ast.MatchMapping(rest=str(name)):
            names[name] = None
        case _:
            if type(node).__name__ == "TypeVar" and hasattr(node, "name"):
                names[node.name] = None


def bind_arguments(scope: Scope, args: ast.arguments) -> None:
    """Bind the parameters, by their annotations where they have one."""
    for each in (*args.posonlyargs, *args.args, *args.kwonlyargs):
        scope.names[each.arg] = Lazy(each.annotation, annotation=True) if each.annotation is not None else None
    for rest in (args.vararg, args.kwarg):
        if rest is not None:
            scope.names[rest.arg] = None


def set_apart(tree: ast.AST) -> tuple[frozenset[int], frozenset[int]]:
    """Imports (by identity of their nodes) that only type checkers see, and those whose failing is caught."""
    typing: set[int] = set()
    guarded: set[int] = set()
    for node in statements(tree):
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            typing |= {id(each) for stmt in node.body for each in statements(stmt)}
        elif isinstance(node, ast.Try) and _catches_imports(node):
            guarded |= {id(each) for stmt in node.body for each in statements(stmt)}
    return frozenset(typing), frozenset(guarded)


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _catches_imports(node: ast.Try) -> bool:
    for handler in node.handlers:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        for kind in kinds:
            name = kind.attr if isinstance(kind, ast.Attribute) else kind.id if isinstance(kind, ast.Name) else ""
            if kind is None or name in {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}:
                return True
    return False
