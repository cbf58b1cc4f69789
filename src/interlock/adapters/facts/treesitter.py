"""Loads the installed tree-sitter grammars late and in one place, parses within bounds, and gathers what a reader notes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

from interlock.core.merge.facts import Call, FileFacts, Import, Language, Mark, Symbol, Use

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

Grammar = Literal["typescript", "tsx", "javascript", "go", "java"]

MOST_BYTES: Final = 600_000
"""A larger file is a table or a bundle; its facts would cost seconds and say little."""
MOST_NODES: Final = 400_000
LONG_LINE: Final = 5_000
"""A line of code longer than this is the work of a minifier or a generator."""
MOST_DEPTH: Final = 300
"""Scopes within scopes that are followed; nobody writes more by hand."""
MOST_WORK: Final = 4
"""Steps of the parser by byte before it is stopped; ordinary code takes about one in forty."""
BROKEN_SHARE: Final = 0.02
"""The share of a file that may not be understood, inside of bodies alone, before the file counts as unread."""

_CHUNK = 1 << 8
"""Bytes that the parser is handed at once; each text of a node is fetched again in such pieces, so that large ones cost."""
_HARMLESS = frozenset({";", ","})
"""What languages let one leave out here and there, more often than a grammar knows."""
_GENERATED_FOLDERS = frozenset({"node_modules", "bower_components", "dist", "vendor", "third_party", ".next", ".yarn"})


def left_out(path: str) -> bool:
    """Is a file brought along or built, going by its path: then it is no change's own code?"""
    parts = path.split("/")
    return bool(_GENERATED_FOLDERS.intersection(parts[:-1])) or ".min." in parts[-1] or parts[-1].endswith(".bundle.js")


@cache
def _parser(grammar: Grammar) -> Parser:
    from tree_sitter import Language as Loaded
    from tree_sitter import Parser as New

    match grammar:
        case "typescript":
            import tree_sitter_typescript

            pointer = tree_sitter_typescript.language_typescript()
        case "tsx":
            import tree_sitter_typescript

            pointer = tree_sitter_typescript.language_tsx()
        case "javascript":
            import tree_sitter_javascript

            pointer = tree_sitter_javascript.language()
        case "go":
            import tree_sitter_go

            pointer = tree_sitter_go.language()
        case "java":
            import tree_sitter_java

            pointer = tree_sitter_java.language()
    return New(Loaded(pointer))


def parse(grammar: Grammar, data: bytes, bodies: frozenset[str]) -> Node | str:  # noqa: PLR0911 - one return a reason
    """The tree of a file, or why there is none, as one sentence.

    Takes the types of the nodes that are ``bodies`` of functions: what is not understood outside of them may be a lost
    definition, so that the whole file counts as unread; inside of them a little is borne.
    """
    if len(data) > MOST_BYTES:
        return f"The file has {len(data) // 1000} KB, more than the {MOST_BYTES // 1000} KB that are read as code."
    if len(data) > LONG_LINE and max(map(len, data.splitlines()), default=0) > LONG_LINE:
        return f"The file has a line of more than {LONG_LINE} bytes, as minified and generated code has."
    if b"\0" in data:
        return "The file holds zero bytes and is no text."
    tree = _within_bounds(_parser(grammar), data)
    if tree is None:
        return "The file could not be parsed within the bounds of work."
    root = tree.root_node
    if root.descendant_count > MOST_NODES:
        return f"The file has more than {MOST_NODES} nodes of syntax."
    if root.has_error and (line := _broken(root, bodies, len(data))):
        return f"The file does not parse: line {line} is not understood."
    return root


def _within_bounds(parser: Parser, data: bytes) -> Tree | None:
    left = 2_000 + len(data) * MOST_WORK

    def more(offset: int, _point: object) -> bytes:
        return data[offset : offset + _CHUNK]

    def stop(_offset: int, _wrong: bool) -> bool:
        nonlocal left
        left -= 1
        return left < 0

    try:
        return parser.parse(more, progress_callback=stop)
    except ValueError:
        parser.reset()
        return None


def _broken(root: Node, bodies: frozenset[str], size: int) -> int:
    """The line of the first thing that may hide a definition, or of the last of too much; 0 when it can be borne."""
    lost = 0
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, inside = stack.pop()
        if node.is_missing and node.type in _HARMLESS:
            continue
        if node.is_error or node.is_missing:
            line = node.start_point[0] + 1
            lost += node.end_byte - node.start_byte
            # A missing brace or bracket makes the body swallow what follows it.
            if not inside or node.type in {"}", ")", "{"} or lost > max(80, size * BROKEN_SHARE):
                return line
            continue
        if node.has_error:
            within = inside or node.type in bodies
            stack.extend((child, within) for child in node.children)
    return 0


def text(node: Node | None) -> str:
    return node.text.decode("utf-8", "replace") if node is not None and node.text is not None else ""


def line(node: Node) -> int:
    return node.start_point[0] + 1


Entered = Iterable[tuple["Node", "Scope"]]


@dataclass(slots=True)
class Scope:
    """Local names, each with a node that shows its type, or None; a name found here hides what lies outside."""

    outer: Scope | None = None
    names: dict[str, Node | None] = field(default_factory=dict)
    depth: int = 0
    owner: str = ""
    role: str = ""

    def inner(self, *, owner: str | None = None, role: str | None = None) -> Scope:
        return Scope(
            self,
            {},
            self.depth + 1,
            self.owner if owner is None else owner,
            self.role if role is None else role,
        )

    def find(self, name: str) -> tuple[bool, Node | None]:
        """Is a name local here, and what shows its type?"""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return True, scope.names[name]
            scope = scope.outer
        return False, None


def walk(root: Node, scope: Scope, enter: Callable[[Node, Scope], Entered | None]) -> None:
    """Each named node before its children, with a stack of its own, so that depth costs no frames.

    ``enter`` gives the children to go on with and their scopes, or None for all of them in the same scope.
    """
    stack = [(root, scope)]
    while stack:
        node, inside = stack.pop()
        entered = enter(node, inside)
        if entered is None:
            stack.extend((child, inside) for child in reversed(node.named_children))
        else:
            chosen = [pair for pair in entered if pair[1].depth <= MOST_DEPTH]
            chosen.reverse()
            stack.extend(chosen)


def by_type(reader: object, node: Node, scope: Scope, scoped: Collection[str]) -> Entered | None:
    """What ``reader`` has for a node's type (``_on_TYPE``); where it has nothing, types of ``scoped`` open a scope of their own."""
    handler = getattr(reader, f"_on_{node.type}", None)
    if handler is not None:
        entered: Entered | None = handler(node, scope)
        return entered
    if node.type in scoped:
        inner = scope.inner()
        return [(child, inner) for child in node.named_children]
    return None


@dataclass(slots=True)
class Notes:
    """What is noted of one file while it is read; equal uses are kept once, with their first line."""

    language: Language
    module: str = ""
    symbols: list[Symbol] = field(default_factory=list)
    uses: dict[tuple[object, ...], Use] = field(default_factory=dict)
    imports: list[Import] = field(default_factory=list)
    marks: dict[tuple[str, ...], Mark] = field(default_factory=dict)
    open: bool = False

    def use(
        self,
        name: str,
        line: int,
        *,
        source: str = "",
        of: str = "",
        call: Call | None = None,
        on_type: bool = False,
        then: tuple[str, ...] = (),
        caught: tuple[str, ...] = (),
    ) -> None:
        key = (name, source, of, call, on_type, then, caught)
        if name and key not in self.uses:
            self.uses[key] = Use(
                name=name, line=line, source=source, of=of, call=call, on_type=on_type, then=then, caught=caught
            )

    def mark(self, mark: Mark) -> None:
        self.marks.setdefault((mark.kind, mark.name, mark.role, mark.scope, mark.detail), mark)

    def facts(self) -> FileFacts:
        return FileFacts(
            language=self.language,
            module=self.module,
            symbols=tuple(self.symbols),
            uses=tuple(self.uses.values()),
            imports=tuple(self.imports),
            marks=tuple(self.marks.values()),
            open=self.open,
        )
