"""What is wrong with a text that is not YAML, in words that say how to write it; the tree is yaml_tree's."""

from __future__ import annotations

import re
from typing import Any, Final

from interlock.adapters.files.scalars import quoted
from interlock.core.problems import Problem, Where

LINE_BREAKS: Final = ("\x85", "\u2028", "\u2029")
_VALUE: Final = re.compile(r"^(?P<before>\s*(?:-\s+)*(?:[^\s\"'#:\[\]{},&*!]+:\s+)?)(?P<value>\S.*?)\s*$")
_NEEDS_QUOTES: Final = "*&!{[@`%|>#"
_CLOSERS: Final = {"[": "]", "{": "}"}
# What matters for brackets: quoted texts and comments are passed over, a bracket opens where a value may begin.
_BRACKETS: Final = re.compile(
    r"""(?:(?<=^)|(?<=[\s\[{,]))(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|\#.*|[\[{])|[\]}]""", re.MULTILINE
)


def problem(file: str, line: int, column: int, what: str, why: str, fix: str, *, kind: str = "yaml") -> Problem:
    return Problem(kind=kind, what=what, why=why, fix=fix, where=Where(file=file, line=line, column=column))


def fault_of(error: Any, text: str, file: str) -> Problem:
    """The problem that an error of the YAML parser tells of."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        at = getattr(error, "position", 0)
        line = text.count("\n", 0, at) + 1
        column = at - (text.rfind("\n", 0, at) + 1) + 1
        reason = getattr(error, "reason", None) or "it cannot be read"
        fix = "Take the character out."
        return problem(file, line, column, f"The file is not YAML: {reason}.", "Nothing of it can be trusted.", fix)
    line, column = _line_of(error, mark, text)
    opened = _never_closed(text, mark.index) if "flow" in str(getattr(error, "context", "")) else None
    said = getattr(error, "problem", None) or "it cannot be read"
    context = getattr(error, "context", None)
    what = f"The file is not YAML: {said}{f' {context}' if context else ''}."
    if opened is not None:
        closer = _CLOSERS[text[opened]]
        line, column = text.count("\n", 0, opened) + 1, opened - text.rfind("\n", 0, opened)
        why = f"What {text[opened]} opens here ends with {closer}, and it is not there."
        return problem(file, line, column, what, why, f"Close it with {closer}.")
    if "\t" in _line(text, line)[: column + 1]:
        return problem(file, line, column, what, "YAML does not indent with tabs.", "Indent with spaces.")
    return problem(file, line, column, what, _why(text, line), in_quotes(text, line))


def _never_closed(text: str, before: int) -> int | None:
    """Where the innermost bracket before a place opens that nothing closes, up to the end of the text."""
    opened: list[int] = []
    for found in _BRACKETS.finditer(text):
        sign = found[0]
        if sign in _CLOSERS:
            opened.append(found.start())
        elif sign in _CLOSERS.values() and opened and _CLOSERS[text[opened[-1]]] == sign:
            opened.pop()
    return max((at for at in opened if at < before), default=None)


def in_quotes(text: str, line: int) -> str:
    """How the value in a line is written so that it is text."""
    found = _VALUE.match(_line(text, line))
    if found is None:
        return "Put the value in quotes."
    before, value = found["before"].strip(), found["value"]
    if value.startswith("[") and value.endswith("]") and before:
        items = ", ".join(quoted(item.strip().strip("\"'")) for item in value[1:-1].split(",") if item.strip())
        return f"Put each item in quotes: {before} [{items}]."
    if value[0] in "\"'":
        return "Close the quotes around the whole value."
    return f"Put the value in quotes: {f'{before} ' if before else ''}{quoted(value)}."


def _why(text: str, line: int) -> str:
    found = _VALUE.match(_line(text, line))
    if found is not None and found["value"][0] in _NEEDS_QUOTES:
        return f'A value that begins with "{found["value"][0]}" has a meaning of its own in YAML.'
    return "YAML reads this place otherwise than it looks."


def _line_of(error: Any, mark: Any, text: str) -> tuple[int, int]:
    """Where to look: the parser may notice a fault only in the line after it."""
    context = getattr(error, "context_mark", None)
    line, column = mark.line + 1, mark.column + 1
    if not _line(text, line).strip() and context is not None:
        return context.line + 1, context.column + 1
    return line, column


def _line(text: str, line: int) -> str:
    lines = text.splitlines()
    return lines[line - 1] if 0 < line <= len(lines) else ""
