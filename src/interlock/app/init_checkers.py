"""Which checkers a repository plainly has, as init proposes them for the tier of diagnostics; writing them is init's."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from interlock.core.contract.policy import Diagnostics
from interlock.core.gate.judging_configs import Unreadable, json_of

_PYTHON: Final = ("**/*.py", "**/*.pyi")
_SCRIPTS: Final = ("ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs")
_DEPTH: Final = 3
"""So deep below the top projects of TypeScript are looked for."""
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_ESLINT: Final = re.compile(r"eslint\.config\.\w+|\.eslintrc(\.\w+)?")


def checkers(top: Path) -> tuple[Diagnostics, ...]:
    """The checkers that files at the top of a repository name, each with the paths that concern it; none is run."""
    files = frozenset(path.name for path in top.iterdir())
    return (*_python(top, files), *_node(top, files), *_compiled(files))


def program(checker: Diagnostics) -> str:
    """What a task must find to start a checker."""
    return shlex.split(checker.run)[0]


def proposed(found: Sequence[Diagnostics], finds: Callable[[str], bool]) -> Iterator[str]:
    """Lines of interlock.yaml; a checker whose program no task finds here is a remark."""
    if not found:
        return
    some = any(finds(program(each)) for each in found)
    yield f"{'' if some else '# '}diagnostics:          # what interlock conflicts runs on changes together"
    for each in found:
        item = f"- {{name: {each.name}, run: {json.dumps(each.run)}, paths: {json.dumps(list(each.paths))}}}"
        there = finds(program(each))
        yield f"  {item}" if there else f"#   {item}   # no task finds {program(each)} here"


def _python(top: Path, files: frozenset[str]) -> Iterator[Diagnostics]:
    project = _toml(top / "pyproject.toml")
    tools = _of(project, "tool")
    needs = set(_requirements(project))
    runner = "uv run " if "uv.lock" in files else "poetry run " if "poetry.lock" in files else ""
    mypy = tools.get("mypy") or _section(top, ("mypy.ini", ".mypy.ini", "setup.cfg"), "mypy")
    if mypy is not None or "mypy" in needs or "mypy" in tools or {"mypy.ini", ".mypy.ini"} & files:
        own = isinstance(mypy, dict) and {"files", "packages", "modules"} & mypy.keys()
        yield Diagnostics(name="mypy", run=f"{runner}mypy --no-pretty{'' if own else ' .'}", paths=_PYTHON)
    for name in ("pyright", "basedpyright"):
        if name in tools or name in needs or (name == "pyright" and "pyrightconfig.json" in files):
            yield Diagnostics(name=name, run=f"{runner}{name}", paths=_PYTHON)
    if "ruff" in tools or "ruff" in needs or {"ruff.toml", ".ruff.toml"} & files:
        yield Diagnostics(name="ruff", run=f"{runner}ruff check --no-fix --output-format concise .", paths=_PYTHON)


def _node(top: Path, files: frozenset[str]) -> Iterator[Diagnostics]:
    start = "pnpm exec" if "pnpm-lock.yaml" in files else "npx --no-install"
    shared = _packages(top)
    for folder in _projects(top):
        if "typescript" not in shared | _packages(top / folder):
            continue
        settings = _json(top / folder / "tsconfig.json")
        parts = "references" in settings and settings.get("files") == []
        where = shlex.quote(folder or ".")
        run = f"{start} tsc -b --pretty false {where}" if parts else f"{start} tsc --noEmit --pretty false -p {where}"
        inside = f"{folder}/**" if folder else "**"
        paths = (inside,) if folder else (*(f"{inside}/*.{end}" for end in _SCRIPTS), "tsconfig*.json")
        name = "-".join(["tsc", *_NAME.findall(folder)])
        yield Diagnostics(name=name, run=run, paths=paths)
    if "eslint" in shared and any(_ESLINT.fullmatch(name) for name in files):
        paths = tuple(f"**/*.{end}" for end in _SCRIPTS)
        yield Diagnostics(name="eslint", run=f"{start} eslint --no-color --format stylish .", paths=paths)


def _compiled(files: frozenset[str]) -> Iterator[Diagnostics]:
    if "go.mod" in files:
        yield Diagnostics(name="go-vet", run="go vet ./...", paths=("**/*.go", "go.mod"))
    java = ("**/*.java", "**/*.kt")
    if "pom.xml" in files:
        start = "sh mvnw" if "mvnw" in files else "mvn"
        yield Diagnostics(name="maven", run=f"{start} -q -B test-compile", paths=(*java, "**/pom.xml"))
    if {"build.gradle", "build.gradle.kts"} & files:
        start = "sh gradlew" if "gradlew" in files else "gradle"
        run = f"{start} -q --console=plain testClasses"
        yield Diagnostics(name="gradle", run=run, paths=(*java, "**/*.gradle", "**/*.gradle.kts"))
    if "Cargo.toml" in files:
        run = "cargo check -q --all-targets --message-format short"
        yield Diagnostics(name="cargo", run=run, paths=("**/*.rs", "**/Cargo.toml"))


def _projects(top: Path) -> list[str]:
    """Folders with a tsconfig.json, the top as an empty text; below it only where the top has none."""
    if (top / "tsconfig.json").is_file():
        return [""]
    found = []
    for folder, below, names in os.walk(top):
        here = Path(folder).relative_to(top)
        deep = len(here.parts) >= _DEPTH
        below[:] = [] if deep else sorted(name for name in below if name != "node_modules" and not name.startswith("."))
        if "tsconfig.json" in names:
            found.append(here.as_posix())
    return found


def _packages(folder: Path) -> set[str]:
    """The packages that a folder's package.json wants."""
    shape = _json(folder / "package.json")
    return {name for key in ("dependencies", "devDependencies") for name in _of(shape, key)}


def _requirements(project: dict[str, Any]) -> Iterator[str]:
    """The names of the packages that a pyproject.toml wants, in each of the usual places."""
    own = _of(project, "project")
    lists = [own.get("dependencies"), *_of(own, "optional-dependencies").values()]
    lists += _of(project, "dependency-groups").values()
    lists.append(_of(_of(project, "tool"), "uv").get("dev-dependencies"))
    for each in lists:
        for text in each if isinstance(each, list) else ():
            if isinstance(text, str) and (match := _NAME.match(text)):
                yield match[0].lower()
    poetry = _of(_of(project, "tool"), "poetry")
    for part in (poetry, *_of(poetry, "group").values()):
        for key in ("dependencies", "dev-dependencies"):
            yield from _of(part, key)


def _of(shape: Any, key: str) -> dict[str, Any]:
    found = shape.get(key) if isinstance(shape, dict) else None
    return found if isinstance(found, dict) else {}


def _section(top: Path, names: Sequence[str], section: str) -> dict[str, str] | None:
    """A section of the first of these files that has it."""
    for name in names:
        parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
        try:
            parser.read(top / name, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue
        if parser.has_section(section):
            return dict(parser[section])
    return None


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _json(path: Path) -> dict[str, Any]:
    try:
        return json_of(path.read_bytes())
    except (OSError, Unreadable):
        return {}
