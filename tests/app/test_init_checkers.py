"""Which checkers init proposes for a repository: only those that it plainly has, each as the policy reads it and with paths of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from interlock.adapters.diagnostics import CheckerOutput
from interlock.app.init import propose
from interlock.app.init_checkers import checkers
from interlock.core.contract.policy import Diagnostics
from interlock.wiring import contract_files

PACKAGE = json.dumps({"devDependencies": {"typescript": "^5", "eslint": "^9"}})
PROJECT = '[project]\nname = "x"\n'


def make(top: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)
    return top


def runs(top: Path, files: dict[str, str]) -> dict[str, str]:
    return {each.name: each.run for each in checkers(make(top, files))}


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, {}),
        ({"pyproject.toml": PROJECT, "a.py": "x = 1\n"}, {}),
        ({"pyproject.toml": PROJECT + "[tool.mypy]\n"}, {"mypy": "mypy --no-pretty ."}),
        ({"pyproject.toml": PROJECT + '[tool.mypy]\nfiles = ["src"]\n'}, {"mypy": "mypy --no-pretty"}),
        ({"mypy.ini": "[mypy]\npackages = app\n", "uv.lock": ""}, {"mypy": "uv run mypy --no-pretty"}),
        ({"setup.cfg": "[mypy]\nstrict = true\n"}, {"mypy": "mypy --no-pretty ."}),
        ({"setup.cfg": "[metadata]\nname = mypy\n"}, {}),
        ({"pyproject.toml": '[dependency-groups]\ndev = ["mypy>=1.14", {include-group = "x"}]\n', "uv.lock": ""},
         {"mypy": "uv run mypy --no-pretty ."}),
        ({"pyproject.toml": '[project]\nname = "x"\ndependencies = ["mypy-extensions"]\n'}, {}),
        ({"pyproject.toml": '[tool.poetry.group.dev.dependencies]\npyright = "*"\n', "poetry.lock": ""},
         {"pyright": "poetry run pyright"}),
        ({"pyrightconfig.json": "{}"}, {"pyright": "pyright"}),
        ({"ruff.toml": ""}, {"ruff": "ruff check --no-fix --output-format concise ."}),
        ({"pyproject.toml": "[tool.ruff\n"}, {}),
        ({"pyproject.toml": "tool = 3\nproject = []\n"}, {}),
        ({"tsconfig.json": "{}"}, {}),
        ({"package.json": PACKAGE}, {}),
        ({"tsconfig.json": "{}", "package.json": "[1"}, {}),
        ({"tsconfig.json": "{}", "package.json": PACKAGE}, {"tsc": "npx --no-install tsc --noEmit --pretty false -p ."}),
        ({"tsconfig.json": "{}", "package.json": PACKAGE, "pnpm-lock.yaml": ""},
         {"tsc": "pnpm exec tsc --noEmit --pretty false -p ."}),
        ({"tsconfig.json": '{"files": [], // parts\n"references": [{"path": "a"}],}', "package.json": PACKAGE},
         {"tsc": "npx --no-install tsc -b --pretty false ."}),
        ({"package.json": PACKAGE, "eslint.config.mjs": ""}, {"eslint": "npx --no-install eslint --no-color --format stylish ."}),
        ({"go.mod": "module x\n"}, {"go-vet": "go vet ./..."}),
        ({"pom.xml": ""}, {"maven": "mvn -q -B test-compile"}),
        ({"pom.xml": "", "mvnw": ""}, {"maven": "sh mvnw -q -B test-compile"}),
        ({"build.gradle.kts": "", "gradlew": ""}, {"gradle": "sh gradlew -q --console=plain testClasses"}),
        ({"Cargo.toml": "[package]\n"}, {"cargo": "cargo check -q --all-targets --message-format short"}),
    ],
)  # fmt: skip
def test_a_checker_is_proposed_only_where_the_repository_plainly_has_it(tmp_path: Path, files, found) -> None:
    assert runs(tmp_path, files) == found


def test_two_projects_of_typescript_get_a_checker_each_and_what_is_installed_is_none(tmp_path: Path) -> None:
    files = {
        "package.json": PACKAGE,
        "web/tsconfig.json": "{}",
        "apps/admin ui/tsconfig.json": "{}",
        "node_modules/x/tsconfig.json": "{}",
        ".cache/tsconfig.json": "{}",
        "web/node_modules/y/tsconfig.json": "{}",
    }
    found = checkers(make(tmp_path, files))
    assert [(each.name, each.run.partition("-p ")[2], each.paths[0]) for each in found] == [
        ("tsc-apps-admin-ui", "'apps/admin ui'", "apps/admin ui/**"),
        ("tsc-web", "web", "web/**"),
    ]


def repo(top: Path) -> Any:
    """What propose asks of a repository."""
    return SimpleNamespace(at_hand=top, remote_url="")


ALL = {
    "pyproject.toml": PROJECT + "[tool.mypy]\n[tool.ruff]\n[tool.pyright]\n",
    "package.json": PACKAGE,
    "tsconfig.json": "{}",
    "eslint.config.js": "",
    "go.mod": "module x\n",
    "pom.xml": "",
    "build.gradle": "",
    "Cargo.toml": "",
}


def test_what_is_written_is_read_back_as_it_was_meant(tmp_path: Path) -> None:
    make(tmp_path, ALL)
    offer = propose(repo(tmp_path), contract_files(), finds=lambda _: True)
    policy, problems = contract_files().policy(offer.files["interlock.yaml"].encode(), "interlock.yaml")
    assert not problems
    assert policy.diagnostics == checkers(tmp_path)
    assert len(policy.diagnostics) == 9
    assert all(each.paths for each in policy.diagnostics)


def test_a_checker_that_no_task_finds_here_is_written_as_a_remark(tmp_path: Path) -> None:
    make(tmp_path, {"go.mod": "module x\n", "mypy.ini": ""})
    text = propose(repo(tmp_path), contract_files(), finds=lambda name: name != "go").files["interlock.yaml"]
    policy, problems = contract_files().policy(text.encode(), "interlock.yaml")
    assert not problems
    assert policy.diagnostics == (Diagnostics(name="mypy", run="mypy --no-pretty .", paths=("**/*.py", "**/*.pyi")),)
    assert "#   - {name: go-vet" in text
    assert "no task finds go here" in text
    alone = propose(repo(tmp_path), contract_files(), finds=lambda _: False).files["interlock.yaml"]
    assert contract_files().policy(alone.encode(), "interlock.yaml")[1] == ()
    assert "# diagnostics:" in alone


def test_a_repository_without_a_checker_gets_no_word_of_one(tmp_path: Path) -> None:
    assert "diagnostics" not in propose(repo(tmp_path), contract_files(), finds=lambda _: True).files["interlock.yaml"]


FAULTY = {
    "mypy": ({"mypy.ini": "[mypy]\npretty = True\n", "src/a.py": 'x: int = "y"\n'}, "src/a.py", "assignment"),
    "ruff": ({"ruff.toml": "fix = true\n", "src/a.py": "import os\n"}, "src/a.py", "F401"),
    "tsc": (
        {"tsconfig.json": "{}", "package.json": PACKAGE, "src/a.ts": 'export const x: number = "y";\n'},
        "src/a.ts",
        "TS2322",
    ),
    "go": (
        {"go.mod": "module x.org/y\n\ngo 1.19\n", "a/a_test.go": "package a\n\nfunc f() { g() }\n"},
        "a/a_test.go",
        "undeclared name: g|undefined: g",
    ),
    "cargo": (
        {"Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\n', "src/lib.rs": "pub fn f() { g() }\n"},
        "src/lib.rs",
        "E0425",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("tool", FAULTY)
def test_what_is_proposed_is_understood_when_it_is_run(tmp_path: Path, tool: str) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    if shutil.which(tool, path=path) is None or (tool == "tsc" and shutil.which("npx") is None):
        pytest.skip(f"no {tool} here")
    files, where, words = FAULTY[tool]
    (checker,) = (each for each in checkers(make(tmp_path / "top", files)) if each.name.startswith(tool))
    top = tmp_path / "top"
    if tool == "tsc":
        (top / "node_modules/.bin").mkdir(parents=True)
        (top / "node_modules/.bin/tsc").symlink_to(str(shutil.which("tsc")))
    before = {each: (top / each).read_text() for each in files}
    env = {**os.environ, "PATH": path}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", checker.run],
        cwd=top,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    (found, *_) = CheckerOutput().read(done.stdout, checker.reads, (str(top),)) or (None,)
    assert found is not None, done.stdout
    assert (found.path, bool(re.search(words, found.text))) == (where, True), done.stdout
    assert {each: (top / each).read_text() for each in files} == before
