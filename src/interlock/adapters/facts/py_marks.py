"""Notes what a Python file names by text: variables, flags, routes, fixtures, registrations, keys, SQL; symbols are elsewhere."""

from __future__ import annotations

import ast
import re
from typing import Final, Literal, Protocol

from interlock.adapters.facts.py_scopes import Ref, Scope
from interlock.adapters.facts.sql_in_code import marks_in_code
from interlock.core.merge.facts import Mark, MarkKind

_METHODS: Final = frozenset({"get", "post", "put", "patch", "delete", "head", "options"})
_ROUTERS: Final = _METHODS | {"route", "websocket", "api_route", "view"}
_REGISTER: Final = frozenset({"register", "command", "task", "tool", "plugin", "provider", "add_parser", "add_command"})
_ENV_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]{2,}")
_FILE: Final = re.compile(r"[\w./-]+\.(?:ya?ml|json|toml|ini|cfg|conf)")
_FLAG: Final = re.compile(r"--[a-z][\w-]*")
_SHELLS: Final = frozenset({"run", "call", "check_call", "check_output", "Popen", "system", "popen", "split"})
_PARAMETRIZED: Final = frozenset({"parametrize", "given", "patch", "object", "multiple"})

Role = Literal["defines", "uses"]
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Resolver(Protocol):
    """What tells the meaning of an expression."""

    def infer(self, node: ast.expr, scope: Scope, hops: int = 8) -> Ref | None: ...


def _last(node: ast.expr | None) -> str:
    if isinstance(node, ast.Call):
        return _last(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.expr | None) -> str | None:
    """A text as written; what is put into an f-string stands as ``{}``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values)
    return None


def _word(node: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in node.keywords if each.arg == name), None)


class Marks:
    """The marks of one file."""

    def __init__(self, module: str, path: str) -> None:
        self.module = module
        self.tests = path.rpartition("/")[2].startswith(("test_", "conftest")) or path.endswith("_test.py")
        self.found: dict[tuple[str, ...], list[Mark]] = {}
        self.prefixes: dict[str, str] = {}
        self.blueprints: set[str] = set()
        self.aside: frozenset[int] = frozenset()
        """Texts that name nothing of the project, by the ``id`` of their node."""

    def told(self) -> tuple[Mark, ...]:
        return tuple(mark for marks in self.found.values() for mark in marks)

    def note(self, kind: MarkKind, name: str, line: int, role: Role, scope: str = "", detail: str = "") -> None:
        mark = Mark(kind=kind, name=name, line=line, role=role, scope=scope, detail=detail)
        same = self.found.setdefault((kind, name, role, scope, detail), [])
        # What is claimed twice must be seen twice; a use says no more by being there again.
        if not same or role == "defines":
            same.append(mark)

    # What the walk comes by.

    def constant(self, node: ast.Constant) -> None:
        if not isinstance(node.value, str) or id(node) in self.aside:
            return
        if len(node.value) < 80 and _FILE.fullmatch(node.value):
            self.note("registration", node.value, node.lineno, "uses", "file")
        for mark in marks_in_code(node.value, node.lineno):
            self.found.setdefault((mark.kind, mark.name, mark.role, mark.scope, mark.detail), [mark])

    def subscript(self, node: ast.Subscript, scope: Scope, resolver: Resolver) -> None:
        key = _text(node.slice) if isinstance(node.slice, ast.Constant) else None
        if key is None:
            return
        if _last(node.value) == "environ":
            self.note("env", key, node.lineno, "uses" if isinstance(node.ctx, ast.Load) else "defines")
        elif isinstance(node.ctx, ast.Load) and (
            (ref := resolver.infer(node.value, scope)) is None or (ref.kind == "led" and not ref.path.endswith("()"))
        ):
            self.note("key", key, node.lineno, "uses")

    def assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, scope: Scope, resolver: Resolver) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Subscript):
                key = _text(target.slice)
                if key is not None and _last(target.value) == "environ":
                    self.note("env", key, target.lineno, "defines")
                elif key is not None and scope.kind == "module":
                    of = resolver.infer(target.value, scope)
                    if of is not None:
                        self.note("registration", key, target.lineno, "defines", f"{of.text}[]")
            if isinstance(target, ast.Name):
                if target.id == "pytest_plugins":
                    self.note("registration", "pytest_plugins", target.lineno, "defines", "pytest_plugins")
                self._prefix(target.id, node.value)

    def _prefix(self, name: str, value: ast.expr | None) -> None:
        if isinstance(value, ast.Call) and _last(value) in {"APIRouter", "Blueprint"}:
            given = _text(_word(value, "prefix") or _word(value, "url_prefix"))
            if given is not None:
                self.prefixes[name] = given
        if isinstance(value, ast.Call) and _last(value) in {"Blueprint", "Flask"}:
            self.blueprints.add(name)

    def of_class(self, node: ast.ClassDef, scope: Scope, resolver: Resolver) -> None:
        del scope, resolver
        if any(_last(base) == "BaseSettings" for base in node.bases):
            prefix = ""
            for each in ast.walk(node):
                if isinstance(each, ast.keyword) and each.arg == "env_prefix":
                    prefix = _text(each.value) or ""
            for stmt in node.body:
                if isinstance(stmt, ast.AnnAssign) and isinstance(stmt.target, ast.Name):
                    detail = "default" if stmt.value is not None else ""
                    self.note("env", (prefix + stmt.target.id).upper(), stmt.lineno, "uses", detail=detail)

    def call(self, node: ast.Call, scope: Scope, resolver: Resolver) -> None:  # noqa: C901 -- one kind of call a line
        name = _last(node.func)
        first = _text(node.args[0]) if node.args else None
        if first is not None:
            self._env(node, name, first)
            self._request(node, name, first)
            if name in {"add_argument", "add_option"}:
                self._flags(node, _scope_text(node.func, scope, self.module))
            elif name in _REGISTER and isinstance(node.func, ast.Attribute) and name != "command":
                self._register(node, first, name, scope, resolver)
            elif name in {"path", "re_path"} and isinstance(node.func, ast.Name) and len(node.args) > 1:
                included = _last(node.args[1]) == "include"
                if not included:
                    self.note("route", "/" + first.lstrip("/"), node.lineno, "defines", f"{self.module}:urlpatterns")
            elif name in {"add_url_rule", "add_api_route"} and first.startswith("/"):
                self.note("route", first, node.lineno, "defines", self._of(node.func, scope, resolver))
            elif name == "getfixturevalue":
                self.note("fixture", first, node.lineno, "uses")
            elif name == "usefixtures":
                for each in node.args:
                    if (given := _text(each)) is not None:
                        self.note("fixture", given, node.lineno, "uses")
        self._command(node, name, scope, resolver)

    def _env(self, node: ast.Call, name: str, first: str) -> None:
        of = _last(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        detail = "default" if len(node.args) > 1 or _word(node, "default") is not None else ""
        if of == "environ" and name == "setdefault":
            self.note("env", first, node.lineno, "defines")
        elif (of == "environ" and name in {"get", "pop"}) or name == "getenv" or _reads_env(name, of, first):
            self.note("env", first, node.lineno, "uses", detail=detail)
        if (given := _text(_word(node, "envvar"))) is not None:
            self.note("env", given, node.lineno, "uses", detail="default")

    def _request(self, node: ast.Call, name: str, first: str) -> None:
        if name not in _METHODS or not isinstance(node.func, ast.Attribute):
            return
        path = re.sub(r"^(?:https?://[^/]+|\{\})(?=/)", "", first)
        if path.startswith("/") and len(path) > 1:
            self.note("route", f"{name.upper()} {path}", node.lineno, "uses")

    def _flags(self, node: ast.Call, scope: str) -> None:
        for each in node.args:
            for text in (_text(each) or "").split("/"):
                if _FLAG.fullmatch(text.strip()):
                    self.note("flag", text.strip(), node.lineno, "defines", scope)

    def _register(self, node: ast.Call, first: str, name: str, scope: Scope, resolver: Resolver) -> None:
        if name in {"add_parser", "add_command"} or scope.kind == "module":
            known = self._of(node.func, scope, resolver) if scope.kind == "module" else ""
            where = known or _scope_text(node.func, scope, self.module)
            self.note("registration", first, node.lineno, "defines", f"{where}.{name}")

    def _of(self, func: ast.expr, scope: Scope, resolver: Resolver) -> str:
        """What something is registered at: where the variable is defined, not of what type it is."""
        of = func.value if isinstance(func, ast.Attribute) else func
        if isinstance(of, ast.Name):
            bound, meaning, _ = scope.find(of.id)
            if bound and isinstance(meaning, Ref):
                return meaning.text
            return f"{self.module}:{of.id}"
        found = resolver.infer(of, scope)
        return found.text if found is not None else ""

    # Commands with flags.

    def _command(self, node: ast.Call, name: str, scope: Scope, resolver: Resolver) -> None:
        flags: list[tuple[str, int]] = []
        words: list[str] = []
        for each in (*node.args, *(word.value for word in node.keywords if word.arg in {"args", "argv"})):
            if isinstance(each, ast.List | ast.Tuple):
                for element in each.elts:
                    text = _text(element)
                    words.append(text if text is not None else _last(element) or "_")
                    if text is not None and (found := _FLAG.match(text)):
                        flags.append((found[0], element.lineno))
            elif name in _SHELLS and (text := _text(each)) is not None and " " in text:
                words.append(text)
                flags += [(found[0], each.lineno) for found in _FLAG.finditer(text)]
            elif flags or isinstance(each, ast.Name):
                known = resolver.infer(each, scope)
                words.append(known.text.replace(":", ".") if known is not None else "_")
        if not flags:
            return
        called = resolver.infer(node.func, scope)
        if called is not None and name not in _SHELLS:
            words.append(called.text.replace(":", "."))
        command = " ".join(words)[:300]
        for flag, line in flags:
            self.note("flag", flag, line, "uses", command)

    # What decorators make of a function.

    def function(self, node: Function, scope: Scope, resolver: Resolver) -> None:
        fixture = False
        for each in node.decorator_list:
            name = _last(each)
            call = each if isinstance(each, ast.Call) else None
            func = call.func if call is not None else each
            if name in {"fixture", "yield_fixture"} or name == "async_fixture":
                fixture = True
                given = _text(_word(call, "name")) if call is not None else None
                self.note("fixture", given or node.name, node.lineno, "defines")
            if call is None or not isinstance(func, ast.Attribute):
                self._options(call, name, node, scope)
                if call is not None and name.startswith("register") and call.args and (claimed := _text(call.args[0])):
                    self.note("registration", claimed, call.lineno, "defines", f"{self._of(func, scope, resolver)}()")
                continue
            first = _text(call.args[0]) if call.args else _text(_word(call, "path") or _word(call, "name"))
            if name in _ROUTERS and first is not None and (first.startswith("/") or not first):
                self._route(call, func, name, first, scope, resolver)
            elif name in _REGISTER:
                claimed = first if first is not None else node.name.replace("_", "-")
                self.note("registration", claimed, call.lineno, "defines", f"{self._of(func, scope, resolver)}.{name}")
            else:
                self._options(call, name, node, scope)
        if (self.tests and node.name.startswith("test") and scope.kind != "function") or fixture:
            self._needs(node, scope)

    def _options(self, call: ast.Call | None, name: str, node: Function, scope: Scope) -> None:
        if call is not None and name in {"option", "Option"}:
            self._flags(call, f"{self.module}:{scope.path + '.' if scope.path else ''}{node.name}")

    def _route(
        self, call: ast.Call, func: ast.Attribute, name: str, first: str, scope: Scope, resolver: Resolver
    ) -> None:
        prefix = self.prefixes.get(_last(func.value), "")
        methods = _word(call, "methods")
        given = [
            text.upper()
            for each in (methods.elts if isinstance(methods, ast.List | ast.Tuple | ast.Set) else ())
            if (text := _text(each)) is not None
        ]
        where = self._of(func, scope, resolver)
        for method in given or [name.upper() if name in _METHODS else "GET"]:
            self.note("route", f"{method} {prefix}{first}", call.lineno, "defines", where)

    def _needs(self, node: Function, scope: Scope) -> None:
        """Fixtures by the names of parameters, where nothing else gives them."""
        given: set[str] = {"self", "cls", "request"}
        for each in node.decorator_list:
            name = _last(each)
            if name in _PARAMETRIZED and isinstance(each, ast.Call):
                if name != "parametrize":
                    return
                given |= set(re.findall(r"\w+", " ".join(_names_in(each.args[0])) if each.args else ""))
        args = node.args
        defaults = len(args.defaults)
        plain = [*args.posonlyargs, *args.args]
        for arg in plain[: len(plain) - defaults] if defaults else plain:
            if arg.arg not in given:
                self.note("fixture", arg.arg, node.lineno, "uses")
        del scope


def _reads_env(name: str, of: str, first: str) -> bool:
    return (name in {"env", "config"} or of == "env") and _ENV_NAME.fullmatch(first) is not None


def _names_in(node: ast.expr) -> list[str]:
    return [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def _scope_text(func: ast.expr, scope: Scope, module: str) -> str:
    """A receiver that is local, told by the function that it stands in, so that two parsers are not one."""
    of = func.value if isinstance(func, ast.Attribute) else func
    return f"{module}:{scope.path}.{ast.unparse(of)}"
