"""Whether a change touches what judges it: scripts, settings, hooks, CI files and stand-ins; how settings are read is judging_configs'."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from interlock.core.contract.paths import Pattern, parse
from interlock.core.gate import conftests
from interlock.core.gate import judging_configs as configs
from interlock.core.gate.changes import Change
from interlock.core.gate.judging_commands import Judges, judges_of, recipes
from interlock.core.job.evidence import CheckRun, Verdict

RUN: Final = "what judges"
"""The name of this judgement among the checks."""

Both = Callable[[str], tuple[bytes | None, bytes | None]]
"""A path → its bytes on the base and on the head."""

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

# Settings that are for one tool alone → the words of a command by which that tool is known to judge.
_WHOLE: Final = (
    (r"noxfile\.py", ("nox",)),
    (r"jest\.config\.\w+|jest\.(setup|preset)\.\w+", ("jest",)),
    (r"(vitest|vite)\.config\.\w+|vitest\.workspace\.\w+", ("vitest",)),
    (r"playwright\.config\.\w+", ("playwright",)),
    (r"cypress\.config\.\w+|cypress\.json", ("cypress",)),
    (r"\.mocharc\.\w+", ("mocha",)),
    (r"\.nycrc(\.\w+)?|\.c8rc(\.json)?", ("nyc", "c8")),
    (r"karma\.conf\.\w+", ("karma", "ng")),
    (r"eslint\.config\.\w+|\.eslintrc(\.\w+)?|\.eslintignore", ("eslint",)),
    (r"biome\.jsonc?", ("biome",)),
    (r"\.?mypy\.ini", ("mypy",)),
    (r"\.?ruff\.toml", ("ruff",)),
    (r"\.flake8", ("flake8",)),
    (r"\.?pylintrc(\.toml)?", ("pylint",)),
    (r"pyrightconfig\.json", ("pyright", "basedpyright")),
    (r"\.golangci\.ya?ml", ("golangci-lint",)),
    (r"\.pre-commit-config\.yaml", ("pre-commit", "prek")),
    (r"clippy\.toml", ("clippy", "cargo")),
    (r"phpunit\.xml(\.dist)?", ("phpunit",)),
    (r"\.rspec", ("rspec",)),
)
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
    commands: Sequence[str], changes: Sequence[Change], both: Both, owned_paths: Sequence[str]
) -> tuple[Touched, ...]:
    """What the work changes of that which judges it, for the commands of its checks.

    A file that the card owns by its exact path was given to the work and is not named.  Settings of known tools are compared by the sections
    that judge, and only what lets more pass is named; any change of a script, of a recipe that a check runs, or of a CI file is.
    """
    found = judges_of(commands, lambda path: both(path)[0])
    given = {pattern.head for pattern in map(parse, owned_paths) if pattern.plain}
    touched: list[Touched] = []
    for change in changes:
        if change.path in given:
            continue
        try:
            whats = list(dict.fromkeys(_of(change, both, found)))
        except configs.Unreadable as fault:
            whats = [f"it cannot be read any more. {fault}"]
        if whats:
            touched.append(Touched(path=change.path, what="; ".join(whats[:4])))
    return tuple(touched)


def judge_judges(touched: tuple[Touched, ...]) -> Verdict | None:
    """The verdict on what was found; None when nothing was.  Its tests are the files with what changed, for an acceptance."""
    if not touched:
        return None
    tests = tuple(sorted(map(str, touched)))
    more = f"; and {len(tests) - 3} more" if len(tests) > 3 else ""
    run = CheckRun(run=RUN, exit_code=None, seconds=0.0, log="", tail="\n".join(tests))
    what = f"The work changes what judges it: {'; '.join(tests[:3])}{more}."
    return Verdict(run=run, state="refused", rule="judge-changed", what=what, tests=tests)


def is_ci(path: str) -> bool:
    """Whether a forge or a runner reads the file to know what to run."""
    return any(pattern.matches(path) for pattern in _CI)


_CI: Final[tuple[Pattern, ...]] = tuple(map(parse, CI))


def _of(change: Change, both: Both, found: Judges) -> Iterator[str]:  # noqa: C901 -- one kind of file a line
    path = change.path
    name = posixpath.basename(path)
    before, after = both(path)
    if path in found.files and not _is_config(name):
        yield f"it is what the check runs by {found.files[path]}"
    if is_ci(path):
        yield "it says what is run for every change"
    if path in found.targets:
        yield from _make(found.targets[path], before, after)
    if name == "package.json":
        yield from _package(found.scripts.get(path, set()), before, after)
    if name in configs.PYTEST_FILES:
        yield from _pytest(path, both)
        yield from configs.weaker_coverage(
            configs.coverage_settings(name, before), configs.coverage_settings(name, after)
        )
        yield from _tools(name, before, after, found.words)
    if name == ".coveragerc":
        yield from configs.weaker_coverage(
            configs.coverage_settings(name, before), configs.coverage_settings(name, after)
        )
    if name == "conftest.py":
        yield from conftests.weaker(before, after)
    if re.fullmatch(r"tsconfig(\.\w+)*\.json", name) and found.words & {"tsc", "vue-tsc", "tsgo", "ts-jest"}:
        yield from configs.weaker_types(configs.json_of(before), configs.json_of(after))
    for pattern, tools in _WHOLE:
        if re.fullmatch(pattern, name) and found.words & set(tools):
            yield f"it says what {tools[0]} does"
    yield from _stand_in(change, found.words)


def _is_config(name: str) -> bool:
    return name in (*configs.PYTEST_FILES, ".coveragerc", "package.json", "conftest.py") or name.startswith("tsconfig")


def _make(goals: set[str], before: bytes | None, after: bytes | None) -> Iterator[str]:
    old, new = (recipes((data or b"").decode("utf-8", "replace"), goals) for data in (before, after))
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield f"{name.removesuffix(' =')} is another one"


def _package(scripts: set[str], before: bytes | None, after: bytes | None) -> Iterator[str]:
    old, new = configs.json_of(before), configs.json_of(after)
    for name in sorted(scripts):
        if (old.get("scripts") or {}).get(name) != (new.get("scripts") or {}).get(name):
            yield f"the script {name} is another one"
    for key in ("jest", "vitest", "mocha", "ava", "nyc", "c8", "eslintConfig", "tap"):
        if old.get(key) != new.get(key):
            yield f"{key} is set in another way"


def _pytest(path: str, both: Both) -> Iterator[str]:
    """The settings that hold in the file's folder, whichever file they are in: one hides another."""
    folder = posixpath.dirname(path)
    yield from configs.weaker_pytest(_in_force(folder, both, 0), _in_force(folder, both, 1))


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
                yield f"[tool.{tool}] is another one"
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
