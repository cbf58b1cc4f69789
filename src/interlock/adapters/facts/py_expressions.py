"""Notes every use of a name in the expressions of a Python file, and what is done with each value; statements are py_uses'."""

from __future__ import annotations

import ast
from typing import Final

from interlock.adapters.facts.py_marks import Marks
from interlock.adapters.facts.py_meaning import ByText
from interlock.adapters.facts.py_named import of_call, of_constant
from interlock.adapters.facts.py_results import children
from interlock.adapters.facts.py_scopes import BUILTINS, Noted, Ref, Scope, bind_arguments
from interlock.adapters.facts.py_telling import HANDED, called, called_back, called_later, last, replaced

_COMMON: Final = frozenset(
    name for kind in (str, bytes, list, dict, set, tuple, int, float, object, BaseException) for name in dir(kind)
)
_MOST_DEEP: Final = 40


class Expressions(ByText):
    """The expressions of one file on their way to uses."""

    def __init__(self, module: str, marks: Marks) -> None:
        super().__init__(module)
        self.marks = marks
        self.depth = 0

    def _any(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.expr):
            self._expr(node, scope)
        else:
            for child in children(node):
                self._any(child, scope)

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
            case ast.UnaryOp(op=ast.Not()):
                self._expr(node.operand, scope, ("tested",))
            case ast.BoolOp():
                for each in node.values:
                    self._expr(each, scope, ("tested",))
            case ast.IfExp():
                for part, done in ((node.test, ("tested",)), (node.body, ()), (node.orelse, ())):
                    self._expr(part, scope, done)
            case ast.Starred():
                self._expr(node.value, scope, ("iterate",))
            case ast.Lambda():
                self._lambda(node, scope, None)
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

    def _lambda(self, node: ast.Lambda, scope: Scope, first: Ref | None) -> None:
        inner = Scope("function", scope, owner=scope.owner, path=scope.path)
        bind_arguments(inner, node.args)
        if first is not None and len(node.args.args) == 1:
            inner.names[node.args.args[0].arg] = first
        self._expr(node.body, inner)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, scope: Scope) -> None:
        inner = Scope("function", scope, owner=scope.owner, path=scope.path)
        for each in node.generators:
            for name in ast.walk(each.target):
                if isinstance(name, ast.Name):
                    inner.names[name.id] = None
            self._unpacked(each.target, self._element(each.iter, inner), node.lineno)
            inner.names |= self._elements(each.target, each.iter, inner)
        for each in node.generators:
            done = "async iterate" if each.is_async else "iterate"
            self._expr(each.iter, inner if scope.kind != "class" else scope, (done,))
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
        of = base.path if base.kind != "module" else ""
        further = (*then, *called(node.value)) if base.kind == "led" else then
        noted = self._note(node.attr, node.lineno, base.source, of, call, further, base.kind == "name")
        found = self._member(base, node.attr)
        if found is not None and found.noted is not None:
            # What a field holds came from a call: what is done with the field is done with that.
            found.noted.then += then
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
        ref = self._expr(node.func, scope, (*then, *called_back(node)), given)
        self.marks.call(node, scope, self)
        of_call(self.marks, node, scope, self)
        self._by_text(node, scope)
        self._of_model(node, scope)
        for field in replaced(node):
            base = self.infer(node.args[0], scope)
            if base is None or (base.kind == "instance" and not base.typing):
                of = ("?", called(node.args[0])) if base is None else (base.path, ())
                self._note(field, node.lineno, base.source if base else "", of[0], None, of[1])
        inner = HANDED.get(last(node.func), ())
        later = called_later(node)
        if later is not None:
            self._expr(*later[:1], scope, (), later[1])
        for each in node.args:
            if isinstance(each, ast.Lambda):
                self._lambda(each, scope, self._gone_through(node, scope))
            elif later is None or each is not later[0]:
                self._expr(each, scope, inner)
        for word in node.keywords:
            if isinstance(word.value, ast.Lambda):
                self._lambda(word.value, scope, self._gone_through(node, scope))
            else:
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
            self._note(key.value, node.lineno, ref.source, ref.path)
        # What is deeper in the same constant belongs to it.
        if ref is not None and ref.kind in {"instance", "led"} and not isinstance(key, ast.Slice):
            return ref.then("{}")
        return ref if ref is not None and ref.kind == "name" and then[:1] != ("index",) else None

    def _annotation(self, node: ast.expr, scope: Scope) -> None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return
        self._expr(node, scope)
