"""The text of caps.txt with one cap changed and the decision beside it; reading the file is adapters.files' work."""

from __future__ import annotations

import re


def decision(class_name: str, before: int | None, *, by: str, on: str, why: str) -> str:
    """The comment line that says who decided and why, in one line whatever the texts hold."""
    was = "new" if before is None else f"was {before}"
    return f"# {class_name} ({was}), decided by {_one_line(by)} on {on}: {_one_line(why)}"


def with_cap(text: str, class_name: str, cap: int, note: str) -> str:
    """The file's text with this cap and its note above it.

    Every other line stays as it is, with its comments and line ends; an older note of the same class is replaced.
    """
    end = "\r\n" if "\r\n" in text else "\n"
    lines = re.findall(r"[^\n]*\n|[^\n]+$", text)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += end
    at = next((number for number, line in enumerate(lines) if _class_of(line) == class_name), None)
    if at is None:
        return "".join([*lines, note + end, f"{class_name} {cap}{end}"])
    first = at - 1 if at and _is_note(lines[at - 1], class_name) else at
    return "".join([*lines[:first], note + end, _changed(lines[at], class_name, cap), *lines[at + 1 :]])


def _class_of(line: str) -> str | None:
    words = line.partition("#")[0].split()
    return words[0].removesuffix(":") if words else None


def _changed(line: str, class_name: str, cap: int) -> str:
    """The line with its number replaced and what else stands there kept: indentation, comment, line end."""
    head, mark, comment = line.partition("#")
    indent = head[: len(head) - len(head.lstrip())]
    tail = head[len(head.rstrip()) :]
    return f"{indent}{class_name} {cap}{tail}{mark}{comment}"


def _is_note(line: str, class_name: str) -> bool:
    return re.match(rf"# {re.escape(class_name)} \((new|was \d+)\), decided by ", line) is not None


def _one_line(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
