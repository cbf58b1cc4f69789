"""Small questions about nodes of TypeScript and JavaScript syntax: parameters, signatures, strings, props; nothing is noted here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from interlock.adapters.facts.treesitter import text
from interlock.core.merge.facts import Call, Signature

if TYPE_CHECKING:
    from tree_sitter import Node

FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "generator_function"})
_OWN_RETURNS = FUNCTION_VALUES | {
    "function_declaration",
    "class_declaration",
    "method_definition",
    "generator_function_declaration",
    "class",
}
"""What has returns of its own."""
_ARGUMENTS = re.compile(r"\barguments\b")
_MANY = 99
"""Parameters by place of a function that takes any number of them."""
_OUTER_PROPS = frozenset({"key", "ref"})
"""Props that React itself takes."""


def string_of(node: Node | None) -> str:
    """The text of a string or template without holes, or of a name."""
    if node is None:
        return ""
    return text(node)[1:-1] if node.type in {"string", "template_string"} else text(node)


def parameters_of(node: Node) -> list[Node]:
    """The parameters of a function but for ``this``."""
    group = node.child_by_field_name("parameters")
    if group is None:
        single = node.child_by_field_name("parameter")
        return [single] if single is not None else []
    found = [each for each in group.named_children if each.type not in {"comment", "decorator"}]
    return [each for each in found if (pattern_of(each) or each).type != "this"]


def pattern_of(parameter: Node) -> Node | None:
    """What a parameter binds: its name, or a pattern."""
    if parameter.type in {"required_parameter", "optional_parameter"}:
        return parameter.child_by_field_name("pattern")
    if parameter.type == "assignment_pattern":
        return parameter.child_by_field_name("left")
    return parameter


def signature_of(node: Node, *, typed: bool) -> Signature:
    """What a call of a function must give; untyped scripts may give more than is taken, and leave out what the body asks about."""
    taken = parameters_of(node)
    required = 0
    most: int | None = len(taken) if typed else None
    for at, each in enumerate(taken):
        pattern = pattern_of(each)
        if pattern is not None and pattern.type == "rest_pattern":
            most = None
        elif not _optional(each) and (typed or not _asked_about(node, pattern)):
            required = at + 1
    of = node.child_by_field_name("return_type")
    result = text(of).lstrip(": ") if of is not None else ""
    if not result and any(child.type == "async" for child in node.children):
        result = "Promise<unknown>"
    result = result or _shown_result(node)
    if not typed and [(pattern_of(each) or each).type for each in taken] == ["object_pattern"]:
        # Who gives more than one counts on another order of things.
        most = 1
    if not typed and node.type != "arrow_function" and "arguments" in text(node.child_by_field_name("body")):
        required, most = 0, None
    many = [each for each in taken if (pattern_of(each) or each).type == "rest_pattern"]
    loose = not typed and (bool(many) or ((required, most) == (0, None) and bool(_ARGUMENTS.search(text(node)))))
    shown = [each.child_by_field_name("type") if typed else pattern_of(each) for each in taken]
    names = tuple(text(each).lstrip(": ") for each in shown)
    return Signature(
        required=required,
        most=most,
        only=_MANY if loose else len(taken),
        result=result,
        names=names if any(names) else (),
    )


def _shown_result(node: Node) -> str:
    """The class that a function makes in its only return, or ``this``; empty where its text does not show one."""
    if any(child.type in {"async", "*"} for child in node.children):
        return ""
    body = node.child_by_field_name("body")
    value = bare(body) if body is not None and body.type != "statement_block" else None
    if body is not None and body.type == "statement_block":
        last = body.named_children[-1] if body.named_children else None
        if last is None or last.type != "return_statement" or len(re.findall(r"\breturn\b", text(body))) != 1:
            return ""
        value = bare(last.named_children[0]) if last.named_children else None
    if value is None:
        return ""
    return (
        text(value.child_by_field_name("constructor"))
        if value.type == "new_expression"
        else text(value)
        if value.type == "this"
        else ""
    )


def _asked_about(node: Node, pattern: Node | None) -> bool:
    """Does the body of a function ask whether a parameter was given?"""
    if pattern is None or pattern.type != "identifier":
        return False
    name = re.escape(text(pattern))
    asked = rf"(?<![\w.]){name}\s*(?:\|\||\?\?|\?\.|&&|\?(?!\.)|[!=]==?\s*(?:undefined|null))|!{name}\b|typeof\s+{name}\b|if\s*\(\s*{name}\s*\)"
    return re.search(asked, text(node.child_by_field_name("body"))) is not None


def _optional(parameter: Node) -> bool:
    if parameter.type in {"optional_parameter", "assignment_pattern"}:
        return True
    of = parameter.child_by_field_name("type") if parameter.type == "required_parameter" else None
    if of is not None and text(of).lstrip(": ") in {"any", "unknown", "void", "undefined"}:
        # A call may leave out what may be void.
        return text(of).lstrip(": ") == "void" or parameter.child_by_field_name("value") is not None
    return parameter.type == "required_parameter" and parameter.child_by_field_name("value") is not None


def call_of(arguments: Node | None) -> Call:
    """The arguments of a call or of making one."""
    if arguments is None:
        return Call()
    if arguments.type == "template_string":
        return Call(spread=True)
    given = [each for each in arguments.named_children if each.type != "comment"]
    spread = any(each.type == "spread_element" for each in given)
    return Call(positional=sum(each.type != "spread_element" for each in given), spread=spread)


def props_given(node: Node, *, children: bool) -> Call:
    """The props of a JSX element as names of arguments."""
    names, spread = [], False
    for each in node.children_by_field_name("attribute"):
        if each.type == "jsx_attribute" and each.named_children:
            names.append(text(each.named_children[0]))
        else:
            spread = True
    if children:
        names.append("children")
    return Call(names=tuple(sorted(set(names) - _OUTER_PROPS)), spread=spread)


def object_type(of: Node | None, types: dict[str, Node]) -> Node | None:
    """The members of a type that is written out or named in the same file; None where parts of it are elsewhere."""
    for _ in range(4):
        if of is None:
            return None
        match of.type:
            case "type_annotation" | "parenthesized_type" | "readonly_type":
                of = of.named_children[0] if of.named_children else None
            case "type_identifier":
                of = types.get(text(of))
            case "type_alias_declaration":
                of = of.child_by_field_name("value")
            case "interface_declaration":
                extended = any(child.type.startswith("extends") for child in of.named_children)
                return None if extended else of.child_by_field_name("body")
            case "object_type" | "interface_body":
                return of
            case _:
                return None
    return None


def props_of(node: Node, types: dict[str, Node]) -> Signature | None:
    """The props of a component as a signature by names, or None where they are not all shown."""
    taken = parameters_of(node)
    if not taken:
        return Signature(most=0, names=("children",))
    if len(taken) > 2 or taken[0].type not in {"required_parameter", "object_pattern"}:
        return None
    pattern = pattern_of(taken[0])
    body = object_type(taken[0].child_by_field_name("type"), types)
    if body is not None:
        names, must = [], []
        for each in body.named_children:
            if each.type not in {"property_signature", "method_signature"}:
                if each.type == "index_signature":
                    return None
                continue
            names.append(string_of(each.child_by_field_name("name")))
            if not any(child.type == "?" for child in each.children):
                must.append(names[-1])
        return Signature(most=1, names=tuple(names), must=tuple(must))
    if taken[0].type == "object_pattern" and pattern is not None and _all_named(pattern):
        return Signature(most=1, names=tuple(_keys(pattern)), any_name=True)
    return None


def _all_named(pattern: Node) -> bool:
    return all(each.type != "rest_pattern" for each in pattern.named_children)


def _keys(pattern: Node) -> list[str]:
    found = []
    for each in pattern.named_children:
        match each.type:
            case "shorthand_property_identifier_pattern":
                found.append(text(each))
            case "pair_pattern":
                found.append(string_of(each.child_by_field_name("key")))
            case "object_assignment_pattern":
                found.append(text(each.child_by_field_name("left")))
            case _:
                pass
    return found


def keys_of_pattern(pattern: Node) -> list[tuple[str, int]]:
    """The keys that a pattern takes out of an object, with their lines."""
    return [(key, pattern.start_point[0] + 1) for key in _keys(pattern)]


def bare(node: Node | None) -> Node | None:
    """An expression past what does not change its type: await, brackets, as, non-null."""
    for _ in range(6):
        if node is None:
            return None
        if node.type in {"await_expression", "parenthesized_expression", "non_null_expression", "satisfies_expression"}:
            node = node.named_children[0] if node.named_children else None
        else:
            return node
    return node


def returned_keys(function: Node) -> tuple[list[tuple[str, int]], bool]:
    """The keys of the objects that a function gives back, with their lines, and whether those are all that it can give back."""
    objects, whole = _returned(function)
    keys = []
    for each in objects:
        for pair in each.named_children:
            whole = whole and pair.type != "spread_element"
            name = pair.child_by_field_name("key") or pair.child_by_field_name("name")
            if pair.type == "shorthand_property_identifier":
                name = pair
            if name is not None and name.type != "computed_property_name":
                keys.append((string_of(name), name.start_point[0] + 1))
    return keys, whole and bool(objects)


def _returned(function: Node) -> tuple[list[Node], bool]:
    """The objects that are written out in a function's returns, and whether every return is one."""
    body = function.child_by_field_name("body")
    if body is not None and body.type != "statement_block":
        value = bare(body)
        return ([value], True) if value is not None and value.type == "object" else ([], False)
    objects, whole = [], True
    stack = [body] if body is not None else []
    while stack:
        each = stack.pop()
        if each.type == "return_statement":
            value = bare(each.named_children[0]) if each.named_children else None
            if value is not None and value.type == "object":
                objects.append(value)
            else:
                whole = False
        elif each.type not in _OWN_RETURNS:
            stack.extend(each.named_children)
    return objects, whole


def required(value: Node | None) -> str:
    """The module of ``require("…")``, or of ``await import("…")``."""
    value = bare(value)
    if value is None or value.type != "call_expression":
        return ""
    function, arguments = value.child_by_field_name("function"), value.child_by_field_name("arguments")
    if text(function) not in {"require", "import"} or arguments is None or not arguments.named_children:
        return ""
    return string_of(arguments.named_children[0]) if arguments.named_children[0].type == "string" else ""


def object_keys(node: Node) -> tuple[tuple[str, ...], bool]:
    """The keys of an object that is written out, and whether more of them are spread into it."""
    names, spread = [], False
    for each in node.named_children:
        name = each.child_by_field_name("key") or each.child_by_field_name("name")
        if each.type == "shorthand_property_identifier":
            name = each
        if each.type == "spread_element" or (name is not None and name.type == "computed_property_name"):
            spread = True
        elif name is not None:
            names.append(string_of(name))
    return tuple(sorted(set(names))), spread


def _waited(declared: Node, name: str) -> bool:
    """Whether a name may be awaited, given back or handed on later, as far as its function's text shows."""
    around = declared.parent
    while around is not None and around.type not in _OWN_RETURNS | {"program"}:
        around = around.parent
    word = re.escape(name)
    later = rf"await\s+{word}\b|\b{word}\s*\.\s*(?:then|catch|finally)\b|return\s+{word}\s*[;}}\n]|Promise\.|yield|(?<!const )(?<!let )(?<!var )\b{word}\s*(?:=(?!=)|instanceof)|export\b"
    return around is None or around.type == "program" or re.search(later, text(around)) is not None


_ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "**", "<", ">", "<=", ">="})


def _held(declared: Node, call: Node) -> tuple[str, ...]:
    """A value that is given a name, and nothing waits for it later; or how many names it is unpacked into."""
    taken = declared.child_by_field_name("name")
    if taken is not None and taken.type == "array_pattern":
        return (f"unpack:{taken.named_child_count}",)
    plain = taken is not None and taken.type == "identifier" and declared.child_by_field_name("value") == call
    return ("kept",) if plain and not _waited(declared, text(taken)) else ()


def _part_of(above: Node, call: Node) -> tuple[str, ...]:
    name, target = text(above.child_by_field_name("property")), above.child_by_field_name("object")
    inside = target is not None and target.start_byte <= call.start_byte < target.end_byte
    if not inside or name in {"then", "catch", "finally"}:
        return ()
    asked = any(child.type == "optional_chain" for child in above.children)
    return (f"attr:{name}",) if asked else (f"attr:{name}", "deref")


def then_of(call: Node) -> tuple[str, ...]:  # noqa: PLR0911 - one case a kind of place
    """What is done with the value of a call at once."""
    above = call.parent
    while above is not None and above.type in {"parenthesized_expression", "non_null_expression"}:
        above = above.parent
    if above is None:
        return ()
    match above.type:
        case "await_expression":
            return ("await",)
        case "binary_expression":
            sign = above.child_by_field_name("operator")
            return ("arith",) if sign is not None and sign.type in _ARITHMETIC else ()
        case "member_expression":
            return _part_of(above, call)
        case "for_in_statement":
            return ("iterate",)
        case "spread_element":
            return ("iterate",)
        case "variable_declarator":
            return _held(above, call)
        case _:
            return ()
