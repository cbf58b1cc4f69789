"""Modules of the work that would be imported in place of what the tests are to prove: a second one of that name, compiled files."""

from __future__ import annotations

import ast
import posixpath
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Final

from interlock.core.gate.changes import Change
from interlock.core.gate.test_code import is_test_side

Both = Callable[[str], tuple[bytes | None, bytes | None]]
"""A path → its bytes on the base and on the head."""
Files = Callable[[], Sequence[str]]
ReadMany = Callable[[Sequence[str]], Sequence[bytes | None]]

_ROOTS: Final = ("", "src", "lib", "python")
RUNNERS: Final = frozenset({"pytest", "_pytest", "pluggy", "iniconfig", "unittest", "coverage", "nose2"})
"""Modules that run tests; one of the work among the tests would be taken for them."""
_LIBRARIES: Final = frozenset(
    {
        "hypothesis",
        "mock",
        "numpy",
        "pandas",
        "freezegun",
        "responses",
        "syrupy",
        "hamcrest",
        "assertpy",
        "approvaltests",
    }
)
"""Libraries by which tests judge."""
_MOST: Final = 500


class Trees:
    """What the base and the head hold, without reading it: ``files`` are the base's, ``read_many`` gives contents of the base.

    Without ``files`` each path is asked for, and no test is known.
    """

    def __init__(self, both: Both, changes: Sequence[Change], files: Files | None, read_many: ReadMany | None) -> None:
        self._both, self._changes, self._files, self._read_many = both, changes, files, read_many

    @cached_property
    def _sides(self) -> tuple[frozenset[str], frozenset[str]] | None:
        if self._files is None:
            return None
        base = frozenset(self._files())
        gone = {each.path for each in self._changes if each.status == "D"}
        return base, (base - gone) | {each.path for each in self._changes if each.status != "D"}

    def has(self, path: str) -> tuple[bool, bool]:
        """Whether the base has the file, and the head."""
        if self._sides is None:
            old, new = self._both(path)
            return old is not None, new is not None
        return path in self._sides[0], path in self._sides[1]

    @property
    def base_files(self) -> frozenset[str]:
        """All files of the base; empty where they are not told."""
        return self._sides[0] if self._sides is not None else frozenset()

    @cached_property
    def test_files(self) -> tuple[str, ...]:
        """The Python files of the base's tests."""
        return tuple(sorted(each for each in self.base_files if each.endswith(".py") and is_test_side(each)))

    @cached_property
    def tests(self) -> tuple[bytes, ...]:
        """What they hold, of as many as can be read soon."""
        read = self._read_many(self.test_files[:_MOST]) if self._read_many is not None and self.test_files else ()
        return tuple(each for each in read if each is not None)


def shadows(change: Change, trees: Trees, roots: Sequence[str]) -> Iterator[str]:
    """What of the base a changed file would be taken for; ``roots`` are folders besides the tests' from which modules are imported."""
    path = change.path
    if change.status == "D":
        return
    if path.endswith((".pyc", ".pyo")) or "__pycache__" in path.split("/"):
        yield "Python runs it in place of the source"
        return
    for folder, module, rest in _as_modules(path):
        among_tests = bool(folder) and is_test_side(f"{folder}/x.py")
        if folder not in roots and (not among_tests or trees.has(_join(folder, "__init__.py"))[1]):
            continue
        if among_tests and module in RUNNERS:
            yield f"it would be taken for {module}, which runs the tests"
            return
        stood = trees.has(path)[0] and (folder in roots or not trees.has(_join(folder, "__init__.py"))[0])
        if change.status == "A" and folder in roots and _of_library(module, folder, trees):
            yield f"the tests would import it in place of the {module} that is installed"
            return
        other = next((each for each in _homes(module, rest, folder, trees) if each != path), None)
        if other is not None and not stood and _imported(module, trees):
            yield f"the tests would import it in place of {other}"
            return


def _of_library(module: str, folder: str, trees: Trees) -> bool:
    """Whether tests of the base import a module of that name which the base has not: Python's own, or one that judges."""
    known = module in sys.stdlib_module_names or module in _LIBRARIES
    says = re.compile(rf"(?m)^\s*(?:import\s+(?:[\w., ]+,\s*)?|from\s+){re.escape(module)}\b".encode())
    return known and not any(_homes(module, module, folder, trees)) and any(map(says.search, trees.tests))


def _as_modules(path: str) -> Iterator[tuple[str, str, str]]:
    """Each way in which a file is part of a module: the folder that would be on the path, the module, and the rest of the path."""
    if not re.search(r"\.(py|so|pyd)$", path):
        return
    parts = path.split("/")
    for at, part in enumerate(parts):
        yield "/".join(parts[:at]), part.partition(".")[0], "/".join(parts[at:])


def _homes(module: str, rest: str, folder: str, trees: Trees) -> Iterator[str]:
    """Where the base has that module, and still has it on the head.

    A folder without ``__init__.py`` comes behind every module and package of its name: it hides only what is such a folder too.
    """
    whole = "/" not in rest or trees.has(_join(_join(folder, module), "__init__.py"))[1]
    for root in _ROOTS:
        if root != folder:
            firm = [_join(root, each) for each in (f"{module}/__init__.py", f"{module}.py")]
            found = [name for name in firm if trees.has(name) == (True, True)]
            same = _join(root, rest)
            if whole:
                yield from found
            if not found and trees.has(same) == (True, True):
                yield same


def _imported(module: str, trees: Trees) -> bool:
    """Whether a test of the base imports the module; where the tests are not told, it is taken that one does."""
    says = re.compile(rf"(?m)^\s*(?:import|from)\s.*\b{re.escape(module)}\b|['\"]{re.escape(module)}\b".encode())
    return not trees.tests or len(trees.test_files) > _MOST or any(map(says.search, trees.tests))


def asserting_helpers(path: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    """Functions of a helper that ask for less than before, by themselves or by what they call; a new name for one asks for no less."""
    old, new = _demands(before), _demands(after)
    everything = {shape for shapes, _ in new.values() for shape in shapes}
    for name, (shapes, _) in old.items():
        if not _ASSERTS.match(name):
            continue
        own, calls = new.get(name, (everything, set()))
        now = own.union(*(new[each][0] for each in calls if each in new))
        lost = sorted(shapes - now)
        if lost:
            yield f"{name} of {posixpath.basename(path)} no longer asks for {lost[0][:60]}"


_ASSERTS: Final = re.compile(r"_?(assert|expect|check|verify)")


def _demands(data: bytes | None) -> dict[str, tuple[set[str], set[str]]]:
    """Function → what it demands, in shapes that no renaming of a value changes, and what it calls."""
    try:
        tree = ast.parse(data or b"")
    except (SyntaxError, ValueError, RecursionError):
        return {}
    found: dict[str, tuple[set[str], set[str]]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = list(ast.walk(node))
            shapes = {_shape(each.test) for each in inside if isinstance(each, ast.Assert)}
            names = [ast.unparse(each.func) for each in inside if isinstance(each, ast.Call)]
            found[node.name] = (shapes, {name.rpartition(".")[2] for name in names})
    return found


def _shape(test: ast.expr) -> str:
    names = list(dict.fromkeys(each.id for each in ast.walk(test) if isinstance(each, ast.Name)))
    return re.sub(
        r"[A-Za-z_]\w*", lambda word: f"v{names.index(word[0])}" if word[0] in names else word[0], ast.unparse(test)
    )


_REPORT: Final = re.compile(rb"--junit-?xml")


def looks_for_the_report(before: bytes | None, after: bytes | None) -> bool:
    """Whether a file of the product now looks for the report of the tests at the end of the run, and did not on the base."""
    old, new = before or b"", after or b""
    return bool(_REPORT.search(new)) and b"atexit" in new and not _REPORT.search(old)


def equals_everything(data: bytes | None) -> bool:
    """Whether a module has what is equal to whatever it is compared with: a class of its own, or mock's ANY."""
    if not data or not (b"__eq__" in data or b"mock" in data):
        return False
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return any(_equal_to_all(node) for node in ast.walk(tree))


def _equal_to_all(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef(name="__eq__", body=[*_, ast.Return(value=value)]) if value is not None:
            return _holds(value) and not any(isinstance(each, ast.If | ast.Raise) for each in ast.walk(node))
        case ast.Assign(targets=[ast.Name(id="__eq__")], value=ast.Lambda(body=value)):
            return _holds(value)
        case ast.ImportFrom(module="unittest.mock" | "mock", names=names):
            return any(each.name == "ANY" for each in names)
        case ast.Attribute(value=ast.Name(id="mock"), attr="ANY"):
            return True
    return False


def _holds(value: ast.expr) -> bool:
    """Whether it is true, or asks only whether the other one is a number or a text."""
    match value:
        case ast.Constant(value=held):
            return bool(held) and held is not NotImplemented
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
            names = [each.id for each in ast.walk(kinds) if isinstance(each, ast.Name)]
            return bool(names) and set(names) <= {
                "object",
                "int",
                "float",
                "complex",
                "str",
                "bytes",
                "list",
                "dict",
                "tuple",
            }
    return False


def imported_by_tests(path: str, trees: Trees) -> bool:
    """Whether a test of the base imports that file by its dotted name."""
    module = re.sub(r"^(src|lib|python)/", "", path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    package, _, last = module.rpartition(".")
    says = rf"import\s+{re.escape(module)}\b|from\s+{re.escape(module)}\s+import"
    if package:
        says += rf"|from\s+{re.escape(package)}\s+import\s.*\b{re.escape(last)}\b"
    pattern = re.compile(says.encode())
    return any(map(pattern.search, trees.tests))


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
