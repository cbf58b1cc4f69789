"""What a conftest.py may do to the judgement of tests: hooks, plugins, exits, patches and marks that are new in it; fixtures are the work's."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Final

from interlock.core.gate.conftest_names import EXITS, JUDGES, Names

_MAY: Final = frozenset(
    {
        "pytest_addoption",
        "pytest_addhooks",
        "pytest_report_header",
        "pytest_make_parametrize_id",
        "pytest_asyncio_loop_factories",
    }
)
_SETS_ASIDE: Final = frozenset({"pytest.skip", "pytest.xfail", "pytest.importorskip", "skip", "xfail", "add_marker"})
_SETTINGS: Final = ("collect_ignore", "collect_ignore_glob", "pytestmark")
_RUNS_TEXT: Final = frozenset({"exec", "eval", "compile", "globals", "vars", "locals", "__import__", "__builtins__"})
_INNER: Final = frozenset(
    {"__dict__", "__code__", "__globals__", "__builtins__", "__class__", "_getframe", "settrace", "setprofile"}
)
_HOOKS: Final = re.compile(
    r"pytest_(?!plugins$)(runtest|collect|session|pyfunc|fixture|assert|configure|unconfigure|report|generate|load|cmdline|ignore|itemcollected|deselected|internalerror|exception|plugin|warning|terminal)\w*"
)
_SPELT: Final = frozenset({"_exit", "runtest", "exitstatus", "PYTEST_ADDOPTS", "PYTEST_PLUGINS"})
_OF_SYS: Final = frozenset(
    {
        "argv",
        "stdin",
        "stdout",
        "stderr",
        "path",
        "platform",
        "executable",
        "version_info",
        "frozen",
        "_MEIPASS",
        "flags",
        "maxsize",
    }
)

Text = Callable[[str], bytes | None]
"""A module by its dotted name → its text in the work; None: it is none of this repository."""


def none(_module: str) -> bytes | None:
    """No module is of this repository."""
    return None


def weaker(
    before: bytes | None, after: bytes | None, module: Text = none, inherited: frozenset[str] = frozenset()
) -> Iterator[str]:
    """What is new in a conftest.py and can change what passes, in words; nothing for fixtures, options and helpers.

    ``inherited`` are fixtures of the folders above: one of these is no new one.
    """
    if after is None:
        if before is not None and _hooks(_tree(before)):
            yield "its hooks are gone"
        return
    new = _tree(after)
    if new is None:
        yield "it cannot be read any more"
        return
    old = _tree(before)
    known = _hooks(old)
    for name, text in _hooks(new).items():
        if known.get(name) != text:
            yield f"{name} is {'changed' if name in known else 'new'}"
    for name in known:
        if name not in _hooks(new):
            yield f"{name} is gone"
    taken = inherited | fixtures(before)
    before_acts = set(_acts(old, module, taken)) if old is not None else set()
    for each in dict.fromkeys(_acts(new, module, taken)):
        if each not in before_acts:
            yield each


def new_hooks(before: bytes | None, after: bytes | None) -> Iterator[str]:
    """Hooks that are new or changed in a file among the tests that is no conftest.py: it can only be there to be loaded as a plugin."""
    known = _hooks(_tree(before))
    for name, text in _hooks(_tree(after)).items():
        if name not in _SETTINGS and name != "pytest_plugins" and known.get(name) != text:
            yield f"{name} is {'changed' if name in known else 'new'}"


def plugins_taken(before: bytes | None, after: bytes | None, module: Text) -> Iterator[str]:
    """Modules of this repository with hooks that a file of tests newly names as plugins."""
    known = _plugins(_tree(before))
    for name in _plugins(_tree(after)):
        if name not in known:
            yield from (f"{hook} comes from {name}" for hook in _hooks(_tree(module(name))) if hook not in _SETTINGS)


def _plugins(tree: ast.Module | None) -> list[str]:
    values = [
        node.value
        for node in (tree.body if tree is not None else ())
        if isinstance(node, ast.Assign)
        and any(isinstance(each, ast.Name) and each.id == "pytest_plugins" for each in node.targets)
    ]
    words = [each.value for value in values for each in ast.walk(value) if isinstance(each, ast.Constant)]
    return [word for word in words if isinstance(word, str)]


def replaced(before: bytes | None, after: bytes | None, module: Text) -> Iterator[str]:
    """What a file of the tests newly puts in place of the product as soon as it is loaded, in words."""
    known = set(_when_loaded(_tree(before), module))
    yield from (each for each in dict.fromkeys(_when_loaded(_tree(after), module)) if each not in known)


def _when_loaded(tree: ast.Module | None, module: Text) -> Iterator[str]:
    names = Names(tree) if tree is not None else None
    for node in tree.body if tree is not None else ():
        if names is None or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                yield from _patches(part, names, module, for_all=True)
            yield from _writes(part, names, module)


def fixtures(data: bytes | None) -> frozenset[str]:
    """The names of the functions of a conftest.py; those that pytest has itself are no new ones either."""
    tree = _tree(data)
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)} if tree is not None else set()
    return frozenset(names | {"tmp_path", "tmpdir", "monkeypatch", "capsys", "capfd", "caplog", "request", "recwarn"})


def puts_on_path(before: bytes | None, after: bytes | None) -> bool:
    """Whether a conftest.py now changes where modules are looked for."""
    says = re.compile(rb"sys\.path|addsitedir|PYTHONPATH|syspath_prepend|meta_path|path_hooks")
    return bool(after and after != before and says.search(after))


def _tree(data: bytes | None) -> ast.Module | None:
    if data is None:
        return None
    try:
        return ast.parse(data)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _hooks(tree: ast.Module | None) -> dict[str, str]:
    """What pytest calls or reads by name, however it got its name, also in classes of plugins."""
    found: dict[str, str] = {}
    for node in ast.walk(tree) if tree is not None else ():
        names: list[str] = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [node.name] if _is_hook(node) else []
        elif isinstance(node, ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names = [each.asname or each.name for each in node.names]
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr | ast.For | ast.With):
            names = [
                each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
            ]
        for name in names:
            if (name.startswith("pytest_") and name not in _MAY) or name in _SETTINGS:
                found[name] = found.get(name, "") + ast.dump(node)
    return {name: text for name, text in found.items() if not _of_library(name, tree)}


def _of_library(name: str, tree: ast.Module | None) -> bool:
    """A module whose name only looks like a hook's: ``import pytest_asyncio``."""
    imports = (
        [each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names if not each.asname]
        if tree
        else []
    )
    return name in imports and not _HOOKS.fullmatch(name)


def _is_hook(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return node.name != "pytest_configure" or not _only_markers(node)


def _only_markers(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return not node.decorator_list and all(
        isinstance(part, ast.Expr)
        and (isinstance(part.value, ast.Constant) or (isinstance(part.value, ast.Call) and _adds_marker(part.value)))
        for part in node.body
    )


def _adds_marker(call: ast.Call) -> bool:
    first = call.args[0] if call.args else None
    named = isinstance(call.func, ast.Attribute) and call.func.attr == "addinivalue_line"
    return named and isinstance(first, ast.Constant) and first.value == "markers"


def _acts(tree: ast.Module, module: Text, taken: frozenset[str]) -> Iterator[str]:
    names = Names(tree)
    free = set(map(id, _of_asked_for(tree, taken)))
    always = set(map(id, _for_all(tree, taken)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _calls(node, names, skips=id(node) not in free)
            yield from _patches(node, names, module, for_all=id(node) in always)
        yield from _writes(node, names, module)
        yield from _spells(node, names)
        if isinstance(node, ast.ImportFrom) and any(each.name == "*" for each in node.names):
            yield from _takes_all(node, module)


def _of_asked_for(tree: ast.Module, taken: frozenset[str]) -> Iterator[ast.AST]:
    """What stands under an ``if`` in a fixture that only new tests can ask for; its skip sets no test of the base aside."""
    for node in tree.body:
        if _fixture(node) and getattr(node, "name", "") not in taken and not _fixture(node, autouse=True):
            for part in ast.walk(node):
                if isinstance(part, ast.If | ast.ExceptHandler):
                    yield from ast.walk(part)


def _for_all(tree: ast.Module, taken: frozenset[str]) -> Iterator[ast.AST]:
    """What runs for tests of the base: the module itself, fixtures for all, and those that the base has already."""
    for node in tree.body:
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if not function or _fixture(node, autouse=True) or getattr(node, "name", "") in taken:
            yield from ast.walk(node)


def _fixture(node: ast.stmt, *, autouse: bool = False) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    texts = [ast.unparse(each) for each in node.decorator_list]
    return any(
        "fixture" in each and (not autouse or ("autouse" in each and "autouse=False" not in each)) for each in texts
    )


def _calls(node: ast.Call, names: Names, *, skips: bool) -> Iterator[str]:
    name = names.dotted(node.func)
    if name in EXITS:
        yield f"it calls {name}"
    parts = name.split(".")
    ours = parts[0] in JUDGES or parts[0] in ("request", "item", "config") or "mark" in parts
    asides = (
        name in _SETS_ASIDE
        or name.endswith((".add_marker", ".applymarker"))
        or (ours and parts[-1] in ("skip", "xfail"))
    )
    if asides and (skips or not name.endswith(("skip", "importorskip"))):
        yield f"it sets tests aside by {name}"
    if "plugin" in name and name.endswith(("register", "import_plugin", "set_blocked", "consider_module")):
        yield f"it registers a plugin by {name}"
    if name.endswith("raises.Exception") or name in ("pytest.skip.Exception", "_pytest.outcomes.Skipped"):
        yield f"it raises {name}"


def _patches(node: ast.Call, names: Names, module: Text, *, for_all: bool) -> Iterator[str]:
    """``setattr`` in its forms, and stand-ins for functions of the product where tests of the base get them."""
    name = names.dotted(node.func)
    if not node.args or not name.endswith(("setattr", "delattr", ".patch", ".patch.object", ".setitem", "_setattr")):
        return
    first, rest = node.args[0], node.args[1:]
    text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    target = text or names.dotted(first)
    key = rest[0].value if rest and isinstance(rest[0], ast.Constant) else None
    attribute = str(key) if key is not None and not text else target.rpartition(".")[2]
    top = target.partition(".")[0]
    judges = top in JUDGES and not (top == "sys" and (attribute in _OF_SYS or name.endswith("setitem")))
    judges = judges and not (top == "builtins" and attribute in ("input", "print", "open") and not for_all)
    if judges or _of_run(target):
        yield f"it changes {target}"
    elif (
        for_all
        and (text or names.imported(target))
        and module(top) is not None
        and not _is_setting(rest[-1] if rest else None, attribute)
    ):
        yield f"it puts something else in place of {target}"


def _writes(node: ast.AST, names: Names, module: Text) -> Iterator[str]:
    """Attributes that are written: of what judges, of the running test, and of modules of the product."""
    for target in _targets(node):
        name = names.dotted(target.value if isinstance(target, ast.Subscript) else target)
        top, _, attribute = name.rpartition(".")
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if isinstance(target, ast.Subscript):
            if name in ("sys.meta_path", "sys.path_hooks") or (name == "sys.modules" and _hides(target, module)):
                yield f"it changes {name}"
        elif isinstance(target, ast.Attribute):
            judges = name.partition(".")[0] in JUDGES and not (top == "sys" and attribute in _OF_SYS)
            ends = attribute in ("exitstatus", "outcome", "passed", "runtest") or name.endswith("option.xmlpath")
            if judges or (ends and top not in ("self", "cls")) or _of_run(top):
                yield f"it changes {name}"
            elif names.imported(name) and _in_product(top, module) and not _is_setting(value, attribute):
                yield f"it puts something else in place of {name}"


def _in_product(owner: str, module: Text) -> bool:
    """Whether what is written to is a module of the product or stands in one: what an object of it holds is the tests' own."""
    return module(owner) is not None or module(owner.rpartition(".")[0] or "?") is not None


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return [part for each in node.targets for part in _parts(each)]
    if isinstance(node, ast.AnnAssign | ast.AugAssign):
        return [node.target]
    if isinstance(node, ast.Delete):
        return node.targets
    return _parts(node.target) if isinstance(node, ast.For) else []


def _hides(target: ast.Subscript, module: Text) -> bool:
    """Whether an entry of ``sys.modules`` is one that judges or of the product, or cannot be told."""
    key = target.slice.value if isinstance(target.slice, ast.Constant) else ""
    return not key or str(key).partition(".")[0] in JUDGES or module(str(key)) is not None


def _parts(target: ast.expr) -> list[ast.expr]:
    return list(target.elts) if isinstance(target, ast.Tuple | ast.List) else [target]


def _of_run(name: str) -> bool:
    """Whether a name is the running test, its session or its settings; the class of a test may be given what it needs."""
    parts = name.split(".")
    if parts[:2] in (["request", "cls"], ["request", "instance"]):
        return False
    return (
        parts[0] in ("request", "item", "items", "session", "pytestconfig") or "node" in parts or "_pyfuncitem" in parts
    )


def _is_setting(value: ast.expr | None, attribute: str) -> bool:
    """Whether a plain value is put, as tests do with settings: a switch, nothing yet, or a constant in capitals."""
    if isinstance(value, ast.Dict | ast.List | ast.Tuple):
        return not (value.keys if isinstance(value, ast.Dict) else value.elts)
    if not isinstance(value, ast.Constant):
        return attribute.isupper() and isinstance(value, ast.Name | ast.JoinedStr | ast.BinOp | ast.Call)
    return isinstance(value.value, bool) or value.value is None or attribute.isupper()


def _spells(node: ast.AST, names: Names) -> Iterator[str]:
    """Names and words by which a hook, an exit or a report is reached in a roundabout way."""
    if (
        isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and node.id in _RUNS_TEXT
        and not names.is_own(node.id)
    ):
        yield f"it uses {node.id}"
    if isinstance(node, ast.Attribute):
        if node.attr in ("xmlpath", "junitxml"):
            yield f"it uses {node.attr}"
        if node.attr in _INNER or (node.attr in ("exec", "eval") and names.dotted(node.value) == "builtins"):
            yield f"it uses {node.attr}"
        if node.attr in ("meta_path", "path_hooks") and names.dotted(node).startswith("sys."):
            yield f"it uses {node.attr}"
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if "<testsuite" in node.value:
            yield "it writes a report"
        if _HOOKS.fullmatch(node.value) or node.value in _SPELT:
            yield f"it spells {node.value}"


def _takes_all(node: ast.ImportFrom, module: Text) -> Iterator[str]:
    """``from x import *``: what x has that pytest calls comes with it."""
    name = "." * node.level + (node.module or "")
    text = module(name)
    if text is None:
        yield f"it takes in all of {name}, which cannot be looked at"
        return
    tree = _tree(text)
    if tree is None:
        yield f"it takes in all of {name}, which cannot be read"
        return
    for hook in _hooks(tree):
        yield f"{hook} comes from {name}"
    for inner in ast.walk(tree):
        if isinstance(inner, ast.ImportFrom) and any(each.name == "*" for each in inner.names):
            yield f"it takes in all of {name}, which takes in all of another"
