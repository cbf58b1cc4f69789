"""Names in a conftest.py as they were imported, so that another name for a thing does not hide it; what may be done with it is conftests'."""

from __future__ import annotations

import ast
from typing import Final

EXITS: Final = frozenset(
    {
        "sys.exit",
        "os._exit",
        "os.abort",
        "pytest.exit",
        "atexit.register",
        "os.execv",
        "os.execve",
        "os.execvp",
        "os.kill",
    }
    | {
        "os.killpg",
        "signal.raise_signal",
        "exit",
        "quit",
        "faulthandler.dump_traceback_later",
        "threading._register_atexit",
    }
)
"""Calls that end the run or wait for its end."""
JUDGES: Final = frozenset({"pytest", "_pytest", "unittest", "builtins", "pluggy", "sys", "coverage"})
"""Modules that judge."""


class Names:
    """Resolves names of one module by its imports, and by plain assignments of what was imported."""

    def __init__(self, tree: ast.Module) -> None:
        self._known: dict[str, str] = {}
        self._own: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for each in node.names:
                    name = each.asname or each.name.partition(".")[0]
                    self._known[name] = each.name if each.asname else name
            elif isinstance(node, ast.ImportFrom) and not node.level:
                for each in node.names:
                    self._known[each.asname or each.name] = f"{node.module}.{each.name}"
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._own.add(node.name)
        self._follow(tree)

    def _follow(self, tree: ast.Module) -> None:
        """Names that are given to what was imported, or to parts of the running test."""
        tops = set(self._known.values()) | set(self._known)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                name = self.dotted(node.value)
                if name.startswith(("request.", "pytestconfig.")) or (
                    node in tree.body and name.partition(".")[0] in tops
                ):
                    self._known.setdefault(node.targets[0].id, name)

    def dotted(self, node: ast.expr) -> str:
        """The dotted name of an expression, by what was imported; empty where it has none."""
        if isinstance(node, ast.Attribute):
            before = self.dotted(node.value)
            return f"{before}.{node.attr}" if before else node.attr
        return self._known.get(node.id, node.id) if isinstance(node, ast.Name) else ""

    def imported(self, name: str) -> bool:
        """Whether a dotted name begins with something that was imported."""
        return any(
            name == each or name.startswith(f"{each}.") for each in self._known.values() if "request" not in each
        )

    def is_own(self, name: str) -> bool:
        """Whether the module defines that name itself."""
        return name in self._own
