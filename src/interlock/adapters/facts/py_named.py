"""Notes what Python code names by a text that another file defines: tasks, files, dotted places, endpoints, verbs, members by value."""

from __future__ import annotations

import ast
import re
from typing import Final

from interlock.adapters.facts.py_marks import Marks, Resolver
from interlock.adapters.facts.py_scopes import Ref, Scope

_KEY: Final = re.compile(r"[A-Za-z_]\w*(?:[.:/-][A-Za-z_][\w-]*)+")
_DOTTED: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*[.:][A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_FILE: Final = re.compile(
    r"[\w./-]+\.(?:txt|html?|j2|jinja2?|csv|tsv|xml|sql|md|tmpl|mako|mustache|pem|svg|json|ya?ml|toml)"
)
_REGISTRARS: Final = frozenset({"task", "plugin", "provider", "tool", "handler", "job", "step"})
_URLS: Final = frozenset({"url_for", "reverse", "reverse_lazy", "redirect", "resolve_url"})
_INCLUDES: Final = frozenset({"include_router", "register_blueprint", "mount"})
_PATCHERS: Final = frozenset({"patch", "setattr", "object"})
_ENVIRONMENT: Final = frozenset({"setenv", "delenv"})


def _last(node: ast.expr | None) -> str:
    if isinstance(node, ast.Call):
        return _last(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _word(node: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in node.keywords if each.arg == name), None)


def of_constant(marks: Marks, node: ast.Constant) -> None:
    """A text that is the path of a file, or a dotted place in the code."""
    text = node.value
    if not isinstance(text, str) or not 3 < len(text) < 120 or id(node) in marks.aside:
        return
    if _FILE.fullmatch(text):
        marks.note("registration", text, node.lineno, "uses", "named-file")
    elif _DOTTED.fullmatch(text):
        marks.note("registration", text, node.lineno, "uses", "dotted")


def of_call(marks: Marks, node: ast.Call, scope: Scope, resolver: Resolver) -> None:
    """What a call names by a text, each with the function that is given it."""
    name = _last(node.func)
    first = _text(node.args[0]) if node.args else None
    ref = resolver.infer(node.func, scope)
    callee = ref.text if ref is not None and not ref.typing else ""
    if first is not None:
        if callee and len(first) < 100 and _KEY.fullmatch(first):
            marks.note("key", first, node.lineno, "uses", "text", callee)
        if name in _URLS:
            marks.note("registration", first, node.lineno, "uses", "endpoint", name)
        elif name in _ENVIRONMENT:
            marks.note("env", first, node.lineno, "defines")
        elif name == "Blueprint":
            marks.note("registration", first, node.lineno, "uses", "blueprint")
        elif name == "ForeignKey" and first.count(".") == 1:
            marks.note("table", first.partition(".")[0], node.lineno, "uses")
        elif name in {"path", "re_path"} and (named := _text(_word(node, "name"))) is not None:
            marks.note("registration", named, node.lineno, "uses", "url-name")
    _by_value(marks, node, ref)
    _in_words(marks, node, name, callee)
    _patched(marks, node, name, scope, resolver)


def _by_value(marks: Marks, node: ast.Call, ref: Ref | None) -> None:
    """``Status("packed")``: maybe a member of an enumeration, by what it stands for."""
    if ref is None or ref.kind != "name" or ref.typing or len(node.args) != 1 or node.keywords:
        return
    given = node.args[0]
    if (
        ref.path.rpartition(".")[2][:1].isupper()
        and isinstance(given, ast.Constant)
        and isinstance(given.value, str | int)
    ):
        marks.note("registration", repr(given.value), node.lineno, "uses", f"value:{ref.text}")


def _in_words(marks: Marks, node: ast.Call, name: str, callee: str) -> None:
    if name in _INCLUDES and (prefix := _text(_word(node, "prefix") or _word(node, "url_prefix"))):
        marks.note("registration", prefix, node.lineno, "uses", "prefix")
    if (dest := _text(_word(node, "dest"))) is not None:
        marks.note("registration", dest, node.lineno, "uses", "dest")
    if callee and node.args and isinstance(node.args[0], ast.List) and node.args[0].elts:
        verb = next((text for each in node.args[0].elts if not (text := _text(each) or "-").startswith("-")), "")
        if verb.isidentifier():
            marks.note("registration", verb, node.lineno, "uses", "argv", callee)


def _patched(marks: Marks, node: ast.Call, name: str, scope: Scope, resolver: Resolver) -> None:
    """``patch("app.core.x")``, ``patch.object(core, "x")``, ``setattr(core, "x", …)``; ``patch.dict(os.environ, {…})``."""
    if name in _PATCHERS and node.args:
        first, second = _text(node.args[0]), _text(node.args[1]) if len(node.args) > 1 else None
        if first is not None and "." in first:
            marks.note("registration", first, node.lineno, "uses", "patch")
        elif (
            second is not None
            and (of := resolver.infer(node.args[0], scope)) is not None
            and of.kind in {"module", "name"}
        ):
            marks.note("registration", f"{of.text.replace(':', '.')}.{second}", node.lineno, "uses", "patch")
    environ = bool(node.args) and (_last(node.args[0]) == "environ" or _text(node.args[0]) == "os.environ")
    if name == "dict" and environ and len(node.args) > 1 and isinstance(node.args[1], ast.Dict):
        for key in node.args[1].keys:
            if (given := _text(key)) is not None:
                marks.note("env", given, node.lineno, "defines")


def of_assign(marks: Marks, node: ast.Assign | ast.AnnAssign | ast.AugAssign, scope: Scope) -> None:
    """A table of a model, and the names that a module gives by a star."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        if not isinstance(target, ast.Name):
            continue
        if target.id == "__tablename__" and scope.kind == "class" and (table := _text(node.value)) is not None:
            marks.note("table", table, node.lineno, "defines")
        elif target.id == "__all__" and scope.kind == "module" and isinstance(node, ast.Assign):
            names = (
                [_text(each) for each in node.value.elts] if isinstance(node.value, ast.List | ast.Tuple) else [None]
            )
            for each in names:
                # What is not told by a text may be anything.
                marks.note("registration", each if each is not None else "*", node.lineno, "uses", "__all__")
        elif (
            scope.kind == "module"
            and (value := _text(node.value)) is not None
            and _KEY.fullmatch(value)
            and len(value) < 100
        ):
            marks.note("key", value, node.lineno, "defines", f"value:{target.id}")


def of_function(marks: Marks, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope, resolver: Resolver) -> None:
    """A function that the project's own decorator keeps under a name, an endpoint of Flask, a fixture with its type."""
    for each in node.decorator_list:
        func = each.func if isinstance(each, ast.Call) else each
        name = _last(func)
        claimed = _text(each.args[0]) if isinstance(each, ast.Call) and each.args else None
        ref = resolver.infer(func, scope)
        if claimed is not None and name in _REGISTRARS and ref is not None and ref.kind == "name":
            own = ref.source.startswith(".") or ref.source.partition(".")[0] == marks.module.partition(".")[0]
            if own and scope.kind == "module":
                marks.note("registration", claimed, node.lineno, "defines", f"{ref.text}()")
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id in marks.blueprints:
            marks.note("registration", node.name, node.lineno, "defines", f"{marks.module}:{func.value.id}.endpoint")
        if name in {"fixture", "yield_fixture"} and (given := _fixture_type(node)):
            named = _text(_word(each, "name")) if isinstance(each, ast.Call) else None
            marks.note("registration", named or node.name, node.lineno, "uses", "fixture-type", given)


def _fixture_type(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The class of what a fixture gives, dotted as the file knows it, where its only return or yield makes one."""
    given = [each for each in ast.walk(node) if isinstance(each, ast.Return | ast.Yield) and each.value is not None]
    if len(given) != 1:
        return ""
    value = given[0].value
    if isinstance(value, ast.Call) and _last(value.func)[:1].isupper():
        dotted = ast.unparse(value.func)
        return dotted if all(part.isidentifier() for part in dotted.split(".")) else ""
    return ""
