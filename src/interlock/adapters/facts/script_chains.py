"""Tells the way to the type of a script's expression where its own file does not show that type; the steps are followed in the merged tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interlock.adapters.facts.script_places import Places
from interlock.adapters.facts.script_types import (
    FUNCTION_VALUES,
    bare,
    keys_of_pattern,
    object_keys,
    parameters_of,
    pattern_of,
    string_of,
)
from interlock.adapters.facts.treesitter import Scope, line, text
from interlock.core.merge.facts import Call

if TYPE_CHECKING:
    from tree_sitter import Node

_UNKNOWN = ("", "")
_MOST_STEPS: Final = 8
_OF_ELEMENTS: Final = frozenset(
    {"map", "filter", "forEach", "find", "findIndex", "findLast", "some", "every", "flatMap", "sort", "toSorted"}
)
"""Methods of lists whose function gets elements first."""
_TYPES: Final = frozenset({"array_type", "generic_type", "readonly_type", "union_type", "tuple_type"})


class Chains(Places):
    """The chains of one file's expressions."""

    def receiver(self, node: Node, scope: Scope) -> tuple[str, str]:
        return self.chain(node, scope)

    def bound(self, name: Node, of: Node | None, step: str, scope: Scope) -> None:
        """Notes that a local name is a part of what an expression gives."""
        if of is None:
            return
        if name.type == "identifier":
            scope.names[text(name)] = name
            self.steps[name.id] = (of, step, scope)
        elif name.type == "object_pattern":
            self.apart(name, _further(self.chain(of, scope), step))
        elif name.type == "array_pattern" and not step:
            for at, each in enumerate(name.named_children):
                if each.type == "identifier":
                    self.bound(each, of, f"#{at}", scope)

    def apart(self, pattern: Node, of: tuple[str, str]) -> None:
        """Notes the members that a pattern takes out of what a chain gives."""
        for key, at in keys_of_pattern(pattern) if of[1] else ():
            self.notes.use(key, at, source=of[0], of=of[1])

    def bound_by_callback(self, function: Node, scope: Scope) -> None:
        """Notes the parameters of a function that a list calls with its elements."""
        arguments = function.parent if function.type in FUNCTION_VALUES else None
        call = arguments.parent if arguments is not None and arguments.type == "arguments" else None
        called = call.child_by_field_name("function") if call is not None and call.type == "call_expression" else None
        if called is None or called.type != "member_expression" or arguments.named_children[0].id != function.id:  # type: ignore[union-attr]
            return
        name, taken = text(called.child_by_field_name("property")), parameters_of(function)
        which = {0, 1} if name.endswith(("sort", "toSorted")) else {1} if name == "reduce" else {0}
        for at, each in enumerate(taken if name in _OF_ELEMENTS | {"reduce"} else ()):
            pattern = pattern_of(each)
            if at in which and pattern is not None and each.child_by_field_name("type") is None:
                self.bound(pattern, called.child_by_field_name("object"), "[]", scope)

    def chain(  # noqa: C901, PLR0911 -- one case a kind of expression
        self, node: Node | None, scope: Scope, hops: int = _MOST_STEPS
    ) -> tuple[str, str]:
        """The module that a chain begins in and the chain, as Use.of has it; empty where nothing shows its beginning."""
        node = bare(node)
        if node is None or not hops:
            return _UNKNOWN
        if node.type == "type_annotation" and node.named_children:
            return self.chain(node.named_children[0], scope, hops - 1)
        if node.type in _TYPES:
            return "", f":{' '.join(text(node).split())}"
        found = self.place(node, scope)
        if found[1]:
            return found
        match node.type:
            case "identifier":
                return self._of_local(node, scope, hops)
            case "as_expression" if len(node.named_children) > 1:
                return self.chain(node.named_children[1], scope, hops - 1)
            case "member_expression":
                outer = self.chain(node.child_by_field_name("object"), scope, hops - 1)
                return _further(outer, f".{text(node.child_by_field_name('property'))}")
            case "subscript_expression":
                return _further(self.chain(node.child_by_field_name("object"), scope, hops - 1), "[0]")
            case "new_expression" if node.child_by_field_name("type_arguments") is not None:
                made, given = node.child_by_field_name("constructor"), node.child_by_field_name("type_arguments")
                return "", f":{text(made)}{text(given)}"
            case "call_expression":
                return self._of_call(node.child_by_field_name("function"), scope, hops)
        return _UNKNOWN

    def _of_local(self, node: Node, scope: Scope, hops: int) -> tuple[str, str]:
        _, shown = scope.find(text(node))
        if shown is None:
            return _UNKNOWN
        if shown.id in self.steps:
            of, step, inside = self.steps[shown.id]
            return _further(self.chain(of, inside, hops - 1), step)
        return self.chain(shown, scope, hops - 1) if shown.id != node.id else _UNKNOWN

    def _of_call(self, function: Node | None, scope: Scope, hops: int) -> tuple[str, str]:
        if function is None or function.type != "member_expression":
            return _UNKNOWN
        outer = self.chain(function.child_by_field_name("object"), scope, hops - 1)
        return _further(outer, f".{text(function.child_by_field_name('property'))}()")

    def literals(self, call: Node, scope: Scope) -> None:
        """Objects that are written out as arguments must have what the parameters' types have."""
        function = bare(call.child_by_field_name("function") or call.child_by_field_name("constructor"))
        arguments = call.child_by_field_name("arguments")
        given = [each for each in arguments.named_children if each.type != "comment"] if arguments is not None else []
        for at, each in enumerate(given):
            if each.type == "spread_element" or function is None:
                return
            source, of = self._taking(function, at, scope) if each.type in {"object", *FUNCTION_VALUES} else _UNKNOWN
            if of and each.type in FUNCTION_VALUES:
                count = sum(_must_get(one) for one in parameters_of(each))
                self.notes.use("=function", line(each), source=source, of=of, call=Call(positional=count))
            if each.type != "object":
                continue
            keys, spread = object_keys(each)
            if of:
                said = [string_of(value) for pair in each.named_children if (value := pair.child_by_field_name("value")) is not None and value.type == "string"]  # fmt: skip
                given_by_name = Call(names=keys, spread=spread)
                then = tuple(f"said:{one}" for one in said)
                self.notes.use("=literal", line(each), source=source, of=of, call=given_by_name, then=then)

    def _taking(self, function: Node, at: int, scope: Scope) -> tuple[str, str]:
        """The chain to the type of a parameter."""
        if function.type == "identifier":
            name = text(function)
            if scope.find(name)[0]:
                return _UNKNOWN
            module, outside = self.imported.get(name, ("", name))
            return (module, f"{outside}@{at}") if outside else _UNKNOWN
        if function.type == "member_expression":
            outer = self.chain(function.child_by_field_name("object"), scope)
            return _further(outer, f".{text(function.child_by_field_name('property'))}@{at}")
        return _UNKNOWN


def _must_get(parameter: Node) -> bool:
    """Whether a function counts on a parameter: it has no default and is no rest."""
    pattern = pattern_of(parameter)
    return (
        parameter.child_by_field_name("value") is None
        and parameter.type != "optional_parameter"
        and (pattern is None or pattern.type != "rest_pattern")
    )


def _further(outer: tuple[str, str], step: str) -> tuple[str, str]:
    source, of = outer
    if not step:
        return outer
    return (source, f"{of}//{step}") if of and of.count("//") < _MOST_STEPS else _UNKNOWN
