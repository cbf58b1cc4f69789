"""Check every Markdown file: links resolve, commands, make targets and paths that it names exist; it changes nothing."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from interlock.cli.main import cli

ROOT: Final = Path(__file__).resolve().parent.parent
SKIPPED: Final = {".venv", ".tools", ".git", "node_modules", "dist", "build"}
LINK: Final = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
CODE: Final = re.compile(r"`([^`\n]+)`")
OURS: Final = re.compile(r"^(?:src|docs|tests|tools|bench|schema|\.ci|\.github)/[\w./-]+$")


@dataclass(frozen=True, slots=True)
class Fault:
    """One line of one document that says something untrue."""

    file: Path
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}: {self.what}"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a document, and whether it stands in a fenced block."""

    number: int
    text: str
    fenced: bool


def documents(root: Path = ROOT) -> Iterator[Path]:
    """Every Markdown file of the project."""
    for path in sorted(root.rglob("*.md")):
        if not SKIPPED.intersection(path.relative_to(root).parts):
            yield path


def lines_of(path: Path) -> Iterator[Line]:
    fenced = False
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if text.lstrip().startswith("```"):
            fenced = not fenced
        else:
            yield Line(number, text, fenced)


def faults_of(path: Path) -> Iterator[Fault]:
    """What is wrong in one document."""
    for line in lines_of(path):
        if line.fenced:
            found = [_command_fault(line.text.strip().removeprefix("$ "))]
        else:
            links = (_link_fault(path, target) for target in LINK.findall(CODE.sub("", line.text)))
            codes = (fault for code in CODE.findall(line.text) for fault in (_command_fault(code), _path_fault(code)))
            found = [*links, *codes]
        yield from (Fault(path, line.number, what) for what in found if what)


def anchors_of(path: Path) -> set[str]:
    """The anchors that the headings of a document make."""
    heads = (line.text.lstrip("#").strip() for line in lines_of(path) if not line.fenced and line.text.startswith("#"))
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def _link_fault(path: Path, target: str) -> str | None:
    if re.match(r"[a-z]+:", target):
        return None
    name, _, anchor = target.partition("#")
    found = (path.parent / name).resolve() if name else path
    if not found.exists():
        return f"the link {target} leads nowhere."
    if anchor and found.suffix == ".md" and anchor not in anchors_of(found):
        return f"{found.name} has no heading {anchor}."
    return None


def _command_fault(code: str) -> str | None:
    """A command line that names a verb, an option or a make target that is not there."""
    try:
        words = shlex.split(re.split(r" [|>] ", code, maxsplit=1)[0], comments=True)
    except ValueError:
        return None
    if len(words) > 1 and words[0] == "make":
        return _make_fault(words[1:])
    if len(words) > 1 and words[0].rpartition("/")[2] == "interlock":
        return _interlock_fault(words[1:])
    return None


def _make_fault(words: list[str]) -> str | None:
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    unknown = [word for word in words if "=" not in word and word not in known]
    return f"there is no make target {unknown[0]}." if unknown else None


def _interlock_fault(words: list[str]) -> str | None:
    command: click.Command = cli
    context = click.Context(cli)
    for index, word in enumerate(words):
        if word in ("--", "[--"):
            return None  # what follows belongs to another command
        if not isinstance(command, click.Group) or word.startswith(("-", "<", "…", "[")) or not word.islower():
            return _option_fault(command, words[index:])
        found = _subcommand(command, context, word)
        if found is None:
            return f"there is no command interlock {' '.join(words[: index + 1])}."
        command = found
    return None


def _subcommand(group: click.Group, context: click.Context, name: str) -> click.Command | None:
    try:
        return group.get_command(context, name)
    except ModuleNotFoundError:
        return None


def _option_fault(command: click.Command, words: list[str]) -> str | None:
    names = [name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)]
    known = {"--help", "--version", *names}
    ours = next((words[:at] for at, word in enumerate(words) if word in ("--", "[--")), words)
    used = (word.split("=")[0].strip("[]") for word in ours if word.startswith(("--", "[--")))
    unknown = [word for word in used if word not in known]
    return f"{command.name} has no option {unknown[0]}." if unknown else None


def _path_fault(code: str) -> str | None:
    if OURS.match(code) and not (ROOT / code).exists():
        return f"there is no {code}."
    return None


def orphans() -> Iterator[Fault]:
    """Pages under docs that no index leads to."""
    indexes = [ROOT / "docs" / "README.md", ROOT / "docs" / "adr" / "README.md"]
    linked = {
        (index.parent / target.partition("#")[0]).resolve()
        for index in indexes
        for line in lines_of(index)
        for target in LINK.findall(line.text)
    }
    for path in documents(ROOT / "docs"):
        if path not in linked and path not in indexes:
            yield Fault(path, 1, f"neither docs/README.md nor the decisions' index leads to {path.name}.")


def main() -> int:
    """Print every fault; 1 when there is one."""
    found = [fault for path in documents() for fault in faults_of(path)] + list(orphans())
    for fault in found:
        print(fault, file=sys.stderr)
    print(f"{sum(1 for _ in documents())} documents, {len(found)} faults.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
