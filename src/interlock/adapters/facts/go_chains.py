"""Tells the way to the type of a Go expression where its own file does not show that type; the steps are followed in the merged tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.adapters.facts.go_places import Places
from interlock.adapters.facts.go_types import results_of, written
from interlock.adapters.facts.treesitter import Scope, text

if TYPE_CHECKING:
    from tree_sitter import Node

_UNKNOWN = ("", "")
_TYPES = frozenset({"slice_type", "array_type", "map_type", "pointer_type", "channel_type", "generic_type"})
_MOST_STEPS = 8


class Chains(Places):
    """The chains of one file's expressions."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.steps: dict[int, tuple[Node, str, Scope]] = {}
        """Where a name is bound → what it is a part of, and which."""

    def bound(self, name: Node, of: Node | None, step: str, scope: Scope) -> None:
        """Notes that a local name is a part of what an expression gives."""
        scope.names[text(name)] = name
        if of is not None:
            self.steps[name.id] = (of, step, scope)

    def chain(  # noqa: PLR0911 -- one case a kind of expression
        self, node: Node | None, scope: Scope, hops: int = _MOST_STEPS
    ) -> tuple[str, str]:
        """The import that a chain begins with (empty: none) and the chain, as Use.of has it; empty where nothing shows its beginning."""
        found = self.place(node, scope)
        if node is None or not hops or found[1]:
            return found
        match node.type:
            case "parenthesized_expression" | "slice_expression" | "expression_list" if node.named_children:
                return self.chain(node.named_children[0], scope, hops - 1)
            case "unary_expression":
                inner = self.chain(node.child_by_field_name("operand"), scope, hops - 1)
                received = text(node.child_by_field_name("operator")) == "<-"
                return _further(inner, "[]") if received else inner
            case "identifier":
                return self._of_local(node, scope, hops)
            case "selector_expression":
                outer = self.chain(node.child_by_field_name("operand"), scope, hops - 1)
                return _further(outer, f".{text(node.child_by_field_name('field'))}")
            case "index_expression":
                return _further(self.chain(node.child_by_field_name("operand"), scope, hops - 1), "[0]")
            case "call_expression":
                return self._of_call(node, scope, hops)
            case "composite_literal":
                return self.chain(node.child_by_field_name("type"), scope, hops - 1)
            case _ if node.type in _TYPES:
                return "", f":{written(node)}"
        return _UNKNOWN

    def _of_local(self, node: Node, scope: Scope, hops: int) -> tuple[str, str]:
        local, shown = scope.find(text(node))
        if not local:
            shown = self.top.get(text(node))
        if shown is None:
            return _UNKNOWN
        if shown.id in self.steps:
            of, step, inside = self.steps[shown.id]
            return _further(self.chain(of, inside, hops - 1), step)
        return self.chain(shown, scope, hops - 1) if shown.id != node.id else _UNKNOWN

    def _of_call(self, node: Node, scope: Scope, hops: int) -> tuple[str, str]:
        function = node.child_by_field_name("function")
        if function is None:
            return _UNKNOWN
        if function.type == "identifier":
            name, arguments = text(function), node.child_by_field_name("arguments")
            if name in {"make", "append"} and arguments is not None and arguments.named_children:
                return self.chain(arguments.named_children[0], scope, hops - 1)
            result = self.results.get(name) if not scope.find(name)[0] else None
            return ("", f":{results_of(result)}") if result is not None else _UNKNOWN
        if function.type != "selector_expression":
            return _UNKNOWN
        outer = self.chain(function.child_by_field_name("operand"), scope, hops - 1)
        return _further(outer, f".{text(function.child_by_field_name('field'))}()")


def _further(outer: tuple[str, str], step: str) -> tuple[str, str]:
    source, of = outer
    return (source, f"{of}//{step}") if of and of.count("//") < _MOST_STEPS else _UNKNOWN
