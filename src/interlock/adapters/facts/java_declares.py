"""Tells the symbols of one Java type: its members, constructors, constants and what it extends; types within it are given back."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from interlock.adapters.facts.treesitter import line, text
from interlock.core.merge.facts import Signature, Symbol, SymbolKind

if TYPE_CHECKING:
    from tree_sitter import Node

Shown = dict[str, "Node | None"]

_KINDS: dict[str, SymbolKind] = {
    "class_declaration": "class",
    "interface_declaration": "interface",
    "enum_declaration": "class",
    "record_declaration": "class",
    "annotation_type_declaration": "interface",
}


def declare(node: Node, outer: str, *, seen: bool) -> tuple[list[Symbol], list[Node], Shown, Shown]:
    """The symbols of a type (itself first), the types within it, and what shows the types of its fields and of its methods' results."""
    of = _Type(node, outer, seen=seen)
    of.read()
    return of.symbols, of.inner, of.fields, of.results


def plain(node: Node | None) -> str:
    """The name of a type without its arguments and annotations."""
    if node is None:
        return ""
    if node.type == "superclass":
        node = node.named_children[-1] if node.named_children else node
    return text(node).partition("<")[0].strip()


def suffix_of(kind: str, end: str) -> bool:
    return kind.endswith(end)


_LOMBOK: Final = re.compile(r"@(?:lombok\.)?(?:Data|Getter|Setter|Value|Builder|SuperBuilder|With|Delegate)\b")


def _made_by_lombok(node: Node) -> bool:
    """Whether members are made of an annotation: which ones cannot be told, so that it counts as a base that is not known."""
    return any(child.type == "modifiers" and _LOMBOK.search(text(child)) is not None for child in node.children)


class _Type:
    """One type on its way to symbols."""

    def __init__(self, node: Node, outer: str, *, seen: bool) -> None:
        self.node = node
        self.outer = outer
        self.kind = _KINDS[node.type]
        self.name = text(node.child_by_field_name("name"))
        self.path = f"{outer}.{self.name}" if outer else self.name
        self.seen = seen and not _modifiers(node) & {"private"}
        self.symbols: list[Symbol] = []
        self.inner: list[Node] = []
        self.fields: Shown = {}
        self.results: Shown = {}
        self.makers: list[Signature] = []
        self.raised: list[tuple[str, ...]] = []

    def read(self) -> None:
        self._record()
        body = self.node.child_by_field_name("body")
        for each in _members(body):
            self._member(each)
        abstract = "abstract" in _modifiers(self.node) or self.kind == "interface"
        signature = None if self.kind == "interface" or self.node.type == "enum_declaration" else _joined(self.makers)
        if self.node.type == "annotation_type_declaration":
            signature = self._annotation(body)
        own = Symbol(
            name=self.name,
            kind=self.kind,
            line=line(self.node.child_by_field_name("name") or self.node),
            owner=self.outer,
            public=self.seen and bool({"public", "protected"} & _modifiers(self.node) or self.outer == ""),
            abstract=abstract,
            signature=signature,
            bases=tuple(self._bases()),
            shape=" ".join(self._words()),
            raises=self.raised[0] if len(self.raised) == 1 else (),
        )
        self.symbols = [own, *_overloads(self.symbols)]

    def _words(self) -> list[str]:
        """What others can notice of a type: whether it may be extended, and by how many types it is filled."""
        final = self.node.type in {"record_declaration", "enum_declaration"} or "final" in _modifiers(self.node)
        generic = self.node.child_by_field_name("type_parameters")
        words = ["final"] if final else ["sealed"] if "sealed" in _modifiers(self.node) else []
        return [*words, f"<{generic.named_child_count}>"] if generic is not None else words

    def _annotation(self, body: Node | None) -> Signature:
        """What an annotation must be given."""
        names, must = [], []
        for each in body.named_children if body is not None else ():
            if each.type == "annotation_type_element_declaration":
                names.append(text(each.child_by_field_name("name")))
                if each.child_by_field_name("value") is None:
                    must.append(names[-1])
        return Signature(most=0, names=tuple(names), must=tuple(must))

    def _bases(self) -> list[str]:
        found = []
        for child in self.node.named_children:
            if child.type == "superclass":
                found.append(plain(child))
            elif child.type in {"super_interfaces", "extends_interfaces"}:
                found += [plain(each) for group in child.named_children for each in group.named_children]
        body = self.node.child_by_field_name("body")
        if any(_made_by_lombok(each) for each in (self.node, *(body.named_children if body is not None else ()))):
            found.append("lombok")
        return found

    def _record(self) -> None:
        if self.node.type != "record_declaration":
            return
        group = self.node.child_by_field_name("parameters")
        self.makers.append(signature_of(group))
        for each in group.named_children if group is not None else ():
            name = text(each.child_by_field_name("name"))
            if name:
                self.fields[name] = self.results[name] = each.child_by_field_name("type")
                self._add(name, "method", each, signature=Signature(result=text(self.fields[name])))

    def _member(self, node: Node) -> None:
        match node.type:
            case "method_declaration" | "annotation_type_element_declaration":
                self._method(node)
            case "constructor_declaration":
                self.raised.append(thrown(node))
                if "private" not in _modifiers(node) or self.makers:
                    self.makers.append(signature_of(node.child_by_field_name("parameters")))
            case "field_declaration" | "constant_declaration":
                for each in node.children_by_field_name("declarator"):
                    name = text(each.child_by_field_name("name"))
                    self.fields[name] = node.child_by_field_name("type")
                    kind: SymbolKind = "constant" if "final" in _modifiers(node) and name.isupper() else "field"
                    of = " ".join(text(self.fields[name]).split())
                    self._add(name, kind, node, static="static" in _modifiers(node), shape=of)
            case "enum_constant":
                name = text(node.child_by_field_name("name"))
                self._add(name, "member", node, static=True, public=True)
            case _ if node.type in _KINDS:
                self.inner.append(node)
            case _:
                pass

    def _method(self, node: Node) -> None:
        name = text(node.child_by_field_name("name"))
        modifiers = _modifiers(node)
        result = node.child_by_field_name("type")
        self.results.setdefault(name, result)
        bodiless = node.child_by_field_name("body") is None
        annotation = node.type == "annotation_type_element_declaration"
        self._add(
            name,
            "method",
            node,
            static="static" in modifiers,
            abstract=bodiless and "native" not in modifiers and not annotation,
            signature=signature_of(node.child_by_field_name("parameters"), text(result)),
            raises=thrown(node),
            shape=" ".join([*(["override"] if overrides(node) else []), *(["final"] if "final" in modifiers else [])]),
        )

    def _add(
        self,
        name: str,
        kind: SymbolKind,
        node: Node,
        *,
        static: bool = False,
        abstract: bool = False,
        public: bool | None = None,
        signature: Signature | None = None,
        raises: tuple[str, ...] = (),
        shape: str = "",
    ) -> None:
        modifiers = _modifiers(node)
        shown = self.kind == "interface" or bool(modifiers & {"public", "protected"})
        self.symbols.append(
            Symbol(
                name=name,
                kind=kind,
                line=line(node.child_by_field_name("name") or node),
                owner=self.path,
                public=self.seen and (shown if public is None else public) and "private" not in modifiers,
                abstract=abstract,
                signature=signature,
                static=static,
                raises=raises,
                shape=shape,
            )
        )


def thrown(node: Node) -> tuple[str, ...]:
    """The exceptions that a method says it throws."""
    group = next((child for child in node.named_children if child.type == "throws"), None)
    return tuple(text(each).rpartition(".")[2] for each in group.named_children) if group is not None else ()


def overrides(node: Node) -> bool:
    """Whether a method says that it overrides one."""
    group = next((child for child in node.named_children if child.type == "modifiers"), None)
    return group is not None and any(text(each) == "@Override" for each in group.named_children)


def _overloads(symbols: list[Symbol]) -> list[Symbol]:
    """Overloads as one symbol that takes what any of them takes; two with the same types stay two, for that is a mistake."""
    found: dict[str, list[Symbol]] = {}
    for each in symbols:
        found.setdefault(f"{each.kind} {each.name}", []).append(each)
    kept: list[Symbol] = []
    for several in found.values():
        signatures = [each.signature for each in several if each.signature is not None]
        if len(several) == 1 or len({each.names for each in signatures}) < len(several):
            kept += several
            continue
        results = {each.result for each in signatures}
        whole = replace(_joined(signatures), result=results.pop() if len(results) == 1 else "")
        kept.append(
            replace(
                several[0],
                signature=whole,
                abstract=any(each.abstract for each in several),
                public=any(e.public for e in several),
                raises=tuple(dict.fromkeys(one for each in several for one in each.raises))
                if all(e.raises for e in several)
                else (),
            )
        )
    return kept


def _members(body: Node | None) -> list[Node]:
    found: list[Node] = []
    for each in body.named_children if body is not None else ():
        if each.type == "enum_body_declarations":
            found += each.named_children
        else:
            found.append(each)
    return found


def _modifiers(node: Node) -> frozenset[str]:
    group = next((child for child in node.children if child.type == "modifiers"), None)
    return frozenset(child.type for child in group.children) if group is not None else frozenset()


def signature_of(group: Node | None, result: str = "") -> Signature:
    """The signature of a list of parameters, with their types as names."""
    taken = [
        each
        for each in (group.named_children if group is not None else ())
        if each.type in {"formal_parameter", "spread_parameter"}
    ]
    many = any(each.type == "spread_parameter" for each in taken)
    fixed = len(taken) - (1 if many else 0)
    return Signature(
        required=fixed,
        most=None if many else fixed,
        only=len(taken),
        result=result,
        names=tuple(_type(each) for each in taken),
    )


def _type(parameter: Node) -> str:
    if parameter.type == "spread_parameter":
        parts = [each for each in parameter.named_children if each.type not in {"modifiers", "variable_declarator"}]
        return text(parts[0]) + "..." if parts else "..."
    return " ".join(text(parameter.child_by_field_name("type")).split())


def _joined(makers: list[Signature]) -> Signature:
    """One signature for all the constructors: the fewest and the most that any of them takes."""
    if not makers:
        return Signature()
    most = [each.most for each in makers]
    return Signature(
        required=min(each.required for each in makers),
        most=None if None in most else max(each for each in most if each is not None),
        only=max(each.only for each in makers),
    )
