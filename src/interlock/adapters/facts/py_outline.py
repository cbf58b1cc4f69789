"""The outline of a Python file that the standard parser does not take: definitions and imports by a tolerant parser, no calls."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from interlock.core.merge.facts import FileFacts, Import, Signature, Symbol, Use

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_UNSURE = Signature(unsure=True)


@cache
def _parser() -> Parser:
    import tree_sitter_python
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_python.language()))


def outline(module: str, data: bytes) -> FileFacts:
    """Symbols and imports of a file in a syntax of another version; a file that is broken at its top is said to be unread."""
    if b"\0" in data:
        return FileFacts(language="python", module=module, fault="The file holds zero bytes and is no text.")
    root = _parser().parse(data).root_node
    broken = next((child for child in root.children if child.is_error), None)
    if broken is not None or root.is_error:
        line = (broken or root).start_point[0] + 1
        return FileFacts(
            language="python", module=module, fault=f"The file does not parse: line {line} is not understood."
        )
    found = _Outline(module)
    for node in root.children:
        found.take(node, "")
    return FileFacts(
        language="python",
        module=module,
        symbols=tuple(found.symbols),
        imports=tuple(found.imports),
        uses=tuple(found.uses),
        text=True,
        open=True,
    )


def _text(node: Node | None) -> str:
    return node.text.decode("utf-8", "replace") if node is not None and node.text is not None else ""


class _Outline:
    def __init__(self, module: str) -> None:
        self.module = module
        self.symbols: list[Symbol] = []
        self.imports: list[Import] = []
        self.uses: list[Use] = []

    def take(self, node: Node, owner: str) -> None:  # noqa: C901 -- one form a case
        line = node.start_point[0] + 1
        match node.type:
            case "decorated_definition":
                inner = node.child_by_field_name("definition")
                if inner is not None:
                    self.take(inner, owner)
            case "function_definition":
                kind = "method" if owner else "function"
                name = _text(node.child_by_field_name("name"))
                self.symbols.append(
                    Symbol(
                        name=name,
                        kind="method" if kind == "method" else "function",
                        line=line,
                        owner=owner,
                        signature=_UNSURE,
                    )
                )
            case "class_definition":
                self._class(node, owner, line)
            case "expression_statement" if node.named_children and node.named_children[0].type == "assignment":
                left = node.named_children[0].child_by_field_name("left")
                if left is not None and left.type == "identifier":
                    self.symbols.append(
                        Symbol(name=_text(left), kind="field" if owner else "constant", line=line, owner=owner)
                    )
            case "import_from_statement":
                self._from(node, line)
            case "import_statement":
                for each in node.named_children:
                    name = _text(each.child_by_field_name("name")) or _text(each)
                    local = _text(each.child_by_field_name("alias")) or name.partition(".")[0]
                    self.imports.append(Import(module=name, line=line, local=local))
                    self.uses.append(Use(name="", line=line, source=name))
            case "if_statement" | "try_statement" | "else_clause" | "except_clause" | "block" | "with_statement":
                for each in node.named_children:
                    self.take(each, owner)
            case _:
                pass

    def _class(self, node: Node, owner: str, line: int) -> None:
        name = _text(node.child_by_field_name("name"))
        bases = node.child_by_field_name("superclasses")
        named = tuple(_text(each) for each in bases.named_children if each.type != "keyword_argument") if bases else ()
        self.symbols.append(Symbol(name=name, kind="class", line=line, owner=owner, bases=named, signature=_UNSURE))
        body = node.child_by_field_name("body")
        for each in body.named_children if body is not None else ():
            self.take(each, f"{owner}.{name}" if owner else name)

    def _from(self, node: Node, line: int) -> None:
        module = _text(node.child_by_field_name("module_name"))
        if any(each.type == "wildcard_import" for each in node.children):
            self.imports.append(Import(module=module, line=line, name="*"))
        for each in node.children_by_field_name("name"):
            name = _text(each.child_by_field_name("name")) or _text(each)
            local = _text(each.child_by_field_name("alias")) or name
            self.imports.append(Import(module=module, line=line, name=name, local=local))
            self.uses.append(Use(name=name, line=line, source=module))
