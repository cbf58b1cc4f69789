"""Tells what calls, members and decorators of scripts mean beyond symbols: environment variables, flags, routes, registrations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
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


def env_of(node: Node, known: str = "") -> Iterator[Mark]:
    """``process.env.X``, ``process.env["X"]`` and ``import.meta.env.X``; ``known`` is what a name before the dot stands for."""
    if not {known, text(node.child_by_field_name("object"))} & {"process.env", "import.meta.env"}:
        return
    name = node.child_by_field_name("property") or node.child_by_field_name("index")
    if name is not None and name.type in {"property_identifier", "string"}:
        above = node.parent
        left = (
            above.child_by_field_name("left") if above is not None and above.type == "assignment_expression" else None
        )
        set_here = left is not None and left.id == node.id
        for mark in marks_of.env(string_of(name), line(node), "defines" if set_here else "uses"):
            yield replace(mark, detail="default") if mark.role == "uses" and _bears_lack(node) else mark


_ASKS: Final = frozenset({"||", "??", "&&", "===", "!==", "==", "!=", "!"})


def _bears_lack(node: Node) -> bool:
    """Whether something stands in the place of a variable that is not there, or it is asked whether it is."""
    above = node.parent
    while above is not None and above.type in {"parenthesized_expression", "non_null_expression", "as_expression"}:
        if above.parent is not None and above.parent.type in {"if_statement", "while_statement"}:
            return True
        node, above = above, above.parent
    if above is None:
        return False
    if above.type in {"binary_expression", "unary_expression"}:
        return text(above.child_by_field_name("operator")) in _ASKS
    condition = above.child_by_field_name("condition") if above.type == "ternary_expression" else None
    return condition is not None and condition.id == node.id


def called(node: Node) -> Iterator[Mark]:  # noqa: C901, PLR0912 - one branch a kind of call
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
        else:
            yield from marks_of.said(first, text(function), at)
        return
    target, name = function.child_by_field_name("object"), text(function.child_by_field_name("property"))
    last = (
        text(target).rpartition(".")[2]
        if target is not None and target.type in {"identifier", "member_expression"}
        else ""
    )
    if name in {"getElementById", "querySelector", "t", "$t", "formatMessage", "translate"} and first:
        yield from _looked_up(name, first, at)
    elif name in {"option", "requiredOption", "addOption"} and first:
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


def _looked_up(name: str, first: str, at: int) -> Iterator[Mark]:
    if name == "getElementById" or (name == "querySelector" and re.fullmatch(r"#[\w-]+", first)):
        yield Mark(kind="key", name=first.lstrip("#"), line=at, role="uses", scope="html-id")
    elif name != "querySelector":
        yield from marks_of.said(first, name, at)


_SENDS: Final = frozenset({"emit", "dispatch", "publish", "trigger"})
_HEARS: Final = frozenset({"on", "once", "off", "addListener", "subscribe", "removeListener"})
_CODED: Final = frozenset({"code", "type", "kind", "reason", "event", "errorCode"})
_CODE: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z][\w-]*[:/.][\w:/.-]+")


def event(node: Node, source: str) -> Iterator[Mark]:
    """``bus.emit("…")`` and ``bus.on("…")``, with where the bus comes from."""
    function, group = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    name = text(function.child_by_field_name("property")) if function is not None else ""
    first = group.named_children[0] if group is not None and group.named_children else None
    if source and first is not None and first.type == "string" and name in _SENDS | _HEARS:
        yield Mark(
            kind="key", name=string_of(first), line=line(node), role="defines" if name in _SENDS else "uses",
            scope="event", detail=source,
        )  # fmt: skip


_ENTERS: Final = frozenset({"register", "provide", "bind", "define", "registerFactory", "addFactory"})
_LOOKS_UP: Final = frozenset({"make", "resolve", "inject", "lookup", "create", "get", "build", "use"})


def looked_up(node: Node, source: str) -> Iterator[Mark]:
    """``register("…", …)`` and ``make("…")``, with the module that both are of."""
    function, group = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    name = text(function) if function is not None else ""
    first = group.named_children[0] if group is not None and group.named_children else None
    if source and first is not None and first.type == "string" and name in _ENTERS | _LOOKS_UP:
        yield Mark(
            kind="key", name=string_of(first), line=line(node), role="defines" if name in _ENTERS else "uses",
            scope="event:entry", detail=source,
        )  # fmt: skip


def code_given(name: str, value: Node | None) -> Iterator[Mark]:
    """A text that is set as somebody's code, type or reason."""
    if name in _CODED and value is not None and value.type == "string" and _CODE.fullmatch(string_of(value)):
        yield Mark(kind="key", name=string_of(value), line=line(value), role="defines", scope=f"literal:{name}")


def code_asked(node: Node) -> Iterator[Mark]:
    """``error.code === "…"``."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    sign = node.child_by_field_name("operator")
    if left is None or right is None or sign is None or sign.type not in {"===", "==", "!==", "!="}:
        return
    name = text(left.child_by_field_name("property")) if left.type == "member_expression" else ""
    if name in _CODED and right.type == "string" and _CODE.fullmatch(string_of(right)):
        yield Mark(kind="key", name=string_of(right), line=line(node), role="uses", scope=f"literal:{name}")


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
