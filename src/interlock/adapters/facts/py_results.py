"""Tells what a Python function gives back and raises, as far as its own text shows; following what it calls is not here."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef


_CLOSED = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda})
BARE = frozenset(
    kind
    for above in (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
    for kind in above.__subclasses__()
)
"""Kinds of nodes that only say which one it is, and hold nothing."""
_LEAVES: frozenset[type] = frozenset(
    {ast.Name, ast.Constant, ast.alias, ast.Global, ast.Nonlocal, ast.Pass, ast.Break, ast.Continue}
)


def children(node: ast.AST) -> tuple[ast.AST, ...] | list[ast.AST]:
    """What stands in a node, not to be altered; quicker than the standard walk, and remembered, since a file is walked more than once."""
    kind = node.__class__
    if kind in _LEAVES:
        return ()
    known: list[ast.AST] | None = node.__dict__.get("inner")
    if known is not None:
        return known
    found: list[ast.AST] = []
    for name in node._fields:
        value = node.__dict__.get(name)
        if value.__class__ is list:
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST) and value.__class__ not in BARE:
            found.append(value)
    node.inner = found  # type: ignore[attr-defined]
    return found


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """All statements in a node, those of functions and classes too, without what stands in their expressions."""
    stack = [node]
    while stack:
        each = stack.pop()
        if isinstance(each, ast.stmt):
            yield each
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            held = each.__dict__.get(name)
            if held.__class__ is list:
                stack += held


def everything(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all that is in it."""
    stack = [node]
    while stack:
        each = stack.pop()
        yield each
        stack += children(each)


def inside(node: ast.AST) -> list[ast.AST]:
    """Everything in a function but what functions and classes in it hold; not to be altered."""
    known: list[ast.AST] | None = node.__dict__.get("all_inside")
    if known is not None:
        return known
    found: list[ast.AST] = []
    stack = [*children(node)]
    while stack:
        each = stack.pop()
        found.append(each)
        if each.__class__ not in _CLOSED:
            stack += children(each)
    node.all_inside = found  # type: ignore[attr-defined]
    return found


def result_of(node: Function, nodes: list[ast.AST]) -> str:
    """The declared type of what comes back, or what all returns show; of an async function what awaiting it needs."""
    later = isinstance(node, ast.AsyncFunctionDef)
    if any(isinstance(each, ast.Yield | ast.YieldFrom) for each in nodes):
        if node.returns is not None:
            return ast.unparse(node.returns)
        return "AsyncIterator" if later else "Iterator"
    if node.returns is not None:
        found = ast.unparse(node.returns)
    else:
        from interlock.adapters.facts.py_ways import local_type

        shapes = {
            local_type(node, each.value.id, nodes) if isinstance(each.value, ast.Name) else type_of_value(each.value)
            for each in nodes
            if isinstance(each, ast.Return) and each.value is not None
        }
        bare = any(isinstance(each, ast.Return) and each.value is None for each in nodes)
        found = shapes.pop() if len(shapes) == 1 and not bare else ""
        if found == "None" or (not shapes and not found and _nothing(node, nodes)):
            found = "None"
    return f"Coroutine[{found}]" if later else found


def _nothing(node: Function, nodes: list[ast.AST]) -> bool:
    """Whether a body plainly gives nothing back: no value is returned, and it is more than a stub or a refusal."""
    if any(isinstance(each, ast.Return) and each.value is not None for each in nodes):
        return False
    if any(isinstance(each, ast.Raise) for each in nodes):
        return False
    real = [each for each in node.body if not isinstance(each, ast.Pass)]
    real = [each for each in real if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    return bool(real)


def type_of_value(value: ast.expr | None) -> str:  # noqa: PLR0911 -- one form a case
    """The type that a literal or the making of something shows; nothing for the rest."""
    match value:
        case ast.Tuple(elts=elts):
            spread = any(isinstance(each, ast.Starred) for each in elts)
            return "tuple" if spread else f"tuple[{', '.join('_' * len(elts))}]"
        case ast.List() | ast.ListComp():
            return "list"
        case ast.Dict() | ast.DictComp():
            return "dict"
        case ast.Set() | ast.SetComp():
            return "set"
        case ast.JoinedStr():
            return "str"
        case ast.Constant(value=inner):
            return type(inner).__name__ if inner is not None else "None"
        case ast.Call(func=ast.Name(id=name)) if name[:1].isupper() or name in {
            "dict",
            "list",
            "tuple",
            "set",
            "str",
            "int",
        }:
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=outer), attr=name)) if name[:1].isupper():
            return f"{outer}.{name}"
        case ast.GeneratorExp():
            return "Iterator"
        case _:
            return ""


def raised(node: Function) -> tuple[str, ...]:
    """Exceptions that a function raises by name and does not catch around that itself."""
    found: dict[str, None] = {}
    _raised(node.body, (), found)
    return tuple(found)


def passed_on(nodes: list[ast.AST]) -> tuple[str, ...]:
    """Functions of the file, and methods of the same object, that are called outside of any try: what they raise goes on."""
    covered = {
        id(each) for node in nodes if isinstance(node, ast.Try) for stmt in node.body for each in everything(stmt)
    }
    found: dict[str, None] = {}
    for node in nodes:
        if isinstance(node, ast.Call) and id(node) not in covered:
            match node.func:
                case ast.Name(id=name):
                    found[name] = None
                case ast.Attribute(value=ast.Name(id="self"), attr=name):
                    found[f"self.{name}"] = None
                case _:
                    pass
    return tuple(found)


def _raised(body: list[ast.stmt], caught: tuple[str, ...], found: dict[str, None]) -> None:
    for node in body:
        match node:
            case ast.Raise(exc=exc) if exc is not None:
                name = exc.func if isinstance(exc, ast.Call) else exc
                last = name.attr if isinstance(name, ast.Attribute) else name.id if isinstance(name, ast.Name) else ""
                if last[:1].isupper() and not is_caught(last, caught):
                    found[last] = None
            case ast.Try() | ast.TryStar():
                _raised(node.body, (*caught, *caught_by(node)), found)
                for inner in (node.orelse, node.finalbody, *(each.body for each in node.handlers)):
                    _raised(inner, caught, found)
            case ast.If() | ast.For() | ast.While() | ast.AsyncFor():
                _raised(node.body, caught, found)
                _raised(node.orelse, caught, found)
            case ast.With() | ast.AsyncWith():
                _raised(node.body, caught, found)
            case ast.Match():
                for case in node.cases:
                    _raised(case.body, caught, found)
            case _:
                pass


def caught_by(node: ast.Try | ast.TryStar) -> tuple[str, ...]:
    """The names of the exceptions that the handlers of a try take; a bare one takes BaseException."""
    names: list[str] = []
    for handler in node.handlers:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        for each in kinds:
            if each is None:
                names.append("BaseException")
            elif isinstance(each, ast.Name):
                names.append(each.id)
            elif isinstance(each, ast.Attribute):
                names.append(each.attr)
    return tuple(names)


def is_caught(name: str, caught: tuple[str, ...]) -> bool:
    """Whether one of the caught exceptions is the raised one or above it."""
    if name in caught or {"Exception", "BaseException"} & set(caught):
        return True
    kind = getattr(builtins, name, None)
    if not isinstance(kind, type):
        return False
    return any(isinstance(above := getattr(builtins, each, None), type) and issubclass(kind, above) for each in caught)


def keys_given(nodes: list[ast.AST]) -> list[tuple[str, int]]:
    """Keys of the dict that a function gives back, each with its line; ``*`` where it may have others."""
    returns = [each.value for each in nodes if isinstance(each, ast.Return) and each.value is not None]
    found: list[tuple[str, int]] = []
    dicts = 0
    for value in returns:
        shown = _literal(value, nodes) if isinstance(value, ast.Name) else value
        keys = _keys_of(shown)
        if keys is None:
            found.append(("*", value.lineno))
        else:
            dicts += 1
            found += keys
            if isinstance(value, ast.Name):
                found += _added_keys(value.id, nodes)
    return list({name: (name, line) for name, line in reversed(found)}.values()) if dicts else []


def _literal(name: ast.Name, nodes: list[ast.AST]) -> ast.expr | None:
    values = [
        each.value
        for each in nodes
        if isinstance(each, ast.Assign | ast.AnnAssign)
        and any(
            isinstance(target, ast.Name) and target.id == name.id
            for target in (each.targets if isinstance(each, ast.Assign) else [each.target])
        )
    ]
    return values[0] if len(values) == 1 else None


def _added_keys(name: str, nodes: list[ast.AST]) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for each in nodes:
        match each:
            case ast.Subscript(value=ast.Name(id=of), slice=key, ctx=ast.Store()) if of == name:
                text = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else "*"
                found.append((text, each.lineno))
            case ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr="update" | "setdefault" | "pop")) if (
                of == name
            ):
                found.append(("*", each.lineno))
            case ast.Call(args=args, keywords=words) if any(
                isinstance(one, ast.Name) and one.id == name for one in (*args, *(word.value for word in words))
            ):
                # Whoever is handed it may put more into it.
                found.append(("*", each.lineno))
            case _:
                pass
    return found


def _keys_of(value: ast.expr | None) -> list[tuple[str, int]] | None:
    if isinstance(value, ast.Dict):
        return [
            (key.value, key.lineno)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
            else ("*", value.lineno)
            for key in value.keys
        ]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict" and not value.args:
        return [(each.arg or "*", value.lineno) for each in value.keywords]
    return None
