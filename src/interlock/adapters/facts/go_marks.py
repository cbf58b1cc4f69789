"""Tells what calls in Go mean beyond symbols: environment variables, flags, routes, registrations by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from interlock.adapters.facts import marks_of
from interlock.adapters.facts.treesitter import Notes, line, text

if TYPE_CHECKING:
    from tree_sitter import Node

_FLAG = re.compile(
    r"(?:Bool|String|Int|Int64|Uint|Uint64|Float64|Duration|Count|\w+Slice|\w+Array|Text|Func|BoolFunc|Var)(Var)?(P)?"
)
_ROUTES: Final = frozenset(
    {"Get", "Post", "Put", "Patch", "Delete", "Head", "Options", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS",
     "Any", "Handle", "HandleFunc", "Route", "Mount"}
)  # fmt: skip
_CLIENTS: Final = frozenset({"Get", "Post", "Head", "PostForm", "NewRequest", "NewRequestWithContext"})
_FLAG_SETS: Final = frozenset({"flag", "pflag", "fs", "flags", "flagSet", "flagset"})


def called(notes: Notes, node: Node, packages: dict[str, str]) -> None:  # noqa: C901, PLR0912 - one branch a kind of call
    """Notes the marks of one call."""
    function, group = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or group is None or function.type != "selector_expression":
        return
    operand, name = function.child_by_field_name("operand"), text(function.child_by_field_name("field"))
    if operand is None:
        return
    given = [each for each in group.named_children if each.type != "comment"]
    texts = [_literal(each) for each in given]
    at = line(node)
    base = text(operand) if operand.type == "identifier" else ""
    module = packages.get(base, "")
    found = []
    if module == "os" and name in {"Getenv", "LookupEnv"} and texts and texts[0]:
        found = [*marks_of.env(texts[0], at)]
    elif name == "Setenv" and texts and texts[0]:
        found = [*marks_of.env(texts[0], at, "defines")]
    elif _FLAG.fullmatch(name) and _is_flag_set(operand, base, module):
        place = 1 if "Var" in name else 0
        if len(texts) > place and texts[place]:
            found = [*marks_of.flag_defined(texts[place], at)]
    elif name.startswith("Get") and _is_flag_set(operand, base, module) and len(texts) == 1 and texts[0]:
        found = [*marks_of.flag_used(f"--{texts[0]}", at)]
    elif module == "net/http" and name in _CLIENTS:
        place = {"NewRequest": 1, "NewRequestWithContext": 2}.get(name, 0)
        path = _path_in(given[place]) if len(given) > place else ""
        method = texts[place - 1] if place and texts[place - 1] else name
        found = [*marks_of.route(method, path, at, "uses")] if path else []
    elif name in _ROUTES and len(given) > 1 and texts[0]:
        found = [*marks_of.route("" if name in {"Handle", "HandleFunc", "Route", "Mount"} else name, texts[0], at)]
    elif name in {"Method", "MethodFunc", "Add"} and len(given) > 2 and texts[0] and texts[1]:
        found = [*marks_of.route(texts[0], texts[1], at)]
    elif name.startswith(("Register", "MustRegister")) and texts and texts[0]:
        found = [*marks_of.registration(texts[0], f"{module or base}.{name}", at)]
    else:
        found = [mark for each in texts if each.startswith("--") for mark in marks_of.flag_used(each, at)]
    for mark in found:
        notes.mark(mark)


def _is_flag_set(operand: Node, base: str, module: str) -> bool:
    if operand.type == "call_expression":
        function = operand.child_by_field_name("function")
        return text(function).endswith(("Flags", "FlagSet"))
    return module.endswith("flag") or (not module and base in _FLAG_SETS)


def _literal(node: Node) -> str:
    return text(node)[1:-1] if node.type in {"interpreted_string_literal", "raw_string_literal"} else ""


def _path_in(node: Node) -> str:
    """The path of an address: a text, or the text that follows what is added before it."""
    if node.type == "binary_expression":
        right = node.child_by_field_name("right")
        return _literal(right) if right is not None else ""
    return _literal(node)
