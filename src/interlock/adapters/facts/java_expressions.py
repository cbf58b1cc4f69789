"""Small questions about expressions of Java: what a call is given, what is caught around it, which cases a switch has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interlock.adapters.facts.java_declares import suffix_of, thrown
from interlock.adapters.facts.treesitter import Scope, text
from interlock.core.merge.facts import Call

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS: Final = {
    "string_literal": "text",
    "decimal_integer_literal": "number",
    "decimal_floating_point_literal": "number",
    "true": "truth",
    "false": "truth",
}
_VALUES: Final = frozenset(
    {
        "return_statement",
        "variable_declarator",
        "lambda_expression",
        "yield_statement",
        "argument_list",
        "assignment_expression",
    }
)


def taken_by(function: Node) -> int:
    """How many parameters a lambda has."""
    group = function.child_by_field_name("parameters")
    if group is None or group.type == "identifier":
        return 1
    return sum(each.type in {"identifier", "formal_parameter"} for each in group.named_children)


def _kind(value: Node, scope: Scope) -> str:
    """The kind of a literal, of a local name of a plain type, or of a sum with one."""
    if value.type == "identifier":
        shown = text(scope.find(text(value))[1])
        return "number" if shown in _NUMBERS else {"String": "text", "boolean": "truth"}.get(shown, "")
    if value.type == "binary_expression" and text(value.child_by_field_name("operator")) in {"+", "-", "*", "/"}:
        sides = {_kind(side, scope) for side in (value.child_by_field_name("left"), value.child_by_field_name("right")) if side is not None}  # fmt: skip
        return "number" if sides == {"number"} else ""
    return _KINDS.get(value.type, "")


def gives(arguments: Node | None, scope: Scope) -> tuple[str, ...]:
    """What the arguments of a call are, where they show it: literals and lambdas."""
    found = []
    for at, each in enumerate(arguments.named_children if arguments is not None else ()):
        if kind := _kind(each, scope):
            found.append(f"gives:{at}:{kind}")
        elif each.type == "lambda_expression":
            found.append(f"gives:{at}:lambda/{taken_by(each)}")
    return tuple(found)


def caught_around(node: Node) -> tuple[str, ...]:
    """The exceptions that are caught around a node or that its method throws on."""
    found: list[str] = []
    above: Node | None = node
    while above is not None:
        parent = above.parent
        tried = parent is not None and parent.type in {"try_statement", "try_with_resources_statement"}
        if parent is not None and tried and above.type in {"block", "resource_specification"}:
            found += [
                name
                for clause in parent.named_children
                if clause.type == "catch_clause"
                for each in clause.named_children
                if each.type == "catch_formal_parameter"
                for kind in each.named_children
                if kind.type == "catch_type"
                for name in (text(one).rpartition(".")[2] for one in kind.named_children)
            ]
        if above.type in {"method_declaration", "constructor_declaration", "compact_constructor_declaration"}:
            return (*found, *thrown(above))
        if above.type in {"lambda_expression", "static_initializer", "class_body"}:
            # What is thrown there is borne by what the lambda is written as.
            return (*found, "Throwable")
        above = parent
    return tuple(found)


def switched(node: Node) -> Node | None:
    """What a switch looks at."""
    inner = node.child_by_field_name("condition")
    while inner is not None and inner.type == "parenthesized_expression" and inner.named_children:
        inner = inner.named_children[0]
    return inner


def cases_of(node: Node) -> list[str]:
    """The constants of a switch that gives a value and has no rest; none of another."""
    if node.parent is None or node.parent.type not in _VALUES:
        return []
    found, stack = [], [each for each in node.named_children if each.type == "switch_block"]
    while stack:
        each = stack.pop()
        if each.type == "switch_label":
            if not each.named_children:
                return []
            found += [text(one) for one in each.named_children if one.type == "identifier"]
            if any(one.type != "identifier" for one in each.named_children):
                return []
        elif each.type in {"switch_block", "switch_rule", "switch_block_statement_group"}:
            stack += each.named_children
    return sorted(found)


def given_to(annotation: Node) -> Call:
    """What an annotation is given, by names."""
    group = annotation.child_by_field_name("arguments")
    names = [
        text(each.child_by_field_name("key")) if each.type == "element_value_pair" else "value"
        for each in (group.named_children if group is not None else ())
        if not suffix_of(each.type, "comment")
    ]
    return Call(names=tuple(sorted(names)))


def call_of(arguments: Node | None) -> Call:
    """How many arguments a call has."""
    given = (
        [each for each in arguments.named_children if not suffix_of(each.type, "comment")]
        if arguments is not None
        else []
    )
    return Call(positional=len(given))


_NUMBERS = frozenset({"int", "long", "double", "float", "short", "byte"})


def calculated(node: Node, scope: Scope) -> tuple[str, ...]:
    """Whether the value of a call is calculated with at once; a sum of texts is none."""
    above = node.parent
    sign = text(above.child_by_field_name("operator")) if above is not None else ""
    if above is None or above.type not in {"binary_expression", "assignment_expression"}:
        return ()
    left = above.child_by_field_name("left")
    number = left is not None and left.type == "identifier" and text(scope.find(text(left))[1]) in _NUMBERS
    return ("arith",) if sign in {"-", "*", "/", "%", "-=", "*=", "/="} or (sign == "+=" and number) else ()
