"""A short text that stands for a piece of Python code, so that a renamed or doubled one is known; what it defines is py_definitions'."""

from __future__ import annotations

import ast
import hashlib

from interlock.adapters.facts.py_results import BARE


def digest_of(node: ast.AST) -> str:
    """The same for two definitions that are the same but for their own name, layout and comments."""
    shown: list[str] = []
    node.__dict__.pop("shape", None)
    _shape(node, shown)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        # The class around it holds it too.
        node.shape = "\0".join(shown)  # type: ignore[union-attr]
        shown[1] = "_"
    return hashlib.sha1("\0".join(shown).encode("utf-8", "replace"), usedforsecurity=False).hexdigest()[:16]


def _shape(node: ast.AST, shown: list[str]) -> None:
    """A tree as words, without its places; as telling as the standard dump and quicker."""
    held = node.__dict__
    if (known := held.get("shape")) is not None:
        shown.append(known)
        return
    shown.append(node.__class__.__name__)
    for name in node._fields:
        value = held.get(name)
        kind = value.__class__
        if kind is str:
            shown.append(repr(value) if name == "value" else value)  # type: ignore[arg-type]
        elif kind is list:
            shown.append("[")
            for each in value:  # type: ignore[union-attr]
                if isinstance(each, ast.AST):
                    _shape(each, shown)
                else:
                    shown.append(repr(each))
            shown.append("]")
        elif value is None or kind in BARE:
            shown.append(kind.__name__)
        elif isinstance(value, ast.AST):
            _shape(value, shown)
        else:
            shown.append(f"{value!r}")
