"""Tells what a Python file defines: functions, classes, members, constants, and what a call of each must give; uses are py_uses'."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeGuard

from interlock.adapters.facts.py_digest import digest_of
from interlock.adapters.facts.py_results import (
    everything,
    inside,
    keys_given,
    passed_on,
    raised,
    result_of,
    type_of_value,
)
from interlock.adapters.facts.py_shapes import NEUTRAL, PROPERTIES, RECORDS, is_frozen, kept_by, last_name, shape_of
from interlock.adapters.facts.py_ways import types_set, way_to, wrapping
from interlock.core.merge.facts import Mark, Signature, Symbol

Function = ast.FunctionDef | ast.AsyncFunctionDef
_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "TextChoices", "IntegerChoices"})
_CONTEXTS = (("contextmanager", "AbstractContextManager"), ("asynccontextmanager", "AbstractAsyncContextManager"))
_MANY_KEYS = 200


def at_top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a body and of what is conditional in it, not of functions and classes."""
    for node in body:
        yield node
        match node:
            case ast.If() | ast.For() | ast.While() | ast.AsyncFor():
                yield from at_top(node.body)
                yield from at_top(node.orelse)
            case ast.Try() | ast.TryStar():
                yield from at_top(node.body)
                for handler in node.handlers:
                    yield from at_top(handler.body)
                yield from at_top(node.orelse)
                yield from at_top(node.finalbody)
            case ast.With() | ast.AsyncWith():
                yield from at_top(node.body)
            case ast.Match():
                for case in node.cases:
                    yield from at_top(case.body)
            case _:
                pass


def assigned(node: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:  # noqa: C901 -- one form a case
    """Names that a statement binds by assigning, each with its value where it is its own."""
    match node:
        case ast.Assign():
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value
                else:
                    yield from ((each.id, None) for each in ast.walk(target) if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name, node.value
        case ast.AugAssign(target=ast.Name(id=name)):
            yield name, None
        case ast.For() | ast.AsyncFor():
            yield from ((each.id, None) for each in ast.walk(node.target) if isinstance(each, ast.Name))
        case ast.With() | ast.AsyncWith():
            for item in node.items:
                if item.optional_vars is not None:
                    yield from ((each.id, None) for each in ast.walk(item.optional_vars) if isinstance(each, ast.Name))
        case _:
            if type(node).__name__ == "TypeAlias":
                yield node.name.id, None  # type: ignore[attr-defined]


def _sets_any(node: ast.AST, receiver: str) -> TypeGuard[ast.Call]:
    """``setattr(self, name, …)`` with a name that is no text, or ``self.__dict__.update(…)``."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        first = node.args[0] if node.func.id == "setattr" and len(node.args) > 1 else None
        return isinstance(first, ast.Name) and first.id == receiver and not isinstance(node.args[1], ast.Constant)
    of = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr == "update" else None
    if isinstance(of, ast.Call):
        return last_name(of.func) == "vars"
    return isinstance(of, ast.Attribute) and of.attr == "__dict__" and last_name(of.value) == receiver


class Definitions:
    """Gathers the symbols of a module, and the keys and values that its functions, constants and enums claim."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.symbols: list[Symbol] = []
        self.marks: list[Mark] = []
        self._calls: dict[str, tuple[str, ...]] = {}

    def read(self, tree: ast.Module) -> None:
        for node in at_top(tree.body):
            self._top(node)
        self._pass_on()

    def _pass_on(self) -> None:
        """Let functions raise what those that they call raise, two calls deep."""
        for _ in range(2):
            known = {each.path: each.raises for each in self.symbols}
            for place, each in enumerate(self.symbols):
                more = [
                    name
                    for called in self._calls.get(each.path, ())
                    for name in known.get(called.replace("self.", f"{each.owner}."), ())
                    if name not in each.raises
                ]
                if more:
                    self.symbols[place] = replace(each, raises=(*each.raises, *dict.fromkeys(more)))

    def _top(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node, "")
            case ast.ClassDef():
                self._class(node, "")
            case _:
                for name, value in assigned(node):
                    annotation = ast.unparse(node.annotation) if isinstance(node, ast.AnnAssign) else ""
                    self._constant(name, node, value, annotation)

    def _constant(self, name: str, node: ast.stmt, value: ast.expr | None, annotation: str) -> None:
        if any(each.path == name for each in self.symbols):
            return
        shown = annotation or type_of_value(value) or way_to(value)
        self.symbols.append(
            Symbol(
                name=name,
                kind="constant",
                line=node.lineno,
                public=not name.startswith("_"),
                signature=Signature(result=shown, unsure=True) if shown else None,
                digest=digest_of(value) if value is not None else "",
            )
        )
        self._keys(name, value)

    def _keys(self, scope: str, value: ast.expr | None, depth: int = 0) -> None:
        if not isinstance(value, ast.Dict) or depth > 3:
            return
        if len(value.keys) > _MANY_KEYS:
            self.marks.append(Mark(kind="key", name="*", line=value.lineno, role="defines", scope=scope))
            return
        for key, inner in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                self.marks.append(Mark(kind="key", name=key.value, line=key.lineno, role="defines", scope=scope))
                self._keys(f"{scope}:{key.value}" if ":" not in scope else f"{scope}/{key.value}", inner, depth + 1)
            elif key is None:
                self.marks.append(Mark(kind="key", name="*", line=value.lineno, role="defines", scope=scope))

    def _function(self, node: Function, owner: str) -> None:
        decorators = [last_name(each) for each in node.decorator_list]
        if {"setter", "deleter", "getter"} & set(decorators) or node.name == "_":
            return
        path = f"{owner}.{node.name}" if owner else node.name
        before = [each for each in self.symbols if each.path == path]
        if before and "overload" in decorators:
            return
        nodes = inside(node)
        symbol = Symbol(
            name=node.name,
            kind="method" if owner else "function",
            line=node.lineno,
            owner=owner,
            public=not node.name.startswith("_"),
            abstract="abstractmethod" in decorators or "abstractproperty" in decorators or _only_refuses(node),
            signature=_signature(node, decorators, nodes, bound=bool(owner)),
            static=bool({"staticmethod", "classmethod"} & set(decorators)),
            raises=raised(node),
            digest=digest_of(node),
            shape=" ".join(filter(None, (shape_of(node, decorators), wrapping(node), kept_by(node, decorators)))),
        )
        if before and (before[0].signature is None or before[0].signature.unsure or "overload" in decorators):
            return
        self.symbols.append(symbol)
        self._calls[path] = passed_on(nodes)
        for key, line in keys_given(nodes):
            self.marks.append(Mark(kind="key", name=key, line=line, role="defines", scope=path))
        if owner:
            self._own_fields(node, owner)

    def _own_fields(self, node: Function, owner: str) -> None:
        known = {each.path for each in self.symbols if each.owner == owner}
        receiver = node.args.args[0].arg if node.args.args else "self"
        types = types_set(node, receiver)
        for each in everything(node):
            if _sets_any(each, receiver) and f"{owner}.__getattr__" not in known:
                known.add(f"{owner}.__getattr__")
                # Fields by names that are put together: like a class that answers to any.
                self.symbols.append(Symbol(name="__getattr__", kind="method", line=each.lineno, owner=owner))
            if (
                isinstance(each, ast.Attribute)
                and isinstance(each.ctx, ast.Store)
                and isinstance(each.value, ast.Name)
                and each.value.id == receiver
                and f"{owner}.{each.attr}" not in known
            ):
                known.add(f"{owner}.{each.attr}")
                self.symbols.append(
                    Symbol(
                        name=each.attr,
                        kind="field",
                        line=each.lineno,
                        owner=owner,
                        public=not each.attr.startswith("_"),
                        signature=Signature(result=types[each.attr], unsure=True) if types.get(each.attr) else None,
                    )
                )

    def _class(self, node: ast.ClassDef, owner: str) -> None:
        path = f"{owner}.{node.name}" if owner else node.name
        bases = tuple(ast.unparse(each) for each in node.bases)
        if any(each.path == path and each.kind == "class" for each in self.symbols):
            return
        place = len(self.symbols)
        self.symbols.append(Symbol(name=node.name, kind="class", line=node.lineno, owner=owner))
        enum = bool({last_name(each) for each in node.bases} & _ENUMS)
        for each in at_top(node.body):
            match each:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._function(each, path)
                case ast.ClassDef():
                    self._class(each, path)
                case _:
                    self._fields(each, path, enum=enum)
        self.symbols[place] = Symbol(
            name=node.name,
            kind="class",
            line=node.lineno,
            owner=owner,
            public=not node.name.startswith("_"),
            bases=bases,
            signature=_made(node),
            digest=digest_of(node) if len(node.body) < 30 else "",
            shape="frozen" if is_frozen(node) else "",
        )

    def _fields(self, node: ast.stmt, owner: str, *, enum: bool) -> None:
        for name, value in assigned(node):
            if name.startswith("__") and name.endswith("__"):
                continue
            shown = ast.unparse(node.annotation) if isinstance(node, ast.AnnAssign) else "" if enum else way_to(value)
            self.symbols.append(
                Symbol(
                    name=name,
                    kind="member" if enum else "field",
                    line=node.lineno,
                    owner=owner,
                    public=not name.startswith("_"),
                    digest=digest_of(node),
                    signature=Signature(result=shown, unsure=True) if shown else None,
                )
            )
            if enum and isinstance(value, ast.Constant) and isinstance(value.value, int | str):
                self.marks.append(
                    Mark(
                        kind="registration",
                        name=repr(value.value),
                        line=node.lineno,
                        role="defines",
                        scope=f"{self.module}:{owner}",
                    )
                )


def _only_refuses(node: Function) -> bool:
    body = [each for each in node.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    return len(body) == 1 and isinstance(body[0], ast.Raise) and last_name(body[0].exc) == "NotImplementedError"


def _signature(node: Function, decorators: list[str], nodes: list[ast.AST], *, bound: bool) -> Signature:
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    leading = len(args.posonlyargs)
    if bound and "staticmethod" not in decorators and positional:
        positional = positional[1:]
        leading = max(0, leading - 1)
    required = max(0, len(positional) - len(args.defaults))
    known = all(each in NEUTRAL or each == "abstractmethod" for each in decorators) and not any(
        word.arg == "bind" for each in node.decorator_list if isinstance(each, ast.Call) for word in each.keywords
    )
    return Signature(
        required=required,
        most=None if args.vararg else len(positional),
        names=(*(each.arg for each in positional[leading:]), *(each.arg for each in args.kwonlyargs)),
        must=tuple(
            each.arg for each, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None
        ),
        any_name=args.kwarg is not None,
        result=_result(node, decorators, nodes),
        only=leading,
        unsure=not known or bool(PROPERTIES & set(decorators)),
    )


def _result(node: Function, decorators: list[str], nodes: list[ast.AST]) -> str:
    """What comes back of a call; a function that is made a context gives one of what it yields."""
    if "fixture" in decorators:
        return ""
    for decorator, context in _CONTEXTS:
        if decorator in decorators:
            given = node.returns.slice if isinstance(node.returns, ast.Subscript) else None
            first = given.elts[0] if isinstance(given, ast.Tuple) and given.elts else given
            return f"{context}[{ast.unparse(first)}]" if first is not None else context
    if set(decorators) - NEUTRAL and any(isinstance(each, ast.Yield | ast.YieldFrom) for each in nodes):
        # What a decorator makes of a generator may be anything: a context, a coroutine, a list.
        return ""
    return result_of(node, nodes)


def _made(node: ast.ClassDef) -> Signature | None:  # noqa: PLR0911 -- one way of making a line
    """What making one of a class must give; None where that comes from elsewhere."""
    decorators = [last_name(each) for each in node.decorator_list]
    bases = [last_name(each) for each in node.bases]
    own = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    unsure = bool(node.keywords) or "__new__" in own or any(each not in RECORDS | {"final"} for each in decorators)
    if "__init__" in own:
        found = _signature(
            own["__init__"], [last_name(each) for each in own["__init__"].decorator_list], [], bound=True
        )
        return _with(found, unsure=found.unsure or unsure)
    if RECORDS & set(decorators):
        given = next(each for each in node.decorator_list if RECORDS & {last_name(each)})
        words = {each.arg: each.value for each in given.keywords} if isinstance(given, ast.Call) else {}
        if isinstance(init := words.get("init"), ast.Constant) and init.value is False:
            return None
        keyword_only = isinstance(only := words.get("kw_only"), ast.Constant) and bool(only.value)
        return _record(
            node, keyword_only=keyword_only, unsure=bool(bases) or bool(set(decorators) - RECORDS - {"final"})
        )
    if bases == ["NamedTuple"]:
        return _record(node, keyword_only=False, unsure=False)
    if bases == ["BaseModel"]:
        return _with(_record(node, keyword_only=True, unsure=bool(node.keywords)), any_name=True)
    if not bases and not unsure:
        return Signature()
    return None


def _with(signature: Signature, *, unsure: bool | None = None, any_name: bool | None = None) -> Signature:
    return Signature(
        required=signature.required,
        most=signature.most,
        names=signature.names,
        must=signature.must,
        any_name=signature.any_name if any_name is None else any_name,
        only=signature.only,
        unsure=signature.unsure if unsure is None else unsure,
    )


def _record(node: ast.ClassDef, *, keyword_only: bool, unsure: bool) -> Signature:
    names: list[str] = []
    required = 0
    must: list[str] = []
    positional = 0
    for each in node.body:
        if not isinstance(each, ast.AnnAssign) or not isinstance(each.target, ast.Name):
            continue
        annotation = ast.unparse(each.annotation)
        if annotation.rpartition(".")[2] == "KW_ONLY":
            keyword_only = True
            continue
        if "ClassVar" in annotation:
            continue
        words = {one.arg: one.value for one in each.value.keywords} if isinstance(each.value, ast.Call) else {}
        field = isinstance(each.value, ast.Call) and last_name(each.value) in {"field", "ib", "attrib"}
        if field and isinstance(init := words.get("init"), ast.Constant) and init.value is False:
            continue
        needed = each.value is None or (field and not {"default", "default_factory", "factory"} & set(words))
        own_word = field and "kw_only" in words
        names.append(each.target.id)
        if keyword_only or own_word:
            must += [each.target.id] if needed else []
        else:
            positional += 1
            required += needed
    return Signature(required=required, most=positional, names=tuple(names), must=tuple(must), unsure=unsure)
