"""Small questions about nodes of Go syntax: parameters, signatures, named types, declared names; nothing is noted here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from interlock.adapters.facts.treesitter import Scope, text
from interlock.core.merge.facts import Call, Signature

if TYPE_CHECKING:
    from tree_sitter import Node

BASIC: Final = frozenset(
    [
        "bool",
        "byte",
        "float32",
        "float64",
        "int",
        "int16",
        "int32",
        "int64",
        "int8",
        "rune",
        "string",
        "uint",
        "uint16",
        "uint32",
        "uint64",
        "uint8",
    ]
)
BUILTIN: Final = BASIC | frozenset(
    [
        "append",
        "cap",
        "clear",
        "close",
        "complex",
        "copy",
        "delete",
        "imag",
        "len",
        "make",
        "max",
        "min",
        "new",
        "panic",
        "print",
        "println",
        "real",
        "recover",
        "any",
        "comparable",
        "complex128",
        "complex64",
        "error",
        "uintptr",
        "true",
        "false",
        "nil",
        "iota",
        "_",
        "init",
        "main",
    ]
)
_SPAN: Final = re.compile(r"(?:\d+\s*\*\s*)?time\.(?:Nano|Micro|Milli)?(?:second|Second|Minute|Hour)")
_LITERALS: Final = {"interpreted_string_literal": "text", "raw_string_literal": "text", "int_literal": "number", "float_literal": "number"}  # fmt: skip
_VERSION: Final = re.compile(r"v\d+")
_DOTTED: Final = re.compile(r"\.v\d+$")
_WRAPPED = {"pointer_type", "parenthesized_type", "parenthesized_expression", "unary_expression", "type_elem"}


_SYSTEMS: Final = frozenset(
    [
        "aix",
        "android",
        "darwin",
        "dragonfly",
        "freebsd",
        "illumos",
        "ios",
        "js",
        "linux",
        "netbsd",
        "openbsd",
        "plan9",
        "solaris",
        "wasip1",
        "windows",
        "unix",
    ]
)
_MACHINES: Final = frozenset(
    ["386", "amd64", "arm", "arm64", "loong64", "mips", "mips64", "ppc64", "ppc64le", "riscv64", "s390x", "wasm"]
)


def constraint_of(path: str, root: Node) -> str:
    """What a file is built for, by its name and its ``//go:build`` line; empty where it always is."""
    parts = path.rpartition("/")[2].removesuffix(".go").removesuffix("_test").split("_")[1:]
    named = [each for each in parts[-2:] if each in _SYSTEMS | _MACHINES]
    for each in root.named_children:
        if each.type != "comment":
            break
        if text(each).startswith("//go:build "):
            named.append(text(each).removeprefix("//go:build ").strip())
    return f" [{' && '.join(named)}]" if named else ""


def specs(node: Node, *types: str) -> Iterator[Node]:
    """The single declarations of a node that may hold one, several in brackets, or a list of them."""
    for child in node.named_children:
        if child.type in types:
            yield child
        elif child.type.endswith("_list"):
            yield from (each for each in child.named_children if each.type in types)


def declared(spec: Node) -> Iterator[tuple[str, Node | None]]:
    """The names of a variable's or constant's declaration, each with what shows its type."""
    names = spec.children_by_field_name("name")
    of = spec.child_by_field_name("type")
    value = spec.child_by_field_name("value")
    values = value.named_children if value is not None else []
    for at, name in enumerate(names):
        shown = of
        if shown is None and len(values) == len(names):
            shown = values[at]
        yield text(name), shown


def parameters(group: Node | None) -> list[tuple[str, Node | None, bool]]:
    """Name, type, and whether it takes any number, for each parameter; the name is empty where there is none."""
    found: list[tuple[str, Node | None, bool]] = []
    for each in group.named_children if group is not None else ():
        if each.type in {"parameter_declaration", "variadic_parameter_declaration"}:
            of = each.child_by_field_name("type")
            names = each.children_by_field_name("name")
            many = each.type == "variadic_parameter_declaration"
            found += [(text(name), of, many) for name in names] or [("", of, many)]
    return found


def signature_of(node: Node) -> Signature:
    taken = parameters(node.child_by_field_name("parameters"))
    many = any(each[2] for each in taken)
    fixed = sum(not each[2] for each in taken)
    return Signature(
        required=fixed,
        most=None if many else fixed,
        only=len(taken),
        names=tuple(written(of) if of is not None else "" for _, of, _ in taken),
        result=results_of(node.child_by_field_name("result")),
    )


def function_type(node: Node) -> str:
    """The type of a function without the names of its parameters and results."""
    taken = ", ".join(("..." if many else "") + (written(of) if of is not None else "") for _, of, many in parameters(node.child_by_field_name("parameters")))  # fmt: skip
    result = node.child_by_field_name("result")
    given = [written(of) for _, of, _ in parameters(result) if of is not None] if result is not None and result.type == "parameter_list" else [written(result)] if result is not None else []  # fmt: skip
    return f"func({taken})" + (f" {given[0]}" if len(given) == 1 else f" ({', '.join(given)})" if given else "")


def element_type(body: Node | None) -> Node | None:
    """The type of an element that is written without it, in a list or map that says it."""
    element = body.parent if body is not None else None
    if element is None or element.type not in {"literal_element", "literal_value", "keyed_element"}:
        return None
    outer = element.parent if element.type != "literal_value" else element
    while outer is not None and outer.type in {"literal_value", "keyed_element", "literal_element"}:
        outer = outer.parent
    of = outer.child_by_field_name("type") if outer is not None and outer.type == "composite_literal" else None
    if of is None or of.type not in {"slice_type", "array_type", "implicit_length_array_type", "map_type"}:
        return None
    inner = of.child_by_field_name("element") or of.child_by_field_name("value")
    while inner is not None and inner.type == "pointer_type":
        inner = inner.named_children[0]
    return inner if inner is not None and inner.type in {"type_identifier", "qualified_type"} else None


def kind_of(value: Node, scope: Scope) -> str:
    """The plain type of an argument: of a name that declares it, or a number of units of time."""
    if value.type == "identifier":
        shown = scope.find(text(value))[1]
        return text(shown) if shown is not None and shown.type == "type_identifier" and text(shown) in BASIC else ""
    return "time.Duration" if _SPAN.fullmatch(text(value)) else ""


def results_of(result: Node | None) -> str:
    """All that a function gives back as one type, so that it is known how many there are."""
    if result is None:
        return "None"
    given = parameters(result) if result.type == "parameter_list" else [("", result, False)]
    return f"tuple[{', '.join(written(of) for _, of, _ in given if of is not None)}]"


def written(node: Node) -> str:
    """A type as one line without type arguments' spaces."""
    return " ".join(text(node).split())


def first_of(result: str) -> str:
    """The first of the results that a function declares."""
    return result.strip("()").split(",")[0].strip().split(" ")[-1] if result.startswith("(") else result


def result_of(result: Node | None) -> Node | None:
    """The type of what a call gives first."""
    if result is not None and result.type == "parameter_list":
        taken = parameters(result)
        return taken[0][1] if taken else None
    return result


def declared_type(node: Node | None) -> Node | None:
    """The type that an expression shows by its form: a literal, a conversion, an assertion, a type itself."""
    for _ in range(8):
        if node is None:
            return None
        match node.type:
            case "composite_literal" | "type_assertion_expression" | "type_conversion_expression":
                node = node.child_by_field_name("type")
            case "unary_expression":
                node = node.child_by_field_name("operand")
                if node is not None and node.type == "identifier":
                    return None
            case "call_expression":
                function = node.child_by_field_name("function")
                # (*T)(nil) is a conversion.
                return function if function is not None and function.type == "parenthesized_expression" else None
            case "parenthesized_expression" | "expression_list" | "literal_element":
                node = node.named_children[0] if node.named_children else None
            case _ if node.type.endswith("_type") or node.type in {"type_identifier", "generic_type", "qualified_type"}:
                return node
            case _:
                return None
    return None


def named(node: Node | None) -> tuple[str, str]:
    """Package alias and name of a type, past pointers and type arguments; empty where it has no name."""
    for _ in range(8):
        if node is None:
            return "", ""
        match node.type:
            case "type_identifier" | "identifier":
                return "", text(node)
            case "qualified_type":
                return text(node.child_by_field_name("package")), text(node.child_by_field_name("name"))
            case "generic_type":
                node = node.child_by_field_name("type")
            case _ if node.type in _WRAPPED:
                node = node.named_children[0] if node.named_children else None
            case _:
                return "", ""
    return "", ""


def call_of(arguments: Node | None) -> Call:
    """The arguments of a call; one call as the only argument may give several values, so that nothing is sure then."""
    given = [each for each in arguments.named_children if each.type != "comment"] if arguments is not None else []
    spread = any(each.type == "variadic_argument" for each in given)
    if spread:
        # What is spread fills the last parameter alone: those before it are counted.
        return Call(positional=len(given) - 1)
    if len(given) == 1 and given[0].type == "call_expression":
        return Call(positional=0, spread=True)
    return Call(positional=len(given))


def package_names(module: str) -> list[str]:
    """Names that an import without an alias may have in code, the likely one first."""
    parts = module.split("/")
    last = parts[-2] if len(parts) > 1 and _VERSION.fullmatch(parts[-1]) else parts[-1]
    last = _DOTTED.sub("", last)
    plain = last.removeprefix("go-").removesuffix("-go").removesuffix(".go").removeprefix("go.")
    likely = plain.rpartition("-")[2] if "-" in plain else plain
    return list(
        dict.fromkeys(
            each for each in (likely, plain.replace("-", "_"), plain.replace("-", ""), last, parts[-1]) if each
        )
    )


def taken_as(node: Node) -> tuple[str, ...]:  # noqa: PLR0911 -- one case a kind of place
    """How many values of a call are taken, where its place shows that."""
    above = node.parent
    while above is not None and above.type == "parenthesized_expression":
        above = above.parent
    if above is None:
        return ()
    if above.type == "expression_list":
        around = above.parent
        if above.named_child_count > 1 or around is None:
            return ("unpack:1",) if above.named_child_count > 1 else ()
        if around.type == "return_statement":
            return _returned(around)
        left = around.child_by_field_name("left")
        count = left.named_child_count if left is not None else len(around.children_by_field_name("name"))
        if not count or around.type == "range_clause":
            return ()
        return (f"unpack:{count}", *_asked(around, left))
    if above.type in {
        "selector_expression",
        "binary_expression",
        "index_expression",
        "unary_expression",
        "literal_element",
        "if_statement",
    }:
        return ("unpack:1",)
    return ("unpack:1",) if above.type == "argument_list" and above.named_child_count > 1 else ()


def _asked(taken: Node, left: Node | None) -> tuple[str, ...]:
    """Which of several values is asked for its truth, or compared with nil, right where they are taken."""
    above, after = taken.parent, taken.next_named_sibling
    around = above if above is not None and above.type in {"if_statement", "for_clause"} else after
    if left is None or around is None or around.type not in {"if_statement", "for_clause"}:
        return ()
    condition = text(around.child_by_field_name("condition"))
    for at, each in enumerate(left.named_children):
        if condition.lstrip("!") == text(each):
            return (f"truth:{at}",)
        if re.fullmatch(rf"{re.escape(text(each))}\s*[!=]=\s*nil", condition):
            return (f"nil:{at}",)
    return ()


def calculated(node: Node) -> tuple[str, ...]:
    """Whether a member is calculated with at once."""
    above = node.parent
    if above is not None and above.type in {"range_clause", "index_expression"}:
        field = "right" if above.type == "range_clause" else "operand"
        done = "iterate" if above.type == "range_clause" else "index"
        return (done,) if above.child_by_field_name(field) == node else ()
    if above is not None and above.type == "expression_list":
        above = above.parent
    sign = above.child_by_field_name("operator") if above is not None else None
    kinds = {"binary_expression", "assignment_statement"}
    if above is not None and above.type == "binary_expression" and text(sign) in {"==", "!="}:
        kinds_of = {each.type for each in above.named_children} & _LITERALS.keys()
        return tuple(f"eq:{_LITERALS[each]}" for each in kinds_of)
    plain = (
        above is not None and above.type in kinds and sign is not None and text(sign)[:1] in {"+", "-", "*", "/", "%"}
    )
    return ("arith",) if plain else ()


def generic_shape(node: Node) -> str:
    """How many types a type is filled with, as ``<n>``; empty where it takes none."""
    group = node.child_by_field_name("type_parameters")
    count = sum(len(each.children_by_field_name("name")) for each in group.named_children) if group is not None else 0
    return f"<{count}>" if count else ""


def _returned(node: Node) -> tuple[str, ...]:
    above = node.parent
    while above is not None and above.type not in {"function_declaration", "method_declaration", "func_literal"}:
        above = above.parent
    result = above.child_by_field_name("result") if above is not None else None
    if result is None:
        return ()
    return (f"unpack:{max(1, len(parameters(result)) if result.type == 'parameter_list' else 1)}",)


def below(node: Node, kind: str) -> list[Node]:
    """All nodes of a type below a small one."""
    found, stack = [], [node]
    while stack:
        each = stack.pop()
        if each.type == kind:
            found.append(each)
        stack.extend(each.named_children)
    return found


def id_of(node: Node | None) -> int:
    return node.id if node is not None else -1
