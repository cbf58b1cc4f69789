"""Reads a Python file into facts: by the standard parser, and where that fails by the outline of a tolerant one."""

from __future__ import annotations

import ast
import gc
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from interlock.adapters.facts.py_aside import aside
from interlock.adapters.facts.py_definitions import Definitions
from interlock.adapters.facts.py_marks import Marks
from interlock.adapters.facts.py_uses import Uses
from interlock.core.merge.facts import FileFacts, Import
from interlock.core.merge.meet.modules import python_parts

SUFFIXES: Final = (".py", ".pyi")
MOST_BYTES: Final = 1_500_000
_OPEN: Final = re.compile(r"^\s*(?:globals\(\)(?:\[|\.update)|sys\.modules\[__name__\]\s*=|exec\()", re.MULTILINE)


def read(path: str, data: bytes) -> FileFacts:
    """The facts of a Python file.  One that no parser understands carries the reason as its fault."""
    module = ".".join(python_parts(path))
    if len(data) > MOST_BYTES:
        return FileFacts(
            language="python", module=module, fault=f"The file has more than {MOST_BYTES // 1_000_000} MB."
        )
    try:
        with _uncollected():
            return _facts(path, module, data, _parsed(data))
    except (SyntaxError, ValueError, LookupError):
        from interlock.adapters.facts.py_outline import outline

        return outline(module, data)
    except (RecursionError, MemoryError):
        return FileFacts(language="python", module=module, fault="The file is nested deeper than can be read.")


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the collector of cycles, which goes through a growing tree again and again: a tree has none, and it costs half the time."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def _parsed(data: bytes) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(data)


def _facts(path: str, module: str, data: bytes, tree: ast.Module) -> FileFacts:
    definitions = Definitions(module)
    definitions.read(tree)
    marks = Marks(module, path)
    marks.aside, asked = aside(tree, data)
    for name in sorted(asked):
        marks.note("env", name, 1, "uses", detail="default")
    uses = Uses(module, marks)
    uses.read(tree)
    imports = tuple(_imports(tree))
    wide = any(each.name == "__getattr__" and not each.owner for each in definitions.symbols)
    return FileFacts(
        language="python",
        module=module,
        symbols=tuple(definitions.symbols),
        uses=uses.told(),
        imports=imports,
        marks=(*definitions.marks, *marks.told()),
        open=wide or _OPEN.search(data.decode("utf-8", "replace")) is not None,
    )


def _imports(tree: ast.Module) -> list[Import]:
    """What the file binds at its top by importing."""
    from interlock.adapters.facts.py_definitions import at_top

    found = []
    for node in at_top(tree.body):
        if isinstance(node, ast.Import):
            for alias in node.names:
                local = alias.asname or alias.name.partition(".")[0]
                found.append(Import(module=alias.name, line=node.lineno, local=local))
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            found += [
                Import(module=source, line=node.lineno, name=alias.name, local=alias.asname or alias.name)
                for alias in node.names
            ]
    return found
