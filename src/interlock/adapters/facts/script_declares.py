"""Notes what a TypeScript or JavaScript file declares, imports and exports at its top; members of types are script_members'."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from interlock.adapters.facts.script_members import class_members, enum_members, object_members, type_members
from interlock.adapters.facts.script_shapes import generic_shape, held_shape, options_of
from interlock.adapters.facts.script_types import (
    FUNCTION_VALUES,
    bare,
    props_of,
    required,
    returned_keys,
    signature_of,
    string_of,
)
from interlock.adapters.facts.treesitter import Notes, Scope, line, text
from interlock.core.merge.facts import Import, Language, Mark, Signature, Symbol, SymbolKind

if TYPE_CHECKING:
    from tree_sitter import Node

_VARIABLES = frozenset({"lexical_declaration", "variable_declaration"})
_COMPONENT_SUFFIXES = ("tsx", "jsx", "js")
_MOST_DEPTH = 20
_GIVES_ON = re.compile(r"(?:Object\.assign|Object\.definePropert(?:y|ies)|__exportStar)\(\s*(?:module\.)?exports\b")
_PROTOTYPE = re.compile(r"(\w+)\.prototype\.(\w+)")


class Declares:
    """The declarations of one file."""

    def __init__(self, path: str, language: Language) -> None:
        stem, _, suffix = path.rpartition(".")
        self.notes = Notes(language, stem.removesuffix("/index").removesuffix(".d"))
        self.file = path.rpartition("/")[2]
        self.typed = language == "typescript"
        self.jsx = suffix in _COMPONENT_SUFFIXES
        self.imported: dict[str, tuple[str, str]] = {}
        self.top: dict[str, Node | None] = {}
        self.functions: dict[str, Node] = {}
        self.types: dict[str, Node] = {}
        self.exported: dict[str, str] = {}
        self.result_of: dict[str, Node | None] = {}
        self.fields: dict[str, dict[str, Node | None]] = {}
        self.steps: dict[int, tuple[Node, str, Scope]] = {}
        """Where a name is bound → what it is a part of, and which."""

    def declare_all(self, root: Node) -> None:
        statements = [each for each in root.named_children if each.type not in {"comment", "import_statement"}]
        for node in root.named_children:
            if node.type == "import_statement":
                self._import(node)
        # Types first, for components name those of their props.
        for node in statements:
            inner = node.child_by_field_name("declaration") if node.type == "export_statement" else node
            if inner is not None and inner.type in {"interface_declaration", "type_alias_declaration"}:
                self.types.setdefault(text(inner.child_by_field_name("name")), inner)
        for node in statements:
            self._statement(node, "", exported=False, depth=0)

    def within(self, node: Node) -> None:
        """A class that is not at the top is a subtype too."""
        name = text(node.child_by_field_name("name")) or "class"
        count = sum(each.owner.startswith("within") or each.name == name for each in self.notes.symbols)
        owner = f"within ({count + 1})"
        read = class_members(node, f"{owner}.{name}", typed=self.typed)
        kept = [replace(each, public=False) for each in read.symbols]
        self.notes.symbols += [
            Symbol(name=name, kind="class", line=line(node), owner=owner, public=False, bases=read.bases),
            *kept,
        ]

    def publish(self) -> None:
        """Marks what is exported as public, and gives other names of it as symbols of their own."""
        found = {each.name: each for each in self.notes.symbols if not each.owner}
        inside_names = set(self.exported.values())
        self.notes.symbols = [
            replace(each, public=each.public and each.owner.partition(".")[0] in inside_names)
            if each.owner
            else replace(each, public=each.name in self.exported)
            for each in self.notes.symbols
        ]
        for outside, inside in self.exported.items():
            if outside not in found:
                known = found.get(inside)
                symbol = Symbol(name=outside, kind="variable", line=1) if known is None else known
                # Its members are those of the name that it has inside.
                bases = (*symbol.bases, inside) if symbol.kind in {"class", "interface", "type"} else symbol.bases
                self.notes.symbols.append(replace(symbol, name=outside, public=True, bases=bases))

    # Statements.

    def _statement(self, node: Node, owner: str, *, exported: bool, depth: int) -> None:
        kind = node.type
        if kind == "export_statement":
            self._export(node, owner, depth)
        elif kind in _VARIABLES:
            for each in node.named_children:
                if each.type == "variable_declarator":
                    self._variable(each, owner, exported=exported)
        elif kind in {"function_declaration", "function_signature", "generator_function_declaration"}:
            self.function(text(node.child_by_field_name("name")), node, owner, exported=exported)
        elif kind in {"class_declaration", "abstract_class_declaration"}:
            self._class(text(node.child_by_field_name("name")), node, owner, exported=exported)
        elif kind in {"interface_declaration", "type_alias_declaration", "enum_declaration"}:
            self._type(node, owner, exported=exported)
        elif (
            kind in {"ambient_declaration", "expression_statement", "internal_module", "module"} and depth < _MOST_DEPTH
        ):
            self._nested(node, owner, exported=exported, depth=depth)

    def _nested(self, node: Node, owner: str, *, exported: bool, depth: int) -> None:
        if node.type in {"ambient_declaration", "expression_statement"}:
            for each in node.named_children:
                if each.type == "assignment_expression":
                    self._added_later(each)
                    self._assigned(each)
                elif each.type == "statement_block" or _GIVES_ON.match(text(each)):
                    self.notes.open = True
                else:
                    self._statement(each, owner, exported=exported, depth=depth + 1)
            return
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is None or name.type == "string":
            # A module of another name is described here: its names are not this file's.
            return
        inner = f"{owner}.{text(name)}" if owner else text(name)
        self.add(text(name), "module", node, owner=owner, exported=exported)
        for each in body.named_children if body is not None else ():
            self._statement(each, inner, exported=exported, depth=depth + 1)

    def _export(self, node: Node, owner: str, depth: int) -> None:
        source = node.child_by_field_name("source")
        declaration, value = node.child_by_field_name("declaration"), node.child_by_field_name("value")
        default = any(child.type == "default" for child in node.children)
        at = line(node)
        for clause in node.named_children:
            if clause.type == "export_clause":
                self._clause(clause, string_of(source) if source is not None else "")
            elif clause.type == "namespace_export":
                name = text(clause.named_children[0]) if clause.named_children else ""
                self.notes.imports.append(Import(module=string_of(source), line=at, local=name))
                self.add(name, "module", clause, exported=True)
        if source is not None and any(child.type == "*" for child in node.children):
            self.notes.imports.append(Import(module=string_of(source), line=at, name="*"))
            self.notes.open = True
        if declaration is not None:
            self._statement(declaration, owner, exported=not owner, depth=depth + 1)
            name = text(declaration.child_by_field_name("name"))
            if default:
                self.exported.pop(name, None)
                self.exported["default"] = name or "default"
        elif default and value is not None:
            self._default(value)

    def _default(self, value: Node) -> None:
        if value.type == "identifier":
            self.exported["default"] = text(value)
        elif value.type in FUNCTION_VALUES:
            self.function("default", value, "", exported=True)
        elif value.type == "class":
            self._class("default", value, "", exported=True)
        else:
            self.add("default", "variable", value, exported=True)
            self.notes.symbols += object_members(bare(value), "default", typed=self.typed)

    def _clause(self, clause: Node, module: str) -> None:
        for each in clause.named_children:
            name = string_of(each.child_by_field_name("name"))
            alias = string_of(each.child_by_field_name("alias")) or name
            if not name:
                continue
            if module:
                self.notes.imports.append(Import(module=module, line=line(each), name=name, local=alias))
                self.notes.use(name, line(each), source=module)
                self.add(alias, "variable", each, exported=True)
            else:
                self.exported[alias] = name

    def _import(self, node: Node) -> None:
        source = node.child_by_field_name("source")
        at = line(node)
        for clause in node.named_children:
            if clause.type == "import_require_clause":
                self._bring(string_of(clause.child_by_field_name("source")), "", text(clause.named_children[0]), at)
            if clause.type != "import_clause" or source is None:
                continue
            module = string_of(source)
            for each in clause.named_children:
                if each.type == "identifier":
                    self._bring(module, "default", text(each), at)
                elif each.type == "namespace_import":
                    self._bring(module, "", text(each.named_children[0]), at)
                elif each.type == "named_imports":
                    for spec in each.named_children:
                        name = string_of(spec.child_by_field_name("name"))
                        self._bring(module, name, text(spec.child_by_field_name("alias")) or name, line(spec))

    def _bring(self, module: str, name: str, local: str, at: int) -> None:
        self.imported[local] = (module, name)
        self.notes.imports.append(Import(module=module, line=at, name=name, local=local))
        if name:
            self.notes.use(name, at, source=module)

    def _variable(self, node: Node, owner: str, *, exported: bool) -> None:
        pattern, value, of = (node.child_by_field_name(field) for field in ("name", "value", "type"))
        module = required(value)
        if pattern is None or (module and self._require(pattern, module)):
            return
        if pattern.type != "identifier":
            for name in names_in(pattern):
                self.top[name] = None
                self.add(name, "variable", pattern, owner=owner, exported=exported)
            return
        name, shown = text(pattern), bare(value)
        if shown is not None and shown.type == "as_expression" and shown.named_children:
            shown = shown.named_children[0]
        if shown is not None and shown.type in FUNCTION_VALUES:
            self.function(name, shown, owner, exported=exported)
        elif shown is not None and shown.type == "class":
            self._class(name, shown, owner, exported=exported)
        else:
            self.top[name] = of if of is not None else value
            constant = node.parent is not None and any(child.type == "const" for child in node.parent.children)
            wrapped = _wrapped_function(shown)
            signature = self._props(name, wrapped) if wrapped is not None else None
            self.add(
                name, "constant" if constant else "variable", node, owner=owner, exported=exported, signature=signature,
                shape=held_shape(of, shown),
            )  # fmt: skip
            path = f"{owner}.{name}" if owner else name
            self.notes.symbols += object_members(shown, path, typed=self.typed)

    def _require(self, pattern: Node, module: str) -> bool:
        if pattern.type == "identifier":
            self._bring(module, "", text(pattern), line(pattern))
            return True
        for each in pattern.named_children:
            if each.type == "shorthand_property_identifier_pattern":
                self._bring(module, text(each), text(each), line(each))
            elif each.type == "pair_pattern":
                key, local = string_of(each.child_by_field_name("key")), text(each.child_by_field_name("value"))
                self._bring(module, key, local, line(each))
        return True

    def _added_later(self, node: Node) -> None:
        """``Store.prototype.get = …``, for a class of the file."""
        found = _PROTOTYPE.fullmatch(text(node.child_by_field_name("left")))
        if found is not None and found[1] in self.types:
            self.add(found[2], "method", node, owner=found[1], exported=True)

    def _assigned(self, node: Node) -> None:
        """``module.exports = …`` and ``exports.x = …``."""
        left, right = text(node.child_by_field_name("left")), node.child_by_field_name("right")
        if right is None:
            return
        if left == "module.exports" and right.type == "object":
            for symbol in object_members(right, "", typed=self.typed):
                inside = symbol.name
                if inside in self.functions or inside in self.top or inside in self.types:
                    self.exported[inside] = inside
                else:
                    self.notes.symbols.append(replace(symbol, kind="function" if symbol.signature else "variable"))
                    self.exported[inside] = inside
            self.notes.open = self.notes.open or any(each.type == "spread_element" for each in right.named_children)
        elif left == "module.exports":
            name = text(right) if right.type == "identifier" else "default"
            self.exported["default"] = name
            if name == "default":
                self._default(right)
            self.notes.open = self.notes.open or right.type == "call_expression"
        elif left.startswith(("exports.", "module.exports.")):
            name = left.rpartition(".")[2]
            self.exported[name] = name
            if right.type in FUNCTION_VALUES:
                self.function(name, right, "", exported=True)
            elif name not in self.functions and name not in self.top and name not in self.types:
                self.add(name, "variable", node, exported=True)

    # What is declared.

    def add(
        self, name: str, kind: SymbolKind, node: Node, *, owner: str = "", exported: bool = False,
        signature: Signature | None = None, bases: tuple[str, ...] = (), abstract: bool = False, shape: str = "",
    ) -> None:  # fmt: skip
        if exported and not owner:
            self.exported[name] = name
        self.notes.symbols.append(
            Symbol(
                name=name, kind=kind, line=line(node), owner=owner, public=exported, abstract=abstract, signature=signature,
                bases=bases, shape=shape,
            )
        )  # fmt: skip

    def function(self, name: str, node: Node, owner: str, *, exported: bool) -> None:
        before = self.functions.get(name)
        path = f"{owner}.{name}" if owner else name
        if before is not None and before.type == "function_signature" and node.type != "function_signature":
            # The one with the body is not called as such where overloads stand before it.
            self._keys(path, node)
            return
        self.functions[name] = node
        self.result_of[name] = node.child_by_field_name("return_type")
        self.add(name, "function", node, owner=owner, exported=exported, signature=self._props(name, node))
        if not (self.jsx and name[:1].isupper()) and (options := options_of(node, self.types, typed=self.typed)):
            self.notes.symbols.append(
                Symbol(name="{}", kind="type", line=line(node), owner=path, public=exported, signature=options)
            )
        self._keys(path, node)

    def _props(self, name: str, node: Node) -> Signature | None:
        if (self.jsx and name[:1].isupper()) or (name == "default" and self.jsx):
            props = props_of(node, self.types)
            if props is not None:
                return props
            if name[:1].isupper():
                return None
        return signature_of(node, typed=self.typed)

    def _keys(self, path: str, node: Node) -> None:
        keys, whole = returned_keys(node)
        for key, at in keys if whole else ():
            self.notes.mark(Mark(kind="key", name=key, line=at, role="defines", scope=path))

    def _class(self, name: str, node: Node, owner: str, *, exported: bool) -> None:
        path = f"{owner}.{name}" if owner else name
        read = class_members(node, path, typed=self.typed)
        abstract = node.type == "abstract_class_declaration"
        self.types.setdefault(name, node)
        self.fields[name] = read.fields
        self.add(
            name, "class", node, owner=owner, exported=exported, signature=read.signature, bases=read.bases, abstract=abstract,
            shape=" ".join(word for word in (generic_shape(node), "private-new" if read.closed else "") if word),
        )  # fmt: skip
        if read.maker is not None and not self.typed and (options := options_of(read.maker, self.types, typed=False)):
            self.notes.symbols.append(
                Symbol(name="{}", kind="type", line=line(node), owner=path, public=exported, signature=options)
            )
        self.notes.symbols += read.symbols

    def _type(self, node: Node, owner: str, *, exported: bool) -> None:
        name = text(node.child_by_field_name("name"))
        path = f"{owner}.{name}" if owner else name
        if node.type == "enum_declaration":
            self.top[name] = None
            self.add(name, "class", node, owner=owner, exported=exported)
            self.notes.symbols += enum_members(node, path)
            return
        read = type_members(node, path, typed=self.typed)
        kind: SymbolKind = "interface" if node.type == "interface_declaration" else "type"
        self.types.setdefault(name, node)
        self.fields.setdefault(name, {}).update(read.fields)
        self.add(
            name, kind, node, owner=owner, exported=exported, signature=read.signature, bases=read.bases,
            abstract=kind == "interface", shape=generic_shape(node),
        )  # fmt: skip
        self.notes.symbols += read.symbols


def names_in(pattern: Node) -> list[str]:
    """The names that a pattern brings."""
    found, stack = [], [pattern]
    while stack:
        each = stack.pop()
        match each.type:
            case "identifier" | "shorthand_property_identifier_pattern":
                found.append(text(each))
            case "pair_pattern":
                stack += [value for value in [each.child_by_field_name("value")] if value is not None]
            case "object_assignment_pattern" | "assignment_pattern":
                stack += [left for left in [each.child_by_field_name("left")] if left is not None]
            case "required_parameter" | "optional_parameter":
                stack += [inner for inner in [each.child_by_field_name("pattern")] if inner is not None]
            case "object_pattern" | "array_pattern" | "rest_pattern":
                stack += each.named_children
            case _:
                pass
    return found


def _wrapped_function(value: Node | None) -> Node | None:
    """The function in ``memo(…)`` and ``forwardRef(…)``."""
    if value is None or value.type != "call_expression":
        return None
    if text(value.child_by_field_name("function")).rpartition(".")[2] not in {"memo", "forwardRef", "observer"}:
        return None
    arguments = value.child_by_field_name("arguments")
    first = arguments.named_children[0] if arguments is not None and arguments.named_children else None
    return first if first is not None and first.type in FUNCTION_VALUES else None
