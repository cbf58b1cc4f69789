"""Write the pages of docs/reference that come from the code: rules.md and commands.md; ``--check`` only compares."""

from __future__ import annotations

import inspect
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from interlock.cli.main import cli
from interlock.core import rules

DOCS: Final = Path(__file__).resolve().parent.parent / "docs" / "reference"
NOTE: Final = "<!-- Written by tools/reference.py; change the code, then `make docs`. -->"


def rules_page() -> str:
    """The published list of rule ids, in the groups that the source gives them."""
    lines = [
        NOTE,
        "",
        "# Rules",
        "",
        "Every refusal, violation and problem carries one of these ids, in text and in JSON.",
        "",
    ]
    for group, names in _groups():
        lines += [f"## {group.capitalize()}", "", "| id | meaning |", "|---|---|"]
        lines += [f"| `{name}` | {rules.RULES[name]} |" for name in names]
        lines.append("")
    return "\n".join(lines)


def _groups() -> Iterator[tuple[str, list[str]]]:
    """The comment that opens each group of the list, and the ids below it."""
    group, names = "", list[str]()
    with tokenize.open(str(rules.__file__)) as source:
        for token in tokenize.generate_tokens(source.readline):
            if token.type == tokenize.COMMENT and token.line.strip().startswith("#"):
                if names:
                    yield group, names
                group, names = token.string.lstrip("# "), []
            elif token.type == tokenize.STRING and (name := token.string.strip("\"'")) in rules.RULES:
                names.append(name)
    yield group, names


def commands_page() -> str:
    """Every command with what it does, its arguments and its options."""
    lines = [
        NOTE,
        "",
        "# Commands",
        "",
        "Exit codes are in [exit codes](exit-codes.md), JSON answers in [JSON](json.md).",
        "",
    ]
    context = click.Context(cli, info_name="interlock")
    for path, command in _commands(cli, context, "interlock"):
        lines += _command(path, command, click.Context(command, info_name=path))
    return "\n".join(lines)


def _commands(group: click.Group, context: click.Context, path: str) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from _commands(command, context, f"{path} {name}")


def _command(path: str, command: click.Command, context: click.Context) -> Iterator[str]:
    pieces = [piece for parameter in command.params for piece in parameter.get_usage_pieces(context)]
    yield from (f"## {path}", "", f"`{' '.join([path, *pieces])}`", "")
    if command.help:
        yield from (inspect.cleandoc(command.help).replace("\b\n", ""), "")
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    records = [record for option in options if (record := option.get_help_record(context))]
    if records:
        yield from ("| option | meaning |", "|---|---|")
        yield from (f"| `{names}` | {text.replace('|', ' or ')} |" for names, text in records)
        yield ""


PAGES: Final = {"rules.md": rules_page, "commands.md": commands_page}


def main() -> int:
    """Write the pages, or with ``--check`` name those that differ and give 1."""
    stale = []
    for name, page in PAGES.items():
        text, path = page().rstrip("\n") + "\n", DOCS / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv[1:]:
                path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv[1:]:
        print(f"docs/reference is not what the code says: {', '.join(stale)}.  next: make docs", file=sys.stderr)
        return 1
    print(
        f"docs/reference: {len(PAGES)} pages, {len(stale)} written."
        if stale
        else "docs/reference is in step with the code."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
