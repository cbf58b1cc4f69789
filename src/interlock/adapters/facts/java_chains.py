"""Tells the way to the type of a Java expression where its own file does not show that type; the steps are followed in the merged tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interlock.adapters.facts.java_expressions import cases_of, switched
from interlock.adapters.facts.java_places import LANG, Places
from interlock.adapters.facts.treesitter import Scope, line, text

if TYPE_CHECKING:
    from tree_sitter import Node

_UNKNOWN = ("", "")
_MOST_STEPS: Final = 8
_OF_ELEMENTS: Final = frozenset(
    {"filter", "map", "forEach", "anyMatch", "allMatch", "noneMatch", "removeIf", "ifPresent", "flatMap", "mapToInt"}
    | {"mapToLong", "mapToDouble", "mapToObj", "takeWhile", "dropWhile", "peek", "replaceAll", "sorted", "max", "min", "sort"}
)  # fmt: skip
"""Methods of lists, streams and optionals whose function gets elements."""


class Chains(Places):
    """The chains of one file's expressions."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: dict[int, tuple[Node, str, Scope]] = {}
        """Where a name is bound → what it is a part of, and which."""

    def bound(self, name: Node | None, of: Node | None, step: str, scope: Scope) -> None:
        """Notes that a local name is a part of what an expression gives."""
        if name is not None:
            scope.names[text(name)] = name
            if of is not None:
                self.steps[name.id] = (of, step, scope)

    def bound_by_lambda(self, function: Node, scope: Scope) -> None:
        """Notes the names of a lambda that a list, a stream or an optional calls with its elements."""
        group, arguments = function.child_by_field_name("parameters"), function.parent
        call = arguments.parent if arguments is not None else None
        names = [] if group is None else [group] if group.type == "identifier" else group.named_children
        for each in names if group is not None and group.type in {"identifier", "inferred_parameters"} else ():
            scope.names[text(each)] = None
            if call is not None and call.type == "method_invocation" and _calls_with_element(call, len(names)):
                self.bound(each, call.child_by_field_name("object"), "[]", scope)

    def chain(  # noqa: PLR0911 -- one case a kind of expression
        self, node: Node | None, scope: Scope, hops: int = _MOST_STEPS
    ) -> tuple[str, str]:
        """The package that a chain begins in and the chain, as Use.of has it; empty where nothing shows its beginning."""
        if node is None or not hops:
            return _UNKNOWN
        if node.type in {"generic_type", "array_type"}:
            return "", f":{' '.join(text(node).split())}"
        found = self._placed(node, scope)
        if found[1]:
            return found
        match node.type:
            case "parenthesized_expression" if node.named_children:
                return self.chain(node.named_children[0], scope, hops - 1)
            case "identifier":
                return self._of_local(node, scope, hops)
            case "object_creation_expression" | "cast_expression":
                return self.chain(node.child_by_field_name("type"), scope, hops - 1)
            case "field_access":
                outer = self.chain(node.child_by_field_name("object"), scope, hops - 1)
                return _further(outer, f".{text(node.child_by_field_name('field'))}")
            case "array_access":
                return _further(self.chain(node.child_by_field_name("array"), scope, hops - 1), "[0]")
            case "method_invocation":
                return self._of_call(node, scope, hops)
        return _UNKNOWN

    def _placed(self, node: Node, scope: Scope) -> tuple[str, str]:
        """What the file tells; a type of Java's own is none, for its elements matter."""
        source, of = self.place(node, scope)
        return _UNKNOWN if source.startswith("java.") else (source, of)

    def _of_local(self, node: Node, scope: Scope, hops: int) -> tuple[str, str]:
        _, shown = scope.find(text(node))
        if shown is None:
            return _UNKNOWN
        if shown.id in self.steps:
            of, step, inside = self.steps[shown.id]
            return _further(self.chain(of, inside, hops - 1), step)
        return self.chain(shown, scope, hops - 1) if shown.id != node.id else _UNKNOWN

    def _of_call(self, node: Node, scope: Scope, hops: int) -> tuple[str, str]:
        target, name = node.child_by_field_name("object"), text(node.child_by_field_name("name"))
        owner = scope.owner if target is None or target.type == "this" else self.place(target, scope)[1]
        if name in self.results.get(owner, {}):
            return self.chain(self.results[owner][name], scope, hops - 1)
        return _further(self.chain(target, scope, hops - 1), f".{name}()") if target is not None else _UNKNOWN

    def held(self, value: Node | None, of: str, scope: Scope) -> None:
        """Notes that what a chain gives is held as a named type, or (``[]``) gone through."""
        source, way = self.chain(value, scope) if of and of not in LANG else _UNKNOWN
        if value is not None and "()" in way:
            self.notes.use("=held", line(value), source=source, of=_whole(way), then=(f"as:{of}",))

    def switched_on(self, label: Node, scope: Scope) -> tuple[str, str]:
        """The chain to the type that a switch looks at, from one of its labels."""
        above = label.parent
        for _ in range(3):
            if above is not None and above.type in {"switch_expression", "switch_statement"}:
                return self.chain(switched(above), scope)
            above = above.parent if above is not None else None
        return _UNKNOWN

    def every_case(self, node: Node, scope: Scope) -> None:
        """Notes a switch that has every case and no rest."""
        labels = cases_of(node)
        source, of = self.chain(switched(node), scope) if labels else _UNKNOWN
        then = (f"every:{','.join(labels)}",)
        if of.isidentifier():
            self.notes.use(of, line(node), source=source, then=then)
        elif of:
            self.notes.use("=switch", line(node), source=source, of=_whole(of), then=then)


def _whole(of: str) -> str:
    """A chain that is marked as one, though it has no step."""
    return of if "//" in of or of.startswith(":") else f"{of}//"


def _calls_with_element(call: Node, names: int) -> bool:
    name = text(call.child_by_field_name("name"))
    return name in _OF_ELEMENTS and (names == 1 or name in {"sorted", "sort", "max", "min"})


def _further(outer: tuple[str, str], step: str) -> tuple[str, str]:
    source, of = outer
    return (source, f"{of}//{step}") if of and of.count("//") < _MOST_STEPS else _UNKNOWN
