"""Which files a check's command is judged by: scripts, targets of make, scripts of npm and what they run in turn; pure text."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from interlock.core.gate.judging_configs import Unreadable, json_of

_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ksh", "source", "."})
_INTERPRETERS: Final = frozenset(
    {"python", "python3", "node", "ruby", "perl", "tsx", "ts-node", "deno", "bun", "php", "lua"}
)
_BEFORE: Final = frozenset(
    {
        "exec",
        "time",
        "env",
        "nice",
        "timeout",
        "command",
        "sudo",
        "npx",
        "bunx",
        "uv",
        "run",
        "poetry",
        "pipenv",
        "hatch",
        "then",
        "do",
        "else",
        "!",
        "(",
        "{",
    }
)
_NPM: Final = frozenset({"npm", "pnpm", "yarn", "bun"})
_CONFIG: Final = frozenset(
    {"-c", "--config", "--config-file", "--rcfile", "--cov-config", "--settings", "--project", "-p"}
)
_SPLIT: Final = re.compile(r"&&|\|\||[;|&\n()]")
MAKEFILES: Final = ("GNUmakefile", "makefile", "Makefile")
_DEEPEST: Final = 4

Read = Callable[[str], bytes | None]


@dataclass(slots=True)
class Judges:
    """What commands are judged by: files with the command that names them, make targets, scripts of package.json, and all words."""

    files: dict[str, str] = field(default_factory=dict)
    targets: dict[str, set[str]] = field(default_factory=dict)
    scripts: dict[str, set[str]] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)


def judges_of(commands: Sequence[str], read: Read) -> Judges:
    """Follow the commands through the files of the base, which ``read`` gives."""
    found = Judges()
    for command in commands:
        _follow(found, command, command, read, 0)
    return found


def _follow(found: Judges, text: str, said: str, read: Read, depth: int) -> None:
    folder = ""
    for words in _simple(text):
        found.words.update(re.split(r"[^\w.-]+", " ".join(words)))
        if words[0] == "cd" and len(words) > 1:
            folder = posixpath.normpath(posixpath.join(folder, words[1]))
            continue
        for path in _named(words, folder):
            data = read(path)
            if data is None or path in found.files:
                continue
            found.files[path] = said
            if depth < _DEEPEST and _is_shell(path, data):
                _follow(found, data.decode("utf-8", "replace"), said, read, depth + 1)
        if words[0] in ("make", "gmake"):
            _make(found, words[1:], folder, said, read, depth)
        if words[0] in _NPM:
            _npm(found, words, folder, said, read, depth)


def _simple(text: str) -> Iterator[list[str]]:
    """The words of each simple command, without values of the environment and words that only run the next one."""
    for part in _SPLIT.split(re.sub(r"\\\n", " ", text)):
        try:
            words = shlex.split(part, comments=True)
        except ValueError:
            words = part.split()
        before = False
        while words and _is_before(words[0], after_one=before):
            before = before or words[0] in _BEFORE
            words = [words[0][1:], *words[1:]] if words[0].startswith("@") and len(words[0]) > 1 else words[1:]
        if words:
            yield words


def _is_before(word: str, *, after_one: bool) -> bool:
    """Whether a word only says how the next command is run; numbers and options do so behind such a word."""
    if re.match(r"[A-Za-z_]\w*=", word) or word in _BEFORE or word.startswith("@"):
        return True
    return after_one and bool(re.fullmatch(r"-.*|[\d.]+[smhd]?", word))


def _named(words: list[str], folder: str) -> Iterator[str]:
    """Files that decide: the program itself, the script of an interpreter, and settings that are named."""
    program = posixpath.basename(words[0])
    rest = words[1:]
    if "/" in words[0] or words[0].endswith((".sh", ".py")):
        yield _path(words[0], folder)
    plain = re.sub(r"[\d.]+$", "", program)
    if program in _SHELLS or plain in _INTERPRETERS or program in _INTERPRETERS:
        script = next((each for each in rest if not each.startswith("-")), None)
        if script is not None and "-m" not in rest and "-c" not in rest:
            yield _path(script, folder)
    for at, word in enumerate(rest):
        option, equals, value = word.partition("=")
        if option in _CONFIG and not (program in ("make", "python", "python3") or program in _SHELLS):
            name = value if equals else "".join(rest[at + 1 : at + 2])
            if name:
                yield _path(name, folder)


def _path(word: str, folder: str) -> str:
    return posixpath.normpath(posixpath.join(folder, word))


def _is_shell(path: str, data: bytes) -> bool:
    first = data[:80].partition(b"\n")[0]
    return path.endswith((".sh", ".bash")) or (first.startswith(b"#!") and b"sh" in first)


def _make(found: Judges, words: list[str], folder: str, said: str, read: Read, depth: int) -> None:
    named, goals = None, []
    skip = False
    for at, word in enumerate(words):
        if skip:
            skip = False
        elif word in ("-f", "--file", "--makefile", "-C", "--directory", "-j"):
            skip = True
            if word in ("-C", "--directory"):
                folder = _path("".join(words[at + 1 : at + 2]), folder)
            elif word != "-j":
                named = "".join(words[at + 1 : at + 2])
        elif not word.startswith("-") and "=" not in word:
            goals.append(word)
    names = [named] if named else MAKEFILES
    path = next((each for each in (_path(name, folder) for name in names) if read(each) is not None), None)
    if path is None:
        return
    known = found.targets.setdefault(path, set())
    fresh = set(goals or ["\0default"]) - known
    known |= fresh
    text = (read(path) or b"").decode("utf-8", "replace")
    if depth < _DEEPEST and fresh:
        for recipe in recipes(text, fresh).values():
            _follow(found, "\n".join(line.lstrip("@-+ \t") for line in recipe), said, read, depth + 1)


def recipes(text: str, goals: set[str]) -> dict[str, tuple[str, ...]]:
    """The lines of the goals and of all that they need: rule line, recipe, and the variables and settings that these use."""
    rules, variables, order = _parsed(text)
    wanted = list(goals - {"\0default"}) or order[:1]
    if "\0default" in goals:
        wanted += order[:1]
    done: dict[str, tuple[str, ...]] = {}
    while wanted:
        goal = wanted.pop()
        if goal in done or goal not in rules:
            continue
        needs, lines = rules[goal]
        done[goal] = (" ".join(needs), *lines)
        wanted += needs
    used = {name for lines in done.values() for line in lines for name in re.findall(r"\$[({](\w+)[)}]", line)}
    always = {name for name in variables if name in ("SHELL", ".SHELLFLAGS", "MAKEFLAGS", ".DEFAULT_GOAL", "include")}
    seen: set[str] = set()
    while used - seen:
        name = (used - seen).pop()
        seen.add(name)
        used |= {inner for line in variables.get(name, ()) for inner in re.findall(r"\$[({](\w+)[)}]", line)}
    return done | {f"{name} =": tuple(variables[name]) for name in sorted((used | always) & set(variables))}


def _parsed(text: str) -> tuple[dict[str, tuple[list[str], list[str]]], dict[str, list[str]], list[str]]:
    rules: dict[str, tuple[list[str], list[str]]] = {}
    variables: dict[str, list[str]] = {}
    order: list[str] = []
    current: list[str] = []
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if line.startswith("\t"):
            for goal in current:
                rules[goal][1].append(line.strip())
        elif found := re.match(r"(?:export\s+)?([.\w]+)\s*(?:[:?+!]{0,3}=)\s*(.*)", line):
            variables.setdefault(found[1], []).append(line.strip())
        elif line.startswith(("include", "-include", ".IGNORE", ".ONESHELL")):
            variables.setdefault("include", []).append(line.strip())
        elif found := re.match(r"([^#\s:][^:=]*):{1,2}(?!=)\s*([^;#]*)(?:;\s*(.*))?", line):
            current = found[1].split()
            for goal in current:
                needs, lines = rules.setdefault(goal, ([], []))
                needs += found[2].replace("|", " ").split()
                if found[3]:
                    lines.append(found[3])
                if not goal.startswith("."):
                    order.append(goal)
    return rules, variables, order


def _npm(found: Judges, words: list[str], folder: str, said: str, read: Read, depth: int) -> None:
    rest = [each for each in words[1:] if not each.startswith("-")]
    path = _path("package.json", folder)
    data = read(path)
    if data is None or not rest:
        return
    name = rest[1] if rest[0] in ("run", "run-script") and len(rest) > 1 else "test" if rest[0] == "t" else rest[0]
    known = found.scripts.setdefault(path, set())
    if name in known:
        return
    try:
        scripts = json_of(data).get("scripts", {})
    except Unreadable:
        scripts = {}
    for each in (f"pre{name}", name, f"post{name}"):
        known.add(each)
        if depth < _DEEPEST and isinstance(scripts.get(each), str):
            _follow(found, scripts[each], said, read, depth + 1)
