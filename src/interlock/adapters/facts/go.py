"""Reads Go files: declarations, method sets, and uses with the package they come from; what calls mean as marks is go_marks'."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from interlock.adapters.facts.go_chains import Chains
from interlock.adapters.facts.go_marks import called
from interlock.adapters.facts.go_types import (
    BASIC,
    BUILTIN,
    below,
    calculated,
    call_of,
    constraint_of,
    declared,
    declared_type,
    element_type,
    first_of,
    function_type,
    id_of,
    kind_of,
    named,
    parameters,
    taken_as,
    written,
)
from interlock.adapters.facts.sql_in_code import marks_in_code
from interlock.adapters.facts.treesitter import Entered, Scope, by_type, left_out, line, parse, text, walk
from interlock.core.merge.facts import Call, FileFacts, Mark

if TYPE_CHECKING:
    from tree_sitter import Node

SUFFIXES: Final = (".go",)
_MODULE: Final = re.compile(rb"^[ \t]*module[ \t]+\"?([^\s\"]+)", re.MULTILINE)

_BODIES: Final = frozenset({"block", "literal_value"})
_SCOPED: Final = frozenset(
    {"block", "if_statement", "for_statement", "expression_switch_statement", "expression_case", "default_case",
     "select_statement", "communication_case", "type_case"}
)  # fmt: skip


def read(path: str, data: bytes) -> FileFacts:
    """The facts of a Go file; its module is the folder, for that is what an import path ends with; of a ``go.mod`` the path it names."""
    if path.rpartition("/")[2] == "go.mod":
        named = _MODULE.search(data)
        module = named[1].decode("utf-8", "replace") if named else ""
        return FileFacts(language="other", module=module, marks=tuple(_required(data.decode("utf-8", "replace"))))
    if left_out(path):
        return FileFacts(language="go")
    root = parse("go", data, _BODIES)
    if isinstance(root, str):
        return FileFacts(language="go", fault=root)
    return _Reader(path).read(root)


def _required(data: str) -> Iterator[Mark]:
    """The modules that a ``go.mod`` requires."""
    inside = False
    for number, each in enumerate(data.splitlines(), 1):
        words = each.split("//")[0].split()
        if words[:2] == ["require", "("] or (inside and words == [")"]):
            inside = words[0] == "require"
        elif words[:1] == ["require"] or (inside and len(words) == 2):
            yield Mark(
                kind="package",
                name=words[-2].strip('"'),
                line=number,
                role="defines",
                scope="go-module",
                detail=words[-1],
            )


class _Reader(Chains):
    """One file on its way to facts."""

    def read(self, root: Node) -> FileFacts:
        self.notes.module += constraint_of(self.path, root)
        for node in root.named_children:
            self.declare(node)
        walk(root, Scope(), self._enter)
        for name, (at, kind) in self.types.items():
            self.symbol(
                name, kind, at, bases=tuple(dict.fromkeys(self.bases.get(name, ()))), shape=self.shapes.get(name, "")
            )
        return self.notes.facts()

    def _enter(self, node: Node, scope: Scope) -> Entered | None:
        return by_type(self, node, scope, _SCOPED)

    def _on_import_declaration(self, _node: Node, _scope: Scope) -> Entered:
        return ()

    _on_package_clause = _on_import_declaration

    def _function(self, node: Node, scope: Scope) -> Entered:
        result = node.child_by_field_name("result")
        inner = scope.inner(role=written(result) if result is not None else "")
        for part in ("receiver", "parameters", "result"):
            found = node.child_by_field_name(part)
            if found is not None and found.type == "parameter_list":
                for name, of, _ in parameters(found):
                    inner.names[name] = of
        generic = node.child_by_field_name("type_parameters")
        for each in generic.named_children if generic is not None else ():
            for given in each.children_by_field_name("name"):
                inner.names[text(given)] = None
        receiver = node.child_by_field_name("receiver")
        if receiver is not None:
            # Type parameters of the receiver are local names.
            for each in below(receiver, "type_arguments"):
                for parameter in below(each, "type_identifier"):
                    inner.names[text(parameter)] = None
        skipped = {id_of(node.child_by_field_name("name"))}
        return [(child, inner) for child in node.named_children if child.id not in skipped]

    _on_function_declaration = _function
    _on_method_declaration = _function
    _on_func_literal = _function
    _on_method_elem = _function

    def _on_parameter_declaration(self, node: Node, scope: Scope) -> Entered:
        of = node.child_by_field_name("type")
        return [(of, scope)] if of is not None else ()

    _on_variadic_parameter_declaration = _on_parameter_declaration
    _on_field_declaration = _on_parameter_declaration

    def _on_type_spec(self, node: Node, scope: Scope) -> Entered:
        inner = scope.inner()
        if scope.outer is not None:
            scope.names[text(node.child_by_field_name("name"))] = None
        generic = node.child_by_field_name("type_parameters")
        for each in generic.named_children if generic is not None else ():
            for given in each.children_by_field_name("name"):
                inner.names[text(given)] = None
        skipped = id_of(node.child_by_field_name("name"))
        return [(child, inner) for child in node.named_children if child.id != skipped]

    _on_type_alias = _on_type_spec

    def _on_type_parameter_declaration(self, node: Node, scope: Scope) -> Entered:
        of = node.child_by_field_name("type")
        return [(of, scope)] if of is not None else ()

    def _on_var_spec(self, node: Node, scope: Scope) -> Entered:
        self._satisfies(node)
        for name, shown in declared(node):
            if scope.outer is not None:
                scope.names[name] = shown
        names = {each.id for each in node.children_by_field_name("name")}
        return [(child, scope) for child in node.named_children if child.id not in names]

    _on_const_spec = _on_var_spec

    def _on_short_var_declaration(self, node: Node, scope: Scope) -> Entered:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        names = left.named_children if left is not None else []
        values = right.named_children if right is not None else []
        for at, name in enumerate(names):
            if len(values) == len(names):
                scope.names[text(name)] = values[at]
            elif values and at:
                self.bound(name, values[0], f"#{at}", scope)
            else:
                scope.names[text(name)] = values[0] if values else None
        return [(right, scope)] if right is not None else ()

    def _on_range_clause(self, node: Node, scope: Scope) -> Entered:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if any(child.type == ":=" for child in node.children) and left is not None:
            names = left.named_children
            for at, each in enumerate(names):
                # The second name holds elements of what is ranged over.
                shown = self.element(right, scope) if at == 1 and right is not None else None
                scope.names[text(each)] = shown
                if at == 1 and shown is None:
                    self.bound(each, right, "[]", scope)
            return [(right, scope)] if right is not None else ()
        return [(child, scope) for child in node.named_children]

    _on_receive_statement = _on_short_var_declaration

    def _on_type_switch_statement(self, node: Node, scope: Scope) -> Entered:
        inner = scope.inner()
        alias = node.child_by_field_name("alias")
        name = text(alias.named_children[0]) if alias is not None and alias.named_children else ""
        skipped = id_of(alias)
        for child in node.named_children:
            if child.id == skipped:
                continue
            case = inner.inner()
            if name:
                types = child.children_by_field_name("type") if child.type == "type_case" else []
                case.names[name] = types[0] if len(types) == 1 else None
            yield child, case

    def _on_keyed_element(self, node: Node, scope: Scope) -> Entered:
        parts = node.named_children
        if len(parts) != 2:
            return [(child, scope) for child in parts]
        key = parts[0].named_children[0] if parts[0].named_children else None
        literal = node.parent.parent if node.parent is not None else None
        of = (
            literal.child_by_field_name("type")
            if literal is not None and literal.type == "composite_literal"
            else element_type(node.parent)
        )
        source, name = self.place(of, scope)
        if key is not None and key.type == "identifier" and name:
            if source or name not in self.types or self.types[name][1] == "class":
                self.notes.use(text(key), line(key), source=source, of=name, then=self._given(parts[1], scope))
            return [(parts[1], scope)]
        if key is not None and key.type == "identifier" and of is None:
            return [(parts[1], scope)]
        return [(child, scope) for child in parts]

    def _given(self, element: Node, scope: Scope) -> tuple[str, ...]:
        """The plain type of what a field is given, where the file shows it."""
        value = element.named_children[0] if element.named_children else None
        if value is None or value.type != "identifier":
            return ()
        shown = scope.find(text(value))[1]
        return (f"given:{text(shown)}",) if shown is not None and text(shown) in BASIC else ()

    def _on_composite_literal(self, node: Node, scope: Scope) -> Entered | None:
        of, body = node.child_by_field_name("type"), node.child_by_field_name("body")
        values = [each for each in body.named_children if each.type == "literal_element"] if body is not None else []
        inner = (
            of.child_by_field_name("element") if of is not None and of.type in {"slice_type", "array_type"} else None
        )
        for each in values:
            if inner is not None:
                self._fits(each, written(inner))
        if values and of is not None and of.type in {"type_identifier", "qualified_type"}:
            source, name = self.place(of, scope)
            if name:
                self.notes.use(name, line(node), source=source, then=(f"fill:{len(values)}",))
        return None

    def _on_qualified_type(self, node: Node, scope: Scope) -> Entered:
        package = text(node.child_by_field_name("package"))
        name = node.child_by_field_name("name")
        if name is not None and not scope.find(package)[0]:
            source = self.packages.get(package, package)
            self.notes.use(text(name), line(node), source=source, of=self.locals.get(source, package))
        return ()

    def _on_type_identifier(self, node: Node, scope: Scope) -> Entered:
        self._name(node, scope, None)
        return ()

    _on_identifier = _on_type_identifier

    def _name(self, node: Node, scope: Scope, call: Call | None, then: tuple[str, ...] = ()) -> None:
        name = text(node)
        if name not in BUILTIN and name not in self.packages and not scope.find(name)[0]:
            self.notes.use(name, line(node), call=call, then=then)

    def _on_call_expression(self, node: Node, scope: Scope) -> Entered:
        called(self.notes, node, self.packages)
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        given = call_of(arguments)
        rest = [(arguments, scope)] if arguments is not None else []
        if function is None:
            return rest
        generic = (
            function.child_by_field_name("type_arguments") if function.type == "type_instantiation_expression" else None
        )
        if generic is not None and function.named_children:
            function = function.named_children[0]
        then = (*taken_as(node), *self._gives(arguments, scope))
        if function.type == "identifier":
            self._name(function, scope, given, then)
            return rest
        if function.type == "selector_expression":
            return [*self._selector(function, scope, given, then), *rest]
        return [(function, scope), *rest]

    def _gives(self, arguments: Node | None, scope: Scope) -> Iterator[str]:
        """What a call is given that shows its own type: one of the file's types, or a function."""
        for at, each in enumerate(arguments.named_children if arguments is not None else ()):
            if each.type == "func_literal":
                yield f"gives:{at}:{function_type(each)}"
            elif kind := kind_of(each, scope):
                yield f"gives:{at}:{kind}"
            else:
                source, name = named(declared_type(each))
                made = each.child_by_field_name("operand") if each.type == "unary_expression" else each
                if made is not None and made.type == "composite_literal" and name:
                    yield f"gives:{at}:made/{'*' if made is not each else ''}{name}"
                if not source and name in self.types and self.types[name][1] != "interface":
                    yield f"gives:{at}:type/{name}"

    def _on_selector_expression(self, node: Node, scope: Scope) -> Entered:
        return self._selector(node, scope, None, calculated(node))

    def _on_generic_type(self, node: Node, scope: Scope) -> Entered | None:
        of, arguments = node.child_by_field_name("type"), node.child_by_field_name("type_arguments")
        source, name = self.place(of, scope)
        if name and arguments is not None:
            local = self.locals.get(source, "") if source else ""
            then = (f"types:{arguments.named_child_count}",)
            self.notes.use(name, line(node), source=source, of=local, then=then)
        return None

    def _selector(
        self, node: Node, scope: Scope, call: Call | None, then: tuple[str, ...] = ()
    ) -> list[tuple[Node, Scope]]:
        operand, member = node.child_by_field_name("operand"), node.child_by_field_name("field")
        if operand is None or member is None:
            return []
        if operand.type == "identifier" and text(operand) in self.packages and not scope.find(text(operand))[0]:
            source = self.packages[text(operand)]
            self.notes.use(
                text(member), line(member), source=source, of=self.locals.get(source, ""), call=call, then=then
            )
            return []
        source, of = self.chain(operand, scope)
        self.notes.use(text(member), line(member), source=source, of=of or "?", call=call, then=then)
        return [(operand, scope)]

    def _on_interpreted_string_literal(self, node: Node, _scope: Scope) -> Entered:
        for mark in marks_in_code(text(node)[1:-1].replace("\\n", " ").replace('\\"', '"'), line(node)):
            self.notes.mark(mark)
        return ()

    def _on_raw_string_literal(self, node: Node, _scope: Scope) -> Entered:
        for mark in marks_in_code(text(node)[1:-1], line(node)):
            self.notes.mark(mark)
        return ()

    def _on_return_statement(self, node: Node, scope: Scope) -> Entered | None:
        values = node.named_children[0].named_children if node.named_children else []
        if scope.role and values:
            self._fits(values[0], first_of(scope.role))
        return None

    def _satisfies(self, spec: Node) -> None:
        """``var _ I = (*T)(nil)`` and the like say that T is used as I."""
        of, value = spec.child_by_field_name("type"), spec.child_by_field_name("value")
        if of is not None and value is not None and value.named_children:
            self._fits(value.named_children[0], written(of))

    def _fits(self, value: Node, wanted: str) -> None:
        source, name = named(declared_type(value))
        if not source and name in self.types and wanted not in {"", name, "any", "error"} and wanted[:1] not in "*[(":
            self.bases.setdefault(name, []).append(wanted)
