"""Walks a Python file and notes every use of a name, with where it comes from and what is done with it; marks are py_marks'."""

from __future__ import annotations

import ast
from typing import Final

from interlock.adapters.facts.py_marks import Marks
from interlock.adapters.facts.py_meaning import ByText
from interlock.adapters.facts.py_results import caught_by, children, statements
from interlock.adapters.facts.py_scopes import BUILTINS, Lazy, Noted, Ref, Scope, bind, bind_arguments, set_apart
from interlock.core.merge.facts import Call, Use

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
        found = []
        vague: set[tuple[object, ...]] = set()
        for each in self.noted:
            if each.name in self.asked:
                continue
            call = Call(positional=each.call[0], names=each.call[1], spread=each.call[2]) if each.call else None
            use = Use(
                name=each.name,
                line=each.line,
                source=each.source,
                of=each.of,
                call=call,
                then=tuple(sorted(set(each.then))),
                caught=each.caught,
                on_type=each.on_type,
            )
            if each.of == "?":
                key = (use.name, use.call)
                if key in vague:
                    continue
                vague.add(key)
            found.append(use)
        return tuple(found)

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
                self._body(node.body, scope)
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

    def _target(self, node: ast.expr, scope: Scope, ref: Ref | None = None) -> None:
        match node:
            case ast.Name():
                return
            case ast.Attribute(value=value, attr=attr):
                base = self._expr(value, scope)
                if base is not None and base.kind == "instance" and base.source == self.module and ref is not None:
                    self.fields.setdefault((base.path, attr), ref)
            case ast.Subscript():
                self._expr(node.value, scope)
                self._expr(node.slice, scope)
            case _:
                for child in children(node):
                    if isinstance(child, ast.expr):
                        self._target(child, scope)

    def _function(self, node: Function, scope: Scope) -> None:
        self.marks.function(node, scope, self)
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
                self._note(node.attr, node.lineno, "", "?", call, then)
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
        self._by_text(node, scope)
        self._of_model(node, scope)
        for each in node.args:
            self._expr(each, scope)
        for word in node.keywords:
            self._expr(word.value, scope)
        return self._made(node, ref if ref is not None else None, scope)

    def _of_model(self, node: ast.Call, scope: Scope) -> None:
        """``Order.objects.filter(total=1)`` asks for a field of the model."""
        of = node.func.value if isinstance(node.func, ast.Attribute) else None
        if not isinstance(of, ast.Attribute) or of.attr != "objects":
            return
        model = self.infer(of.value, scope)
        if model is None or model.kind != "name" or model.typing:
            return
        for word in node.keywords:
            if word.arg is not None and word.arg not in {"defaults", "using", "flat"}:
                self._note(word.arg.partition("__")[0], node.lineno, model.source, model.of)

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
