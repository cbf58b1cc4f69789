"""Tells how values of a Python file come about that have no written type: what fields are set to, what locals hold, what is wrapped."""

from __future__ import annotations

import ast

from interlock.adapters.facts.py_results import inside, type_of_value

Function = ast.FunctionDef | ast.AsyncFunctionDef


def way_to(value: ast.expr | None) -> str:
    """The class that is made, or the way to it (``app.make_repo().first()``), for what is called; nothing for the rest."""
    match value:
        case ast.Call(func=func) if name := dotted(func):
            last = name.rpartition(".")[2]
            return name if last[:1].isupper() and not last.isupper() and "(" not in name else f"{name}()"
        case ast.Await(value=inner):
            return way_to(inner)
        case _:
            return ""


def dotted(node: ast.expr) -> str:
    """The names of an expression, with brackets for calls on the way; nothing for what begins with anything else."""
    match node:
        case ast.Name(id=name) if name not in {"self", "cls", "super"}:
            return name
        case ast.Attribute(value=value, attr=attr) if base := dotted(value):
            return f"{base}.{attr}"
        case ast.Call(func=func) if name := dotted(func):
            return f"{name}()"
        case _:
            return ""


def types_set(node: Function, receiver: str) -> dict[str, str]:
    """The types of what a method sets on its own object, where each is set once: by annotation, by a parameter, by what is made."""
    given = {
        each.arg: ast.unparse(each.annotation)
        for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        if each.annotation is not None
    }
    found: dict[str, str] = {}
    for each in inside(node):
        targets = (
            each.targets if isinstance(each, ast.Assign) else [each.target] if isinstance(each, ast.AnnAssign) else []
        )
        for target in targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == receiver:
                written = ast.unparse(each.annotation) if isinstance(each, ast.AnnAssign) else ""
                shown = written or _shown(each.value, given)  # type: ignore[attr-defined]
                found[target.attr] = shown if found.get(target.attr, shown) == shown else ""
    return found


def _shown(value: ast.expr | None, given: dict[str, str]) -> str:
    match value:
        case ast.Name(id=name):
            return given.get(name, "")
        case ast.BoolOp(op=ast.Or(), values=[*_, last]):
            return _shown(last, given)
        case ast.Call():
            return way_to(value)
        case _:
            return ""


def local_type(node: Function, name: str, nodes: list[ast.AST]) -> str:
    """What a local holds that is bound once, by a plain assignment."""
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
    if any(each is not None and each.arg == name for each in arguments):
        return "Self" if node.args.args and node.args.args[0].arg == name == "self" else ""
    stores = [
        each for each in nodes if isinstance(each, ast.Name) and each.id == name and not isinstance(each.ctx, ast.Load)
    ]
    values = [
        each.value
        for each in nodes
        if isinstance(each, ast.Assign) and len(each.targets) == 1 and each.targets[0] in stores
    ]
    return type_of_value(values[0]) if len(stores) == len(values) == 1 else ""


def wrapping(node: Function) -> str:
    """Whether a function gives back what goes around the one that it is given (``wraps``), what still has to be given one (``decorates``), or that very one (``keeps``).

    What goes around and takes, gives on and gives back all as it is ``passes``.
    """
    inner = _given_back(node)
    if inner is None:
        return "keeps" if _gives_its_own(node) else ""
    around = _given_back(inner)
    if around is not None:
        return "decorates passes" if _passes(inner, around) else "decorates"
    if _gives_its_own(inner):
        return "decorates keeps"
    return "wraps passes" if _passes(node, around=inner) else "wraps"


def _passes(node: Function, around: Function) -> bool:
    """Whether what goes around takes anything, calls the given function with that, and gives back what this gives."""
    taken = around.args
    plain = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs]
    if plain or taken.vararg is None or taken.kwarg is None or len(node.args.args) != 1:
        return False
    name, same = node.args.args[0].arg, f"(*{taken.vararg.arg}, **{taken.kwarg.arg})"
    nodes = inside(around)
    calls = [each for each in nodes if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)]
    mine = [each for each in calls if each.func.id == name]  # type: ignore[attr-defined]
    back = {ast.unparse(each.value) for each in nodes if isinstance(each, ast.Return) and each.value is not None}
    held = {
        target.id
        for each in nodes
        if isinstance(each, ast.Assign) and ast.unparse(each.value) == f"{name}{same}"
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    whole = {f"{name}{same}", f"await {name}{same}"} if isinstance(around, ast.AsyncFunctionDef) else {f"{name}{same}"}
    return bool(mine and back) and all(ast.unparse(each) == f"{name}{same}" for each in mine) and back <= whole | held


def _gives_its_own(node: Function) -> bool:
    """Whether a function of one parameter does more than to give that back, but gives nothing else."""
    first = node.args.args[0].arg if len(node.args.args) == 1 and not node.args.vararg else ""
    names = [each.value for each in inside(node) if isinstance(each, ast.Return)]
    return bool(first and names and len(node.body) > 1) and all(
        isinstance(each, ast.Name) and each.id == first for each in names
    )


def _given_back(node: Function) -> Function | None:
    """The function within a function that every return of it gives back."""
    inner = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
    if not inner:
        return None
    names = {
        each.value.id if isinstance(each.value, ast.Name) else ""
        for each in inside(node)
        if isinstance(each, ast.Return)
    }
    return inner.get(names.pop()) if len(names) == 1 else None
