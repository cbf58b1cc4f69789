"""Whether a decorator is the project's own and may alter what a call gives or gets, told from the tree; Python only."""

from __future__ import annotations

from dataclasses import replace

from interlock.core.merge.meet.defined import Defined, defined, member, type_at
from interlock.core.merge.meet.sides import Tree

_IN_FULL = "~"
"""What begins the word of a decorator in a shape: ``~web.route()``, with brackets where it is called itself."""


def as_called(tree: Tree, found: Defined) -> Defined:
    """The symbol as callers meet it: its call unsure and its result unknown, where a decorator of the project may alter them."""
    path, symbol = found
    words = [each[1:] for each in symbol.shape.split() if each.startswith(_IN_FULL)]
    if symbol.signature is None or not any(_alters(tree, path, each) for each in words):
        return found
    return path, replace(symbol, signature=replace(symbol.signature, unsure=True, result=""))


def _alters(tree: Tree, path: str, word: str) -> bool:
    """Whether the name leads into the project, and not to what is seen to give the function on as it is."""
    found = _own(tree, path, word.removesuffix("()"))
    if found is None:
        return False
    said = found[1].shape.split()
    same = "passes" in said or "keeps" in said
    return not same or ("decorates" in said) != word.endswith("()")


def _own(tree: Tree, path: str, name: str) -> Defined | None:
    found = defined(tree, path, name)
    outer, _, last = name.rpartition(".")
    if found is not None or not outer:
        return found
    holder = defined(tree, path, outer)
    if holder is None or holder[1].signature is None:
        return None
    of = type_at(tree, holder[0], holder[1].signature.result)
    return member(tree, of, last, []) if of is not None else None
