"""Whether a change touches what judges it: scripts, settings, hooks, CI files and stand-ins; how settings are read is judging_configs'."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from interlock.core.contract.paths import Pattern, parse
from interlock.core.counting import some
from interlock.core.gate import conftests, makefiles
from interlock.core.gate import judging_configs as configs
from interlock.core.gate.changes import Change
from interlock.core.gate.judging_checkers import weaker_section
from interlock.core.gate.judging_commands import Judges, judges_of
from interlock.core.gate.judging_python import python_judges
from interlock.core.gate.judging_tools import other_tools, required, runner_configs
from interlock.core.gate.shadows import (
    Both,
    Files,
    ReadMany,
    Trees,
)
from interlock.core.gate.silenced import silenced
from interlock.core.job.evidence import CheckRun, Verdict

RUN: Final = "what judges"
"""The name of this judgement among the checks."""

CI: Final = (
    ".github/workflows/**",
    ".github/actions/**",
    ".gitlab-ci.yml",
    ".gitlab/ci/**",
    ".circleci/**",
    ".buildkite/**",
    ".travis.yml",
    ".drone.yml",
    ".woodpecker/**",
    ".woodpecker.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "Jenkinsfile",
    "appveyor.yml",
    ".appveyor.yml",
    ".cirrus.yml",
)
"""Where forges and runners look for what they run."""

_STAND_INS: Final = frozenset(
    {
        "sitecustomize",
        "usercustomize",
        "pytest",
        "_pytest",
        "py",
        "pluggy",
        "iniconfig",
        "unittest",
        "coverage",
        "nose2",
        "tox",
        "nox",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """A file that judges and that the work changed, and what of it, in words."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


def touched_judges(
    commands: Sequence[str],
    changes: Sequence[Change],
    both: Both,
    owned_paths: Sequence[str],
    *,
    files: Files | None = None,
    read_many: ReadMany | None = None,
) -> tuple[Touched, ...]:
    """What the work changes of that which judges it, for the commands of its checks.

    A file that the card owns by its exact path was given to the work and is not named.  Settings of known tools are compared by the sections
    that judge, and only what lets more pass is named; any change of a script, of a recipe that a check runs, of a file in a language that is
    not read here, or of a CI file is.  ``files`` gives the paths of the base, ``read_many`` what its files hold.
    """
    found = judges_of(commands, lambda path: both(path)[0])
    for name in runner_configs(found.words):
        for path in required(name, both(name)[0] or b""):
            if both(path)[0] is not None:
                found.files.setdefault(path, name)
    look = _Look(both=both, found=found, trees=Trees(both, changes, files, read_many), roots=_roots(changes, both))
    given = {pattern.head for pattern in map(parse, owned_paths) if pattern.plain}
    touched: list[Touched] = []
    for change in changes:
        if change.path in given:
            continue
        try:
            whats = list(dict.fromkeys(_of(change, look)))
        except configs.Unreadable as fault:
            whats = [f"it cannot be read any more. {fault}"]
        if whats:
            touched.append(Touched(path=change.path, what="; ".join(whats[:4])))
    return tuple(touched)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """How the changes are looked at: both sides, what judges, what there is, and folders from which modules are imported."""

    both: Both
    found: Judges
    trees: Trees
    roots: tuple[str, ...]


def _roots(changes: Sequence[Change], both: Both) -> tuple[str, ...]:
    """The top, folders that pytest is told of, and all folders of the work where a conftest.py now changes the path."""
    roots = [""]
    for name in configs.PYTEST_FILES:
        try:
            settings = configs.pytest_settings(name, both(name)[1])
        except configs.Unreadable:
            settings = None
        value = (settings or {}).get("pythonpath") or ""
        roots += [
            each.removeprefix("./").strip("/.") for each in (value if isinstance(value, list) else str(value).split())
        ]
    conftest = [each.path for each in changes if posixpath.basename(each.path) in ("conftest.py", "__init__.py")]
    if any(conftests.puts_on_path(*both(path)) for path in conftest if path.endswith("conftest.py")):
        for each in changes:
            parts = each.path.split("/")
            roots += ["/".join(parts[:at]) for at in range(1, len(parts))]
    return tuple(dict.fromkeys(roots))


def judge_judges(touched: tuple[Touched, ...]) -> Verdict | None:
    """The verdict on what was found; None when nothing was.  Its tests are the files with what changed, for an acceptance."""
    if not touched:
        return None
    tests = tuple(sorted(map(str, touched)))
    run = CheckRun(run=RUN, exit_code=None, seconds=0.0, log="", tail="\n".join(tests))
    what = f"The work changes what judges it: {some(tests, 3, '; ')}."
    return Verdict(run=run, state="refused", rule="judge-changed", what=what, tests=tests)


def is_ci(path: str) -> bool:
    """Whether a forge or a runner reads the file to know what to run."""
    return any(pattern.matches(path) for pattern in _CI)


_CI: Final[tuple[Pattern, ...]] = tuple(map(parse, CI))


def _of(change: Change, look: _Look) -> Iterator[str]:
    path, found = change.path, look.found
    name = posixpath.basename(path)
    before, after = look.both(path)
    if path in found.files and not _is_config(name):
        yield f"it is what the check runs by {found.files[path]}"
    if is_ci(path):
        yield "it says what is run for every change"
    yield from _make(change, look, before, after)
    if name == "package.json":
        spread = found.spread if path != "package.json" else set()
        yield from _package(found.scripts.get(path, set()) | spread, before, after)
    if name in configs.PYTEST_FILES:
        yield from _pytest(path, look)
        yield from _tools(name, before, after, found.words)
    if name in (*configs.PYTEST_FILES, ".coveragerc"):
        hides = change.status == "A" and name == ".coveragerc"
        known = _measured(path, look.both) if hides else configs.coverage_settings(name, before)
        yield from configs.weaker_coverage(known, configs.coverage_settings(name, after))
    if re.fullmatch(r"tsconfig(\.\w+)*\.json", name) and found.words & {"tsc", "vue-tsc", "tsgo", "ts-jest"}:
        yield from configs.weaker_types(configs.json_of(before), configs.json_of(after))
    yield from other_tools(path, before, after, found.words)
    yield from silenced(path, before, after, found.words)
    if name.endswith((".py", ".pyc", ".pyo", ".so", ".pyd")):
        yield from python_judges(change, look.both, look.trees, look.roots)
    yield from _stand_in(change, found.words)


def _is_config(name: str) -> bool:
    return name in (*configs.PYTEST_FILES, ".coveragerc", "package.json", "conftest.py") or name.startswith("tsconfig")


def _make(change: Change, look: _Look, before: bytes | None, after: bytes | None) -> Iterator[str]:
    """The Makefile itself, one that would be read in its place, and files that keep a goal from being made."""
    path, name = change.path, posixpath.basename(change.path)
    if path in look.found.targets:
        yield from makefiles.changed(before, after, look.found.targets[path])
        if after is None:
            yield "it is gone"
    for other, goals in look.found.targets.items():
        folder, known = posixpath.split(other)
        if change.status != "A":
            continue
        ranks = [makefiles.NAMES.index(each) if each in makefiles.NAMES else -1 for each in (name, known)]
        if posixpath.dirname(path) == folder and 0 <= ranks[0] < ranks[1]:
            yield f"make would read it in place of {known}"
        if not folder or path.startswith(f"{folder}/"):
            inside = path[len(folder) + 1 :] if folder else path
            file = makefiles.parsed((look.both(other)[1] or b"").decode("utf-8", "replace"))
            goal = makefiles.up_to_date(file, goals, inside)
            if goal is not None and not _has_folder(look.trees, posixpath.join(folder, goal)):
                yield f"make would take the goal {goal} for done"


def _has_folder(trees: Trees, folder: str) -> bool:
    return any(each.startswith(f"{folder}/") for each in trees.base_files)


def _package(scripts: set[str], before: bytes | None, after: bytes | None) -> Iterator[str]:
    old, new = configs.json_of(before), configs.json_of(after)
    for name in sorted(scripts):
        if (old.get("scripts") or {}).get(name) != (new.get("scripts") or {}).get(name):
            yield f"the script {name} is another one"
    for key in ("dependencies", "devDependencies"):
        for name, value in (new.get(key) or {}).items():
            elsewhere = re.match(r"(?:file|link|portal|npm|git|github|https?)[:+]", str(value))
            if name in _OF_NPM and elsewhere and (old.get(key) or {}).get(name) != value:
                yield f"it takes {name} from elsewhere, {value}"
    for key in ("jest", "vitest", "mocha", "ava", "nyc", "c8", "eslintConfig", "tap"):
        if old.get(key) != new.get(key):
            yield f"{key} is set in another way"


def _pytest(path: str, look: _Look) -> Iterator[str]:
    """The settings that hold in the file's folder, whichever file they are in: one hides another."""
    folder = posixpath.dirname(path)
    names = (posixpath.join(folder, each) for each in (*configs.PYTEST_FILES, ".coveragerc"))
    asked = (configs.coverage_settings(posixpath.basename(each), look.both(each)[0]) for each in names)
    floor = max(float(each.get("report", {}).get("fail_under") or 0) for each in asked)
    inside = [posixpath.relpath(each, folder or ".") for each in look.trees.base_files if each.startswith(folder)]
    tests = [each for each in inside if re.search(r"(^|/)(test_[^/]*|[^/]*_test)\.py$", each)] if inside else None
    sides = (_in_force(folder, look.both, 0), _in_force(folder, look.both, 1))
    yield from configs.weaker_pytest(*sides, floor=floor, tests=tests)


def _measured(path: str, both: Both) -> configs.Settings:
    """What held on the base for coverage before there was a .coveragerc, which hides all others."""
    for name in configs.PYTEST_FILES[::-1]:
        settings = configs.coverage_settings(name, both(posixpath.join(posixpath.dirname(path), name))[0])
        if settings.get("run") or settings.get("report"):
            return settings
    return {}


def _in_force(folder: str, both: Both, side: int) -> configs.Settings:
    while True:
        for name in configs.PYTEST_FILES:
            settings = configs.pytest_settings(name, both(posixpath.join(folder, name))[side])
            if settings is not None:
                return settings
        if not folder:
            return {}
        folder = posixpath.dirname(folder)


def _tools(name: str, before: bytes | None, after: bytes | None, words: set[str]) -> Iterator[str]:
    """Sections of checkers that the commands run: any change of one counts; and entry points that pytest loads."""
    if name.endswith(".toml"):
        old, new = (configs.toml(data) for data in (before, after))
        for tool in (
            "mypy",
            "ruff",
            "pyright",
            "basedpyright",
            "pylint",
            "flake8",
            "tox",
            "nox",
            "poe",
            "taskipy",
            "hatch",
            "ty",
        ):
            a, b = (data.get("tool", {}).get(tool) for data in (old, new))
            if a != b and words & {tool, {"taskipy": "task"}.get(tool, tool)}:
                yield from weaker_section(tool, a, b)
        points = [data.get("project", {}).get("entry-points", {}).get("pytest11") for data in (old, new)]
        if points[0] != points[1]:
            yield "it makes a plugin of pytest"
        return
    a_ini, b_ini = configs.ini(before), configs.ini(after)
    for section in sorted({*a_ini, *b_ini}):
        tool = "tox" if section.startswith(("testenv", "tox")) else section.partition("-")[0].partition(":")[0]
        judged = tool in words and section not in ("pytest", "tool:pytest")
        if judged and a_ini.get(section) != b_ini.get(section):
            yield f"[{section}] is another one"


def _stand_in(change: Change, words: set[str]) -> Iterator[str]:
    """Files that would be taken for the runner, or that every Python loads by itself; and what stands among installed packages."""
    path, name = change.path, posixpath.basename(change.path)
    if change.status == "D":
        return
    stem = name.partition(".")[0]
    parts = path.split("/")
    if name.endswith(".pth"):
        yield "every Python loads it"
    if stem in ("sitecustomize", "usercustomize") and name.endswith((".py", ".so", ".pyc")):
        yield "every Python loads it"
    elif _imported_first(parts) in _STAND_INS:
        yield "it would be taken for what runs the tests"
    elif "." not in name and name in words and name in _RUNNERS:
        yield f"it would be taken for {name}"
    if any(part.endswith((".egg-info", ".dist-info")) for part in parts):
        yield "pytest loads plugins from it"
    if parts[0] == "node_modules":
        yield "it stands among the installed packages"


def _imported_first(parts: list[str]) -> str:
    """The module that a path is, where folders are that Python looks into before it looks among installed packages."""
    inside = parts[1:] if parts[0] in ("src", "lib", "tests") and len(parts) > 1 else parts
    return inside[0] if len(inside) > 1 else inside[0].removesuffix(".py") if inside[0].endswith(".py") else ""


_OF_NPM: Final = frozenset(
    {"jest", "vitest", "mocha", "chai", "expect", "ava", "tap", "typescript", "eslint", "@playwright/test", "cypress"}
)
_RUNNERS: Final = frozenset(
    {
        "pytest",
        "python",
        "python3",
        "node",
        "npm",
        "npx",
        "jest",
        "vitest",
        "mocha",
        "make",
        "go",
        "cargo",
        "mvn",
        "gradle",
        "bash",
        "sh",
        "tox",
        "nox",
        "uv",
    }
)
