"""Small questions about what scripts count on: cases of a union, options by their keys, literals that are given, what is done with a member."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from interlock.adapters.facts.script_types import (
    FUNCTION_VALUES,
    bare,
    object_type,
    parameters_of,
    pattern_of,
    string_of,
)
from interlock.adapters.facts.treesitter import text
from interlock.core.merge.facts import Signature

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS: Final = {"string": "text", "number": "number", "true": "truth", "false": "truth"}
_NEVER: Final = re.compile(r"\b(?:assert(?:Never|Unreachable|Exhaustive)|unreachable|exhaustive(?:Check)?|absurd)\w*\(|:\s*never\b|satisfies never", re.IGNORECASE)  # fmt: skip
_BLOCKS: Final = frozenset({"statement_block", "program", "class_body"})
_MOST_CASES: Final = 60


def generic_shape(node: Node) -> str:
    """How many types a declaration is filled with, as ``<least-most>``; empty where it takes none."""
    group = node.child_by_field_name("type_parameters")
    given = [each for each in group.named_children if each.type == "type_parameter"] if group is not None else []
    least = sum(each.child_by_field_name("value") is None for each in given)
    return f"<{least}-{len(given)}>" if given else ""


def field_shape(node: Node, *, optional: bool) -> str:
    """What others notice of a field: that it is read-only, that it may be absent, and after a colon its type."""
    of = text(node.child_by_field_name("type")).lstrip(": ")
    words = ["readonly"] if any(child.type == "readonly" for child in node.children) else []
    if optional or re.search(r"\b(?:undefined|null)\b", of):
        words.append("optional")
    return " ".join([*words, f":{of}" if of else made_shape(node.child_by_field_name("value")) or ":"])


def made_shape(value: Node | None) -> str:
    """The type of a field that is begun as something made anew; empty where that does not show it."""
    if value is None or value.type != "new_expression":
        return ""
    return f":{text(value.child_by_field_name('constructor'))}{text(value.child_by_field_name('type_arguments'))}"


def held_shape(of: Node | None, value: Node | None) -> str:
    """What a constant is of: its type after a colon, or after ``=`` the function that makes it."""
    if of is not None:
        return f":{text(of).lstrip(': ')}"
    function = value.child_by_field_name("function") if value is not None and value.type == "call_expression" else None
    if function is not None and re.fullmatch(r"[\w$]+(?:\.[\w$]+)?", text(function)):
        return f"={text(function)}()"
    return made_shape(value)


def union_cases(value: Node | None) -> list[tuple[str, Node]]:
    """The texts of a union of literals, or of the first literal of each object of a union."""
    found: dict[str, Node] = {}
    stack = [value] if value is not None else []
    while stack and len(found) < _MOST_CASES:
        each = stack.pop()
        if each.type in {"union_type", "parenthesized_type"}:
            stack += each.named_children
        elif each.type == "literal_type" and each.named_children and each.named_children[0].type == "string":
            found.setdefault(string_of(each.named_children[0]), each)
        elif each.type == "object_type":
            for one in each.named_children:
                of = one.child_by_field_name("type") if one.type == "property_signature" else None
                literal = of.named_children[0] if of is not None and of.named_children else None
                if literal is not None and literal.type == "literal_type" and literal.named_children:
                    if literal.named_children[0].type == "string":
                        found.setdefault(string_of(literal.named_children[0]), one)
                    break
        else:
            # A named part may have cases that are not seen here.
            return []
    return list(found.items())


def options_of(node: Node, types: dict[str, Node], *, typed: bool) -> Signature | None:
    """The keys of the object that a function takes apart as its first parameter."""
    taken = parameters_of(node)
    pattern = pattern_of(taken[0]) if taken else None
    if pattern is None or pattern.type != "object_pattern":
        return None
    if any(each.type == "rest_pattern" for each in pattern.named_children):
        return None
    if typed:
        body = object_type(taken[0].child_by_field_name("type"), types)
        if body is None or any(
            each.type not in {"property_signature", "method_signature", "comment"} for each in body.named_children
        ):
            return None
        each_key = [each for each in body.named_children if each.type != "comment"]
        names = tuple(string_of(each.child_by_field_name("name")) for each in each_key)
        must = tuple(
            string_of(each.child_by_field_name("name"))
            for each in each_key
            if not any(child.type == "?" for child in each.children)
        )
        return Signature(most=0, names=names, must=must)
    keys = []
    for each in pattern.named_children:
        inner = each.child_by_field_name("key") or each.child_by_field_name("left")
        keys.append(text(each) if each.type == "shorthand_property_identifier_pattern" else string_of(inner))
    return Signature(most=0, names=tuple(keys))


def gives(arguments: Node | None) -> Iterator[str]:
    """What a call is given where its arguments show it, and a function that is given last."""
    given = [each for each in arguments.named_children if each.type != "comment"] if arguments is not None else []
    if any(each.type == "spread_element" for each in given):
        return
    for at, each in enumerate(given):
        if each.type in _KINDS:
            yield f"gives:{at}:{_KINDS[each.type]}"
        elif each.type == "object":
            yield f"gives:{at}:object"
    if len(given) > 1 and given[-1].type in FUNCTION_VALUES:
        yield f"calls back:{len(given)}"


def done_with(node: Node) -> tuple[str, ...]:
    """What is done with a member: it is set, or something is taken of it that nobody asked about before."""
    above = node.parent
    if above is None:
        return ()
    if above.type in {"assignment_expression", "augmented_assignment_expression"}:
        left = above.child_by_field_name("left")
        return ("set",) if left is not None and left.id == node.id else ()
    sign = above.child_by_field_name("operator") if above.type == "binary_expression" else None
    if sign is not None and sign.type in {"-", "*", "/", "%", "**"}:
        return ("arith",)
    target = above.child_by_field_name("object")
    if above.type != "member_expression" or target is None or target.id != node.id:
        return ()
    if any(child.type == "optional_chain" for child in above.children):
        return ()
    around: Node | None = above
    while around is not None and around.type not in _BLOCKS:
        around = around.parent
    # Once in its block: nothing there can have asked about it.
    outer = around.parent if around is not None and around.type == "statement_block" else around
    return ("deref",) if text(outer).count(text(node)) == 1 and not _asked_above(outer, text(node)) else ()


def _asked_above(node: Node | None, word: str) -> bool:
    """Whether a function around a block names the member in some other place."""
    while node is not None and node.type not in {"program", "class_body"}:
        if text(node).count(word) > 1:
            return True
        node = node.parent
    return False


def cases_of(node: Node) -> tuple[list[str], Node | None]:
    """The cases of a switch whose rest is said to be impossible, and what tells them apart; nothing of another switch."""
    body, value = node.child_by_field_name("body"), node.child_by_field_name("value")
    rest = [each for each in body.named_children if each.type == "switch_default"] if body is not None else []
    if body is None or not rest or not _NEVER.search(text(rest[0])):
        return [], None
    labels = []
    for each in body.named_children:
        if each.type == "switch_case":
            label = each.child_by_field_name("value")
            if label is not None and label.type == "string":
                labels.append(string_of(label))
            elif label is not None and label.type == "member_expression":
                labels.append(text(label.child_by_field_name("property")))
            else:
                return [], None
    inner = bare(value)
    if inner is not None and inner.type == "member_expression" and all("." not in each for each in labels):
        return sorted(labels), inner
    return sorted(labels), inner


def record_keys(value: Node) -> list[str]:
    """The keys of an object, members of an enum by their names; none where some cannot be told."""
    keys = []
    for each in value.named_children:
        if each.type == "comment":
            continue
        key = each.child_by_field_name("key") if each.type == "pair" else None
        if key is not None and key.type == "computed_property_name" and key.named_children:
            key = key.named_children[0]
            key = key.child_by_field_name("property") if key.type == "member_expression" else None
        if key is None:
            return []
        keys.append(string_of(key))
    return sorted(keys)


def is_awaited(value: Node | None) -> bool:
    """Whether an expression waits for what it names."""
    for _ in range(4):
        if value is None:
            return False
        if value.type == "await_expression":
            return True
        if value.type not in {"parenthesized_expression", "non_null_expression"}:
            return False
        value = value.named_children[0] if value.named_children else None
    return False
