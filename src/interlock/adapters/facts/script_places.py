"""Tells where names of a script come from and which type an expression has, as far as its own file shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.adapters.facts.script_declares import Declares, names_in
from interlock.adapters.facts.script_shapes import cases_of, gives, is_awaited, record_keys
from interlock.adapters.facts.script_types import (
    bare,
    keys_of_pattern,
    object_keys,
    pattern_of,
    required,
    string_of,
    then_of,
)
from interlock.adapters.facts.treesitter import Scope, line, text
from interlock.core.merge.facts import Call

if TYPE_CHECKING:
    from tree_sitter import Node

_UNKNOWN = ("", "")
_GLOBAL = frozenset({
    "undefined", "NaN", "Infinity", "console", "window", "document", "globalThis", "global", "process", "Buffer",
    "require", "module", "exports", "this", "arguments", "Object", "Array", "String", "Number", "Boolean", "Symbol",
    "Math", "JSON", "Date", "RegExp", "Error", "TypeError", "RangeError", "Promise", "Map", "Set", "WeakMap",
    "WeakSet", "Proxy", "Reflect", "BigInt", "Intl", "URL", "setTimeout", "setInterval", "clearTimeout",
    "clearInterval", "parseInt", "parseFloat", "isNaN", "fetch", "Record", "Partial", "Required", "Readonly", "Pick",
    "Omit", "Exclude", "Extract", "NonNullable", "ReturnType", "Parameters", "Awaited", "InstanceType", "const",
    "React", "JSX",
})  # fmt: skip
_ANY_CALL = Call(spread=True)
_LONG_TEXT = 40
_MOST_CALLS = 5
"""Calls one after the other that are followed."""


class Places(Declares):
    """The names and types of one file's expressions."""

    def name(self, name: str, at: int, scope: Scope, call: Call | None = None, then: tuple[str, ...] = ()) -> None:
        """Notes the use of a bare name unless it is local."""
        if scope.find(name)[0]:
            return
        if name in self.imported:
            module, outside = self.imported[name]
            if outside:
                self.notes.use(outside, at, source=module, call=call, then=then)
        elif name in self.top or name in self.functions or name in self.types or name not in _GLOBAL:
            self.notes.use(name, at, call=call, then=then)

    def call_name(self, name: str, node: Node, scope: Scope, call: Call) -> None:
        """Notes a call of a bare name with what is done with its result."""
        arguments = node.child_by_field_name("arguments")
        then = (*then_of(node), *gives(arguments))
        if scope.find(name)[0]:
            return
        module, outside = self.imported.get(name, ("", name))
        if outside and (module or name not in _GLOBAL or name in self.functions):
            self.notes.use(outside, line(node), source=module, call=call, then=then)
            self.options(name, arguments, scope)

    def options(self, name: str, arguments: Node | None, scope: Scope) -> None:
        """Notes the keys of an object that is given first."""
        module, outside = self.imported.get(name, ("", name))
        first = arguments.named_children[0] if arguments is not None and arguments.named_children else None
        if outside and first is not None and first.type == "object" and not scope.find(name)[0]:
            keys, spread = object_keys(first)
            self.notes.use("{}", line(first), source=module, of=outside, call=Call(names=keys, spread=spread))

    def member(
        self, target: Node, name: str, at: int, scope: Scope, call: Call | None, then: tuple[str, ...] = ()
    ) -> bool:
        """Notes the use of a member; tells whether the target was a module, so that nothing more is to be noted of it."""
        shown = bare(target)
        if shown is not None and shown.type in {"identifier", "type_identifier"} and not scope.find(text(shown))[0]:
            module, outside = self.imported.get(text(shown), ("", "?"))
            if module and not outside:
                self.notes.use(name, at, source=module, call=call, then=then)
                return True
        if shown is not None and shown.type == "identifier" and (module := required(scope.find(text(shown))[1])):
            self.notes.use(name, at, source=module, call=call, then=then)
            return True
        source, of = self.receiver(target, scope)
        on_type = (
            shown is not None and shown.type == "identifier" and (text(shown) == of or text(shown) in self.imported)
        )
        self.notes.use(name, at, source=source, of=of or "?", call=call, on_type=on_type, then=then)
        self._taken(source, of, name, at, self._waited_for(target, scope))
        return False

    def receiver(self, node: Node, scope: Scope) -> tuple[str, str]:
        """Where a member is taken from: what ``place`` tells, or more where a reader follows chains."""
        return self.place(node, scope)

    def _waited_for(self, node: Node, scope: Scope) -> bool:
        shown = scope.find(text(node))[1] if node.type == "identifier" else None
        return is_awaited(node) or is_awaited(shown)

    def _taken(self, source: str, of: str, key: str, at: int, awaited: bool) -> None:
        """That a key is taken of what a function gives back, at once or when it was waited for."""
        if of.endswith("()") and "//" not in of and key not in {"then", "catch", "finally"}:
            owner, _, function = of.removesuffix("()").rpartition(".")
            then = f"awaited:{key}" if awaited else f"attr:{key}"
            self.notes.use(function, at, source=source, of=owner, call=_ANY_CALL, then=(then,))

    def taken_apart(self, pattern: Node, value: Node, scope: Scope) -> None:
        """``const {a} = f()`` takes the key ``a``, and ``const {a} = x`` the member."""
        source, of = self.place(value, scope)
        for key, at in keys_of_pattern(pattern):
            if module := required(value):
                self.notes.use(key, at, source=module)
            elif of:
                self.notes.use(key, at, source=source, of=of)
                self._taken(source, of, key, at, self._waited_for(value, scope))

    def bus_of(self, target: Node | None, scope: Scope) -> str:
        """The module that what sends or hears an event is of: this file for one that sends it itself."""
        if target is None:
            return ""
        if target.type == "this":
            return f"./{self.file}" if scope.role else ""
        if target.type != "identifier":
            return ""
        module = self.imported.get(text(target), ("", ""))[0] if not scope.find(text(target))[0] else ""
        return module or self.place(target, scope)[0]

    def written_as(self, value: Node | None, of: Node | None, scope: Scope) -> None:
        """An object that is written out as a named type must have what the type has: a call by names."""
        value = bare(value)
        if value is None or value.type != "object" or of is None:
            return
        inner = of.named_children[0] if of.type == "type_annotation" and of.named_children else of
        if inner.type == "generic_type":
            self.every_key(inner, value, scope)
        source, name = self.place(of, scope)
        if not name or name.endswith("()"):
            return
        keys, spread = object_keys(value)
        owner, _, last = name.rpartition(".")
        self.notes.use(last, line(value), source=source, of=owner, call=Call(names=keys, spread=spread))
        for pair in value.named_children if not owner else ():
            given = pair.child_by_field_name("value")
            if given is not None and given.type == "string" and len(text(given)) < _LONG_TEXT:
                key = string_of(pair.child_by_field_name("key"))
                self.notes.use(string_of(given), line(given), source=source, of=last, then=(f"at:{key}",))

    def stands_for(self, node: Node, scope: Scope) -> str:
        """The text of what the name before a dot was made as: ``const env = process.env``."""
        target = node.child_by_field_name("object")
        if target is None or target.type != "identifier":
            return ""
        local, shown = scope.find(text(target))
        return text(shown if local else self.top.get(text(target)))

    def picked(self, of: Node, keys: Node, scope: Scope) -> None:
        """``Pick<Order, "id" | "note">`` names members of a type."""
        source, name = self.place(of, scope)
        stack = [keys] if name and "(" not in name else []
        while stack:
            each = stack.pop()
            if each.type == "union_type":
                stack += each.named_children
            elif each.type == "literal_type" and each.named_children and each.named_children[0].type == "string":
                self.notes.use(string_of(each.named_children[0]), line(each), source=source, of=name)

    def compared(self, member: Node, literal: Node | None, scope: Scope) -> None:
        """``order.status === "sent"`` counts on that text being one of the member's type."""
        if literal is None or literal.type != "string":
            return
        if member.type == "member_expression":
            source, of = self.place(member.child_by_field_name("object"), scope)
            key = text(member.child_by_field_name("property"))
        else:
            shown = scope.find(text(member))[1] if member.type == "identifier" else None
            source, of = self._taken_from(shown, scope)
            key = text(member)
        said = string_of(literal)
        if of and "." not in of and not of.endswith("()") and len(said) < _LONG_TEXT:
            self.notes.use(said, line(literal), source=source, of=of, then=(f"at:{key}",))

    def every_key(self, of: Node, value: Node, scope: Scope) -> None:
        """An object that is written out as a ``Record`` must have every case of its first type."""
        arguments = next((each for each in of.named_children if each.type == "type_arguments"), None)
        if not text(of).startswith("Record<") or arguments is None or not arguments.named_children:
            return
        source, name = self.place(arguments.named_children[0], scope)
        keys = record_keys(value)
        if name and keys and "." not in name and "()" not in name:
            self.notes.use(name, line(value), source=source, then=(f"every:{','.join(keys)}",))

    def every_case(self, node: Node, scope: Scope) -> None:
        """A switch that is said to have every case of a union or an enum counts on their number."""
        labels, told = cases_of(node)
        for shown in (told, told.child_by_field_name("object") if told is not None else None):
            source, of = self.receiver(shown, scope) if labels and shown is not None else _UNKNOWN
            then = (f"every:{','.join(labels)}",)
            if of and not of.endswith("()") and "." not in of and ":" not in of:
                self.notes.use(of, line(node), source=source, then=then)
                return
            if of:
                self.notes.use(
                    "=switch", line(node), source=source, of=of if "/" in of or ":" in of else f"{of}//", then=then
                )

    def place(  # noqa: C901, PLR0911, PLR0912 - one case a kind of expression
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
            case "shorthand_property_identifier_pattern":
                source, of = self._taken_from(node, scope, hops)
                return self._member_place(source, of, text(node), hops)
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
        if text(name) in {"Promise", "Readonly"} and arguments is not None and arguments.named_children:
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
        return self._member_place(source, owner, text(node.child_by_field_name("property")), hops)

    def _taken_from(self, node: Node | None, scope: Scope, hops: int = 8) -> tuple[str, str]:
        """The type that a name was taken out of by a pattern: of a parameter that says it, or of what is taken apart."""
        if node is None or node.type != "shorthand_property_identifier_pattern" or not hops:
            return _UNKNOWN
        above = node.parent
        while above is not None and above.type in {"object_pattern", "object_assignment_pattern"}:
            if above.type == "object_pattern" and above.parent is not None and above.parent.type == "pair_pattern":
                return _UNKNOWN
            above = above.parent
        of = above.child_by_field_name("type") if above is not None else None
        if of is None and above is not None and above.type == "variable_declarator":
            of = above.child_by_field_name("value")
        return self.place(of, scope, hops - 1) if of is not None else _UNKNOWN

    def _member_place(self, source: str, owner: str, name: str, hops: int) -> tuple[str, str]:
        if not source and name in self.fields.get(owner, {}):
            found = self.place(self.fields[owner][name], Scope(), hops - 1)
            return found if found[1] or owner not in self.types else ("", f"{owner}.{name}")
        chained = source and owner and "(" not in owner and owner.count(".") < _MOST_CALLS and owner != "default"
        return (source, f"{owner}.{name}") if chained else _UNKNOWN

    def _given_back(  # noqa: PLR0911 - one case a kind of call
        self, node: Node, scope: Scope, hops: int
    ) -> tuple[str, str]:
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
            source, owner = self.place(function.child_by_field_name("object"), scope, hops - 1)
            if owner.endswith("()") and owner.count("()") < _MOST_CALLS:
                return source, f"{owner}.{text(function.child_by_field_name('property'))}()"
            if owner and not owner.endswith("()") and owner in {*self.imported, *self.types}:
                return source, f"{owner}.{text(function.child_by_field_name('property'))}()"
        return _UNKNOWN

    # Local names.

    def bind(self, pattern: Node, shown: Node | None, scope: Scope) -> None:
        if pattern.type == "identifier":
            scope.names[text(pattern)] = shown
        else:
            scope.names.update(dict.fromkeys(names_in(pattern)))
            for each in pattern.named_children if pattern.type == "object_pattern" else ():
                left = each.child_by_field_name("left") if each.type == "object_assignment_pattern" else each
                if left is not None and left.type == "shorthand_property_identifier_pattern":
                    scope.names[text(left)] = left

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
