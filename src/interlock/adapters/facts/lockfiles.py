"""Reads lock files: which version of each package is locked, and which range of it another one wants."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Any, Final

from interlock.core.merge.facts import Mark

_WANTS: Final = ("dependencies", "peerDependencies", "optionalDependencies")


def _locked(name: str, version: str, line: int) -> Mark:
    return Mark(kind="package", name=name, line=line, role="defines", scope="locked", detail=version)


def _wants(name: str, wanted: str, who: str, line: int) -> Mark:
    return Mark(kind="package", name=name, line=line, role="uses", scope=who, detail=wanted)


def _lines(text: str, pattern: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if (match := re.match(pattern, line)) is not None:
            found.setdefault(match[1], number)
    return found


def _npm(text: str) -> Iterator[Mark]:
    tree = json.loads(text)
    lines = _lines(text, r'\s*"([^"]+)"\s*:')
    packages: dict[str, Any] = tree.get("packages") or {
        f"node_modules/{name}": {
            **each,
            "dependencies": each.get("requires") if isinstance(each.get("requires"), dict) else {},
        }
        for name, each in (tree.get("dependencies") or {}).items()
    }
    for place, each in packages.items():
        name = place.rpartition("node_modules/")[2]
        line = lines.get(place) or lines.get(name, 1)
        version = str(each.get("version", ""))
        if place and place.count("node_modules/") == 1 and version:
            yield _locked(name, version, line)
        for key in _WANTS:
            optional = each.get("peerDependenciesMeta") or {}
            for other, wanted in (each.get(key) or {}).items() if place else ():
                nested = f"{place}/node_modules/{other}" in packages
                if not nested and not (key == "peerDependencies" and (optional.get(other) or {}).get("optional")):
                    yield _wants(other, str(wanted), f"{name} {version}", line)


def _pnpm(text: str) -> Iterator[Mark]:
    import yaml

    tree = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {}  # noqa: S506 - a safe loader
    lines = _lines(text, r"\s*'?/?((?:@[\w.-]+/)?[\w.-]+@[^:'(]+)")
    for key, each in (tree.get("packages") or {}).items():
        found = re.match(r"/?((?:@[^/@]+/)?[^/@]+)[@/]([\w.+-]+)", str(key))
        if found is None:
            continue
        line = lines.get(f"{found[1]}@{found[2]}", 1)
        yield _locked(found[1], found[2], line)
        for other, wanted in ((each or {}).get("peerDependencies") or {}).items():
            if not (((each or {}).get("peerDependenciesMeta") or {}).get(other) or {}).get("optional"):
                yield _wants(str(other), str(wanted), f"{found[1]} {found[2]}", line)


def _yarn(text: str) -> Iterator[Mark]:
    name, start, version, inside = "", 1, "", False
    wants: list[Mark] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line[:1] not in {"", " ", "#"} and line.rstrip().endswith(":"):
            found = re.match(r'"?((?:@[^/@"]+/)?[^@"\s]+)@', line)
            name, start, version, inside = found[1] if found else "", number, "", False
            yield from wants
            wants = []
        elif found := re.match(r'  "?version"?:? "?([\w.+-]+)"?', line):
            version = found[1]
            if name:
                yield _locked(name, version, start)
        elif re.match(r"  (?:dependencies|peerDependencies):", line):
            inside = True
        elif inside and (found := re.match(r'    "?((?:@[^/"]+/)?[\w.-]+)"?:? "?([^"]+)"?', line)):
            wants.append(_wants(found[1], found[2].removeprefix("npm:"), f"{name} {version}", start))
        else:
            inside = inside and line.startswith("    ")
    yield from wants


def _toml(text: str) -> Iterator[Mark]:
    """Cargo, Poetry and uv: tables of packages."""
    lines = _lines(text, r'name = "([^"]+)"')
    for each in tomllib.loads(text).get("package", ()):
        name, version = each.get("name", ""), str(each.get("version", ""))
        line = lines.get(name, 1)
        if version:
            yield _locked(name, version, line)
        wanted = each.get("dependencies")
        for other, given in wanted.items() if isinstance(wanted, dict) else ():
            shown = given.get("version", "") if isinstance(given, dict) else given
            if isinstance(shown, str):
                yield _wants(other, shown, f"{name} {version}", line)
        for given in (each.get("metadata") or {}).get("requires-dist", ()):
            if isinstance(given, dict) and given.get("specifier") and not given.get("marker"):
                yield _wants(given["name"], given["specifier"], name, line)


def _bundler(text: str) -> Iterator[Mark]:
    name = version = ""
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.match(r" {4}([\w.-]+) \(([\w.]+)[^)]*\)$", line):
            name, version = found[1], found[2]
            yield _locked(name, version, number)
        elif found := re.match(r" {6}([\w.-]+) \(([^)]+)\)$", line):
            yield _wants(found[1], found[2], f"{name} {version}", number)


def _go(text: str) -> Iterator[Mark]:
    for number, line in enumerate(text.splitlines(), 1):
        if (found := re.match(r"(\S+) v([\w.+-]+)\s", line)) is not None:
            yield _locked(found[1], found[2], number)


READERS: Final[dict[str, Callable[[str], Iterator[Mark]]]] = {
    "package-lock.json": _npm,
    "npm-shrinkwrap.json": _npm,
    "pnpm-lock.yaml": _pnpm,
    "yarn.lock": _yarn,
    "uv.lock": _toml,
    "poetry.lock": _toml,
    "Cargo.lock": _toml,
    "Gemfile.lock": _bundler,
    "go.sum": _go,
}
