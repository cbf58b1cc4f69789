"""Tells what annotations and calls in Java mean beyond symbols: routes, flags, environment variables, registrations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interlock.adapters.facts import marks_of
from interlock.adapters.facts.treesitter import Notes, line, text
from interlock.core.merge.facts import Mark

if TYPE_CHECKING:
    from tree_sitter import Node

_ROUTES: Final = {
    "GetMapping": "GET",
    "PostMapping": "POST",
    "PutMapping": "PUT",
    "PatchMapping": "PATCH",
    "DeleteMapping": "DELETE",
    "RequestMapping": "",
    "Path": "",
}
_PATHS: Final = frozenset({"", "value", "path"})
_TABLES: Final = frozenset({"Table", "Entity"})


def annotated(notes: Notes, node: Node) -> None:  # noqa: C901, PLR0912 - one branch a kind of annotation
    """Notes the marks of one annotation."""
    name = text(node.child_by_field_name("name")).rpartition(".")[2]
    given = _arguments(node)
    at = line(node)
    if name in _ROUTES:
        for key, path in given:
            if key in _PATHS and not _on_type(node):
                way = _ROUTES[name] or next((each for key, each in given if key == "method"), "")
                for mark in marks_of.route(way, _prefix(node) + "/" + path.strip("/") if path else _prefix(node), at):
                    notes.mark(mark)
        if not given and not _on_type(node) and _prefix(node):
            for mark in marks_of.route(_ROUTES[name], _prefix(node), at):
                notes.mark(mark)
    elif name in {"Option", "Parameter", "Parameters"}:
        for key, spec in given:
            if key in {"", "names", "name"}:
                for mark in marks_of.flags_in_spec(spec, at):
                    notes.mark(mark)
    elif name in {"Component", "Service", "Repository", "Named", "Bean"}:
        for key, bean in given:
            if key in {"", "value", "name"}:
                for mark in marks_of.registration(bean, "bean", at):
                    notes.mark(mark)


def called(notes: Notes, node: Node) -> None:
    """Notes the marks of one call."""
    name, target = text(node.child_by_field_name("name")), text(node.child_by_field_name("object"))
    group = node.child_by_field_name("arguments")
    texts = [_literal(each) for each in group.named_children] if group is not None else []
    at = line(node)
    first = texts[0] if texts else ""
    if name == "getenv" and target.endswith("System") and first:
        found = [*marks_of.env(first, at)]
    elif name in {"addOption", "longOpt", "withLongOpt", "hasOption", "accepts"} and texts:
        found = [mark for each in texts[:2] if each for mark in _option(name, each, at)]
    elif name in {"register", "registerBean", "registerHandler"} and first:
        found = [*marks_of.registration(first, f"{target.rpartition('.')[2]}.{name}", at)]
    else:
        found = [mark for each in texts if each.startswith("--") for mark in marks_of.flag_used(each, at)]
        found += marks_of.said(first, name, at) if "." in first else ()
    for mark in found:
        notes.mark(mark)


def _option(name: str, given: str, at: int) -> list[Mark]:
    if name == "hasOption":
        return [*marks_of.flag_used(f"--{given}", at)] if len(given) > 1 else []
    return [*marks_of.flag_defined(given, at)] if " " not in given else []


def _on_type(node: Node) -> bool:
    owner = node.parent.parent if node.parent is not None else None
    return owner is not None and owner.type in {"class_declaration", "interface_declaration", "record_declaration"}


def _prefix(node: Node) -> str:
    """The path of the mapping on the type around a method."""
    owner = node.parent
    for _ in range(4):
        owner = owner.parent if owner is not None else None
        if owner is not None and owner.type in {"class_declaration", "interface_declaration"}:
            break
    group = (
        next((child for child in owner.named_children if child.type == "modifiers"), None)
        if owner is not None
        else None
    )
    for each in group.named_children if group is not None else ():
        if text(each.child_by_field_name("name")) in {"RequestMapping", "Path"}:
            path = next((path for key, path in _arguments(each) if key in _PATHS), "")
            return "/" + path.strip("/") if path else ""
    return ""


def _arguments(node: Node) -> list[tuple[str, str]]:
    """The texts that an annotation is given, each with its key; lists give each of theirs."""
    group = node.child_by_field_name("arguments")
    found: list[tuple[str, str]] = []
    for each in group.named_children if group is not None else ():
        key, value = "", each
        if each.type == "element_value_pair":
            key = text(each.child_by_field_name("key"))
            value = each.child_by_field_name("value") or each
        if value.type == "element_value_array_initializer":
            found += [(key, _literal(inner)) for inner in value.named_children if _literal(inner)]
        elif value.type == "string_literal":
            found.append((key, _literal(value)))
        elif value.type == "field_access":
            found.append((key, text(value.child_by_field_name("field"))))
    return found


def _literal(node: Node) -> str:
    return text(node).strip('"') if node.type == "string_literal" else ""
