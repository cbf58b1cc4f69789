"""Turns what was noted of a Python file into uses, and tells what is done with a value by whom it is handed to or what it is called."""

from __future__ import annotations

import ast
from typing import Final

from interlock.adapters.facts.py_scopes import Noted
from interlock.core.merge.facts import Call, Use

HANDED: Final = {
    "len": ("sized",),
    "reversed": ("sized",),
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
