"""Walks a Python file and notes every use of a name, with where it comes from and what is done with it; marks are py_marks'."""

from __future__ import annotations

import ast
from typing import Final

from interlock.adapters.facts.py_marks import Marks
from interlock.adapters.facts.py_meaning import ByText
from interlock.adapters.facts.py_named import of_assign, of_call, of_constant, of_function
from interlock.adapters.facts.py_results import caught_by, children, statements
from interlock.adapters.facts.py_scopes import BUILTINS, Lazy, Noted, Ref, Scope, bind, bind_arguments, set_apart
from interlock.adapters.facts.py_telling import HANDED, called, last, replaced, told
from interlock.core.merge.facts import Use

_COMMON: Final = frozenset(
    name for kind in (str, bytes, list, dict, set, tuple, int, float, object, BaseException) for name in dir(kind)
)
_MOST_DEEP: Final = 40
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Uses(ByText):
    """One file on its way to uses."""

    def __init__(self, module: str, marks: Marks) -> None:
        super().__init__(module)
        self.marks = marks
        self.apart: frozenset[int] = frozenset()
        self.depth = 0

    def read(self, tree: ast.Module) -> None:
        typing, guarded = set_apart(tree)
        # What is imported for type checkers, or may fail to be imported, breaks nothing by not being there.
        self.apart = typing | guarded
        top = Scope("module")
        bind(top, tree, self.module, self.apart)
        for node in statements(tree):
            if isinstance(node, ast.Global):
                for name in node.names:
                    top.names.setdefault(name, Ref("name", self.module, name))
        self._body(tree.body, top)

    def told(self) -> tuple[Use, ...]:
        return told(self.noted, self.asked)

    # Statements.

    def _body(self, body: list[ast.stmt], scope: Scope) -> None:
        for node in body:
            self._statement(node, scope)

    def _statement(self, node: ast.stmt, scope: Scope) -> None:  # noqa: C901, PLR0912 -- one form a case
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node, scope)
            case ast.ClassDef():
                self._class(node, scope)
            case ast.Import():
                for alias in node.names:
                    self._import(node, "", alias.name)
            case ast.ImportFrom():
                for alias in node.names:
                    self._import(node, alias.name, "." * node.level + (node.module or ""))
            case ast.Try() | ast.TryStar():
                self._try(node, scope)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                self._assign(node, scope)
            case ast.For() | ast.AsyncFor():
                self._expr(node.iter, scope, ("iterate",))
                self._target(node.target, scope)
                name = node.target.id if isinstance(node.target, ast.Name) else ""
                self._within(node.body, scope, name, self._element(node.iter, scope) if name else None)
                self._body(node.orelse, scope)
            case ast.If():
                self._expr(node.test, scope)
                name, kind = self._narrowed(node.test, scope) or ("", None)
                self._within(node.body, scope, name, kind)
                self._body(node.orelse, scope)
            case ast.With() | ast.AsyncWith():
                then = ("async with",) if isinstance(node, ast.AsyncWith) else ("with",)
                for item in node.items:
                    self._expr(item.context_expr, scope, then)
                    if item.optional_vars is not None:
                        self._target(item.optional_vars, scope)
                self._body(node.body, scope)
            case ast.Delete():
                for target in node.targets:
                    self._target(target, scope)
            case _:
                for child in children(node):
                    self._any(child, scope)

    def _within(self, body: list[ast.stmt], scope: Scope, name: str, kind: Ref | None) -> None:
        """A body in which a name is known to be of a type."""
        if kind is None or scope.kind != "function":
            self._body(body, scope)
            return
        before, had = scope.names.get(name), name in scope.names
        scope.names[name] = kind
        self._body(body, scope)
        if had:
            scope.names[name] = before
        else:
            del scope.names[name]

    def _any(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.stmt):
            self._statement(node, scope)
        elif isinstance(node, ast.expr):
            self._expr(node, scope)
        else:
            for child in children(node):
                self._any(child, scope)

    def _import(self, node: ast.stmt, name: str, source: str) -> None:
        if id(node) not in self.apart:
            self._note(name if name != "*" else "", node.lineno, source)

    def _try(self, node: ast.Try | ast.TryStar, scope: Scope) -> None:
        before = self.caught
        self.caught = (*before, *caught_by(node))
        self._body(node.body, scope)
        self.caught = before
        for handler in node.handlers:
            if handler.type is not None:
                self._expr(handler.type, scope)
            self._body(handler.body, scope)
        self._body(node.orelse, scope)
        self._body(node.finalbody, scope)

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, scope: Scope) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        then: tuple[str, ...] = ("arith",) if isinstance(node, ast.AugAssign) else ()
        if len(targets) == 1 and isinstance(targets[0], ast.Tuple | ast.List):
            elements = targets[0].elts
            starred = any(isinstance(each, ast.Starred) for each in elements)
            then = ("iterate",) if starred else (f"unpack:{len(elements)}",)
        ref = self._expr(node.value, scope, then) if node.value is not None else None
        if isinstance(node, ast.AnnAssign):
            self._annotation(node.annotation, scope)
            ref = self._of_annotation(node.annotation, scope)
        for target in targets:
            self._target(target, scope, ref)
            if isinstance(target, ast.Name):
                found = scope.names.get(target.id)
                if isinstance(found, Lazy) and ref is not None and not found.annotation:
                    found.known, found.asked = ref, True
        self.marks.assign(node, scope, self)
        of_assign(self.marks, node, scope)

    def _target(self, node: ast.expr, scope: Scope, ref: Ref | None = None) -> None:
        match node:
            case ast.Name():
                return
            case ast.Attribute(value=value, attr=attr):
                base = self._expr(value, scope)
                if base is not None and base.kind == "instance" and base.source == self.module and ref is not None:
                    self.fields.setdefault((base.path, attr), ref)
                if base is not None and base.kind == "instance" and not base.typing and isinstance(node.ctx, ast.Store):
                    self._note(attr, node.lineno, base.source, base.of, None, ("set",))
            case ast.Subscript():
                self._expr(node.value, scope)
                self._expr(node.slice, scope)
            case _:
                for child in children(node):
                    if isinstance(child, ast.expr):
                        self._target(child, scope)

    def _function(self, node: Function, scope: Scope) -> None:
        self.marks.function(node, scope, self)
        of_function(self.marks, node, scope, self)
        for each in node.decorator_list:
            self._expr(each, scope)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self._expr(default, scope)
        for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg):
            if arg is not None and arg.annotation is not None:
                self._annotation(arg.annotation, scope)
        if node.returns is not None:
            self._annotation(node.returns, scope)
        inner = Scope("function", scope, owner=scope.path if scope.kind == "class" else scope.owner)
        inner.path = f"{scope.path}.{node.name}" if scope.path else node.name
        bind_arguments(inner, node.args)
        bind(inner, node, self.module, self.apart)
        positional = [*node.args.posonlyargs, *node.args.args]
        if scope.kind == "class" and positional and positional[0].annotation is None:
            kinds = {each.id for each in node.decorator_list if isinstance(each, ast.Name)}
            if "staticmethod" not in kinds:
                of_class = "classmethod" in kinds
                inner.names[positional[0].arg] = Ref("name" if of_class else "instance", self.module, scope.path)
        before, self.caught = self.caught, ()
        self._body(node.body, inner)
        self.caught = before

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        self.marks.of_class(node, scope, self)
        for each in (*node.decorator_list, *node.bases, *(word.value for word in node.keywords)):
            self._expr(each, scope)
        inner = Scope("class", scope, owner=scope.path)
        inner.path = f"{scope.path}.{node.name}" if scope.kind == "class" else node.name
        bind(inner, node, self.module, self.apart)
        for base in node.bases[:1]:
            found = self.infer(base, scope)
            if found is not None and found.kind == "name":
                self.fields[inner.path, "super()"] = Ref("instance", found.source, found.path)
        for stmt in node.body:
            if isinstance(stmt, ast.AnnAssign) and isinstance(stmt.target, ast.Name):
                ref = self._of_annotation(stmt.annotation, scope)
                if ref is not None:
                    self.fields[inner.path, stmt.target.id] = ref
        self._body(node.body, inner)

    # Expressions.

    def _expr(
        self,
        node: ast.expr,
        scope: Scope,
        then: tuple[str, ...] = (),
        call: tuple[int, tuple[str, ...], bool] | None = None,
    ) -> Ref | None:
        self.depth += 1
        try:
            if self.depth > _MOST_DEEP:
                return None
            return self._deep(node, scope, then, call)
        finally:
            self.depth -= 1

    def _deep(  # noqa: C901, PLR0911, PLR0912 -- one form a case
        self, node: ast.expr, scope: Scope, then: tuple[str, ...], call: tuple[int, tuple[str, ...], bool] | None
    ) -> Ref | None:
        match node:
            case ast.Name():
                return self._name(node, scope, then, call)
            case ast.Attribute():
                return self._attribute(node, scope, then, call)
            case ast.Call():
                return self._call(node, scope, then)
            case ast.Subscript():
                return self._subscript(node, scope, then)
            case ast.Await():
                return self._expr(node.value, scope, ("await", *then))
            case ast.BinOp():
                strong = isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.FloorDiv | ast.Pow)
                text = isinstance(node.left, ast.Constant | ast.JoinedStr) and isinstance(node.op, ast.Mod)
                self._expr(node.left, scope, ("arith",) if strong else ())
                self._expr(node.right, scope, ("arith",) if strong and not text else ())
            case ast.UnaryOp(op=ast.USub()):
                self._expr(node.operand, scope, ("arith",))
            case ast.Starred():
                self._expr(node.value, scope, ("iterate",))
            case ast.Lambda():
                inner = Scope("function", scope, owner=scope.owner, path=scope.path)
                bind_arguments(inner, node.args)
                self._expr(node.body, inner)
            case ast.NamedExpr():
                return self._expr(node.value, scope, then)
            case ast.Constant():
                self.marks.constant(node)
                of_constant(self.marks, node)
            case ast.Compare(ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
                self._expr(node.left, scope, ("none",))
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                self._comprehension(node, scope)
            case _:
                for child in children(node):
                    self._any(child, scope)
        return None

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, scope: Scope) -> None:
        inner = Scope("function", scope, owner=scope.owner, path=scope.path)
        for each in node.generators:
            for name in ast.walk(each.target):
                if isinstance(name, ast.Name):
                    inner.names[name.id] = None
            if isinstance(each.target, ast.Name):
                inner.names[each.target.id] = self._element(each.iter, scope)
        for each in node.generators:
            self._expr(each.iter, inner if scope.kind != "class" else scope, ("iterate",))
            for test in each.ifs:
                self._expr(test, inner)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self._expr(part, inner)

    def _name(
        self, node: ast.Name, scope: Scope, then: tuple[str, ...], call: tuple[int, tuple[str, ...], bool] | None
    ) -> Ref | None:
        if not isinstance(node.ctx, ast.Load):
            return None
        bound, meaning, where = scope.find(node.id)
        if not bound:
            if node.id not in BUILTINS:
                self._note(node.id, node.lineno, "", "", call, then)
            return None
        ref = self._meaning(meaning, scope if where is None else where)
        top = where is not None and where.kind == "module"
        if ref is not None and ref.typing:
            return ref
        if top:
            own = self._note(node.id, node.lineno, self.module, "", call, then)
            if ref is not None and ref.kind == "name" and not (ref.source == self.module and ref.path == node.id):
                own = self._name_of(ref, node.lineno, call, then)
            return Ref(ref.kind, ref.source, ref.path, noted=own) if ref is not None else None
        if ref is not None and ref.kind == "name" and "." not in ref.path and ref.source != self.module:
            return Ref("name", ref.source, ref.path, noted=self._name_of(ref, node.lineno, call, then))
        if ref is not None and ref.noted is not None and then:
            ref.noted.then += then
        return ref

    def _name_of(
        self, ref: Ref, line: int, call: tuple[int, tuple[str, ...], bool] | None, then: tuple[str, ...]
    ) -> Noted:
        of, _, name = ref.path.rpartition(".")
        return self._note(name, line, ref.source, of, call, then)

    def _attribute(
        self, node: ast.Attribute, scope: Scope, then: tuple[str, ...], call: tuple[int, tuple[str, ...], bool] | None
    ) -> Ref | None:
        inferred = self.infer(node.value, scope)
        shallow = inferred is not None and inferred.kind in {"module", "name"}
        base = self._expr(node.value, scope, () if shallow else (f"attr:{node.attr}",))
        if not isinstance(node.ctx, ast.Load):
            return None
        if base is None:
            base = inferred
        if base is None:
            if node.attr not in _COMMON:
                self._note(node.attr, node.lineno, "", "?", call, (*then, *called(node.value)))
            return None
        if base.typing:
            return None
        noted = self._note(
            node.attr,
            node.lineno,
            base.source,
            base.of if base.kind != "module" else "",
            call,
            then,
            base.kind == "name",
        )
        found = self._member(base, node.attr)
        if found is None and call is not None and base.kind == "instance":
            # What a method gives back is followed too.
            found = Ref("name", base.source, f"{base.path}.{node.attr}")
        return Ref(found.kind, found.source, found.path, noted=noted) if found is not None else None

    def _call(self, node: ast.Call, scope: Scope, then: tuple[str, ...]) -> Ref | None:
        spread = any(isinstance(each, ast.Starred) for each in node.args) or any(
            word.arg is None for word in node.keywords
        )
        given = (
            sum(not isinstance(each, ast.Starred) for each in node.args),
            tuple(word.arg for word in node.keywords if word.arg is not None),
            spread,
        )
        ref = self._expr(node.func, scope, then, given)
        self.marks.call(node, scope, self)
        of_call(self.marks, node, scope, self)
        self._by_text(node, scope)
        self._of_model(node, scope)
        for field in replaced(node):
            base = self.infer(node.args[0], scope)
            if base is None or (base.kind == "instance" and not base.typing):
                of = ("?", called(node.args[0])) if base is None else (base.of, ())
                self._note(field, node.lineno, base.source if base else "", of[0], None, of[1])
        inner = HANDED.get(last(node.func), ())
        for each in node.args:
            self._expr(each, scope, inner)
        for word in node.keywords:
            self._expr(word.value, scope)
        return self._made(node, ref if ref is not None else None, scope)

    def _subscript(self, node: ast.Subscript, scope: Scope, further: tuple[str, ...]) -> Ref | None:
        key = node.slice
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            then: tuple[str, ...] = (f"key:{key.value}",)
        else:
            then = () if isinstance(key, ast.Slice) else ("index",)
        if then[:1] != ("index",):
            # A key of what a key leads to belongs to the same mapping.
            then += tuple(each for each in further if each.startswith("key:"))
        ref = self._expr(node.value, scope, then)
        self.marks.subscript(node, scope, self)
        self._expr(key, scope)
        if ref is not None and ref.kind == "instance" and isinstance(key, ast.Constant) and isinstance(key.value, str):
            self._note(key.value, node.lineno, ref.source, ref.of)
        # What is deeper in the same constant belongs to it.
        return ref if ref is not None and ref.kind == "name" and then[:1] != ("index",) else None

    def _annotation(self, node: ast.expr, scope: Scope) -> None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return
        self._expr(node, scope)
