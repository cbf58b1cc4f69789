"""Tells which type a Java expression has, as far as its own file shows it; uses are noted in java."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interlock.adapters.facts.treesitter import Notes, Scope, text

if TYPE_CHECKING:
    from tree_sitter import Node

LANG: Final = frozenset(
    [
        "Object",
        "String",
        "Integer",
        "Long",
        "Short",
        "Byte",
        "Character",
        "Boolean",
        "Double",
        "Float",
        "Number",
        "Math",
        "System",
        "Thread",
        "Runnable",
        "Iterable",
        "Comparable",
        "CharSequence",
        "StringBuilder",
        "StringBuffer",
        "Exception",
        "RuntimeException",
        "Error",
        "Throwable",
        "IllegalArgumentException",
        "IllegalStateException",
        "NullPointerException",
        "UnsupportedOperationException",
        "IndexOutOfBoundsException",
        "ClassCastException",
        "ArithmeticException",
        "InterruptedException",
        "CloneNotSupportedException",
        "Override",
        "Deprecated",
        "SuppressWarnings",
        "FunctionalInterface",
        "SafeVarargs",
        "Void",
        "Class",
        "Enum",
        "Record",
        "Process",
        "ProcessBuilder",
        "Runtime",
        "AutoCloseable",
        "Cloneable",
        "ThreadLocal",
        "StackTraceElement",
        "ClassLoader",
        "ReflectiveOperationException",
        "ClassNotFoundException",
        "NoSuchMethodException",
        "NoSuchFieldException",
        "NumberFormatException",
        "ArrayIndexOutOfBoundsException",
        "StringIndexOutOfBoundsException",
        "AssertionError",
        "OutOfMemoryError",
        "StackOverflowError",
        "SecurityException",
        "Package",
        "Module",
        "var",
    ]
)
"""Names of java.lang, which need no import."""


class Places:
    """The imports, types and members of one file, and the types of its expressions."""

    def __init__(self) -> None:
        self.notes = Notes("java")
        self.imported: dict[str, str] = {}
        self.statics: dict[str, tuple[str, str]] = {}
        self.wild_packages: list[str] = []
        self.wild_types: list[tuple[str, str]] = []
        self.own: set[str] = set()
        self.fields: dict[str, dict[str, Node | None]] = {}
        self.results: dict[str, dict[str, Node | None]] = {}

    def place(  # noqa: C901, PLR0911 - one case a kind of expression
        self, node: Node | None, scope: Scope, hops: int = 6
    ) -> tuple[str, str]:
        """The package (empty: its own) and the name of an expression's type; empty names where the file does not show it."""
        if node is None or not hops:
            return "", ""
        match node.type:
            case "this":
                return "", scope.owner
            case "identifier":
                local, shown = scope.find(text(node))
                if local:
                    return self.place(shown, scope, hops - 1) if shown is not None and shown.id != node.id else ("", "")
                return self._named(text(node), scope) if text(node)[:1].isupper() else ("", "")
            case "parenthesized_expression":
                return self.place(node.named_children[0], scope, hops - 1) if node.named_children else ("", "")
            case "object_creation_expression" | "cast_expression" | "generic_type":
                of = node.child_by_field_name("type") or (node.named_children[0] if node.named_children else None)
                return self.place(of, scope, hops - 1)
            case "type_identifier":
                return self._named(text(node), scope)
            case "scoped_type_identifier":
                return self.place(node.named_children[-1], scope, hops - 1)
            case "field_access":
                _, owner = self.place(node.child_by_field_name("object"), scope, hops - 1)
                shown = self.fields.get(owner, {}).get(text(node.child_by_field_name("field")))
                return self.place(shown, scope, hops - 1)
            case "method_invocation":
                return self._given_back(node, scope, hops)
        return "", ""

    def _given_back(self, node: Node, scope: Scope, hops: int) -> tuple[str, str]:
        target, name = node.child_by_field_name("object"), text(node.child_by_field_name("name"))
        if target is None and name in self.statics:
            source, owner = self.statics[name]
            return source, f"{owner}.{name}()"
        source, owner = self.place(target, scope, hops - 1) if target is not None else ("", scope.owner)
        if owner in self.results and name in self.results[owner]:
            return self.place(self.results[owner][name], scope, hops - 1)
        return (source, f"{owner}.{name}()") if owner and "(" not in owner else ("", "")

    def _named(self, name: str, scope: Scope) -> tuple[str, str]:
        if scope.find(name)[0] or name == "var":
            return "", ""
        if name in self.imported:
            return self.imported[name], name
        return ("", name) if name not in LANG or name in self.own else ("", "")
