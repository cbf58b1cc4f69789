"""Tells the members of one TypeScript or JavaScript class, interface, type, enum or object; what stands at the top is script_declares'."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from interlock.adapters.facts.script_shapes import field_shape, made_shape, union_cases
from interlock.adapters.facts.script_types import FUNCTION_VALUES, parameters_of, pattern_of, signature_of, string_of
from interlock.adapters.facts.treesitter import line, text
from interlock.core.merge.facts import Signature, Symbol, SymbolKind

if TYPE_CHECKING:
    from tree_sitter import Node

_UNTOLD = "?"
"""The base of a type that may have members which its text does not tell."""


@dataclass(slots=True)
class Members:
    """What is within a type, what making one must give, what it comes from, and what shows its fields' types."""

    symbols: list[Symbol] = field(default_factory=list)
    signature: Signature | None = None
    bases: tuple[str, ...] = ()
    fields: dict[str, Node | None] = field(default_factory=dict)
    closed: bool = False
    """Whether only the class itself may make one."""
    maker: Node | None = None

    def add(
        self, name: str, kind: SymbolKind, at: int, owner: str, *, abstract: bool = False, static: bool = False,
        public: bool = True, signature: Signature | None = None, shape: str = "",
    ) -> None:  # fmt: skip
        if not name or any(each.name == name and each.kind == kind and kind == "field" for each in self.symbols):
            return
        self.symbols.append(
            Symbol(
                name=name, kind=kind, line=at, owner=owner, public=public, abstract=abstract, static=static,
                signature=signature, shape=shape,
            )
        )  # fmt: skip


def class_members(node: Node, path: str, *, typed: bool) -> Members:
    """The members of a class, with those that its constructor makes."""
    read = Members(bases=tuple(_bases(node)))
    makers = []
    body = node.child_by_field_name("body")
    for each in body.named_children if body is not None else ():
        name = string_of(each.child_by_field_name("name") or each.child_by_field_name("property"))
        words = {child.type for child in each.children}
        public = not name.startswith("#") and "private" not in text(_first(each, "accessibility_modifier"))
        of = each.child_by_field_name("type") or each.child_by_field_name("value")
        match each.type:
            case "method_definition" | "method_signature" if name == "constructor":
                makers.append(each)
            case "method_definition" | "method_signature" | "abstract_method_signature":
                accessor = bool(words & {"get", "set"})
                if accessor:
                    read.fields.setdefault(name, each.child_by_field_name("return_type"))
                kind: SymbolKind = "field" if accessor else "method"
                signature = None if accessor else signature_of(each, typed=typed)
                abstract = each.type == "abstract_method_signature"
                read.add(
                    name, kind, line(each), path, abstract=abstract, static="static" in words, public=public, signature=signature
                )  # fmt: skip
            case "public_field_definition" | "field_definition":
                read.fields[name] = of
                value = each.child_by_field_name("value")
                function = value is not None and value.type in FUNCTION_VALUES
                read.add(
                    name, "method" if function else "field", line(each), path, abstract="abstract" in words,
                    static="static" in words, public=public,
                    signature=signature_of(value, typed=typed) if function and value is not None else None,
                    shape="" if function else field_shape(each, optional="?" in words),
                )  # fmt: skip
            case _:
                pass
    _made(read, makers, path, typed=typed)
    _overloads(read)
    return read


def _made(read: Members, makers: list[Node], path: str, *, typed: bool) -> None:
    read.maker = makers[0] if len(makers) == 1 else None
    for maker in makers[:1]:
        for each in parameters_of(maker):
            pattern = pattern_of(each)
            words = {child.type for child in each.children}
            if pattern is not None and words & {"accessibility_modifier", "readonly", "override_modifier"}:
                read.fields[text(pattern)] = each.child_by_field_name("type")
                public = "private" not in text(_first(each, "accessibility_modifier"))
                read.add(
                    text(pattern),
                    "field",
                    line(each),
                    path,
                    public=public,
                    shape=field_shape(each, optional="?" in words),
                )
        stack = [maker]
        while stack:
            node = stack.pop()
            left = node.child_by_field_name("left") if node.type == "assignment_expression" else None
            if (
                left is not None
                and left.type == "member_expression"
                and text(left.child_by_field_name("object")) == "this"
            ):
                name = text(left.child_by_field_name("property"))
                read.fields.setdefault(name, node.child_by_field_name("right"))
                shape = made_shape(node.child_by_field_name("right"))
                read.add(name, "field", line(left), path, public=not name.startswith("#"), shape=shape)
            stack.extend(node.named_children)
    read.closed = any("private" in text(_first(each, "accessibility_modifier")) for each in makers)
    signatures = [signature_of(each, typed=typed) for each in makers]
    if len(signatures) > 1:
        signatures = signatures[:-1]
    if signatures:
        read.signature = joined(signatures)
    elif not read.bases:
        read.signature = Signature(most=0 if typed else None)


def joined(signatures: list[Signature]) -> Signature:
    """One signature for several: the fewest and the most that any of them takes."""
    if len(signatures) == 1:
        return signatures[0]
    most = [each.most for each in signatures]
    return Signature(
        required=min(each.required for each in signatures),
        most=None if None in most else max(each for each in most if each is not None),
        only=max(each.only for each in signatures),
    )


def _overloads(read: Members) -> None:
    """Overloads as one symbol; the last one is the body, which nobody calls as such."""
    found: dict[str, list[Symbol]] = {}
    for each in read.symbols:
        found.setdefault(each.name, []).append(each)
    kept = []
    for several in found.values():
        signatures = [each.signature for each in several if each.signature is not None]
        if len(several) > 1 and len(signatures) == len(several):
            first = several[0]
            shown = signatures[:-1] if len(signatures) > 1 else signatures
            kept.append(
                Symbol(
                    name=first.name, kind=first.kind, line=first.line, owner=first.owner, public=first.public,
                    static=first.static, abstract=first.abstract, signature=joined(shown),
                )
            )  # fmt: skip
        else:
            kept += several
    read.symbols = kept


def type_members(node: Node, path: str, *, typed: bool) -> Members:  # noqa: C901 -- one case a kind of member
    """The members of an interface, or of a type that is written out as an object."""
    read = Members(bases=tuple(_bases(node)))
    body = node.child_by_field_name("body") or node.child_by_field_name("value")
    whole = body is not None and body.type in {"interface_body", "object_type"} and not read.bases
    if body is None or body.type not in {"interface_body", "object_type"}:
        for name, at in union_cases(body):
            read.add(name, "member", line(at), path, static=True, signature=_written(at.parent))
        if body is not None and body.type == "function_type":
            read.signature = signature_of(body, typed=typed)
        if not read.symbols and body is not None and body.type not in {"predefined_type", "function_type"}:
            # What an intersection, a mapped or a generic type has cannot be told here.
            read.bases += (_UNTOLD,)
        return read
    names, must = [], []
    for each in body.named_children:
        name = string_of(each.child_by_field_name("name"))
        optional = any(child.type == "?" for child in each.children)
        match each.type:
            case "property_signature":
                read.fields[name] = each.child_by_field_name("type")
                shape = field_shape(each, optional=optional)
                read.add(name, "field", line(each), path, abstract=not optional, shape=shape)
                read.symbols += _written_out(each, f"{path}.{name}")
            case "method_signature":
                signature = signature_of(each, typed=typed)
                read.add(name, "method", line(each), path, abstract=not optional, signature=signature)
            case "comment":
                continue
            case other:
                whole = False
                read.bases += (_UNTOLD,) if other == "index_signature" else ()
                continue
        names.append(name)
        if not optional:
            must.append(name)
    if whole:
        # What an object that is written out as this type must have.
        read.signature = Signature(most=0, names=tuple(names), must=tuple(must))
    return read


def _written(of: Node | None) -> Signature | None:
    """What an object that is written out as an object type must have; None for another type."""
    if of is None or of.type != "object_type":
        return None
    inside = [each for each in of.named_children if each.type != "comment"]
    if any(each.type not in {"property_signature", "method_signature"} for each in inside):
        return None
    names = {
        string_of(each.child_by_field_name("name")): any(one.type == "?" for one in each.children) for each in inside
    }
    return Signature(most=0, names=tuple(names), must=tuple(name for name, optional in names.items() if not optional))


def _written_out(field: Node, path: str, depth: int = 3) -> list[Symbol]:
    """The members of an object type that stands where a field's type does, and of those within it."""
    of = field.child_by_field_name("type")
    shown = of.named_children[0] if of is not None and of.named_children else None
    if shown is None or shown.type != "object_type" or not depth:
        return []
    found = []
    for each in shown.named_children:
        name = string_of(each.child_by_field_name("name"))
        if each.type != "property_signature":
            return []
        shape = field_shape(each, optional=any(child.type == "?" for child in each.children))
        found.append(Symbol(name=name, kind="field", line=line(each), owner=path, shape=shape))
        found += _written_out(each, f"{path}.{name}", depth - 1)
    return found


def enum_members(node: Node, path: str) -> list[Symbol]:
    read = Members()
    body = node.child_by_field_name("body")
    for each in body.named_children if body is not None else ():
        name = string_of(each.child_by_field_name("name") or each)
        if each.type != "comment":
            read.add(name, "member", line(each), path, static=True)
    return read.symbols


def object_members(node: Node | None, path: str, *, typed: bool) -> list[Symbol]:
    """The keys of an object that is written out, as members of what holds it."""
    read = Members()
    if node is None or node.type != "object" or any(each.type == "spread_element" for each in node.named_children):
        return []
    for each in node.named_children:
        name = each.child_by_field_name("key") or each.child_by_field_name("name")
        value = each.child_by_field_name("value")
        if each.type == "shorthand_property_identifier":
            name = each
        if name is None or name.type == "computed_property_name":
            continue
        function = each if each.type == "method_definition" else value
        if function is not None and (function.type in FUNCTION_VALUES or function.type == "method_definition"):
            read.add(
                string_of(name), "method", line(each), path, static=True, signature=signature_of(function, typed=typed)
            )
        else:
            read.add(string_of(name), "field", line(each), path, static=True)
    return read.symbols


def _bases(node: Node) -> list[str]:
    found = []
    for child in node.named_children:
        if child.type == "class_heritage":
            clauses = child.named_children
            if clauses and not clauses[0].type.endswith("_clause"):
                found.append(text(clauses[0]))
            for clause in clauses:
                if clause.type in {"extends_clause", "implements_clause"}:
                    found += [_plain(each) for each in clause.named_children if each.type != "type_arguments"]
        elif child.type in {"extends_type_clause", "extends_clause"}:
            found += [_plain(each) for each in child.named_children if each.type != "type_arguments"]
    return found


def _plain(node: Node) -> str:
    return text(node).partition("<")[0].strip()


def _first(node: Node, kind: str) -> Node | None:
    return next((child for child in node.children if child.type == kind), None)
