"""Turns what was noted of a Python file into uses, and tells what is done with a value by whom it is handed to or what it is called."""

from __future__ import annotations

import ast
from typing import Final

from interlock.adapters.facts.py_scopes import Noted
from interlock.core.merge.facts import Call, Use

HANDED: Final = {
    "len": ("sized",),
    "reversed": ("sized",),
    **dict.fromkeys(("isinstance", "bool"), ("tested",)),
    **dict.fromkeys(
        (
            "run",
            "gather",
            "create_task",
            "ensure_future",
            "wait_for",
            "run_until_complete",
            "shield",
            "start_soon",
            "iscoroutine",
        ),
        ("later",),
    ),
    **dict.fromkeys(
        ("run_coroutine_threadsafe", "append", "add", "wait", "as_completed", "add_task", "put"), ("later",)
    ),
}
"""What is done with a value that is handed to a function of that name."""


def told(noted: list[Noted], asked: set[str]) -> tuple[Use, ...]:
    """What was noted, as uses; what a file asks for by ``hasattr`` is no use, and what is vague is told once."""
    found = []
    vague: set[tuple[object, ...]] = set()
    for each in noted:
        if each.name in asked:
            continue
        call = Call(positional=each.call[0], names=each.call[1], spread=each.call[2]) if each.call else None
        use = Use(
            name=each.name,
            line=each.line,
            source=each.source,
            of=each.of,
            call=call,
            then=tuple(sorted(set(each.then))),
            caught=each.caught,
            on_type=each.on_type,
        )
        if each.of == "?":
            key = (use.name, use.call, *(one for one in use.then if one.startswith(("on:", "none"))))
            if key in vague:
                continue
            vague.add(key)
        found.append(use)
    return tuple(found)


def last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def called(node: ast.expr) -> tuple[str, ...]:
    """What a receiver that nothing tells is called, which may say what it is."""
    name = last(node)
    return (f"on:{name}",) if name else ()


def replaced(node: ast.Call) -> list[str]:
    """The fields that ``replace(order, total=1)`` names of what it is given."""
    if last(node.func) not in {"replace", "evolve"} or len(node.args) != 1:
        return []
    return [word.arg for word in node.keywords if word.arg is not None]


def called_later(node: ast.Call) -> tuple[ast.expr, tuple[int, tuple[str, ...], bool]] | None:
    """What a call hands over to be called, with the arguments that it will be given: ``partial(f, 1)``, ``submit(f, 1)``, ``f.delay(1)``.

    Where more may be given later, the arguments count as spread.
    """
    name, args = last(node.func), node.args
    words = tuple(word.arg for word in node.keywords if word.arg is not None)
    more = any(isinstance(each, ast.Starred) for each in args) or len(words) < len(node.keywords)
    if name == "map" and len(args) > 1 and isinstance(node.func, ast.Name):
        return args[0], (len(args) - 1, (), more)
    at = _RUNS.get(name)
    if at is not None and len(args) > at and isinstance(args[at], ast.Name | ast.Attribute):
        return args[at], (len(args) - at - 1, words, more or name.startswith("partial"))
    if name in {"delay", "si"} and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        return node.func.value, (len(args), words, more)
    return None


_RUNS: Final = {"partial": 0, "partialmethod": 0, "submit": 0, "to_thread": 0, "run_in_executor": 1, "call_soon": 0}
"""Which argument is the function, for what calls it with those that follow."""


def called_back(node: ast.Call) -> tuple[str, ...]:
    """The functions of a fixed number of parameters that are written as arguments: ``calls:on_row:1``, by name or by place."""
    given = [(str(at), each) for at, each in enumerate(node.args)]
    given += [(word.arg, word.value) for word in node.keywords if word.arg is not None]
    return tuple(
        f"calls:{name}:{len(each.args.args)}"
        for name, each in given
        if isinstance(each, ast.Lambda)
        and not (each.args.defaults or each.args.vararg or each.args.kwarg or each.args.kwonlyargs)
    )
