"""Files that one tool reads to know what to run or to believe, and what of a build file is dependencies alone; pure text."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any, Final

from interlock.core.gate import judging_configs as configs

# Settings that are for one tool alone → the words of a command by which that tool is known to judge.  A path where it has a slash.
_WHOLE: Final = (
    (r"noxfile\.py", ("nox",)),
    (r"tox\.toml", ("tox",)),
    (r"\.?justfile|Justfile|JUSTFILE|.*\.just", ("just",)),
    (r"[Tt]askfile(\.dist)?\.ya?ml", ("task", "go-task")),
    (r"[Rr]akefile(\.rb)?|.*\.rake", ("rake",)),
    (r"tasks\.py|invoke\.(ya?ml|toml|json|py)", ("invoke", "inv")),
    (r"fabfile\.py", ("fab",)),
    (r"dodo\.py", ("doit",)),
    (r"turbo\.jsonc?", ("turbo",)),
    (r"nx\.json", ("nx",)),
    (r"lerna\.json", ("lerna",)),
    (
        r"(docker-)?compose(\.[\w-]+)?\.ya?ml|Dockerfile(\.[\w-]+)?|.*\.Dockerfile",
        ("docker", "docker-compose", "podman"),
    ),
    (r"jest\.config\.\w+|jest\.(setup|preset)\.\w+", ("jest",)),
    (r"vitest\.config\.\w+|vitest\.workspace\.\w+", ("vitest",)),
    (r"playwright\.config\.\w+", ("playwright",)),
    (r"cypress\.config\.\w+|cypress\.json", ("cypress",)),
    (r"\.mocharc\.\w+", ("mocha",)),
    (r"\.babelrc(\.\w+)?|babel\.config\.\w+", ("jest", "mocha")),
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
    (r"(.*/)?\.cargo/config(\.toml)?|(.*/)?\.config/nextest\.toml", ("cargo",)),
    (r"phpunit\.xml(\.dist)?", ("phpunit",)),
    (r"\.rspec", ("rspec", "rake")),
    (r"\.yarnrc(\.yml)?|\.pnpmfile\.cjs", ("yarn", "pnpm")),
    (r"gradlew(\.bat)?|gradle\.properties", ("gradle", "gradlew")),
    (r"(.*/)?gradle/wrapper/.*|(.*/)?buildSrc/.*", ("gradle", "gradlew")),
    (r"mvnw(\.cmd)?|junit-platform\.properties", ("mvn", "mvnw", "gradle", "gradlew")),
    (r"(.*/)?\.mvn/.*", ("mvn", "mvnw")),
    (r"(.*/)?META-INF/services/org\.(junit|testng)\..*", ("mvn", "mvnw", "gradle", "gradlew")),
    (r"CTest\w*\.cmake", ("ctest", "cmake")),
    (r".*\.runsettings|\.bazelrc|test_helper\.exs", ("dotnet", "bazel", "bazelisk", "mix")),
)
_JVM: Final = frozenset({"mvn", "mvnw", "gradle", "gradlew"})
# What of a file decides what passes, wherever else in it the work may write: its name, the part, the tools, what it does.
_INSIDE: Final = (
    (
        r".*\.(?:java|kt)",
        r"\b(?:TestExecutionExceptionHandler|InvocationInterceptor|IRetryAnalyzer|ExecutionCondition)\b",
        _JVM,
        "it decides which tests fail",
    ),
    (
        r"(?:spec|rails|test|minitest)_helper\.rb",
        (
            r"filter_run\w*[^\n]*|failure_exit_code[^\n]*|default_retry_count[^\n]*|\bexit!?\s*[(\d][^\n]*|\bat_exit\b[^\n]*"
            r"|(?:before|around|prepend_before)\b[^\n]*\b(?:skip|pending)\b[^\n]*|exclude_pattern[^\n]*|\bverbose_retry[^\n]*"
        ),
        frozenset({"rspec", "rake", "rails", "ruby", "bundle"}),
        "it decides what runs",
    ),
    (
        r".*\.(?:cs|fs|vb)proj|Directory\.[\w.]+\.(?:props|targets)",
        (
            r"<(?:IsTestProject|TreatWarningsAsErrors)>(?!\s*true)[^<]*|<(?:VSTest\w+|RunSettingsFilePath)>[^<]*"
            r"|<Compile\s+Remove=\"[^\"]*[Tt]est[^>]*>"
        ),
        frozenset({"dotnet"}),
        "it says what dotnet builds or runs",
    ),
)
_KEEPS: Final = re.compile(
    r"(?://.*|/?\*.*|#.*|[{}]?|\s*dependencies\s*\{|version\b.*|group\b.*|description\b.*"
    r"|(?:test|android|debug|release)?(?:[iI]mplementation|[aA]pi|[cC]ompileOnly|[rR]untimeOnly|[aA]nnotationProcessor|kapt|ksp)"
    r"[\s(]+(?:(?:enforcedPlatform|platform|project|kotlin|libs)\b)?[\w\s.:'\"@+$,()-]*)"
)
_DEPENDENCIES: Final = re.compile(
    r"<dependencyManagement>.*?</dependencyManagement>|<dependencies>.*?</dependencies>", re.DOTALL
)
_FREE_OF_POM: Final = re.compile(
    r"<!--.*?-->|<(?!surefire|failsafe|maven|junit|argLine|skip)([\w.-]*[.-]?version|name|description|url)>[^<]*</\1>",
    re.DOTALL,
)
_NPMRC_FREE: Final = re.compile(
    r"\s*(?:[#;].*|@?[\w./:-]*(?:registry|_auth\w*|email|always-auth|save-exact|engine-strict|fund|audit)\s*=.*)?"
)
_ELSEWHERE: Final = re.compile(r"\s*(?:-(?!r |c |-requirement|-constraint|-hash)|\.{0,2}/|[^#]*://|[^#]*\s@\s)")
_CARGO_FREE: Final = frozenset(
    {
        "version",
        "description",
        "authors",
        "edition",
        "license",
        "keywords",
        "categories",
        "readme",
        "repository",
        "homepage",
    }
    | {"documentation", "rust-version", "name", "publish", "license-file", "metadata"}
)


def other_tools(path: str, before: bytes | None, after: bytes | None, words: set[str]) -> Iterator[str]:
    """What a file says to the tools that the commands name, when it changed in that; dependencies alone are the work's."""
    name = posixpath.basename(path)
    for pattern, tools in _WHOLE:
        if re.fullmatch(pattern, path if "/" in pattern else name) and words & set(tools):
            yield f"it says what {next(each for each in tools if each in words)} does"
    if re.fullmatch(r"vite\.config\.\w+", name) and "vitest" in words and _vite(before) != _vite(after):
        yield "it says what vitest does"
    if name.endswith((".gradle", ".gradle.kts")) and words & {"gradle", "gradlew"} and _lines(before) != _lines(after):
        yield "it says what gradle does"
    if name == "pom.xml" and words & {"mvn", "mvnw"} and _pom(before) != _pom(after):
        yield "it says what mvn does"
    if name == "CMakeLists.txt" and words & {"ctest", "cmake"} and _tests_of_cmake(before) != _tests_of_cmake(after):
        yield "its tests are others"
    if name == "Cargo.toml" and "cargo" in words:
        yield from _cargo(configs.toml(before), configs.toml(after))
    yield from _of_language(name, before, after, words)
    yield from _decides(name, before, after, words)


def _decides(name: str, before: bytes | None, after: bytes | None, words: set[str]) -> Iterator[str]:
    for pattern, inside, tools, what in _INSIDE:
        if words & tools and re.fullmatch(pattern, name):
            known = [each.group(0) for each in re.finditer(inside, _text(before))]
            come = [each[0] for each in re.finditer(inside, _text(after)) if each[0] not in known]
            if come:
                yield f"{what}: {' '.join(come[0].split())[:60]}"


def _of_language(name: str, before: bytes | None, after: bytes | None, words: set[str]) -> Iterator[str]:
    if name == ".npmrc" and words & {"npm", "npx", "pnpm", "yarn"} and _npmrc(before) != _npmrc(after):
        yield "it says how npm runs scripts"
    if re.fullmatch(r"[\w-]*requirements[\w-]*\.(txt|in)", name) and words & {"pip", "pip3"}:
        come = [line for line in _text(after).splitlines() if line not in _text(before).splitlines()]
        if any(_ELSEWHERE.match(line) for line in come):
            yield "it takes packages from elsewhere"
    if name.endswith("_test.go") and "go" in words:
        yield from _test_main(_text(before), _text(after))


def required(path: str, data: bytes) -> Iterator[str]:
    """The files beside a runner's configuration that it takes in, as they could be named."""
    folder = posixpath.dirname(path)
    for word in re.findall(r"""["'`](?:<rootDir>/|(?=\.{1,2}/))([^"'`\n]+)["'`]""", data.decode("utf-8", "replace")):
        plain = posixpath.normpath(posixpath.join(folder, word))
        yield from (
            plain + end for end in ("", ".js", ".ts", ".cjs", ".mjs", ".json", ".mts", "/index.js", "/index.ts")
        )


def runner_configs(words: set[str]) -> Iterator[str]:
    """The names of configurations, at the top, that may take in further files."""
    for tool, stem in (
        ("jest", "jest.config"),
        ("vitest", "vitest.config"),
        ("vitest", "vite.config"),
        ("mocha", ".mocharc"),
    ):
        if tool in words:
            yield from (f"{stem}.{end}" for end in ("js", "ts", "cjs", "mjs", "mts", "json"))


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


def _lines(data: bytes | None) -> list[str]:
    """A build script of gradle without what only declares dependencies, versions and comments."""
    return [line.strip() for line in _text(data).splitlines() if not _KEEPS.fullmatch(line.strip())]


def _pom(data: bytes | None) -> list[str]:
    """A pom.xml without dependencies outside of plug-ins, and without versions and names."""
    parts = re.split(r"(<build>.*?</build>|<profiles>.*?</profiles>)", _text(data), flags=re.DOTALL)
    kept = [part if at % 2 else _DEPENDENCIES.sub("", part) for at, part in enumerate(parts)]
    return _FREE_OF_POM.sub("", "".join(kept)).split()


def _tests_of_cmake(data: bytes | None) -> list[str]:
    return re.findall(
        r"(?is)\b(?:add_test|\w*_discover_tests|set_tests_properties|set_property|enable_testing|include)\s*\([^)]*\)",
        _text(data),
    )


def _npmrc(data: bytes | None) -> list[str]:
    return [line for line in _text(data).splitlines() if not _NPMRC_FREE.fullmatch(line)]


def _vite(data: bytes | None) -> list[str]:
    """What of a vite.config is for the tests: the value of ``test``, all of it where that is not written out, and lines about it."""
    text = _text(data)
    found = [
        line.strip()
        for line in text.splitlines()
        if re.search(r"VITEST|['\"]test['\"]|vitest|mock|stub|fake|tests?/", line)
    ]
    for match in re.finditer(r"\btest\s*[:,}]\s*", text):
        body = _braced(text, match.end())
        found.append(body if body and "..." not in body else text)
    return found


def _braced(text: str, at: int) -> str:
    if text[at : at + 1] != "{":
        return ""
    depth = 0
    for end in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if not depth:
            return text[at : end + 1]
    return ""


def _cargo(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    for kind in ("lib", "bin", "test", "example", "bench"):
        known, now = ([each] if isinstance(each, dict) else each for each in (old.get(kind, []), new.get(kind, [])))
        offs = [each for each in now if each not in known and (False in each.values() or "required-features" in each)]
        if offs:
            yield f"[{kind}] turns tests off"
        if kind in ("test", "lib") and [each for each in known if each not in now and kind == "test"]:
            yield f"[{kind}] is another one"
    packages = [
        {key: value for key, value in each.get("package", {}).items() if key not in _CARGO_FREE} for each in (old, new)
    ]
    if old and packages[0] != packages[1]:
        yield "[package] is another one"
    if old and old.get("profile") != new.get("profile"):
        yield "[profile] is another one"
    a, b = old.get("workspace", {}), new.get("workspace", {})
    for key, fewer in (("members", True), ("default-members", True), ("exclude", False)):
        x, y = (a.get(key) or []), (b.get(key) or [])
        lost = [each for each in (x if fewer else y) if each not in (y if fewer else x)]
        if lost or (key == "default-members" and a and not x and y):
            yield f"{key} of the workspace leaves out {', '.join(lost) or 'others'}"


def _test_main(before: str, after: str) -> Iterator[str]:
    """A TestMain that does more than to prepare, run all tests and end with what they gave."""
    bodies = [
        re.findall(r"func\s+TestMain\s*\(.*?\n}|func\s+TestMain\s*\([^\n]*}", each, re.DOTALL)
        for each in (before, after)
    ]
    for body in bodies[1]:
        kept = set(re.findall(r"(\w+)\s*:?=\s*m\.Run\(\)", body)) | {"m.Run()", "1", "2"}
        ends = re.findall(r"os\.Exit\(((?:[^()]|\(\))*)\)", body)
        honest = "m.Run()" in body and all(each.strip() in kept for each in ends) and "test." not in body
        assigned = [name for name in kept if len(re.findall(rf"\b{re.escape(name)}\s*:?=[^=]", body)) > 1]
        if body not in bodies[0] and (not honest or assigned):
            yield "TestMain decides what passes"
