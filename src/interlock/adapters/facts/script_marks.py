"""Tells what calls, members and decorators of scripts mean beyond symbols: environment variables, flags, routes, registrations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from interlock.adapters.facts import marks_of
from interlock.adapters.facts.script_types import string_of
from interlock.adapters.facts.treesitter import line, text
from interlock.core.merge.facts import Mark

if TYPE_CHECKING:
    from tree_sitter import Node

_TEXTS: Final = frozenset({"string", "template_string"})
_ROUTERS: Final = ("app", "router", "server", "fastify", "api", "routes", "express", "hono")
_CLIENTS: Final = frozenset({"axios", "http", "client", "request", "supertest", "ky", "got", "$http", "agent", "api"})
_DECORATED: Final = {"Get": "GET", "Post": "POST", "Put": "PUT", "Patch": "PATCH", "Delete": "DELETE", "All": ""}


def env_of(node: Node) -> Iterator[Mark]:
    """``process.env.X``, ``process.env["X"]`` and ``import.meta.env.X``."""
    if text(node.child_by_field_name("object")) not in {"process.env", "import.meta.env"}:
        return
    name = node.child_by_field_name("property") or node.child_by_field_name("index")
    if name is not None and name.type in {"property_identifier", "string"}:
        above = node.parent
        left = (
            above.child_by_field_name("left") if above is not None and above.type == "assignment_expression" else None
        )
        set_here = left is not None and left.id == node.id
        yield from marks_of.env(string_of(name), line(node), "defines" if set_here else "uses")


def called(node: Node) -> Iterator[Mark]:  # noqa: C901 - one branch a kind of call
    """The marks of one call."""
    function, group = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or group is None:
        return
    given = [each for each in group.named_children if each.type != "comment"]
    first = string_of(given[0]) if given and given[0].type in _TEXTS else ""
    at = line(node)
    if function.type != "member_expression":
        if text(function) == "fetch" and first:
            yield from marks_of.route(_method_in(given), _path(first), at, "uses")
        elif first.startswith("--"):
            yield from marks_of.flag_used(first, at)
        return
    target, name = function.child_by_field_name("object"), text(function.child_by_field_name("property"))
    last = (
        text(target).rpartition(".")[2]
        if target is not None and target.type in {"identifier", "member_expression"}
        else ""
    )
    if name in {"option", "requiredOption", "addOption"} and first:
        yield from marks_of.flags_in_spec(first, at) if "--" in first else marks_of.flag_defined(first, at)
    elif name == "options" and given and given[0].type == "object":
        for pair in given[0].named_children:
            yield from marks_of.flag_defined(string_of(pair.child_by_field_name("key")), line(pair))
    elif name in marks_of.METHODS and first:
        yield from _method(name, _path(first), last, at, handlers=len(given) > 1)
    elif name == "define" and last == "customElements" and first:
        yield from marks_of.registration(first, "customElements", at)
    elif name in {"register", "registerCommand", "addCommand"} and first:
        yield from marks_of.registration(first, f"{last}.{name}", at)
    elif first.startswith("--"):
        yield from marks_of.flag_used(first, at)


def _method(name: str, path: str, target: str, at: int, *, handlers: bool) -> Iterator[Mark]:
    low = target.lower()
    if handlers and low.endswith(_ROUTERS) and target not in _CLIENTS - {"api"}:
        yield from marks_of.route(name, path, at)
    elif low in _CLIENTS:
        yield from marks_of.route(name, path, at, "uses")


def _path(text: str) -> str:
    """The path of an address that may begin with a variable."""
    if text.startswith("${"):
        return text.partition("}")[2]
    return text


def _method_in(given: list[Node]) -> str:
    for each in given[1:2]:
        for pair in each.named_children if each.type == "object" else ():
            if string_of(pair.child_by_field_name("key")) == "method":
                return string_of(pair.child_by_field_name("value")).upper()
        return "" if each.type != "object" else "GET"
    return "GET"


def decorated(node: Node) -> Iterator[Mark]:
    """Routes of Nest's decorators, with the controller's path before the method's."""
    call = node.named_children[0] if node.named_children else None
    if call is None or call.type != "call_expression":
        return
    name = text(call.child_by_field_name("function"))
    if name not in _DECORATED:
        return
    body = node.parent
    owner = body.parent if body is not None else None
    prefix = ""
    above = (
        owner.parent
        if owner is not None and owner.parent is not None and owner.parent.type == "export_statement"
        else None
    )
    for holder in (owner, above):
        for each in holder.named_children if holder is not None else ():
            inner = each.named_children[0] if each.type == "decorator" and each.named_children else None
            if inner is not None and text(inner.child_by_field_name("function")) == "Controller":
                prefix = _argument(inner)
    path = "/".join(part.strip("/") for part in ("", prefix, _argument(call)) if part.strip("/"))
    yield from marks_of.route(_DECORATED[name], f"/{path}", line(node))


def _argument(call: Node) -> str:
    group = call.child_by_field_name("arguments")
    first = group.named_children[0] if group is not None and group.named_children else None
    return string_of(first) if first is not None and first.type in _TEXTS else ""
