"""Which files a check's command is judged by: scripts, targets of make, scripts of npm and what they run in turn; pure text."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from interlock.core.gate import makefiles
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
# Options of interpreters and of shells that take the next word.
_TAKES: Final = re.compile(r"-[WXr]|--check-hash-based-pycs|--require|--loader|--import")
_SHELL_TAKES: Final = re.compile(r"[-+][a-zA-Z]*[oO]")
_DEEPEST: Final = 4

Read = Callable[[str], bytes | None]


@dataclass(slots=True)
class Judges:
    """What commands are judged by: files with the command that names them, make targets, scripts of package.json, and all words.

    ``spread`` are scripts that are run in packages below, wherever these are.
    """

    files: dict[str, str] = field(default_factory=dict)
    targets: dict[str, set[str]] = field(default_factory=dict)
    scripts: dict[str, set[str]] = field(default_factory=dict)
    spread: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)


def judges_of(commands: Sequence[str], read: Read) -> Judges:
    """Follow the commands through the files of the base, which ``read`` gives."""
    found = Judges()
    for command in commands:
        _follow(found, command, command, read, 0)
    return found


def _follow(found: Judges, text: str, said: str, read: Read, depth: int, folder: str = "") -> None:
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
        inner = _inner(words)
        if inner and depth < _DEEPEST:
            _follow(found, inner, said, read, depth + 1, folder)
        if words[0] in ("make", "gmake"):
            _make(found, words[1:], folder, said, read, depth)
        if words[0] in _NPM:
            _npm(found, words, folder, said, read, depth)


def _simple(text: str) -> Iterator[list[str]]:
    """The words of each simple command, without values of the environment and words that only run the next one."""
    for part in _parts(re.sub(r"\\\n", " ", text)):
        try:
            words = shlex.split(part)
        except ValueError:
            words = part.split()
        before = False
        while words and _is_before(words[0], after_one=before):
            before = before or words[0] in _BEFORE
            words = [words[0][1:], *words[1:]] if words[0].startswith("@") and len(words[0]) > 1 else words[1:]
        if words:
            yield words


def _parts(text: str) -> Iterator[str]:
    """The text cut where one command ends, outside of quotes; without comments."""
    part, quote, at = "", "", 0
    while at < len(text):
        char = text[at]
        if char == "\\" and quote != "'":
            part += text[at : at + 2]
            at += 2
            continue
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "#" and (not part or part[-1].isspace()):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
            continue
        elif char in ";|&\n()`":
            yield part
            part, at = "", at + 1
            continue
        part += char
        at += 1
    yield part


def _inner(words: list[str]) -> str:
    """What a shell is told to run by its own option: ``bash -ec '…'``."""
    if posixpath.basename(words[0]) in _SHELLS | {"eval", "xargs"}:
        for at, word in enumerate(words[1:], 1):
            if re.fullmatch(r"-[a-z]*c[a-z]*", word):
                return "".join(words[at + 1 : at + 2])
        if words[0] in ("eval", "xargs"):
            return " ".join(each for each in words[1:] if not each.startswith("-"))
    return ""


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
        yield from _script(rest, folder, shell=program in _SHELLS)
    for at, word in enumerate(rest):
        option, equals, value = word.partition("=")
        if option in _CONFIG and not (program in ("make", "python", "python3") or program in _SHELLS):
            name = value if equals else "".join(rest[at + 1 : at + 2])
            if name:
                yield _path(name, folder)


def _script(rest: list[str], folder: str, *, shell: bool) -> Iterator[str]:
    """What an interpreter runs: a file, or a module by its name; nothing when the words hold the program itself."""
    at = 0
    while at < len(rest):
        word = rest[at]
        if word == "-m" and not shell:
            name = "/".join("".join(rest[at + 1 : at + 2]).split("."))
            for each in (f"{name}.py", f"{name}/__main__.py", f"src/{name}.py", f"src/{name}/__main__.py"):
                yield _path(each, folder)
            return
        if re.fullmatch(r"-[a-z]*c[a-z]*" if shell else r"-[a-zA-Z]*c|-e|-pe?|--eval|--print", word):
            return
        if not word.startswith(("-", "+")):
            yield _path(word, folder)
            return
        if word in ("-r", "--require", "--import", "--loader"):
            yield _path("".join(rest[at + 1 : at + 2]), folder)
        at += 2 if (_SHELL_TAKES if shell else _TAKES).fullmatch(word) else 1


def _path(word: str, folder: str) -> str:
    return posixpath.normpath(posixpath.join(folder, word))


def _is_shell(path: str, data: bytes) -> bool:
    first = data[:80].partition(b"\n")[0]
    return path.endswith((".sh", ".bash")) or (first.startswith(b"#!") and b"sh" in first)


def _make_words(words: list[str], folder: str) -> tuple[str, list[str], str]:
    """The Makefile that is named (empty: none is), the goals, and the folder they hold in."""
    named, goals = "", []
    given = iter(words)
    for word in given:
        option, equals, value = word.partition("=")
        if option in ("-f", "--file", "--makefile"):
            named = value if equals else next(given, "")
        elif option in ("-C", "--directory"):
            folder = _path(value if equals else next(given, ""), folder)
        elif re.fullmatch(r"-[fC].+", word):
            named, folder = (word[2:], folder) if word[1] == "f" else (named, _path(word[2:], folder))
        elif word == "-j":
            continue
        elif not word.startswith("-") and not equals and not word.isdigit():
            goals.append(word)
    return named, goals, folder


def _make(found: Judges, words: list[str], folder: str, said: str, read: Read, depth: int) -> None:
    named, goals, folder = _make_words(words, folder)
    names = [named] if named else makefiles.NAMES
    path = next((each for each in (_path(name, folder) for name in names) if read(each) is not None), None)
    if path is None:
        return
    known = found.targets.setdefault(path, set())
    fresh = set(goals or ["\0default"]) - known
    known |= fresh
    file = makefiles.parsed((read(path) or b"").decode("utf-8", "replace"))
    for name in file.includes:
        found.files.setdefault(_path(name, folder), said)
    if depth < _DEEPEST and fresh:
        for recipe in file.needed(fresh).values():
            lines = (file.told(line).lstrip("@-+ \t") for line in recipe[1:])
            _follow(found, "\n".join(lines), said, read, depth + 1, folder)


def _npm(found: Judges, words: list[str], folder: str, said: str, read: Read, depth: int) -> None:
    rest, folder, packages = _npm_words(words, folder)
    if not rest:
        return
    name = rest[1] if rest[0] in ("run", "run-script") and len(rest) > 1 else "test" if rest[0] == "t" else rest[0]
    if packages is not None:
        found.spread |= {f"pre{name}", name, f"post{name}"}
        for each in packages:
            for place in (each, f"packages/{each}", f"apps/{each}"):
                _scripts(found, _path(place, folder), name, said, read, depth)
    _scripts(found, folder, name, said, read, depth)


def _npm_words(words: list[str], folder: str) -> tuple[list[str], str, list[str] | None]:
    """The words without options, the folder they hold in, and the packages below that are meant (None: this one alone)."""
    rest: list[str] = []
    packages: list[str] | None = None
    given = iter(words[1:])
    for word in given:
        option, _, value = word.partition("=")
        if option in ("--prefix", "-C", "--dir", "--cwd"):
            folder = _path(value or next(given, ""), folder)
        elif option in ("-w", "--workspace", "--filter", "-F") and words[0] != "bun":
            packages = [*(packages or []), value or next(given, "")]
        elif option in ("-r", "--recursive", "--workspaces", "-ws", "--filter"):
            packages = packages or []
        elif word in ("workspace", "workspaces", "foreach") and not rest and words[0] == "yarn":
            packages = [*(packages or []), *([next(given, "")] if word == "workspace" else [])]
        elif not word.startswith("-"):
            rest.append(word)
    return rest, folder, packages


def _scripts(found: Judges, folder: str, name: str, said: str, read: Read, depth: int) -> None:
    path = _path("package.json", folder)
    data = read(path)
    known = found.scripts.setdefault(path, set()) if data is not None else set()
    if data is None or name in known:
        return
    try:
        scripts = json_of(data).get("scripts", {})
    except Unreadable:
        scripts = {}
    for each in (f"pre{name}", name, f"post{name}"):
        known.add(each)
        if depth < _DEEPEST and isinstance(scripts.get(each), str):
            _follow(found, scripts[each], said, read, depth + 1, "" if folder == "." else folder)
