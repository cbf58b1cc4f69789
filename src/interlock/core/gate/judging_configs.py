"""Settings of test runners and checkers on both sides: what became weaker in the sections that judge; other sections are the work's."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

# Options that change how pytest looks or how quick it is, not what it runs or believes.
_HARMLESS: Final = re.compile(
    r"-[qvs]+|--verbose|--quiet|-r\w*|--tb(=.*)?|--strict(-markers|-config)?|--durations(-min)?(=.*)?|-n(=?\w+)?|--numprocesses.*"
    r"|--dist(=.*)?|--color(=.*)?|--cov(=.*)?|--cov-report(=.*)?|--cov-branch|--import-mode(=.*)?|--no-header"
    r"|--showlocals|-l|--junit-?xml(=.*)?|--cache-clear|--randomly.*|-W ?error.*|--maxfail(=.*)?|-x|--exitfirst|--timeout(=.*)?|--doctest-modules|--asyncio-mode.*"
    r"|no:cacheprovider|-pno:cacheprovider|--benchmark.*|--disable-warnings|--no-cov-on-fail"
)
# A warning filter that lets every warning pass.
_BLANKET: Final = re.compile(r"(?:ignore|default|always|once|module)(?:::(?:Warning|Exception)?)?(?::*)")
# What no one measures: steps of a database, generated code, the tests themselves.
_NO_PRODUCT: Final = re.compile(
    r"(?:.*/)?(?:migrations|alembic/versions|tests|\*_pb2(?:_grpc)?\.py|_version\.py|conftest\.py|test_\*(?:\.py)?)(?:/\*{1,2}(?:\.py)?)?/?"
)
_FEWER: Final = ("testpaths", "python_files", "python_classes", "python_functions", "required_plugins")
_USUAL: Final = {"python_files": ("test_*.py",), "python_classes": ("Test",), "python_functions": ("test",)}
"""What pytest collects where nothing is set; ``*`` at the end of the last two is no other name."""
_MORE: Final = ("norecursedirs", "collect_ignore", "usefixtures", "xfail_tests")
_COVERAGE_MORE: Final = ("omit", "exclude_lines", "exclude_also", "partial_branches")
_COVERAGE_FEWER: Final = ("source", "source_pkgs", "include")
PYTEST_FILES: Final = (
    "pytest.toml",
    ".pytest.toml",
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
)

Settings = Mapping[str, Any]


class Unreadable(Exception):
    """A file of settings that cannot be read; the text is a whole sentence."""


def toml(data: bytes | None) -> dict[str, Any]:
    """Raises Unreadable."""
    try:
        return tomllib.loads((data or b"").decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise Unreadable(f"It is no TOML: {fault}.") from fault


def ini(data: bytes | None) -> dict[str, dict[str, str]]:
    """Raises Unreadable."""
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    try:
        parser.read_string((data or b"").decode())
    except (configparser.Error, UnicodeDecodeError) as fault:
        raise Unreadable("It is no file of settings with sections.") from fault
    return {name: {key: value or "" for key, value in parser.items(name)} for name in parser.sections()}


def json_of(data: bytes | None) -> dict[str, Any]:
    """JSON with comments and commas at the end, as tsconfig.json has them.  Raises Unreadable."""
    text = (data or b"{}").decode("utf-8", "replace")
    try:
        found = json.loads(text)
    except ValueError:
        plain = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', lambda m: m[1] or "", text, flags=re.DOTALL)
        try:
            found = json.loads(re.sub(r",(\s*[}\]])", r"\1", plain))
        except ValueError as fault:
            raise Unreadable("It is no JSON.") from fault
    return found if isinstance(found, dict) else {}


def pytest_settings(name: str, data: bytes | None) -> dict[str, Any] | None:
    """The settings of pytest in a file of that name; None when pytest would look further."""
    if data is None:
        return None
    if name.endswith(".toml"):
        found = toml(data)
        if name != "pyproject.toml":
            return dict(found.get("pytest", found))
        tool = found.get("tool", {}).get("pytest")
        return (
            None
            if tool is None
            else {**{k: v for k, v in tool.items() if k != "ini_options"}, **tool.get("ini_options", {})}
        )
    section = "tool:pytest" if name == "setup.cfg" else "pytest"
    found_ini = ini(data)
    if name.endswith("pytest.ini"):
        return dict(found_ini.get(section, {}))
    return dict(found_ini[section]) if section in found_ini else None


def weaker_pytest(
    before: Settings, after: Settings, *, floor: float = 0.0, tests: Sequence[str] | None = None
) -> Iterator[str]:
    """What of the settings of pytest lets more pass, in words.

    ``floor`` is the coverage, in per cent, that other settings of the base ask for; ``tests`` are the files of the base's tests (None: not told).
    """
    yield from _options(_words(before.get("addopts")), _words(after.get("addopts")), floor)
    yield from _python_path(_words(before.get("pythonpath")), _words(after.get("pythonpath")))
    for key in _FEWER:
        gone = [each for each in _words(before.get(key)) if each not in _words(after.get(key))]
        if gone and _words(before.get(key)):
            yield f"{key} no longer has {', '.join(gone)}"
        usual = [each for each in _USUAL.get(key, ()) if each not in _words(after.get(key))]
        if usual and not _words(before.get(key)) and _words(after.get(key)):
            yield f"{key} no longer has {', '.join(usual)}, as is usual"
    if not _words(before.get("testpaths")) and not _covers(_words(after.get("testpaths")), tests):
        yield f"testpaths is narrowed to {', '.join(_words(after.get('testpaths')))}"
    for key in _MORE:
        come = [each for each in _words(after.get(key)) if each not in _words(before.get(key))]
        if come:
            yield f"{key} has {', '.join(come)}"
    if _true(before.get("xfail_strict")) and not _true(after.get("xfail_strict")):
        yield "xfail_strict is off"
    yield from _filters(_lines(before.get("filterwarnings")), _lines(after.get("filterwarnings")))


def _filters(before: list[str], after: list[str]) -> Iterator[str]:
    errors = [each for each in before if each.startswith("error")]
    for each in errors:
        if each not in after:
            yield f"filterwarnings no longer has {each}"
    for each in after:
        if errors and each not in before and _BLANKET.fullmatch(each):
            yield f"filterwarnings has {each}"


def _covers(paths: list[str], tests: Sequence[str] | None) -> bool:
    """Whether first ``testpaths`` leave out no test of the base."""
    if not paths:
        return True
    inside = tuple(f"{each.strip('/').removeprefix('./')}/" for each in paths)
    return tests is not None and all(each.startswith(inside) for each in tests)


def _python_path(before: list[str], after: list[str]) -> Iterator[str]:
    """A module is taken from the first folder that has it: a new one in front may hold another one of that name."""
    usual = not before and all(each.strip("./") in ("", "src", "lib", "tests") for each in after)
    if after[: len(before)] != before or (after != before and not usual and not before):
        yield f"pythonpath is {', '.join(after) or 'nothing'}"


def _options(before: list[str], after: list[str], floor: float) -> Iterator[str]:
    come = [each for each in _joined(after) if each not in _joined(before)]
    least = max([floor, *map(_number, filter(None, (_cov(each) for each in _joined(before))))])
    for each in come:
        if _cov(each) is not None:
            if _number(_cov(each)) < least:
                yield f"addopts has {each}"
            continue
        warning = re.fullmatch(r"-W[ =]?(.*)|--pythonwarnings[ =](.*)", each)
        if warning and not _BLANKET.fullmatch(warning[1] or warning[2] or ""):
            continue
        first = each.partition(" ")[0]
        if (first == "-W" or not _HARMLESS.fullmatch(first)) and not _HARMLESS.fullmatch(each):
            yield f"addopts has {each}"
    for each in _joined(before):
        strict = each.startswith(("--strict", "-W", "--cov-fail-under", "--doctest", "--runslow")) or "error" in each
        if _cov(each) is not None and any(_cov(now) is not None for now in come):
            continue
        if each not in _joined(after) and strict:
            yield f"addopts no longer has {each}"


def _cov(option: str) -> str | None:
    """The coverage that an option asks for."""
    found = re.fullmatch(r"--cov-fail-under[ =](.*)", option)
    return found[1] if found else None


def _joined(words: list[str]) -> list[str]:
    """Options with their values: ``-k name`` is one."""
    found: list[str] = []
    for word in words:
        takes = found and found[-1].startswith("-") and " " not in found[-1] and "=" not in found[-1]
        if not word.startswith("-") and takes:
            found[-1] += f" {word}"
        else:
            found.append(word)
    return found


def weaker_coverage(before: Settings, after: Settings) -> Iterator[str]:
    """What of the settings of coverage lets more pass; both are {section: {key: value}}."""
    for section in ("run", "report"):
        old, new = before.get(section, {}), after.get(section, {})
        if _number(new.get("fail_under")) < _number(old.get("fail_under")):
            yield f"fail_under went from {old.get('fail_under')} to {new.get('fail_under', 'nothing')}"
        for key in _COVERAGE_MORE:
            come = [each for each in _lines(new.get(key)) if each not in _lines(old.get(key))]
            come = [each for each in come if key != "omit" or not _NO_PRODUCT.fullmatch(each)]
            if come:
                yield f"{key} has {', '.join(come)}"
        for key in _COVERAGE_FEWER:
            gone = [each for each in _lines(old.get(key)) if each not in _lines(new.get(key))]
            if gone:
                yield f"{key} no longer has {', '.join(gone)}"
        if _true(old.get("branch")) and not _true(new.get("branch")):
            yield "branch is off"


def coverage_settings(name: str, data: bytes | None) -> dict[str, Any]:
    """The sections of coverage in a file of that name."""
    if data is None:
        return {}
    if name.endswith(".toml"):
        return dict(toml(data).get("tool", {}).get("coverage", {}))
    found = ini(data)
    if name == ".coveragerc":
        return dict(found)
    return {key.removeprefix("coverage:"): value for key, value in found.items() if key.startswith("coverage:")}


def weaker_types(before: Settings, after: Settings) -> Iterator[str]:
    """What of a tsconfig.json lets more pass: an option that is off, files that are left out."""
    old, new = before.get("compilerOptions", {}), after.get("compilerOptions", {})
    for key in sorted({*old, *new}):
        judged = key.startswith(("strict", "no", "exact", "allow", "use", "skip", "checkJs"))
        if judged and old.get(key) != new.get(key) and not _stricter(key, old.get(key), new.get(key)):
            yield f"{key} went from {_told(old.get(key))} to {_told(new.get(key))}"
    for key, fewer in (("include", True), ("files", True), ("exclude", False)):
        a, b = list(before.get(key) or []), list(after.get(key) or [])
        lost = [each for each in (a if fewer else b) if each not in (b if fewer else a)]
        if lost:
            yield f"{key} {'no longer has' if fewer else 'has'} {', '.join(map(str, lost))}"
    if before.get("extends") != after.get("extends"):
        yield "extends is another file"


def _stricter(key: str, old: object, new: object) -> bool:
    loose = key.startswith(("allow", "skip")) and key != "allowJs"
    return (new is False or (new is None and old is True)) if loose else new is True


def _told(value: object) -> str:
    return "nothing" if value is None else json.dumps(value)


def _words(value: object) -> list[str]:
    if isinstance(value, list):
        return [str(each) for each in value]
    try:
        return shlex.split(str(value or ""), comments=False)
    except ValueError:
        return str(value).split()


def _lines(value: object) -> list[str]:
    if isinstance(value, list):
        return [str(each) for each in value]
    return [each.strip() for each in re.split(r"[\n,]", str(value or "")) if each.strip()]


def _true(value: object) -> bool:
    return value is True or str(value).strip().lower() in ("true", "1", "yes", "on")


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return 0.0
