"""What an expression of a Python file means, by imports, annotations and what was assigned; noting uses in code is py_uses'."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Final

from interlock.adapters.facts.py_scopes import Lazy, Noted, Ref, Scope

_HOLDERS: Final = frozenset(
    {"list", "List", "Sequence", "Iterable", "Iterator", "Collection", "set", "Set", "frozenset", "FrozenSet", "deque"}
)
_SAME: Final = frozenset({"sorted", "list", "tuple", "set", "frozenset", "reversed", "iter", "filter"})
"""Functions that give what they are given, perhaps in another order."""
_PATCHERS: Final = frozenset({"patch", "setattr", "delattr", "import_string", "import_object", "locate"})


class Meanings:
    """Tells what expressions mean; ``fields`` are the types of what instances of the file's own classes hold."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.fields: dict[tuple[str, str], Ref] = {}

    def infer(self, node: ast.expr, scope: Scope, hops: int = 8) -> Ref | None:
        """What an expression means, without noting a use."""
        match node if hops else None:
            case ast.Name(id=name):
                _, meaning, where = scope.find(name)
                return self._meaning(meaning, where or scope)
            case ast.Attribute(value=value, attr=attr):
                base = self.infer(value, scope, hops - 1)
                return self._member(base, attr) if base is not None else None
            case ast.Call(func=func) as call:
                return self._made(call, self.infer(func, scope, hops - 1), scope)
            case ast.Await(value=value) | ast.NamedExpr(value=value):
                return self.infer(value, scope, hops - 1)
            case ast.Subscript(value=value, slice=key) if not isinstance(key, ast.Slice):
                base = self.infer(value, scope, hops - 1)
                return base.then("{}") if base is not None and base.kind in {"instance", "led"} else None
            case _:
                return None

    def _meaning(self, meaning: Ref | Lazy | None, scope: Scope) -> Ref | None:
        if not isinstance(meaning, Lazy):
            return meaning
        if not meaning.asked:
            meaning.asked = True
            meaning.known = (
                self._of_annotation(meaning.value, scope) if meaning.annotation else self.infer(meaning.value, scope)
            )
        return meaning.known

    def _member(self, base: Ref, attr: str) -> Ref | None:
        if base.kind == "module":
            return Ref("name", base.source, attr)
        if base.kind == "name":
            return Ref("name", base.source, f"{base.path}.{attr}")
        if base.kind == "instance" and base.source == self.module and (base.path, attr) in self.fields:
            return self.fields[base.path, attr]
        return base.then(f".{attr}")

    def _made(self, node: ast.Call, ref: Ref | None, scope: Scope) -> Ref | None:
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return self.fields.get((scope.owner, "super()"))
        if ref is None or ref.kind == "module":
            return None
        last = ref.path.rpartition(".")[2]
        if ref.kind == "name" and last[:1].isupper() and not last.isupper():
            return Ref("instance", ref.source, ref.path, noted=ref.noted)
        found = ref.then("()")
        return replace(found, noted=ref.noted) if found is not None else None

    def _of_annotation(self, node: ast.expr, scope: Scope) -> Ref | None:
        match node:
            case ast.Constant(value=str(text)):
                try:
                    return self._of_annotation(ast.parse(text, mode="eval").body, scope)
                except (SyntaxError, ValueError):
                    return None
            case ast.BinOp(op=ast.BitOr(), left=left, right=ast.Constant(value=None)):
                return self._of_annotation(left, scope)
            case ast.Subscript(value=ast.Name(id="Optional" | "Annotated" | "Final" | "ClassVar"), slice=inner):
                return self._of_annotation(inner.elts[0] if isinstance(inner, ast.Tuple) else inner, scope)
            case ast.Name() | ast.Attribute():
                found = self.infer(node, scope)
                if found is not None and found.kind == "name":
                    return Ref("instance", found.source, found.path)
            case _:
                pass
        return None


class ByText(Meanings):
    """Names that code gives as text, noted like any other use."""

    def __init__(self, module: str) -> None:
        super().__init__(module)
        self.noted: list[Noted] = []
        self.caught: tuple[str, ...] = ()
        self.asked: set[str] = set()

    def _by_text(self, node: ast.Call, scope: Scope) -> None:
        """Names given as text: ``getattr(core, "x")``, ``patch("app.core.x")``, ``setattr(core, "x", …)``."""
        name = (
            node.func.attr
            if isinstance(node.func, ast.Attribute)
            else node.func.id
            if isinstance(node.func, ast.Name)
            else ""
        )
        texts = [each.value for each in node.args[:2] if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        if name == "hasattr" and texts:
            self.asked.add(texts[-1])
        elif (
            name in {"getattr", "setattr", "delattr", "object"}
            and len(node.args) >= 2
            and isinstance(node.args[1], ast.Constant)
        ):
            if name == "getattr" and len(node.args) > 2:
                return
            base = self.infer(node.args[0], scope)
            if base is not None and texts and base.kind in {"module", "name"}:
                self._note(texts[-1], node.lineno, base.source, base.path if base.kind == "name" else "")
        elif (name in _PATCHERS or name == "import_module") and texts and texts[0].count(".") >= 1:
            self._dotted(texts[0], node.lineno, whole=name == "import_module")

    def _of_model(self, node: ast.Call, scope: Scope) -> None:
        """``Order.objects.filter(total=1)`` and ``select(Order).filter_by(total=1)`` ask for a field of the model."""
        model = self._model(node.func, scope)
        if model is None or model.kind != "name" or model.typing:
            return
        for word in node.keywords:
            if word.arg is not None and word.arg not in {"defaults", "using", "flat"}:
                self._note(word.arg.partition("__")[0], node.lineno, model.source, model.path)

    def _model(self, func: ast.expr, scope: Scope) -> Ref | None:
        if not isinstance(func, ast.Attribute):
            return None
        if isinstance(func.value, ast.Attribute) and func.value.attr == "objects":
            return self.infer(func.value.value, scope)
        if func.attr != "filter_by":
            return None
        inner: ast.expr = func.value
        joined = False
        while isinstance(inner, ast.Call | ast.Attribute):
            name = inner.func if isinstance(inner, ast.Call) else inner
            last = name.attr if isinstance(name, ast.Attribute) else name.id if isinstance(name, ast.Name) else ""
            if isinstance(inner, ast.Call) and last in {"select", "query"}:
                return self.infer(inner.args[0], scope) if len(inner.args) == 1 and not joined else None
            joined = joined or "join" in last
            inner = inner.func if isinstance(inner, ast.Call) else inner.value
        return None

    def _narrowed(self, test: ast.expr, scope: Scope) -> dict[str, Ref]:
        """The name that ``isinstance(x, C)`` tells the type of, with that type."""
        match test:
            case ast.BoolOp(op=ast.And(), values=[first, *_]):
                return self._narrowed(first, scope)
            case ast.Call(
                func=ast.Name(id="isinstance"), args=[ast.Name(id=name), ast.Name() | ast.Attribute() as kind]
            ):
                found = self.infer(kind, scope)
                if found is not None and found.kind == "name" and not found.typing:
                    return {name: Ref("instance", found.source, found.path)}
            case _:
                pass
        return {}

    def _elements(self, target: ast.expr, node: ast.expr, scope: Scope) -> dict[str, Ref]:
        """The names that a loop binds, each with the type that what it goes through gives, where that shows."""
        if isinstance(target, ast.Name):
            found = self._element(node, scope)
            return {target.id: found} if found is not None else {}
        if not isinstance(target, ast.Tuple) or any(isinstance(each, ast.Starred) for each in target.elts):
            return {}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            if node.func.id == "enumerate" and len(target.elts) == 2:
                return self._elements(target.elts[1], node.args[0], scope)
            if node.func.id == "zip" and len(target.elts) == len(node.args):
                pairs = zip(target.elts, node.args, strict=True)
                return {name: ref for each, of in pairs for name, ref in self._elements(each, of, scope).items()}
        whole = self._element(node, scope)
        parts = (
            (each.id, whole.then(f"#{at}"))
            for at, each in enumerate(target.elts)
            if whole is not None and isinstance(each, ast.Name)
        )
        return {name: ref for name, ref in parts if ref is not None}

    def _element(self, node: ast.expr, scope: Scope) -> Ref | None:
        """The type of what a loop gives, by the annotation of what it goes through (``rows: list[Row]``) or by where that is from."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SAME and node.args:
            return self._element(node.args[-1 if node.func.id == "filter" else 0], scope)
        if isinstance(node, ast.Name):
            _, meaning, where = scope.find(node.id)
            if isinstance(meaning, Lazy) and meaning.annotation and isinstance(meaning.value, ast.Subscript):
                outer = meaning.value.value
                name = (
                    outer.attr if isinstance(outer, ast.Attribute) else outer.id if isinstance(outer, ast.Name) else ""
                )
                if name not in _HOLDERS or isinstance(meaning.value.slice, ast.Tuple):
                    return None
                return self._of_annotation(meaning.value.slice, where or scope)
        found = self.infer(node, scope)
        return found.then("[]") if found is not None and found.kind in {"instance", "led"} else None

    def _gone_through(self, node: ast.Call, scope: Scope) -> Ref | None:
        """What a function is given that ``sorted``, ``map`` and the like call with each element."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in {"sorted", "min", "max"} and len(node.args) == 1:
            return self._element(node.args[0], scope)
        if name in {"map", "filter"} and len(node.args) == 2:
            return self._element(node.args[1], scope)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "sort":
            return self._element(node.func.value, scope)
        return None

    def _unpacked(self, target: ast.expr, of: Ref | None, line: int) -> None:
        """Note that one of a type is taken apart into so many values."""
        if of is None or of.kind not in {"instance", "led"} or of.typing:
            return
        if isinstance(target, ast.Tuple) and not any(isinstance(each, ast.Starred) for each in target.elts):
            self._note("__iter__", line, of.source, of.path, None, (f"unpack:{len(target.elts)}",))

    def _dotted(self, text: str, line: int, *, whole: bool) -> None:
        if not all(part.isidentifier() for part in text.split(".")):
            return
        if whole:
            self._note("", line, text)
            return
        source, _, name = text.rpartition(".")
        self._note(name, line, source)

    def _note(
        self,
        name: str,
        line: int,
        source: str,
        of: str = "",
        call: tuple[int, tuple[str, ...], bool] | None = None,
        then: tuple[str, ...] = (),
        on_type: bool = False,
    ) -> Noted:
        noted = Noted(name, line, source, of, call, list(then), self.caught, on_type)
        self.noted.append(noted)
        return noted
