"""Reads scripts, Makefiles, Dockerfiles and .env files line by line: variables, flags by command, targets; no shell is understood."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from interlock.core.merge.facts import FileFacts, Mark

_FLAG: Final = re.compile(r"(?<![\w-])(--[a-z][\w-]*)")
_SET: Final = re.compile(r"^\s*(?:export\s+|declare\s+-x\s+|ENV\s+|ARG\s+)?([A-Za-z_]\w*)\s*[:?+]?=(?!=)")
_DOCKER: Final = re.compile(r"^\s*ENV\s+([A-Za-z_]\w*)\s+\S")
_READ: Final = re.compile(r"\$(?:\{([A-Z][A-Z0-9_]{2,})([^}]*)\}|([A-Z][A-Z0-9_]{2,})\b)")
_TARGET: Final = re.compile(r"^([\w.%-]+)(?:\s+[\w.%-]+)*\s*:(?![=:])")
_MAKE: Final = re.compile(r"(?:^|[\s;&|(])(?:make|\$\(MAKE\))\s+(?:-\S+\s+)*([a-z][\w.-]*)")
_NPM: Final = re.compile(
    r"(?:^|[\s;&|(])(?:npm\s+run|npm\s+run-script|pnpm\s+run|yarn\s+run|bun\s+run)\s+(?:-\S+\s+)*([\w:.-]+)"
)
_ELSEWHERE: Final = re.compile(
    r"(?:^|[\s;&|(])(?:cd|pushd)\s+[\"']?\w|\s(?:-C|-w|-f|--(?:prefix|cwd|dir|directory|file|makefile|filter|workspaces?|if-present))\b"
)
"""A target of another folder, or one that may be missing."""
_STAYS: Final = re.compile(r"^\s*(?:cd|pushd)\s+[\"']?\w")
_SAYS: Final = re.compile(r"\s*(?:echo|printf)\b")
_QUOTES: Final = re.compile(r"\b(?:cat|tee)\b.*<<-?\s*[\"']?(\w+)|<<-?\s*[\"']?(\w+)[\"']?.*\b(?:cat|tee)\b")
_HELD: Final = re.compile(r"\$[({]\w+[)}]\s*:(?![=:])")
_MADE: Final = re.compile(r">\s*(?:\./)?([\w./-]+)")
_PARTIAL: Final = re.compile(r"^\s*COPY\s+(?:--\S+\s+)*[\w-]+/?\s+(?:\.|/[\w/]*)/?\s*$", re.MULTILINE)
"""A folder of the project becomes the top of an image."""
_PATH: Final = re.compile(r"(?<![\w./$}:-])(?:\./)?([\w.-]+(?:/[\w.-]+)+\.\w+)(?![\w/])")
_COMMANDS: Final = re.compile(r"\s*(?:&&|\|\||[;|])\s*")
_GIVEN: Final = """
    HOME PATH PWD OLDPWD USER SHELL TERM LANG LC_ALL TMPDIR HOSTNAME RANDOM SECONDS LINENO UID EUID IFS OPTARG OPTIND BASH_SOURCE
    BASH_VERSION FUNCNAME PIPESTATUS PS1 PYTHONPATH PYTHON VIRTUAL_ENV GITHUB_OUTPUT GITHUB_ENV GITHUB_PATH GITHUB_WORKSPACE
    GITHUB_STEP_SUMMARY RUNNER_TEMP RUNNER_OS MAKE MAKEFLAGS CURDIR GOPATH JAVA_HOME CI DISPLAY EDITOR BASHPID REPLY
"""
_KNOWN: Final = frozenset(_GIVEN.split())


def read(path: str, data: bytes) -> FileFacts:
    """The facts of a file of commands."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return FileFacts(language="shell", fault="The file is not UTF-8.")
    name = path.rpartition("/")[2]
    marks = list(_of_lines(text, settings=name.startswith(".env") or name.endswith(".env")))
    if name.lower() in {"makefile", "gnumakefile"} or name.endswith(".mk") or name.lower() == "justfile":
        marks += _targets(text)
    made, partial = set(_MADE.findall(text)), name.startswith("Dockerfile") and _PARTIAL.search(text) is not None
    kept = [
        each
        for each in marks
        if each.role != "uses"
        or not ((each.scope == "path" and each.name in made) or (partial and each.scope in {"make", "npm-script"}))
    ]
    return FileFacts(language="shell", marks=tuple(_once(kept)), text=True)


def _once(marks: list[Mark]) -> list[Mark]:
    return list({(each.kind, each.name, each.role, each.scope, each.detail): each for each in reversed(marks)}.values())


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their continuations put together, each with the number of its first."""
    whole, start = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        start = start or number
        if line.endswith("\\"):
            whole += line[:-1] + " "
            continue
        yield start, whole + line
        whole, start = "", 0
    if whole:
        yield start, whole


def _of_lines(text: str, *, settings: bool) -> Iterator[Mark]:
    own: set[str] = set()
    moved, ends = False, ""
    for number, line in logical_lines(text):
        if ends or line.lstrip().startswith("#"):
            ends = "" if line.strip() == ends else ends
            continue
        if found := _QUOTES.search(line):
            ends = found[1] or found[2]
        moved = moved or _STAYS.match(line) is not None
        if found := (_DOCKER.match(line) or _SET.match(line)):
            exported = settings or re.match(r"\s*(?:export|declare|ENV)\b", line) is not None
            own.add(found[1])
            if exported:
                yield Mark(kind="env", name=found[1], line=number, role="defines")
        yield from of_command(line, number, frozenset(own), moved=moved and not line.startswith("\t"))


def moves(line: str) -> bool:
    """Whether a line goes to another folder and stays there."""
    return _STAYS.match(line) is not None


def of_command(line: str, number: int, own: frozenset[str] = frozenset(), *, moved: bool = False) -> Iterator[Mark]:
    """What a line of commands names: variables that it reads, flags with the command that gets them, targets.

    ``moved`` says that it may run in another folder: then its targets are not told.
    """
    for found in _READ.finditer(line):
        name = found[1] or found[3]
        if name not in own and name not in _KNOWN:
            detail = "default" if (found[2] or "").startswith((":-", "-", ":+", "+", ":=")) else ""
            yield Mark(kind="env", name=name, line=number, role="uses", detail=detail)
    for command in _COMMANDS.split(line) if "-c" not in line.split() else [line]:
        bare = re.split(r"\s#", command, maxsplit=1)[0]
        for found in _FLAG.finditer(bare):
            yield Mark(kind="flag", name=found[1], line=number, role="uses", scope=" ".join(bare.split())[:300])
    for found in _PATH.finditer(line):
        yield Mark(kind="registration", name=found[1], line=number, role="uses", scope="path")
    if not moved and _ELSEWHERE.search(line) is None:
        yield from _targets_of(line, number)


def _targets_of(line: str, number: int) -> Iterator[Mark]:
    for command in _COMMANDS.split(line):
        for scope, pattern in (("make", _MAKE), ("npm-script", _NPM)) if _SAYS.match(command) is None else ():
            for found in pattern.finditer(command):
                yield Mark(kind="registration", name=found[1], line=number, role="uses", scope=scope)


def _targets(text: str) -> Iterator[Mark]:
    for number, line in enumerate(text.splitlines(), 1):
        if _HELD.match(line):
            # What a variable holds may be any target.
            yield Mark(kind="registration", name="%", line=number, role="defines", scope="make")
        if (found := _TARGET.match(line)) and not found[1].startswith("."):
            for name in line.partition(":")[0].split():
                yield Mark(kind="registration", name=name, line=number, role="defines", scope="make")
