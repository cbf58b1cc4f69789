"""Words for what of a Python definition others notice beside its call: a property, what stands for a parameter, a frozen class."""

from __future__ import annotations

import ast

from interlock.adapters.facts.py_ways import dotted

Function = ast.FunctionDef | ast.AsyncFunctionDef
PROPERTIES = frozenset({"property", "cached_property", "abstractproperty", "hybrid_property", "classproperty"})
NEUTRAL = frozenset(
    {"staticmethod", "classmethod", "abstractmethod", "override", "final", "lru_cache", "cache", "fixture", "overload"}
    | {"task", "shared_task", "route", "get", "post", "put", "receiver", "listens_for", "atomic", "login_required"}
    | {"deprecated", "cached", "wraps", "contextmanager", "asynccontextmanager", "no_type_check", "typechecked"}
)
"""Decorators that keep what a call gives and gets, by their last name; which of them are a project's own, the tree tells."""
_BUILT_IN = frozenset({"staticmethod", "classmethod"})
_CACHES = frozenset({"lru_cache", "cache"})
RECORDS = frozenset({"dataclass", "define", "frozen", "mutable", "attrs"})


def last_name(node: ast.expr | None) -> str:
    """The last name of a dotted expression or of what is called; nothing for anything else."""
    if isinstance(node, ast.Call):
        return last_name(node.func)
    if isinstance(node, ast.Subscript):
        return last_name(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def shape_of(node: Function, decorators: list[str]) -> str:
    """Whether it is read as a value, or else what stands for parameters that are not given
    (``rate=0.19``) and with how many values one is called (``on_row(1)``).
    """
    if PROPERTIES & set(decorators):
        return "property"
    positional = [*node.args.posonlyargs, *node.args.args]
    after = positional[len(positional) - len(node.args.defaults) :]
    pairs = [
        *zip(after, node.args.defaults, strict=True),
        *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
    ]
    calls = [f"{arg.arg}({count})" for arg in (*positional, *node.args.kwonlyargs) if (count := _called_with(arg)) >= 0]
    stands = [
        f"{arg.arg}={default.value!r}".replace(" ", "_")
        for arg, default in pairs
        if isinstance(default, ast.Constant) and default.value is not None
    ]
    return " ".join([*stands, *calls])


def _called_with(arg: ast.arg) -> int:
    """How many values a parameter is called with, by its annotation; -1 where that is not told."""
    for each in ast.walk(arg.annotation) if arg.annotation is not None else ():
        match each:
            case ast.Subscript(value=of, slice=ast.Tuple(elts=[ast.List(elts=taken), _])) if (
                last_name(of) == "Callable"
            ):
                return len(taken)
    return -1


def is_frozen(node: ast.ClassDef) -> bool:
    """Whether what is made of a class cannot be assigned to."""
    for each in node.decorator_list:
        if last_name(each) == "frozen":
            return True
        if isinstance(each, ast.Call) and last_name(each) in RECORDS:
            return any(
                word.arg == "frozen" and isinstance(word.value, ast.Constant) and word.value.value is True
                for word in each.keywords
            )
    return any(last_name(each) == "NamedTuple" for each in node.bases)


def kept_by(node: Function, decorators: list[str]) -> str:
    """Decorators that may keep a function or give it members, as words of its shape; a property has none.

    All of them stand with a ``~`` and in full too, to be looked up: the name alone does not tell whose one is.
    """
    if PROPERTIES & set(decorators):
        return ""
    kept = [f"@{each}" for each in decorators if each and (each in _CACHES or each not in NEUTRAL)]
    return " ".join([*kept, *(f"~{word}" for each in node.decorator_list if (word := _in_full(each)))])


def _in_full(node: ast.expr) -> str:
    name = dotted(node.func if isinstance(node, ast.Call) else node)
    if not name or "(" in name or name.rpartition(".")[2] in _BUILT_IN:
        return ""
    return f"{name}()" if isinstance(node, ast.Call) else name
