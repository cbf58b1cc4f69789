"""Tells where names of a script come from and which type an expression has, as far as its own file shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.adapters.facts.script_declares import Declares, names_in
from interlock.adapters.facts.script_types import bare, keys_of_pattern, object_keys, pattern_of, required, then_of
from interlock.adapters.facts.treesitter import Scope, line, text
from interlock.core.merge.facts import Call

if TYPE_CHECKING:
    from tree_sitter import Node

_UNKNOWN = ("", "")
_GLOBAL = frozenset(
    [
        "undefined",
        "NaN",
        "Infinity",
        "console",
        "window",
        "document",
        "globalThis",
        "global",
        "process",
        "Buffer",
        "require",
        "module",
        "exports",
        "this",
        "arguments",
        "Object",
        "Array",
        "String",
        "Number",
        "Boolean",
        "Symbol",
        "Math",
        "JSON",
        "Date",
        "RegExp",
        "Error",
        "TypeError",
        "RangeError",
        "Promise",
        "Map",
        "Set",
        "WeakMap",
        "WeakSet",
        "Proxy",
        "Reflect",
        "BigInt",
        "Intl",
        "URL",
        "setTimeout",
        "setInterval",
        "clearTimeout",
        "clearInterval",
        "parseInt",
        "parseFloat",
        "isNaN",
        "fetch",
        "Record",
        "Partial",
        "Required",
        "Readonly",
        "Pick",
        "Omit",
        "Exclude",
        "Extract",
        "NonNullable",
        "ReturnType",
        "Parameters",
        "Awaited",
        "InstanceType",
        "const",
        "React",
        "JSX",
    ]
)
_ANY_CALL = Call(spread=True)


class Places(Declares):
    """The names and types of one file's expressions."""

    def name(self, name: str, at: int, scope: Scope, call: Call | None = None) -> None:
        """Notes the use of a bare name unless it is local."""
        if scope.find(name)[0]:
            return
        if name in self.imported:
            module, outside = self.imported[name]
            if outside:
                self.notes.use(outside, at, source=module, call=call)
        elif name in self.top or name in self.functions or name in self.types or name not in _GLOBAL:
            self.notes.use(name, at, call=call)

    def call_name(self, name: str, node: Node, scope: Scope, call: Call) -> None:
        """Notes a call of a bare name with what is done with its result."""
        then = then_of(node)
        if scope.find(name)[0]:
            return
        module, outside = self.imported.get(name, ("", name))
        if outside and (module or name not in _GLOBAL or name in self.functions):
            self.notes.use(outside, line(node), source=module, call=call, then=then)

    def member(self, target: Node, name: str, at: int, scope: Scope, call: Call | None) -> bool:
        """Notes the use of a member; tells whether the target was a module, so that nothing more is to be noted of it."""
        shown = bare(target)
        if shown is not None and shown.type in {"identifier", "type_identifier"} and not scope.find(text(shown))[0]:
            module, outside = self.imported.get(text(shown), ("", "?"))
            if module and not outside:
                self.notes.use(name, at, source=module, call=call)
                return True
        if shown is not None and shown.type == "identifier" and (module := required(scope.find(text(shown))[1])):
            self.notes.use(name, at, source=module, call=call)
            return True
        source, of = self.place(target, scope)
        on_type = (
            shown is not None and shown.type == "identifier" and (text(shown) == of or text(shown) in self.imported)
        )
        self.notes.use(name, at, source=source, of=of or "?", call=call, on_type=on_type)
        self._taken(source, of, name, at)
        return False

    def _taken(self, source: str, of: str, key: str, at: int) -> None:
        """That a key is taken of what a function gives back."""
        if of.endswith("()"):
            owner, _, function = of.removesuffix("()").rpartition(".")
            self.notes.use(function, at, source=source, of=owner, call=_ANY_CALL, then=(f"attr:{key}",))

    def taken_apart(self, pattern: Node, value: Node, scope: Scope) -> None:
        """``const {a} = f()`` takes the key ``a``, and ``const {a} = x`` the member."""
        source, of = self.place(value, scope)
        for key, at in keys_of_pattern(pattern):
            if module := required(value):
                self.notes.use(key, at, source=module)
            elif of:
                self.notes.use(key, at, source=source, of=of)
                self._taken(source, of, key, at)

    def written_as(self, value: Node | None, of: Node | None, scope: Scope) -> None:
        """An object that is written out as a named type must have what the type has: a call by names."""
        value = bare(value)
        if value is None or value.type != "object" or of is None:
            return
        source, name = self.place(of, scope)
        if not name or name.endswith("()"):
            return
        keys, spread = object_keys(value)
        owner, _, last = name.rpartition(".")
        self.notes.use(last, line(value), source=source, of=owner, call=Call(names=keys, spread=spread))

    def place(  # noqa: C901, PLR0911 - one case a kind of expression
        self, node: Node | None, scope: Scope, hops: int = 8
    ) -> tuple[str, str]:
        """The module (empty: this file) and the name of an expression's type; ``f()`` for what a function gives back."""
        node = bare(node)
        if node is None or not hops:
            return _UNKNOWN
        match node.type:
            case "identifier" | "type_identifier":
                return self._named(node, scope, hops)
            case "this":
                return ("", scope.owner) if scope.owner else _UNKNOWN
            case "type_annotation" | "readonly_type":
                return self.place(node.named_children[0], scope, hops - 1) if node.named_children else _UNKNOWN
            case "as_expression" if len(node.named_children) > 1 and text(node.named_children[1]) != "const":
                return self.place(node.named_children[1], scope, hops - 1)
            case "new_expression":
                return self.place(node.child_by_field_name("constructor"), scope, hops - 1)
            case "generic_type":
                return self._generic_type(node, scope, hops)
            case "union_type":
                return self._union(node, scope, hops)
            case "nested_type_identifier":
                return self._qualified(node, "module", "name", scope)
            case "member_expression":
                return self._of_member(node, scope, hops)
            case "call_expression":
                return self._given_back(node, scope, hops)
            case _:
                return _UNKNOWN

    def _named(self, node: Node, scope: Scope, hops: int) -> tuple[str, str]:
        name = text(node)
        local, shown = scope.find(name)
        if local:
            return self.place(shown, scope, hops - 1) if shown is not None and shown.id != node.id else _UNKNOWN
        if name in self.imported:
            module, outside = self.imported[name]
            return (module, outside) if outside else _UNKNOWN
        if name in self.types:
            return "", name
        if name in self.top:
            found = self.place(self.top[name], Scope(), hops - 1)
            return found if found[1] else ("", name)
        return _UNKNOWN

    def _generic_type(self, node: Node, scope: Scope, hops: int) -> tuple[str, str]:
        name = node.child_by_field_name("name") or (node.named_children[0] if node.named_children else None)
        arguments = node.child_by_field_name("type_arguments")
        if text(name) in {"Promise", "Readonly", "Required"} and arguments is not None and arguments.named_children:
            return self.place(arguments.named_children[0], scope, hops - 1)
        return self.place(name, scope, hops - 1)

    def _union(self, node: Node, scope: Scope, hops: int) -> tuple[str, str]:
        parts = [each for each in node.named_children if text(each) not in {"null", "undefined"}]
        return self.place(parts[0], scope, hops - 1) if len(parts) == 1 else _UNKNOWN

    def _qualified(self, node: Node, outer: str, inner: str, scope: Scope) -> tuple[str, str]:
        target, name = text(node.child_by_field_name(outer)), text(node.child_by_field_name(inner))
        module, outside = self.imported.get(target, ("", "?"))
        return (module, name) if module and not outside and not scope.find(target)[0] else _UNKNOWN

    def _of_member(self, node: Node, scope: Scope, hops: int) -> tuple[str, str]:
        found = self._qualified(node, "object", "property", scope)
        if found[1]:
            return found
        source, owner = self.place(node.child_by_field_name("object"), scope, hops - 1)
        name = text(node.child_by_field_name("property"))
        if not source and name in self.fields.get(owner, {}):
            return self.place(self.fields[owner][name], Scope(), hops - 1)
        return _UNKNOWN

    def _given_back(self, node: Node, scope: Scope, hops: int) -> tuple[str, str]:
        function = node.child_by_field_name("function")
        if function is None:
            return _UNKNOWN
        if function.type == "identifier":
            name = text(function)
            if scope.find(name)[0]:
                return _UNKNOWN
            if name in self.imported:
                module, outside = self.imported[name]
                return (module, f"{outside}()") if outside else _UNKNOWN
            found = self.place(self.result_of.get(name), Scope(), hops - 1)
            return found if found[1] or name not in self.functions else ("", f"{name}()")
        if function.type == "member_expression":
            module, name = self._qualified(function, "object", "property", scope)
            if name:
                return module, f"{name}()"
        return _UNKNOWN

    # Local names.

    def bind(self, pattern: Node, shown: Node | None, scope: Scope) -> None:
        if pattern.type == "identifier":
            scope.names[text(pattern)] = shown
        else:
            scope.names.update(dict.fromkeys(names_in(pattern)))

    def bind_parameters(self, group: Node, scope: Scope) -> None:
        for each in group.named_children:
            pattern = pattern_of(each)
            if pattern is None:
                continue
            of = each.child_by_field_name("type") if each.type.endswith("_parameter") else None
            self.bind(pattern, of, scope)
            if pattern.type == "object_pattern" and of is not None:
                self.taken_apart(pattern, of, scope)

    def hoist(self, block: Node, scope: Scope) -> None:
        """Names that the statements of a block bring are local in all of it."""
        for each in block.named_children:
            match each.type:
                case (
                    "function_declaration" | "class_declaration" | "generator_function_declaration" | "enum_declaration"
                ):
                    scope.names[text(each.child_by_field_name("name"))] = None
                case "lexical_declaration" | "variable_declaration":
                    for inner in each.named_children:
                        pattern = inner.child_by_field_name("name")
                        if pattern is not None:
                            of = inner.child_by_field_name("type") or inner.child_by_field_name("value")
                            self.bind(pattern, of, scope)
                case _:
                    pass

    def base_of(self, heritage: Node) -> str:
        """The name of the class that ``super`` means."""
        clause = heritage.named_children[0] if heritage.named_children else None
        value = (
            clause.child_by_field_name("value") if clause is not None and clause.type == "extends_clause" else clause
        )
        return text(value)
