"""Nodes of a JavaScript tree as all parts that read tests look at them: their text, and all below one; what they mean is theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node

FUNCTIONS: Final = ("arrow_function", "function_expression", "function", "generator_function")


def every(node: Node) -> Iterator[Node]:
    """A node and all named ones below it."""
    stack = [node]
    while stack:
        one = stack.pop()
        yield one
        stack.extend(one.named_children)


def text(node: Node | None) -> str:
    """The source of a node."""
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""
