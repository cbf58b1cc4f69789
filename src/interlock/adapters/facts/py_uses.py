"""Walks the statements of a Python file and notes every use of a name; expressions are py_expressions', marks py_marks'."""

from __future__ import annotations

import ast

from interlock.adapters.facts.py_expressions import Expressions
from interlock.adapters.facts.py_marks import Marks
from interlock.adapters.facts.py_named import of_assign, of_function
from interlock.adapters.facts.py_results import caught_by, children, everything, statements
from interlock.adapters.facts.py_scopes import Lazy, Ref, Scope, bind, bind_arguments, set_apart
from interlock.adapters.facts.py_telling import told
from interlock.core.merge.facts import Use

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Uses(Expressions):
    """One file on its way to uses."""

    def __init__(self, module: str, marks: Marks) -> None:
        super().__init__(module, marks)
        self.apart: frozenset[int] = frozenset()

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
                self._expr(node.iter, scope, ("iterate",) if isinstance(node, ast.For) else ("async iterate",))
                self._target(node.target, scope)
                self._unpacked(node.target, self._element(node.iter, scope), node.lineno)
                self._within(node.body, scope, self._elements(node.target, node.iter, scope))
                self._body(node.orelse, scope)
            case ast.If():
                self._expr(node.test, scope, ("tested",))
                self._within(node.body, scope, self._narrowed(node.test, scope))
                self._body(node.orelse, scope)
            case ast.With() | ast.AsyncWith():
                then = ("async with",) if isinstance(node, ast.AsyncWith) else ("with",)
                for item in node.items:
                    self._expr(item.context_expr, scope, then)
                    if item.optional_vars is not None:
                        self._target(item.optional_vars, scope)
                self._body(node.body, scope)
            case ast.Assert():
                self._expr(node.test, scope, ("tested",))
                if node.msg is not None:
                    self._expr(node.msg, scope)
            case ast.Delete():
                for target in node.targets:
                    self._target(target, scope)
            case _:
                for child in children(node):
                    self._any(child, scope)

    def _within(self, body: list[ast.stmt], scope: Scope, kinds: dict[str, Ref]) -> None:
        """A body in which names are known to be of a type, as far as it does not bind them anew."""
        if kinds and scope.kind == "function":
            bound = {
                each.id
                for node in body
                for each in everything(node)
                if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)
            }
            kinds = {name: ref for name, ref in kinds.items() if name not in bound}
        if not kinds or scope.kind != "function":
            self._body(body, scope)
            return
        before = dict(scope.names)
        scope.names |= kinds
        self._body(body, scope)
        for name in kinds:
            if name in before:
                scope.names[name] = before[name]
            else:
                del scope.names[name]

    def _any(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.stmt):
            self._statement(node, scope)
        else:
            super()._any(node, scope)

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
        if len(targets) == 1:
            self._unpacked(targets[0], ref, node.lineno)
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
                if (
                    base is not None
                    and base.kind in {"instance", "led"}
                    and not base.typing
                    and isinstance(node.ctx, ast.Store)
                ):
                    self._note(attr, node.lineno, base.source, base.path, None, ("set",))
                elif (
                    base is not None
                    and base.kind == "name"
                    and base.source == self.module
                    and isinstance(node.ctx, ast.Store)
                ):
                    self._note(attr, node.lineno, base.source, base.path, None, ("binds",))
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
            called_bare = not isinstance(each, ast.Call)
            self._expr(each, scope, ("decorates",) if called_bare else (), (1, (), False) if called_bare else None)
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
