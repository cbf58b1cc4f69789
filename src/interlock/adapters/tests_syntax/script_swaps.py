"""JavaScript tests that replace what they test or what judges it: mocks of the subject, names bound again, an ``expect`` of their own."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from interlock.adapters.tests_syntax.script_nodes import FUNCTIONS, every, text
from interlock.core.gate.test_code import DOUBLE, Mark, is_test_side

if TYPE_CHECKING:
    from tree_sitter import Node

_JUDGES: Final = frozenset({"expect", "it", "test", "describe", "assert"})
_TOOLS: Final = re.compile(r"(?:@jest/|jest|vitest|@playwright/|node:|chai|sinon|mocha|@testing-library/)")
_SPIES: Final = re.compile(
    r"(?:jest|vi|sinon|mock|(?:t|test|it)\.mock)\.(?:spyOn|stub|method|replace)\(\s*[^,]+,\s*['\"`](\w+)"
)
_REAL: Final = re.compile(r"requireActual|importActual|importOriginal")


def own_judges(root: Node) -> Iterator[Mark]:
    """Functions of the file that stand in for the runner's: ``const expect = () => …``."""
    for node in every(root):
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        made = node.type == "function_declaration" or (
            node.type == "variable_declarator" and value is not None and value.type in (*FUNCTIONS, "object")
        )
        if made and text(name) in _JUDGES:
            line = node.start_point[0] + 1
            yield Mark(line=line, key=f"own {text(name)}", what=f"changes what judges it: its own {text(name)}")


def products(root: Node, path: str) -> dict[str, str]:
    """Names that a file imports from what is tested, with the module as it is written."""
    return {name: module for name, module in _imports(root) if not _TOOLS.match(module) and not _of_tests(module, path)}


def swaps(root: Node, path: str) -> dict[str, Mark]:
    """Names that the tests put in place themselves: by a mock of their module, by a function, from another file of the tests."""
    found: dict[str, Mark] = {}
    imported = list(_imports(root))
    for node in root.named_children:
        for each in (node, *node.named_children):
            value = each.child_by_field_name("value")
            made = each.type == "function_declaration" or (
                each.type == "variable_declarator" and value is not None and value.type in FUNCTIONS
            )
            name = text(each.child_by_field_name("name"))
            if made and not any(re.search(rf"\b{re.escape(one)}\b", text(each)) for one, _ in imported):
                found[name] = _swap(name, each, "defines itself")
    for name, module in imported:
        if _of_tests(module, path):
            found[name] = _swap(name, root, f"takes from {module}")
    for name, node, how in _replaced(root, imported):
        found[name] = _swap(name, node, how)
    for name, node in _doubles(root):
        found[name] = Mark(
            line=node.start_point[0] + 1,
            key=DOUBLE,
            what=f"asserts on {name}, which it makes itself, where the base asserted on what is tested",
        )
    return found


def _replaced(root: Node, imported: list[tuple[str, str]]) -> Iterator[tuple[str, Node, str]]:
    """Names whose module is mocked, or in whose place a spy answers."""
    for node in every(root):
        if node.type != "call_expression" or _REAL.search(text(node)):
            continue
        called = re.match(r"(?:jest|vi)\.(?:mock|doMock)\(\s*['\"`]([^'\"`]+)", text(node))
        yield from ((name, node, "mocks") for name, module in imported if called and module == called[1])
        spied = _SPIES.match(text(node))
        if spied and _answers(node):
            yield spied[1], node, "puts something in place of"


def _answers(node: Node) -> bool:
    """Whether a spy is given an answer of its own, so that the real function does not run."""
    around = node.parent
    word = (
        text(around.child_by_field_name("property"))
        if around is not None and around.type == "member_expression"
        else ""
    )
    arguments = node.child_by_field_name("arguments")
    third = arguments is not None and len(arguments.named_children) > 2
    return third or bool(re.match(r"mock(?:Implementation|Return|Resolved|Rejected)|returns|resolves|callsFake", word))


def _doubles(root: Node) -> Iterator[tuple[str, Node]]:
    """Names that a file gives to a double with an answer of its own."""
    for node in every(root):
        value = node.child_by_field_name("value")
        if node.type == "variable_declarator" and re.match(
            r"(?:(?:jest|vi)\.fn|sinon\.stub|mock\.fn|t\.mock\.fn)\(", text(value)
        ):
            yield text(node.child_by_field_name("name")), node


def _imports(root: Node) -> Iterator[tuple[str, str]]:
    yield from _required(root)
    for node in root.named_children:
        source = node.child_by_field_name("source")
        if node.type != "import_statement" or source is None:
            continue
        module = text(source).strip("'\"")
        for each in every(node):
            if each.type == "import_specifier":
                yield text(each.child_by_field_name("alias") or each.child_by_field_name("name")), module
            elif each.type in ("namespace_import", "import_clause"):
                yield from ((text(one), module) for one in each.named_children if one.type == "identifier")


def _required(root: Node) -> Iterator[tuple[str, str]]:
    """Names of ``const { a, b: c } = require("./x")`` and ``const x = require("./x")``."""
    for node in root.named_children:
        for each in node.named_children if node.type in ("lexical_declaration", "variable_declaration") else ():
            module = re.fullmatch(
                r"require\(\s*['\"`]([^'\"`]+)['\"`]\s*\)(?:\.\w+)?", text(each.child_by_field_name("value"))
            )
            name = each.child_by_field_name("name")
            if module is None or name is None:
                continue
            if name.type == "identifier":
                yield text(name), module[1]
            for part in name.named_children if name.type == "object_pattern" else ():
                value = part.child_by_field_name("value") or part
                yield text(value), module[1]


def _of_tests(module: str, path: str) -> bool:
    if not module.startswith("."):
        return False
    found = posixpath.normpath(posixpath.join(posixpath.dirname(path), module))
    return is_test_side(f"{found}.ts")


def _swap(name: str, node: Node, how: str) -> Mark:
    what = f"asserts on {name}, which it {how}, where the base took it from what is tested"
    return Mark(line=node.start_point[0] + 1, key=f"swap {name}", what=what)
