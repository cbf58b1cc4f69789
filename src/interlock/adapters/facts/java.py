"""Reads Java files: types with their members, and uses with the package they come from; what annotations and calls mean is java_marks'."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interlock.adapters.facts.java_chains import Chains
from interlock.adapters.facts.java_declares import declare, plain, signature_of
from interlock.adapters.facts.java_expressions import (
    calculated,
    call_of,
    caught_around,
    given_to,
    gives,
    taken_by,
)
from interlock.adapters.facts.java_marks import annotated, called
from interlock.adapters.facts.java_places import LANG
from interlock.adapters.facts.sql_in_code import marks_in_code
from interlock.adapters.facts.treesitter import Entered, Scope, by_type, left_out, line, parse, text, walk
from interlock.core.merge.facts import Call, FileFacts, Import, Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

SUFFIXES: Final = (".java",)

_BODIES: Final = frozenset({"block", "constructor_body"})
_SCOPED: Final = frozenset(
    {"block", "constructor_body", "for_statement", "try_with_resources_statement", "switch_block", "static_initializer"}
)
_MOST_TYPES_WITHIN: Final = 30
_TYPES: Final = frozenset(
    {
        "class_declaration",
        "interface_declaration",
        "enum_declaration",
        "record_declaration",
        "annotation_type_declaration",
    }
)


def read(path: str, data: bytes) -> FileFacts:
    """The facts of a Java file; its module is the package."""
    if left_out(path):
        return FileFacts(language="java")
    root = parse("java", data, _BODIES)
    if isinstance(root, str):
        return FileFacts(language="java", fault=root)
    return _Reader().read(root)


class _Reader(Chains):
    """One file on its way to facts."""

    def read(self, root: Node) -> FileFacts:
        for node in root.named_children:
            if node.type == "package_declaration":
                self.notes.module = text(node.named_children[-1])
            elif node.type == "import_declaration":
                self._import(node)
        for node in root.named_children:
            if node.type in _TYPES:
                self._type(node)
        walk(root, Scope(), self._enter)
        return self.notes.facts()

    def _import(self, node: Node) -> None:
        name = text(next((child for child in node.named_children if child.type.endswith("identifier")), None))
        static = any(child.type == "static" for child in node.children)
        wild = any(child.type == "asterisk" for child in node.named_children)
        package, _, last = name.rpartition(".")
        at = line(node)
        if wild:
            # Names of the classes of a project begin with a capital: of a static import the last part is the type.
            if static:
                outer, _, owner = name.rpartition(".")
                self.wild_types.append((outer, owner))
            elif not name.startswith(("java.", "javax.", "jakarta.")):
                self.wild_packages.append(name)
            self.notes.imports.append(Import(module=name, line=at, name="*"))
        elif static:
            outer, _, owner = package.rpartition(".")
            self.statics[last] = (outer, owner)
            self.notes.imports.append(Import(module=outer, line=at, name=owner, local=f"{owner}.{last}"))
            self.notes.use(owner, at, source=outer)
            self.notes.use(last, at, source=outer, of=owner, on_type=True, then=("imported",))
        else:
            self.imported[last] = package
            self.notes.imports.append(Import(module=package, line=at, name=last, local=last))
            self.notes.use(last, at, source=package)

    def _type(self, node: Node) -> None:
        """Types within types are taken one after the other, however deep."""
        stack = [(node, "", True)]
        while stack:
            each, outer, shown = stack.pop()
            symbols, inner, fields, results = declare(each, outer, seen=shown)
            self.notes.symbols += symbols
            name = text(each.child_by_field_name("name"))
            self.own.add(name)
            self.fields.setdefault(name, {}).update(fields)
            self.results.setdefault(name, {}).update(results)
            if outer.count(".") < _MOST_TYPES_WITHIN:
                stack += [(child, f"{outer}.{name}" if outer else name, symbols[0].public) for child in inner]

    # Uses.

    def _enter(self, node: Node, scope: Scope) -> Entered | None:
        return by_type(self, node, scope, _SCOPED)

    def _on_import_declaration(self, _node: Node, _scope: Scope) -> Entered:
        return ()

    _on_package_declaration = _on_import_declaration

    def _on_class_declaration(self, node: Node, scope: Scope) -> Entered:
        name = text(node.child_by_field_name("name"))
        inner = scope.inner(owner=name, role=plain(node.child_by_field_name("superclass")))
        inner.names |= dict.fromkeys(self.fields.get(name, {}), None)
        inner.names |= self.fields.get(name, {})
        self._generic(node, inner)
        return self._without(node, inner, "name")

    _on_interface_declaration = _on_class_declaration
    _on_enum_declaration = _on_class_declaration
    _on_record_declaration = _on_class_declaration
    _on_annotation_type_declaration = _on_class_declaration

    def _on_method_declaration(self, node: Node, scope: Scope) -> Entered:
        inner = scope.inner()
        self._generic(node, inner)
        return self._without(node, inner, "name")

    _on_constructor_declaration = _on_method_declaration
    _on_compact_constructor_declaration = _on_method_declaration
    _on_annotation_type_element_declaration = _on_method_declaration

    def _on_explicit_constructor_invocation(self, node: Node, scope: Scope) -> Entered | None:
        if text(node.child_by_field_name("constructor")) == "super" and scope.role:
            call = call_of(node.child_by_field_name("arguments"))
            self._type_name(scope.role, line(node), scope, call, caught_around(node))
        return None

    def _generic(self, node: Node, scope: Scope) -> None:
        group = node.child_by_field_name("type_parameters") or next(
            (child for child in node.named_children if child.type == "type_parameters"), None
        )
        for each in group.named_children if group is not None else ():
            if each.type == "type_parameter":
                scope.names[text(each.named_children[0])] = None

    @staticmethod
    def _without(node: Node, scope: Scope, *fields: str) -> list[tuple[Node, Scope]]:
        left = {found.id for name in fields for found in node.children_by_field_name(name)}
        return [(child, scope) for child in node.named_children if child.id not in left]

    def _on_type_parameter(self, node: Node, scope: Scope) -> Entered:
        return [(child, scope) for child in node.named_children[1:]]

    def _on_formal_parameter(self, node: Node, scope: Scope) -> Entered:
        scope.names[text(node.child_by_field_name("name"))] = node.child_by_field_name("type")
        return self._without(node, scope, "name")

    _on_catch_formal_parameter = _on_formal_parameter
    _on_resource = _on_formal_parameter

    def _on_spread_parameter(self, node: Node, scope: Scope) -> Entered:
        for each in node.named_children:
            if each.type == "variable_declarator":
                scope.names[text(each.child_by_field_name("name"))] = None
        return [(child, scope) for child in node.named_children if child.type != "variable_declarator"]

    def _on_local_variable_declaration(self, node: Node, scope: Scope) -> Entered:
        of = node.child_by_field_name("type")
        for each in node.children_by_field_name("declarator"):
            value = each.child_by_field_name("value")
            if value is not None and value.type == "lambda_expression" and of is not None and text(of) != "var":
                source, name = self.place(of, scope)
                if name:
                    self.notes.use(name, line(each), source=source, then=(f"lambda:{taken_by(value)}",))
            self.held(value, text(of) if of is not None and of.type == "type_identifier" else "", scope)
            shown = each.child_by_field_name("value") if text(of) == "var" else of
            scope.names[text(each.child_by_field_name("name"))] = shown
        return [(child, scope) for child in node.named_children]

    def _on_variable_declarator(self, node: Node, scope: Scope) -> Entered:
        return self._without(node, scope, "name")

    def _on_enum_constant(self, node: Node, scope: Scope) -> Entered:
        return self._without(node, scope, "name")

    def _on_enhanced_for_statement(self, node: Node, scope: Scope) -> Entered:
        inner = scope.inner()
        of = node.child_by_field_name("type")
        inner.names[text(node.child_by_field_name("name"))] = of
        self.held(node.child_by_field_name("value"), "[]", scope)
        if text(of) == "var":
            self.bound(node.child_by_field_name("name"), node.child_by_field_name("value"), "[]", inner)
        return self._without(node, inner, "name")

    def _on_instanceof_expression(self, node: Node, scope: Scope) -> Entered:
        name = node.child_by_field_name("name")
        if name is not None:
            scope.names[text(name)] = node.child_by_field_name("right")
        return self._without(node, scope, "name")

    def _on_type_pattern(self, node: Node, scope: Scope) -> Entered:
        parts = node.named_children
        if len(parts) > 1 and parts[-1].type == "identifier":
            scope.names[text(parts[-1])] = parts[0]
            parts = parts[:-1]
        return [(child, scope) for child in parts]

    _on_record_pattern_component = _on_type_pattern

    def _on_lambda_expression(self, node: Node, scope: Scope) -> Entered:
        inner = scope.inner()
        group = node.child_by_field_name("parameters")
        if group is not None and group.type in {"identifier", "inferred_parameters"}:
            self.bound_by_lambda(node, inner)
            return self._without(node, inner, "parameters")
        return [(child, inner) for child in node.named_children]

    def _on_labeled_statement(self, node: Node, scope: Scope) -> Entered:
        return [(child, scope) for child in node.named_children[1:]]

    def _on_break_statement(self, _node: Node, _scope: Scope) -> Entered:
        return ()

    _on_continue_statement = _on_break_statement

    def _on_element_value_pair(self, node: Node, scope: Scope) -> Entered:
        return self._without(node, scope, "key")

    def _on_switch_label(self, node: Node, scope: Scope) -> Entered:
        # `case OPEN:` names a constant of the type that is switched on, which the file rarely shows.
        for each in node.named_children:
            if each.type == "identifier":
                if not scope.find(text(each))[0]:
                    source, of = self.switched_on(node, scope)
                    self.notes.use(text(each), line(each), source=source, of=of or "?")
            else:
                yield each, scope

    def _on_marker_annotation(self, node: Node, scope: Scope) -> Entered:
        annotated(self.notes, node)
        self._type_name(text(node.child_by_field_name("name")), line(node), scope, given_to(node))
        return self._without(node, scope, "name")

    _on_annotation = _on_marker_annotation

    def _on_type_identifier(self, node: Node, scope: Scope) -> Entered:
        self._type_name(text(node), line(node), scope)
        return ()

    def _type_name(
        self, name: str, at: int, scope: Scope, call: Call | None = None, caught: tuple[str, ...] = (),
        then: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        if scope.find(name)[0] or name == "var" or "." in name:
            return
        if name in self.imported:
            self.notes.use(name, at, source=self.imported[name], call=call, caught=caught, then=then)
        elif name not in LANG or name in self.own:
            self.notes.use(name, at, call=call, caught=caught, then=then)
            for package in self.wild_packages[:4] if name not in self.own else ():
                self.notes.use(name, at, source=package, call=call)

    def _on_scoped_type_identifier(self, node: Node, scope: Scope) -> Entered:
        parts = text(node).split("<")[0].split(".")
        if parts[0][:1].isupper():
            self._type_name(parts[0], line(node), scope)
            self.notes.use(
                parts[-1], line(node), source=self.imported.get(parts[0], ""), of=".".join(parts[:-1]), on_type=True
            )
        else:
            self.notes.use(parts[-1], line(node), source=".".join(parts[:-1]))
        return [(child, scope) for child in node.named_children if child.type == "type_arguments"]

    def _on_object_creation_expression(self, node: Node, scope: Scope) -> Entered:
        of = node.child_by_field_name("type")
        call = call_of(node.child_by_field_name("arguments"))
        bare = of.named_children[0] if of is not None and of.type == "generic_type" else of
        outer = [child for child in node.named_children if of is None or child.id != of.id]
        if bare is not None and bare.type == "type_identifier":
            thrown = ("thrown",) if node.parent is not None and node.parent.type == "throw_statement" else ()
            self._type_name(text(bare), line(node), scope, call, caught_around(node), thrown)
        elif bare is not None:
            outer.insert(0, bare)
        body = next((child for child in node.named_children if child.type == "class_body"), None)
        if body is not None and bare is not None and bare.type == "type_identifier":
            self._anonymous(text(bare), body, line(node), scope)
        if of is not None and bare is not of:
            outer += [child for child in of.named_children if child.type == "type_arguments"]
        return [(child, scope) for child in outer]

    def _anonymous(self, base: str, body: Node, at: int, scope: Scope) -> None:
        """A class without a name is a subtype too."""
        count = sum(each.name.startswith(f"new {base} (") for each in self.notes.symbols)
        path = f"{scope.owner}.new {base} ({count + 1})"
        self.notes.symbols.append(
            Symbol(name=path.rpartition(".")[2], kind="class", line=at, owner=scope.owner, public=False, bases=(base,))
        )
        for each in body.named_children:
            if each.type == "method_declaration":
                self.notes.symbols.append(
                    Symbol(
                        name=text(each.child_by_field_name("name")), kind="method", line=line(each), owner=path,
                        public=False, signature=signature_of(each.child_by_field_name("parameters")),
                    )
                )  # fmt: skip

    def _on_method_invocation(self, node: Node, scope: Scope) -> Entered:
        called(self.notes, node)
        name, target = node.child_by_field_name("name"), node.child_by_field_name("object")
        call = call_of(node.child_by_field_name("arguments"))
        at = line(name) if name is not None else line(node)
        given = (*gives(node.child_by_field_name("arguments"), scope), *calculated(node, scope))
        caught = caught_around(node)
        if target is None:
            self._bare_call(text(name), at, scope, call, given, caught)
        else:
            self._member(target, text(name), at, scope, call, given, caught)
        return self._without(node, scope, "name")

    def _bare_call(
        self, name: str, at: int, scope: Scope, call: Call, given: tuple[str, ...], caught: tuple[str, ...]
    ) -> None:
        if name in self.statics:
            source, owner = self.statics[name]
            self.notes.use(name, at, source=source, of=owner, call=call, on_type=True, then=given, caught=caught)
        else:
            self.notes.use(name, at, of=scope.owner or "?", call=call, then=given, caught=caught)
            known = name in self.results.get(scope.owner, {})
            for source, owner in self.wild_types[:4] if not known else ():
                self.notes.use(name, at, source=source, of=owner, call=call, on_type=True)

    def _on_method_reference(self, node: Node, scope: Scope) -> Entered:
        parts = node.named_children
        if len(parts) > 1 and parts[-1].type == "identifier":
            self._member(parts[0], text(parts[-1]), line(node), scope, None, ("reference",))
            parts = parts[:-1]
        return [(child, scope) for child in parts]

    def _on_field_access(self, node: Node, scope: Scope) -> Entered:
        target, name = node.child_by_field_name("object"), node.child_by_field_name("field")
        if target is None or name is None:
            return ()
        before = text(target)
        whole = before[:1].islower() and before.replace(".", "").isidentifier() and text(name)[:1].isupper()
        if whole and not scope.find(before.split(".")[0])[0]:
            # A type by its whole name: com.acme.Cart.
            self.notes.use(text(name), line(name), source=before)
            return ()
        self._member(target, text(name), line(name), scope, None)
        return [(target, scope)]

    def _member(
        self, target: Node, name: str, at: int, scope: Scope, call: Call | None, then: tuple[str, ...] = (),
        caught: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        if target.type == "super":
            self.notes.use(name, at, source=self.imported.get(scope.role, ""), of=scope.role or "?", call=call)
            return
        source, of = self._placed(target, scope)
        if not of:
            source, of = self.chain(target, scope)
        on_type = target.type in {"identifier", "type_identifier"} and text(target) == of
        self.notes.use(name, at, source=source, of=of or "?", call=call, on_type=on_type, then=then, caught=caught)
        if of.endswith("()") and "//" not in of:
            owner, _, function = of.removesuffix("()").rpartition(".")
            self.notes.use(function, at, source=source, of=owner, call=Call(spread=True), then=(f"member:{name}",))

    def _on_switch_expression(self, node: Node, scope: Scope) -> Entered | None:
        """A switch that gives a value must have every case, or a rest."""
        self.every_case(node, scope)
        return None

    def _on_identifier(self, node: Node, scope: Scope) -> Entered:
        name = text(node)
        if scope.find(name)[0]:
            return ()
        if name in self.statics:
            source, owner = self.statics[name]
            self.notes.use(name, line(node), source=source, of=owner, on_type=True)
        elif name[:1].isupper() and not name.isupper():
            self._type_name(name, line(node), scope)
        else:
            self.notes.use(name, line(node), of=scope.owner or "?")
        return ()

    def _on_string_literal(self, node: Node, _scope: Scope) -> Entered:
        for mark in marks_in_code(text(node).strip('"').replace("\\n", " "), line(node)):
            self.notes.mark(mark)
        return ()
