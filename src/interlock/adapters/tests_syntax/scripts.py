"""TypeScript and JavaScript test files to their tests by tree-sitter: jest, vitest, mocha, node:test, playwright; judging is core's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final

from interlock.adapters.tests_syntax import script_flow, script_swaps
from interlock.adapters.tests_syntax.script_flow import Flow
from interlock.adapters.tests_syntax.script_nodes import FUNCTIONS, text
from interlock.core.gate.test_code import Assertion, Mark, TestCode, TestFile

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

SUFFIXES: Final = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")
_TESTS: Final = frozenset({"it", "test", "specify", "fit", "ftest", "xit", "xtest", "xspecify"})
_GROUPS: Final = frozenset({"describe", "suite", "context", "fdescribe", "xdescribe", "xcontext"})
_OFF: Final = frozenset({"skip", "only", "todo", "failing", "fails", "fixme", "skipIf", "runIf"})
_DEEPEST: Final = 4
# Where runners look for tests; a test that goes on in another place is run by none of them.
_COLLECTED: Final = re.compile(
    r"(?:.*/)?(?:[^/]*[._-](?:test|spec)s?|test|[^/]*[.](?:cy|e2e))\.[cm]?[jt]sx?|(?:.*/)?(?:__tests__|tests?|specs?|e2e)/.*"
)
# A helper that cannot be read here: what is believed by its name on the head, and what is missed when it is gone.
_MAY_ASSERT: Final = re.compile(r"(?:assert|check|verify|ensure|should|validate|expect)(?=[A-Z_]|$)")
_ASSERTS: Final = re.compile(r"(?:assert|expect|verify)(?=[A-Z_])")
_TRUST: Final = 99


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One test or named function of a file before its calls are resolved."""

    path: str
    names: tuple[str, ...]
    line: int
    flow: Flow
    marks: tuple[Mark, ...]
    cases: int | None
    is_test: bool
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A file that could be read: its tests and functions, and what holds for all of it."""

    path: str
    found: tuple[Found, ...]
    marks: tuple[Mark, ...]
    products: frozenset[str]
    swaps: Mapping[str, Mark]


def parse(path: str, data: bytes) -> Parsed | None:
    """The tests of a file; None when it is not what its name says."""
    tree = _parser(path.rpartition(".")[2]).parse(data)
    if tree.root_node.has_error and not tree.root_node.children:
        return None
    marks: list[Mark] = []
    found = tuple(_walk(path, tree.root_node, (), (), marks))
    marks += script_flow.file_marks(tree.root_node)
    marks += script_swaps.own_judges(tree.root_node)
    return Parsed(
        path=path,
        found=found,
        marks=tuple(marks),
        products=frozenset(script_swaps.products(tree.root_node, path)),
        swaps=script_swaps.swaps(tree.root_node, path),
    )


@cache
def _parser(suffix: str) -> Parser:
    from tree_sitter import Language, Parser

    if suffix in ("ts", "mts", "cts"):
        import tree_sitter_typescript as typescript

        return Parser(Language(typescript.language_typescript()))
    if suffix == "tsx":
        import tree_sitter_typescript as typescript

        return Parser(Language(typescript.language_tsx()))
    import tree_sitter_javascript as javascript

    return Parser(Language(javascript.language()))


def _walk(path: str, node: Node, group: tuple[str, ...], marks: tuple[Mark, ...], only: list[Mark]) -> Iterator[Found]:
    for child in node.named_children:
        called = _called(child) if child.type == "call_expression" else None
        if called is not None and called.root in _GROUPS | _TESTS:
            own = (*marks, *_marks(child, called, only))
            title, body = called.title, called.body
            if called.root in _GROUPS:
                if body is not None:
                    yield from _walk(path, body, (*group, title), own, only)
                continue
            yield _test(path, child, called, (*group, title), own)
            continue
        named = _named_function(child)
        if named is not None:
            name, body = named
            flow = script_flow.flow_of(body)
            yield Found(
                path=path,
                names=(name,),
                line=child.start_point[0] + 1,
                flow=flow,
                marks=tuple(flow.marks),
                cases=1,
                is_test=False,
                body=text(body),
            )
        yield from _walk(path, child, group, marks, only)


def _test(path: str, node: Node, called: _Called, names: tuple[str, ...], marks: tuple[Mark, ...]) -> Found:
    flow = script_flow.flow_of(called.body) if called.body is not None else Flow()
    return Found(
        path=path,
        names=names,
        line=node.start_point[0] + 1,
        flow=flow,
        marks=(*marks, *flow.marks),
        cases=called.cases,
        is_test=True,
        body=" ".join(text(called.body).split()) if called.body is not None else "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Called:
    """``it.skip.each(rows)("title", {options}, body)`` taken apart."""

    root: str
    words: tuple[str, ...]
    title: str
    options: str
    body: Node | None
    cases: int | None


def _called(node: Node) -> _Called | None:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None or arguments.type != "arguments":
        return None
    cases: int | None = 1
    while function is not None and function.type == "call_expression":
        rows = function.child_by_field_name("arguments")
        inner = function.child_by_field_name("function")
        if inner is not None and text(inner).endswith((".each", ".for")):
            cases = script_flow.rows_of(rows.named_children[0]) if rows is not None and rows.named_children else None
        function = inner
    words = tuple(text(function).split(".")) if function is not None else ()
    if not words or not all(re.fullmatch(r"\w+", word) for word in words):
        return None
    if words[0] == "test" and len(words) > 1 and words[1] in ("describe", "suite"):
        words = (words[1], *words[2:])
    given = arguments.named_children
    body = next((each for each in reversed(given) if each.type in FUNCTIONS), None)
    options = " ".join(text(each) for each in given if each.type == "object")
    if not given or given[0].type not in ("string", "template_string", "identifier", "binary_expression"):
        return None
    return _Called(
        root=words[0],
        words=words[1:],
        title=text(given[0]).strip("'\"`"),
        options=options,
        body=body.child_by_field_name("body") if body is not None else None,
        cases=cases,
    )


def _marks(node: Node, called: _Called, only: list[Mark]) -> Iterator[Mark]:
    line = node.start_point[0] + 1
    words = [word for word in called.words if word in _OFF]
    if called.root.startswith("x"):
        words.append(called.root)
    if called.root.startswith("f"):
        words.append("only")
    if re.search(r"\b(skip|todo)\s*:\s*(?!false\b)", called.options):
        words.append("skip")
    if re.search(r"\bonly\s*:\s*true\b", called.options):
        words.append("only")
    for word in words:
        if word == "only":
            only.append(Mark(line=line, key="only", what="sets all others aside by only"))
        elif word in ("skipIf", "runIf"):
            yield Mark(line=line, key=word, what=f"is set aside by {word}", declared="platform" in text(node)[:200])
        else:
            yield Mark(line=line, key="skip", what=f"is set aside by {word}")
    if called.root in _TESTS and called.body is None:
        yield Mark(line=line, key="no body", what="has no body")


def _named_function(node: Node) -> tuple[str, Node] | None:
    name, value = node.child_by_field_name("name"), node
    if node.type == "variable_declarator":
        found = node.child_by_field_name("value")
        if found is None or found.type not in FUNCTIONS:
            return None
        value = found
    elif node.type not in ("function_declaration", "method_definition"):
        return None
    body = value.child_by_field_name("body")
    return (text(name), body) if name is not None and body is not None else None


def resolve(files: Mapping[str, Parsed], *, head: bool) -> dict[str, TestFile]:
    """The tests of all files of one side, with calls of functions that one of them holds; see python.resolve."""
    table: dict[str, list[Found]] = {}
    for parsed in files.values():
        for found in parsed.found:
            if not found.is_test:
                table.setdefault(found.names[-1], []).append(found)
    return {path: _file(parsed, table, head=head) for path, parsed in files.items()}


def _file(parsed: Parsed, table: Mapping[str, list[Found]], *, head: bool) -> TestFile:
    tests = []
    for found in parsed.found:
        asserts = tuple(_asserts(found, table, head=head, depth=0))
        if found.is_test or asserts:
            tests.append(
                TestCode(
                    name=" > ".join(found.names) if found.is_test else f"function {found.names[-1]}",
                    kind="test" if found.is_test else "helper",
                    line=found.line,
                    asserts=asserts,
                    marks=found.marks,
                    cases=found.cases,
                    body=found.body if len(found.body) > len("{ }") else "",
                    collected=bool(_COLLECTED.fullmatch(parsed.path)),
                    ids=_identities(found) if found.is_test else (),
                )
            )
    return TestFile(
        path=parsed.path, tests=tuple(tests), marks=parsed.marks, products=parsed.products, swaps=parsed.swaps
    )


def _asserts(found: Found, table: Mapping[str, list[Found]], *, head: bool, depth: int) -> Iterator[Assertion]:
    yield from found.flow.found
    for name, line, times in found.flow.calls:
        known = table.get(name, ())
        target = next((each for each in known if each.path == found.path), known[0] if known else None)
        if target is not None and target is not found and depth < _DEEPEST:
            for each in _asserts(target, table, head=head, depth=depth + 1):
                yield replace(each, weight=each.weight * times, line=line)
        elif target is None and name not in ("expect", "assert") and (_MAY_ASSERT if head else _ASSERTS).match(name):
            weight = _TRUST if head else 1
            yield Assertion(text=f"{name}()", shape=f"{name}()", line=line, weight=weight * times, trusted=True)


def _identities(found: Found) -> tuple[str, ...]:
    """As reporters name it: vitest by file and path of titles, jest-junit by the titles alone."""
    spaced, arrows = " ".join(found.names), " > ".join(found.names)
    return (
        f"{found.path}::{arrows}",
        f"{spaced}::{spaced}",
        f"{' '.join(found.names[:-1])}::{found.names[-1]}",
        spaced,
    )
