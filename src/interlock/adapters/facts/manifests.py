"""Reads manifests: packages that a project wants, the scripts that it installs or names, and the commands in those."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from interlock.adapters.facts.shell import of_command
from interlock.core.merge.facts import Mark

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*([^;#]*)")


def marks(name: str, text: str) -> Iterator[Mark]:
    """The marks of a manifest, if the file is one."""
    if name == "package.json":
        yield from _package(text)
    elif name == "pyproject.toml":
        yield from _pyproject(text)
    elif name.startswith(("settings.gradle", "build.gradle")):
        yield from _gradle(text, defines=name.startswith("settings"))
    elif re.fullmatch(r"(?:[\w-]*requirements[\w-]*|constraints)\.(?:txt|in)", name):
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip() and not line.lstrip().startswith(("#", "-")):
                yield from _wanted(line, number)


def _gradle(text: str, *, defines: bool) -> Iterator[Mark]:
    """The projects that a build of Gradle includes, or those that one of them stands on."""
    for number, line in enumerate(text.splitlines(), 1):
        plain = line.split("//")[0]
        if defines and re.match(r"\s*include\b", plain):
            for name in re.findall(r"""["'](:?[\w:.-]+)["']""", plain):
                yield Mark(
                    kind="registration",
                    name=f":{name.lstrip(':')}",
                    line=number,
                    role="defines",
                    scope="gradle-project",
                )
        elif not defines:
            for name in re.findall(r"""\bproject\(\s*(?:path\s*[:=]\s*)?["'](:[\w:.-]+)["']""", plain):
                yield Mark(kind="registration", name=name, line=number, role="uses", scope="gradle-project")


def _wanted(text: str, line: int) -> Iterator[Mark]:
    found = _REQUIREMENT.match(text)
    if found is not None:
        name = re.sub(r"[-_.]+", "-", found[1]).lower()
        yield Mark(kind="package", name=name, line=line, role="defines", scope="wanted", detail=found[2].strip())


def _line_of(text: str, word: str) -> int:
    place = text.find(word)
    return text.count("\n", 0, place) + 1 if place >= 0 else 1


def _package(text: str) -> Iterator[Mark]:
    tree: dict[str, Any] = json.loads(text)
    for key in ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies"):
        for name, wanted in (tree.get(key) or {}).items():
            line = _line_of(text, f'"{name}"')
            yield Mark(kind="package", name=name, line=line, role="defines", scope="wanted", detail=str(wanted))
            yield Mark(kind="package", name=name, line=line, role="uses", scope="package.json", detail=str(wanted))
    programs = tree.get("bin")
    for name, place in programs.items() if isinstance(programs, dict) else ():
        yield Mark(
            kind="registration",
            name=name,
            line=_line_of(text, f'"{name}"'),
            role="defines",
            scope="script",
            detail=str(place),
        )
    for name, command in (tree.get("scripts") or {}).items():
        line = _line_of(text, f'"{name}"')
        yield Mark(kind="registration", name=name, line=line, role="defines", scope="npm-script")
        yield from of_command(str(command), line)


def _pyproject(text: str) -> Iterator[Mark]:
    tree = tomllib.loads(text)
    project = tree.get("project") or {}
    lists: list[Any] = [project.get("dependencies") or []]
    lists += (project.get("optional-dependencies") or {}).values()
    lists += (tree.get("dependency-groups") or {}).values()
    for each in (wanted for group in lists for wanted in group):
        if isinstance(each, str):
            yield from _wanted(each, _line_of(text, each))
    poetry = (tree.get("tool") or {}).get("poetry") or {}
    groups = [poetry.get("dependencies") or {}, poetry.get("dev-dependencies") or {}]
    groups += [(each or {}).get("dependencies") or {} for each in (poetry.get("group") or {}).values()]
    for name in (name for group in groups for name in group):
        if name != "python":
            yield from _wanted(name, _line_of(text, name))
    for scripts in (project.get("scripts") or {}, project.get("gui-scripts") or {}, poetry.get("scripts") or {}):
        for name, place in scripts.items():
            shown = place if isinstance(place, str) else str((place or {}).get("reference", ""))
            yield Mark(
                kind="registration", name=name, line=_line_of(text, name), role="defines", scope="script", detail=shown
            )
