"""Python test files to their tests by ``ast``: every test and every helper that asserts, with calls between them resolved."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from interlock.adapters.tests_syntax import (
    python_asserts,
    python_cases,
    python_fixed,
    python_made,
    python_marks,
    python_swaps,
)
from interlock.adapters.tests_syntax.python_flow import Flow, Function, flow_of, rows_of
from interlock.adapters.tests_syntax.python_names import dotted
from interlock.core.gate.test_code import Assertion, Mark, TestCode, TestFile, is_test_side

_FILE: Final = re.compile(r"(?:.*/)?(?:test_[^/]*|[^/]*_test|tests)\.py")
_DEEPEST: Final = 4
_ASSERTS: Final = re.compile(r"_*(?:assert|expect|verify)_")
_TRUST: Final = 99
_TABLES: Final = re.compile(r"parametrize|\b(?:given|example|settings)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One function of a file before its calls are resolved."""

    path: str
    name: str
    group: tuple[str, ...]
    node: Function
    flow: Flow
    marks: tuple[Mark, ...]
    cases: int | None
    is_test: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A file that could be read: its functions, and what holds for all of it."""

    path: str
    found: tuple[Found, ...]
    marks: tuple[Mark, ...]
    tree: ast.Module
    products: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """What holds for the functions of a block: names with a fixed value, functions that may be decorators, unittest's own classes."""

    path: str
    platform: str
    fixed: python_fixed.Fixed
    known: Mapping[str, Function]
    quiet: frozenset[str]
    plain: frozenset[str]


def parse(path: str, data: bytes, platform: str) -> Parsed | None:
    """The functions of a file; None when it is not Python."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    around = _Around(
        path=path,
        platform=platform,
        fixed=python_fixed.fixed_of(tree.body, [*ast.walk(tree)], {}),
        known={node.name: node for node in tree.body if isinstance(node, Function)},
        quiet=python_made.quiet_names(tree),
        plain=python_cases.plain_cases(tree),
    )
    return Parsed(
        path=path,
        tree=tree,
        products=python_swaps.products(tree),
        found=tuple(_functions(around, tree.body, (), (), unit=False, again=python_swaps.rebound(tree.body))),
        marks=(
            *python_marks.of_module(tree, platform),
            *(python_marks.of_runs(tree) if _FILE.fullmatch(path) else ()),
            *(python_swaps.of_loading(tree.body, unit=False) if _FILE.fullmatch(path) else ()),
            *python_marks.of_setups(tree.body),
        ),
    )


def _functions(
    around: _Around,
    body: list[ast.stmt],
    group: tuple[str, ...],
    marks: tuple[Mark, ...],
    *,
    unit: bool,
    again: Mapping[str, Mark],
) -> Iterator[Found]:
    path, platform = around.path, around.platform
    for node in body:
        if isinstance(node, ast.If | ast.Try | ast.With):
            yield from _functions(around, node.body, group, marks, unit=unit, again=again)
        if isinstance(node, ast.ClassDef):
            own = (*marks, *python_marks.of_decorators(node.decorator_list, platform))
            own += tuple(python_marks.of_module(ast.Module(body=_assignments(node.body), type_ignores=[]), platform))
            cases = any("TestCase" in dotted(each) for each in node.bases)
            plain = around.plain & {dotted(each) for each in node.bases}
            own += tuple(python_swaps.of_loading(node.body, unit=True)) if cases else ()
            own += tuple(python_marks.of_setups(node.body))
            inside = python_swaps.rebound(node.body)
            inside |= python_cases.never_awaited(node.body) if plain else {}
            yield from _functions(around, node.body, (*group, node.name), own, unit=cases, again=inside)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            flow = flow_of(node, around.fixed, around.quiet)
            yield Found(
                path=path,
                name=node.name,
                group=group,
                node=node,
                flow=flow,
                marks=(
                    *marks,
                    *python_marks.of_decorators(node.decorator_list, platform),
                    *(python_marks.of_retries(node.decorator_list) if node.name.startswith("test") else ()),
                    *python_marks.of_calls(node.body),
                    *flow.marks,
                    *([again[node.name]] if node.name in again else ()),
                    *python_swaps.wrapped_away(node, around.known),
                ),
                cases=_cases(node),
                is_test=node.name.startswith("test") and (unit or not group or group[-1].startswith("Test")),
            )


def _assignments(body: list[ast.stmt]) -> list[ast.stmt]:
    return [node for node in body if isinstance(node, ast.Assign | ast.AnnAssign)]


def _cases(node: Function) -> int | None:
    """The rows of all tables of a test together; None when one is not written out."""
    total: int | None = 1
    for each in node.decorator_list:
        if isinstance(each, ast.Call) and dotted(each.func).endswith("parametrize"):
            values = (
                each.args[1]
                if len(each.args) > 1
                else next((k.value for k in each.keywords if k.arg == "argvalues"), None)
            )
            rows = rows_of(values) if values is not None else None
            total = None if rows is None or total is None else total * rows
    return total


def _table(node: Function) -> str:
    """The text of all tables of a test."""
    return "\n".join(ast.unparse(each) for each in node.decorator_list if _TABLES.search(ast.unparse(each)[:60]))


def resolve(files: Mapping[str, Parsed], *, head: bool) -> dict[str, TestFile]:
    """The tests of all files of one side.

    A call counts with what the called function asserts, when one of the files holds it.  A helper that none of them holds is believed
    by its name on the head, since the work did not touch it.
    """
    table: dict[str, list[Found]] = {}
    for parsed in files.values():
        for found in parsed.found:
            if is_test_side(found.path):
                table.setdefault(found.name, []).append(found)
    near = frozenset(name for path in files if is_test_side(path) for name in _modules(path))
    return {path: _file(parsed, table, near, head=head) for path, parsed in files.items()}


def _modules(path: str) -> Iterator[str]:
    """As a file of the tests may be imported from beside it or from above."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    yield from (".".join(parts[at:]) for at in range(len(parts)))


def _file(parsed: Parsed, table: Mapping[str, list[Found]], near: frozenset[str], *, head: bool) -> TestFile:
    tests = []
    for found in parsed.found:
        asserts = tuple(_asserts(found, table, head=head, depth=0))
        if found.is_test or asserts:
            tests.append(_code(found, asserts))
    return TestFile(
        path=parsed.path,
        tests=tuple(tests),
        marks=parsed.marks,
        products=parsed.products,
        swaps=python_swaps.swaps(parsed.tree, near),
    )


def _asserts(found: Found, table: Mapping[str, list[Found]], *, head: bool, depth: int) -> Iterator[Assertion]:
    yield from found.flow.found
    for call, times, guard in found.flow.calls:
        name = python_asserts.name_of(call.func)
        target = _target(call, name, found, table)
        if target is not None and depth < _DEEPEST:
            for each in _asserts(target, table, head=head, depth=depth + 1):
                yield replace(each, weight=each.weight * times, line=call.lineno, guard=guard or each.guard, bound=-1)
        elif name not in table and (python_asserts.is_helper(call) if head else _ASSERTS.match(name)):
            text = python_asserts.text_of(call)
            weight = _TRUST if head else 1
            yield Assertion(text=text, shape=f"{name}()", line=call.lineno, weight=weight * times, trusted=True)


def _target(call: ast.Call, name: str, found: Found, table: Mapping[str, list[Found]]) -> Found | None:
    """The helper that is called: a plain name, a method of self, or anything that is named like a helper that asserts."""
    own = isinstance(call.func, ast.Attribute) and dotted(call.func.value) in ("self", "cls")
    if not (isinstance(call.func, ast.Name) or own or python_asserts.is_helper(call)):
        return None
    known = [each for each in table.get(name, ()) if each is not found]
    return next((each for each in known if each.path == found.path), known[0] if known else None)


def _code(found: Found, asserts: tuple[Assertion, ...]) -> TestCode:
    name = "::".join((*found.group, found.name))
    return TestCode(
        name=name,
        kind="test" if found.is_test else "helper",
        line=found.node.lineno,
        asserts=asserts,
        marks=found.marks,
        cases=found.cases,
        table=_table(found.node),
        body=_body(found.node),
        collected=found.is_test and bool(_FILE.fullmatch(found.path)),
        ids=(_identity(found),),
        judges=python_asserts.is_helper_name(found.name),
    )


def _identity(found: Found) -> str:
    """As pytest names it in its report: the module with dots, classes, the function."""
    module = found.path.removesuffix(".py").replace("/", ".")
    return f"{'.'.join((module, *found.group))}::{found.name}"


def _body(node: Function) -> str:
    """The body's text without its docstring; empty where there is nothing that could be recognised."""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    text = "\n".join(ast.unparse(each) for each in body)
    return "" if text in ("pass", "...", "") else text
