"""Tells which type a Go expression has, as far as its own file shows it; uses are noted in go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.adapters.facts.go_declares import Declares
from interlock.adapters.facts.go_types import BUILTIN, declared_type, named, result_of
from interlock.adapters.facts.treesitter import Scope, text

if TYPE_CHECKING:
    from tree_sitter import Node

_UNKNOWN = ("", "")


class Places(Declares):
    """The types of one file's expressions."""

    def place(self, node: Node | None, scope: Scope, hops: int = 6) -> tuple[str, str]:
        """Where the type of an expression comes from, and its name; ``New()`` for what a function gives back; empty if unknown."""
        if node is None or not hops:
            return _UNKNOWN
        match node.type:
            case "identifier" | "type_identifier":
                return self._of_name(node, scope, hops)
            case "selector_expression":
                operand = node.child_by_field_name("operand")
                _, owner = self.place(operand, scope, hops - 1)
                return self.place(self.fields.get((owner, text(node.child_by_field_name("field")))), Scope(), hops - 1)
            case "call_expression":
                return self._given_back(node, scope, hops)
            case "unary_expression" | "parenthesized_expression" if node.named_child_count == 1:
                return self.place(node.named_children[0], scope, hops - 1)
        return self._of_type(declared_type(node), scope)

    def _of_name(self, node: Node, scope: Scope, hops: int) -> tuple[str, str]:
        name = text(node)
        local, shown = scope.find(name)
        if not local and name in self.top:
            return self.place(self.top[name], Scope(), hops - 1)
        if local:
            return self.place(shown, scope, hops - 1) if shown is not None and shown.id != node.id else _UNKNOWN
        known = name in self.types or node.type == "type_identifier"
        return ("", name) if known and name not in BUILTIN else _UNKNOWN

    def _of_type(self, shown: Node | None, scope: Scope) -> tuple[str, str]:
        package, name = named(shown)
        if package:
            return self.packages.get(package, package), name
        return _UNKNOWN if name in BUILTIN or scope.find(name)[0] else ("", name)

    def _given_back(self, node: Node, scope: Scope, hops: int) -> tuple[str, str]:
        function = node.child_by_field_name("function")
        if function is not None and function.type == "identifier":
            return self._made_by(node, text(function), scope, hops)
        if function is not None and function.type == "selector_expression":
            operand, member = function.child_by_field_name("operand"), text(function.child_by_field_name("field"))
            if operand is not None and text(operand) in self.packages and not scope.find(text(operand))[0]:
                return self.packages[text(operand)], f"{member}()"
            source, owner = self.place(operand, scope, hops - 1)
            if not source and f"{owner}.{member}" in self.results:
                return self.place(result_of(self.results[f"{owner}.{member}"]), Scope(), hops - 1)
        return self._of_type(declared_type(node), scope)

    def _made_by(self, node: Node, name: str, scope: Scope, hops: int) -> tuple[str, str]:
        arguments = node.child_by_field_name("arguments")
        if name == "new" and arguments is not None and arguments.named_children:
            return self.place(arguments.named_children[0], scope, hops - 1)
        if scope.find(name)[0] or name in BUILTIN:
            return _UNKNOWN
        if name in self.results:
            return self.place(result_of(self.results[name]), Scope(), hops - 1)
        return ("", name) if name in self.types else ("", f"{name}()")

    def element(self, node: Node, scope: Scope) -> Node | None:
        shown: Node | None = node
        if node.type == "identifier":
            local, shown = scope.find(text(node))
            shown = shown if local else self.top.get(text(node))
        elif node.type == "selector_expression":
            _, owner = self.place(node.child_by_field_name("operand"), scope)
            shown = self.fields.get((owner, text(node.child_by_field_name("field"))))
        of = declared_type(shown) if shown is not None else None
        if of is not None and of.type in {"slice_type", "array_type"}:
            return of.child_by_field_name("element")
        return of.child_by_field_name("value") if of is not None and of.type == "map_type" else None
