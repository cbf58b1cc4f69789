"""What a Makefile says for the goals that a check makes: rules with all they need, and top-level lines that reach them; pure text."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

DEFAULT: Final = "\0default"
"""Stands for the goal that is made when none is named."""
NAMES: Final = ("GNUmakefile", "makefile", "Makefile")
"""The names that make looks for, in its order."""

_ASSIGN: Final = re.compile(r"\s*(?:(?:export|override|private)\s+)*([^\s:#=?+!]+)\s*(?::{0,3}|\?|\+|!)=\s*(.*)")
_RULE: Final = re.compile(r"([^#\s:][^:=#]*?)\s*:{1,2}(?![:=])\s*([^;#]*)(?:;\s*(.*))?")
_USED: Final = re.compile(r"\$[({]([^\s(){}$:,]+)")
# What make hands on to what it starts although no line exports it, and what it reads itself.
_REACHES: Final = re.compile(
    r"PATH|HOME|SHELL|\.SHELLFLAGS|MAKE\w*|GNUMAKEFLAGS|\.\w+|VPATH|LANG|LC_\w+|TMPDIR|CI|ENV|BASH_ENV|LD_\w+|PY\w*|NODE\w*|NPM\w*|GO\w*"
    r"|CARGO\w*|RUST\w*|JAVA\w*|MAVEN\w*|GRADLE\w*|COVERAGE\w*|TOX\w*"
)
_RUNS: Final = re.compile(r"\$[({](?:shell|eval|call|file|guile)\b|!=")
_DIRECTIVE: Final = re.compile(
    r"\s*(?:-?include|sinclude|define|endef|ifn?eq|ifn?def|else|endif|un?export|undefine|vpath|load|-load)\b"
)
_BUILDS: Final = re.compile(r"@?\s*(?:cc|gcc|g\+\+|clang(?:\+\+)?|c\+\+|\$[({](?:CC|CXX|LD|AR)[)}])\s[^;&|`]*")
_PLAIN_FLAGS: Final = re.compile(r"[^=]*=\s*(?:-(?!DNDEBUG)[\w=./,+-]+\s*)*")
_IDLE: Final = re.compile(r"@?(?:true|:|echo(?: [\w .'\"-]*)?|mkdir -p [\w./-]+)")


@dataclass(slots=True)
class Makefile:
    """A Makefile in parts: goal → what it needs and its recipe; variable → its lines; other top-level lines; goals in order."""

    rules: dict[str, tuple[list[str], list[str]]] = field(default_factory=dict)
    variables: dict[str, list[str]] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    phony: set[str] = field(default_factory=set)

    @property
    def includes(self) -> list[str]:
        """The files that it takes in, as written."""
        found = (re.match(r"\s*(?:-|s)?include\s+(.*)", line) for line in self.others)
        return [name for each in found if each for name in self.told(each[1]).split()]

    def told(self, line: str, depth: int = 0) -> str:
        """A line with the values of simple variables in it, as far as they are written down; ``$(MAKE)`` is make."""

        def value(match: re.Match[str]) -> str:
            if match[1] == "MAKE":
                return "make"
            lines = self.variables.get(match[1], [])
            found = _ASSIGN.match(lines[-1]) if lines and depth < 5 else None
            return self.told(found[2], depth + 1) if found else ""

        return re.sub(r"\$[({]([\w.-]+)[)}]", value, line)

    def needed(self, goals: set[str]) -> dict[str, tuple[str, ...]]:
        """The goals and all that they need, each with what it needs and its recipe."""
        wanted = list(goals - {DEFAULT}) + (self.order[:1] if DEFAULT in goals else [])
        done: dict[str, tuple[str, ...]] = {}
        while wanted:
            goal = wanted.pop()
            if goal not in done and goal in self.rules:
                needs, lines = self.rules[goal]
                done[goal] = (" ".join(needs), *lines)
                wanted += self.told(" ".join(needs)).split()
        return done


def parsed(text: str) -> Makefile:
    """A Makefile by its lines; what is neither a rule nor an assignment is kept as another line."""
    found = Makefile()
    current: list[str] = []
    defines = False
    for raw in re.sub(r"\\\n", " ", text).splitlines():
        line = raw.rstrip()
        if defines or line.lstrip(" ").startswith("define"):
            defines = not re.match(r"\s*endef\b", line)
            found.others.append(line.strip())
        elif line.startswith("\t") and current:
            for goal in current:
                found.rules[goal][1].append(line.strip())
        elif not line.strip() or line.lstrip().startswith("#"):
            continue
        elif _DIRECTIVE.match(line) and not _ASSIGN.match(line):
            found.others.append(line.strip())
        elif assigned := _ASSIGN.match(line):
            found.variables.setdefault(assigned[1], []).append(line.strip())
        elif (rule := _RULE.match(line)) and not re.search(r"[:?+!]?=", rule[2]) and not _RUNS.search(line):
            current = _take(found, rule)
        else:
            found.others.append(line.strip())
    return found


def _take(found: Makefile, rule: re.Match[str]) -> list[str]:
    goals, needs = rule[1].split(), rule[2].replace("|", " ").split()
    if goals == [".PHONY"]:
        found.phony |= set(needs)
        return []
    if any((goal.startswith(".") and "/" not in goal) or "%" in goal or "$" in goal for goal in goals):
        found.others.append(rule[0].strip())
    for goal in goals:
        known = found.rules.setdefault(goal, ([], []))
        known[0].extend(needs)
        known[1].extend([rule[3]] if rule[3] else [])
        found.order += [] if goal.startswith(".") else [goal]
    return goals


def changed(before: bytes | None, after: bytes | None, goals: set[str]) -> Iterator[str]:
    """What of a Makefile is another one for the goals: rules, what they need, variables they use, and lines that reach every rule."""
    old, new = (parsed((data or b"").decode("utf-8", "replace")) for data in (before, after))
    a, b = old.needed(goals), new.needed(goals)
    idle = {name for name in b if name not in a and _is_idle(new, name)}
    for name in dict.fromkeys((*a, *b)):
        if name not in idle and _without(a.get(name), idle) != _without(b.get(name), idle):
            yield f"{name} is another one"
    for name in sorted({*old.variables, *new.variables}):
        lines = (old.variables.get(name, []), new.variables.get(name, []))
        if lines[0] != lines[1] and (_reaches(old, goals, name, lines) or _reaches(new, goals, name, lines)):
            yield f"{name} is another one"
    for goal in sorted((old.phony - new.phony) & b.keys()):
        yield f"{goal} is no longer phony"
    yield from _other_lines(old, new)


def _other_lines(old: Makefile, new: Makefile) -> Iterator[str]:
    """Lines that are neither rules of plain goals nor assignments: they may reach everything."""
    for line in dict.fromkeys((*old.others, *new.others)):
        if old.others.count(line) != new.others.count(line):
            yield f"the line {line[:60]} is {'new' if line in new.others else 'gone'}"
    if [line for line in old.others if line in new.others] != [line for line in new.others if line in old.others]:
        yield "its lines stand in another order"
    for goal in dict.fromkeys((*old.rules, *new.rules)):
        if ("%" in goal or goal.startswith(".") or "$" in goal) and old.rules.get(goal) != new.rules.get(goal):
            yield f"{goal} is another one"


def _is_idle(file: Makefile, goal: str) -> bool:
    """Whether all that a goal does is to say something or to make a folder."""
    return all(not parts[0] and all(map(_IDLE.fullmatch, parts[1:])) for parts in file.needed({goal}).values())


def _without(parts: tuple[str, ...] | None, idle: set[str]) -> tuple[str, ...] | None:
    if parts is None:
        return None
    return (" ".join(each for each in parts[0].split() if each not in idle), *parts[1:])


def _reaches(file: Makefile, goals: set[str], name: str, lines: tuple[list[str], list[str]]) -> bool:
    """Whether a variable is seen by what the goals run; plain flags of a compiler in what they need are the work's."""
    said = [*lines[0], *lines[1]]
    if _REACHES.fullmatch(name) or any(re.match(r"\s*export\b", each) or _RUNS.search(each) for each in said):
        return True
    everything = any(re.fullmatch(r"export|\.EXPORT_ALL_VARIABLES\s*:?", line) for line in file.others)
    if everything or "$" in name or any(f"({name})" in line or f"{{{name}}}" in line for line in file.others):
        return True
    needed = file.needed(goals)
    users = [line for parts in needed.values() for line in parts if name in _all_used(file, line)]
    direct = file.needed(goals).keys() & (goals | set(file.order[:1] if DEFAULT in goals else []))
    own = [line for goal in direct for line in needed[goal] if name in _all_used(file, line)]
    plain = all(map(_PLAIN_FLAGS.fullmatch, said)) and all(map(_BUILDS.fullmatch, users)) and not own
    return bool(users) and not plain


def _all_used(file: Makefile, line: str) -> set[str]:
    used = set(_USED.findall(line)) | set(re.findall(r"\$(\w)", line))
    seen: set[str] = set()
    while used - seen:
        name = (used - seen).pop()
        seen.add(name)
        used |= {inner for value in file.variables.get(name, ()) for inner in _USED.findall(value)}
    return used


def up_to_date(file: Makefile, goals: set[str], name: str) -> str | None:
    """The goal that a new file of that name, below the Makefile's folder, keeps from being made; None when it keeps none."""
    top = name.partition("/")[0]
    hit = next((goal for goal in file.needed(goals) if posixpath.normpath(goal) in (name, top)), None)
    return None if hit is None or hit in file.phony else hit
