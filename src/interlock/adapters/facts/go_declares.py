"""Notes what a Go file declares at its top: imports, functions, methods by receiver, types with fields and embedded ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.adapters.facts.go_types import (
    declared,
    function_type,
    generic_shape,
    named,
    package_names,
    parameters,
    signature_of,
    specs,
    written,
)
from interlock.adapters.facts.treesitter import Notes, line, text
from interlock.core.merge.facts import Import, Mark, Signature, Symbol, SymbolKind

if TYPE_CHECKING:
    from tree_sitter import Node


class Declares:
    """The declarations of one file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.notes = Notes("go", path.rpartition("/")[0])
        self.packages: dict[str, str] = {}
        self.locals: dict[str, str] = {}
        """Import path → the name that it likely has in code; uses from a package are taken of that name."""
        self.top: dict[str, Node | None] = {}
        self.results: dict[str, Node | None] = {}
        self.fields: dict[tuple[str, str], Node | None] = {}
        self.bases: dict[str, list[str]] = {}
        self.types: dict[str, tuple[int, SymbolKind]] = {}
        self.shapes: dict[str, str] = {}

    def declare(self, node: Node) -> None:  # noqa: C901, PLR0912 - one case a kind of declaration
        match node.type:
            case "package_clause":
                name = text(node.named_children[0]) if node.named_children else ""
                if name.endswith("_test"):
                    self.notes.module += "_test"
                elif name:
                    self.notes.mark(
                        Mark(kind="registration", name=name, line=line(node), role="uses", scope="go-package")
                    )
            case "import_declaration":
                for spec in specs(node, "import_spec"):
                    self._import(spec)
            case "function_declaration":
                name = text(node.child_by_field_name("name"))
                self.results[name] = node.child_by_field_name("result")
                if name not in {"init", "_"}:
                    self.symbol(name, "function", line(node), signature=signature_of(node))
            case "method_declaration":
                self._method(node)
            case "type_declaration":
                for spec in specs(node, "type_spec", "type_alias"):
                    self._type(spec)
            case "const_declaration" | "var_declaration":
                kind: SymbolKind = "constant" if node.type == "const_declaration" else "variable"
                for spec in specs(node, "const_spec", "var_spec"):
                    for name, shown in declared(spec):
                        self.top[name] = shown
                        if name != "_":
                            self.symbol(name, kind, line(spec))
            case _:
                pass

    def symbol(
        self,
        name: str,
        kind: SymbolKind,
        at: int,
        *,
        owner: str = "",
        signature: Signature | None = None,
        abstract: bool = False,
        bases: tuple[str, ...] = (),
        shape: str = "",
    ) -> None:
        self.notes.symbols.append(
            Symbol(
                name=name,
                kind=kind,
                line=at,
                owner=owner,
                public=name[:1].isupper(),
                abstract=abstract,
                signature=signature,
                bases=bases,
                shape=shape,
            )
        )

    def _import(self, spec: Node) -> None:
        module = text(spec.child_by_field_name("path")).strip('"`')
        given = text(spec.child_by_field_name("name"))
        if given == ".":
            self.notes.open = True
            self.notes.imports.append(Import(module=module, line=line(spec), name="*"))
            return
        names = [given] if given else package_names(module)
        for name in names:
            if name != "_":
                self.packages.setdefault(name, module)
        local = names[0] if names[0] != "_" else ""
        self.locals.setdefault(module, local)
        self.notes.imports.append(Import(module=module, line=line(spec), local=local))

    def _method(self, node: Node) -> None:
        receiver = node.child_by_field_name("receiver")
        owner = named(next(iter(parameters(receiver)))[1])[1] if receiver is not None and parameters(receiver) else ""
        name = text(node.child_by_field_name("name"))
        self.results[f"{owner}.{name}"] = node.child_by_field_name("result")
        self.symbol(name, "method", line(node), owner=owner, signature=signature_of(node))

    def _type(self, spec: Node) -> None:
        name = text(spec.child_by_field_name("name"))
        shown = spec.child_by_field_name("type")
        kind: SymbolKind = "type"
        if shown is not None and shown.type == "struct_type":
            kind = "class"
            self._fields(name, shown)
        elif shown is not None and shown.type == "interface_type":
            kind = "interface"
            self._interface(name, shown)
        elif shown is not None and spec.type == "type_alias":
            self.bases[name] = [written(shown)]
        elif shown is not None and shown.type == "function_type":
            self.shapes[name] = function_type(shown)
        elif shown is not None and kind == "type":
            self.shapes[name] = written(shown)
        self.shapes[name] = generic_shape(spec) or self.shapes.get(name, "")
        self.types[name] = (line(spec), kind)

    def _fields(self, owner: str, shown: Node) -> None:
        for group in shown.named_children:
            for each in group.named_children if group.type == "field_declaration_list" else ():
                if each.type != "field_declaration":
                    continue
                names = each.children_by_field_name("name")
                of = each.child_by_field_name("type")
                if not names and of is not None:
                    self.bases.setdefault(owner, []).append(written(of))
                    names, short = [], named(of)[1]
                    self.fields[owner, short] = of
                    self.symbol(short, "field", line(each), owner=owner)
                for name in names:
                    self.fields[owner, text(name)] = of
                    self.symbol(
                        text(name), "field", line(each), owner=owner, shape=written(of) if of is not None else ""
                    )

    def _interface(self, owner: str, shown: Node) -> None:
        for each in shown.named_children:
            if each.type in {"method_elem", "method_spec"}:
                name = text(each.child_by_field_name("name"))
                self.results[f"{owner}.{name}"] = each.child_by_field_name("result")
                self.symbol(name, "method", line(each), owner=owner, signature=signature_of(each), abstract=True)
            elif each.type in {"type_elem", "constraint_elem"} and each.named_child_count == 1:
                self.bases.setdefault(owner, []).append(written(each.named_children[0]))
