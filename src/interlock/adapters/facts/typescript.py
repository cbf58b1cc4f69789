"""Reads TypeScript and JavaScript files: exports, imports and uses with the module they come from; declarations are script_declares'."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interlock.adapters.facts.schemas import graphql
from interlock.adapters.facts.script_chains import Chains
from interlock.adapters.facts.script_marks import called, code_asked, code_given, decorated, env_of, event, looked_up
from interlock.adapters.facts.script_shapes import done_with, gives
from interlock.adapters.facts.script_types import bare, call_of, props_given, string_of, then_of
from interlock.adapters.facts.sql_in_code import marks_in_code
from interlock.adapters.facts.treesitter import Entered, Grammar, Scope, left_out, line, parse, text, walk
from interlock.core.merge.facts import Call, FileFacts, Language

if TYPE_CHECKING:
    from tree_sitter import Node

SUFFIXES: Final = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")

_GRAMMARS: Final[dict[str, Grammar]] = {"ts": "typescript", "mts": "typescript", "cts": "typescript", "tsx": "tsx"}
_BODIES: Final = frozenset({"statement_block", "jsx_element", "jsx_self_closing_element"})
_SCOPED: Final = frozenset({"for_statement", "switch_body", "class_static_block"})
_FUNCTIONS: Final = frozenset(
    {"function_declaration", "function_expression", "arrow_function", "method_definition", "generator_function",
     "generator_function_declaration", "function_signature", "method_signature", "abstract_method_signature", "function_type",
     "call_signature", "construct_signature", "constructor_type"}
)  # fmt: skip
_NAMED_TYPES: Final = frozenset(
    {"class_declaration", "abstract_class_declaration", "interface_declaration", "type_alias_declaration", "class"}
)


def read(path: str, data: bytes) -> FileFacts:
    """The facts of a script; its module is the path without suffix and without a last ``/index``."""
    suffix = path.rpartition(".")[2]
    language: Language = "typescript" if suffix in _GRAMMARS else "javascript"
    if left_out(path):
        return FileFacts(language=language)
    root = parse(_GRAMMARS.get(suffix, "javascript"), data, _BODIES)
    if isinstance(root, str):
        return FileFacts(language=language, fault=root)
    return _Reader(path, language).read(root)


class _Reader(Chains):
    """One file on its way to facts."""

    def read(self, root: Node) -> FileFacts:
        self.declare_all(root)
        walk(root, Scope(), self._enter)
        self.publish()
        return self.notes.facts()

    def _enter(self, node: Node, scope: Scope) -> Entered | None:
        kind = node.type
        if kind in _FUNCTIONS:
            return self._function(node, scope)
        if kind in _NAMED_TYPES:
            return self._named_type(node, scope)
        handler = getattr(self, f"_on_{kind}", None)
        if handler is not None:
            entered: Entered | None = handler(node, scope)
            return entered
        if kind in _SCOPED:
            inner = scope.inner()
            return [(child, inner) for child in node.named_children]
        return None

    # What brings names.

    def _on_import_statement(self, _node: Node, _scope: Scope) -> Entered:
        return ()

    def _on_export_statement(self, node: Node, scope: Scope) -> Entered:
        if node.child_by_field_name("source") is not None:
            return ()
        for clause in node.named_children:
            if clause.type == "export_clause":
                for each in clause.named_children:
                    name = each.child_by_field_name("name")
                    if name is not None:
                        self.name(text(name), line(name), scope)
        return [(child, scope) for child in node.named_children if child.type != "export_clause"]

    def _function(self, node: Node, scope: Scope) -> Entered:
        inner = scope.inner()
        self._generic(node, inner)
        name, group = node.child_by_field_name("name"), node.child_by_field_name("parameters")
        if node.type in {"function_expression", "generator_function"} and name is not None:
            inner.names[text(name)] = None
        elif name is not None and scope.outer is not None and node.type.endswith("_declaration"):
            scope.names[text(name)] = None
        single = node.child_by_field_name("parameter")
        if single is not None:
            inner.names[text(single)] = None
        if group is not None:
            self.bind_parameters(group, inner)
        self.bound_by_callback(node, inner)
        left = {each.id for each in (name, single) if each is not None and each.type != "computed_property_name"}
        return [(child, inner) for child in node.named_children if child.id not in left]

    def _on_formal_parameters(self, node: Node, scope: Scope) -> Entered:
        for each in node.named_children:
            if each.type in {"required_parameter", "optional_parameter"}:
                for field in ("decorator", "type", "value"):
                    for child in each.children_by_field_name(field):
                        yield child, scope
                pattern = each.child_by_field_name("pattern")
                if pattern is not None and pattern.type != "identifier":
                    yield from self._defaults(pattern, scope)
            elif each.type != "identifier":
                yield from self._defaults(each, scope)

    def _defaults(self, pattern: Node, scope: Scope) -> Entered:
        """Values and computed keys inside of a pattern that brings names."""
        stack = [pattern]
        while stack:
            each = stack.pop()
            if each.type in {"object_assignment_pattern", "assignment_pattern"}:
                right = each.child_by_field_name("right")
                if right is not None:
                    yield right, scope
                left = each.child_by_field_name("left")
                stack += [left] if left is not None else []
            elif each.type == "computed_property_name":
                yield each, scope
            else:
                stack.extend(each.named_children)

    def _generic(self, node: Node, scope: Scope) -> None:
        group = node.child_by_field_name("type_parameters")
        for each in group.named_children if group is not None else ():
            scope.names[text(each.child_by_field_name("name"))] = None

    def _on_type_parameter(self, node: Node, scope: Scope) -> Entered:
        return [(child, scope) for child in node.named_children[1:]]

    def _on_infer_type(self, node: Node, scope: Scope) -> Entered:
        scope.names[text(node.named_children[0]) if node.named_children else ""] = None
        return ()

    def _on_mapped_type_clause(self, node: Node, scope: Scope) -> Entered:
        scope.names[text(node.child_by_field_name("name"))] = None
        return [(child, scope) for child in node.named_children[1:]]

    def _named_type(self, node: Node, scope: Scope) -> Entered:
        name = node.child_by_field_name("name")
        if scope.outer is not None and name is not None:
            scope.names[text(name)] = None
        bases = [child for child in node.named_children if child.type == "class_heritage"]
        inner = scope.inner(owner=text(name), role=self.base_of(bases[0]) if bases else "")
        above = node.parent.type if node.parent is not None else ""
        named = node.type == "class" and above in {"variable_declarator", "export_statement", "assignment_expression"}
        if bases and (scope.outer is not None or (node.type == "class" and not named)):
            self.within(node)
        self._generic(node, inner)
        left = name.id if name is not None else -1
        return [(child, inner) for child in node.named_children if child.id != left]

    def _on_statement_block(self, node: Node, scope: Scope) -> Entered:
        inner = scope.inner()
        self.hoist(node, inner)
        return [(child, inner) for child in node.named_children]

    def _on_enum_declaration(self, node: Node, scope: Scope) -> Entered:
        inner = scope.inner()
        body = node.child_by_field_name("body")
        for each in body.named_children if body is not None else ():
            inner.names[string_of(each.child_by_field_name("name") or each)] = None
            value = each.child_by_field_name("value")
            if value is not None:
                yield value, inner

    def _on_internal_module(self, node: Node, scope: Scope) -> Entered:
        body = node.child_by_field_name("body")
        return [(body, scope)] if body is not None else ()

    _on_module = _on_internal_module

    def _on_variable_declarator(self, node: Node, scope: Scope) -> Entered:
        pattern, value, of = (node.child_by_field_name(field) for field in ("name", "value", "type"))
        if pattern is None:
            return ()
        if scope.outer is not None:
            self.bind(pattern, of if of is not None else value, scope)
        if value is not None and pattern.type == "object_pattern":
            self.taken_apart(pattern, value, scope)
            if not self.place(value, scope)[1]:
                self.apart(pattern, self.chain(value, scope))
        elif pattern.type == "array_pattern" and scope.outer is not None:
            self.bound(pattern, value, "", scope)
        self.written_as(value, of, scope)
        rest = [] if pattern.type == "identifier" else list(self._defaults(pattern, scope))
        return [*rest, *((each, scope) for each in (of, value) if each is not None)]

    def _on_for_in_statement(self, node: Node, scope: Scope) -> Entered:
        inner = scope.inner()
        left = node.child_by_field_name("left")
        declared = node.child_by_field_name("kind") is not None or any(
            child.type in {"const", "let", "var"} for child in node.children
        )
        if left is not None and declared:
            self.bind(left, None, inner)
            if any(child.type == "of" for child in node.children):
                self.bound(left, node.child_by_field_name("right"), "[]", inner)
        skipped = left.id if left is not None and declared else -1
        return [(child, inner) for child in node.named_children if child.id != skipped]

    def _on_catch_clause(self, node: Node, scope: Scope) -> Entered:
        inner = scope.inner()
        pattern = node.child_by_field_name("parameter")
        if pattern is not None:
            self.bind(pattern, None, inner)
        skipped = pattern.id if pattern is not None else -1
        return [(child, inner) for child in node.named_children if child.id != skipped]

    # Uses.

    def _on_identifier(self, node: Node, scope: Scope) -> Entered:
        self.name(text(node), line(node), scope)
        return ()

    _on_type_identifier = _on_identifier
    _on_shorthand_property_identifier = _on_identifier

    def _on_labeled_statement(self, node: Node, scope: Scope) -> Entered:
        return [(child, scope) for child in node.named_children[1:]]

    def _on_nested_type_identifier(self, node: Node, scope: Scope) -> Entered:
        module, name = node.child_by_field_name("module"), node.child_by_field_name("name")
        if module is not None and name is not None:
            self.member(module, text(name), line(name), scope, None)
        return ()

    def _on_member_expression(self, node: Node, scope: Scope) -> Entered:
        for mark in env_of(node, self.stands_for(node, scope)):
            self.notes.mark(mark)
        return self._member_of(node, scope, None, done_with(node))

    def _on_switch_statement(self, node: Node, scope: Scope) -> Entered | None:
        self.every_case(node, scope)
        value, body = bare(node.child_by_field_name("value")), node.child_by_field_name("body")
        for each in body.named_children if body is not None and self.typed else ():
            if value is not None:
                self.compared(value, each.child_by_field_name("value"), scope)
        return None

    def _on_generic_type(self, node: Node, scope: Scope) -> Entered | None:
        name = node.child_by_field_name("name")
        arguments = next((child for child in node.named_children if child.type == "type_arguments"), None)
        if text(name) == "Pick" and arguments is not None and arguments.named_child_count == 2:
            self.picked(arguments.named_children[0], arguments.named_children[1], scope)
        if name is None or name.type != "type_identifier" or arguments is None:
            return None
        self.name(text(name), line(name), scope, then=(f"types:{arguments.named_child_count}",))
        return [(arguments, scope)]

    def _on_subscript_expression(self, node: Node, scope: Scope) -> Entered | None:
        for mark in env_of(node, self.stands_for(node, scope)):
            self.notes.mark(mark)
        target, index = node.child_by_field_name("object"), node.child_by_field_name("index")
        if target is not None and index is not None and index.type == "string":
            self.member(target, string_of(index), line(index), scope, None)
        return None

    def _member_of(
        self, node: Node, scope: Scope, call: Call | None, then: tuple[str, ...] = ()
    ) -> list[tuple[Node, Scope]]:
        target, name = node.child_by_field_name("object"), node.child_by_field_name("property")
        if target is None or name is None:
            return []
        whole = self.member(target, text(name), line(name), scope, call, then)
        return [] if whole else [(target, scope)]

    def _on_call_expression(self, node: Node, scope: Scope) -> Entered:
        for mark in called(node):
            self.notes.mark(mark)
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        types = node.child_by_field_name("type_arguments")
        rest = [(each, scope) for each in (types, arguments) if each is not None]
        if function is None:
            return rest
        call = call_of(arguments)
        if self.typed:
            self.literals(node, scope)
        if arguments is not None and arguments.type == "template_string" and text(function) in {"gql", "graphql"}:
            for mark in graphql(text(arguments).strip("`"), line(arguments)):
                self.notes.mark(mark)
        if function.type == "identifier":
            self._plain_call(function, node, scope, call)
            return rest
        if function.type == "super" and scope.role:
            self.call_name(scope.role, node, scope, call)
            return rest
        if function.type == "member_expression":
            for mark in event(node, self.bus_of(function.child_by_field_name("object"), scope)):
                self.notes.mark(mark)
            return [*self._member_of(function, scope, call, (*then_of(node), *gives(arguments))), *rest]
        return [(function, scope), *rest]

    def _plain_call(self, function: Node, node: Node, scope: Scope, call: Call) -> None:
        if not scope.find(text(function))[0]:
            for mark in looked_up(node, self.imported.get(text(function), ("", ""))[0]):
                self.notes.mark(mark)
        if text(function) not in {"require", "import"}:
            self.call_name(text(function), node, scope, call)

    def _on_binary_expression(self, node: Node, scope: Scope) -> Entered | None:
        left, sign = bare(node.child_by_field_name("left")), node.child_by_field_name("operator")
        if left is not None and sign is not None and sign.type in {"===", "!=="} and self.typed:
            self.compared(left, node.child_by_field_name("right"), scope)
        for mark in code_asked(node):
            self.notes.mark(mark)
        return None

    def _on_assignment_expression(self, node: Node, _scope: Scope) -> Entered | None:
        left = node.child_by_field_name("left")
        if left is not None and left.type == "member_expression":
            for mark in code_given(text(left.child_by_field_name("property")), node.child_by_field_name("right")):
                self.notes.mark(mark)
        return None

    def _on_pair(self, node: Node, _scope: Scope) -> Entered | None:
        for mark in code_given(string_of(node.child_by_field_name("key")), node.child_by_field_name("value")):
            self.notes.mark(mark)
        return None

    def _on_new_expression(self, node: Node, scope: Scope) -> Entered:
        made, arguments = node.child_by_field_name("constructor"), node.child_by_field_name("arguments")
        types = node.child_by_field_name("type_arguments")
        rest = [(each, scope) for each in (types, arguments) if each is not None]
        if made is None:
            return rest
        call = call_of(arguments)
        if self.typed:
            self.literals(node, scope)
        if made.type == "identifier":
            self.options(text(made), arguments, scope)
            then = (*gives(arguments), *((f"types:{types.named_child_count}",) if types is not None else ()))
            self.name(text(made), line(made), scope, call, then)
            return rest
        if made.type == "member_expression":
            return [*self._member_of(made, scope, call), *rest]
        return [(made, scope), *rest]

    def _on_decorator(self, node: Node, _scope: Scope) -> Entered | None:
        for mark in decorated(node):
            self.notes.mark(mark)
        return None

    def _on_jsx_opening_element(self, node: Node, scope: Scope) -> Entered:
        name = node.child_by_field_name("name")
        inner = node.type == "jsx_opening_element" and node.parent is not None and len(node.parent.named_children) > 2
        call = props_given(node, children=inner)
        if name is not None and name.type == "identifier" and text(name)[:1].isupper():
            self.name(text(name), line(name), scope, call)
        elif name is not None and name.type == "member_expression":
            self._member_of(name, scope, call)
        return [(child, scope) for child in node.children_by_field_name("attribute")]

    _on_jsx_self_closing_element = _on_jsx_opening_element

    def _on_jsx_closing_element(self, _node: Node, _scope: Scope) -> Entered:
        return ()

    def _on_string(self, node: Node, _scope: Scope) -> Entered:
        for mark in marks_in_code(string_of(node), line(node)):
            self.notes.mark(mark)
        return ()

    def _on_template_string(self, node: Node, _scope: Scope) -> Entered | None:
        for mark in marks_in_code(text(node).strip("`"), line(node)):
            self.notes.mark(mark)
        return None
