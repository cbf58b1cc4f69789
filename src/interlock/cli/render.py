"""How answers and narration look: stdout is the answer (text or JSON), stderr the narration; what is said is the verbs' work."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final

import click

from interlock.cli.arguments import judge
from interlock.core.problems import BadInput, InterlockError, Problem, Refusal, Refused

_BREAK: Final = re.compile(r"\r*\n|\r|(?:\x1b\[|\x9b)[01]?G")


@dataclass(frozen=True, slots=True)
class Face:
    """The two channels of one command; handed to every verb as its first argument."""

    json: bool

    def answer(self, data: Mapping[str, Any], lines: Iterable[str] = (), *, then: str | None = None) -> None:
        """Print the answer: the whole mapping as JSON, or the lines, and the next command to copy.

        A line that has more of them within it is indented from its second on: what an agent wrote begins no line of ours.
        """
        if self.json:
            click.echo(json.dumps(data, indent=2, ensure_ascii=True, default=str))
            return
        for line in lines:
            click.echo(_shown(hanging(line)))
        if then:
            click.echo(_shown(hanging(f"next: {then}")))

    def say(self, text: str) -> None:
        """Narrate on stderr."""
        click.echo(_shown(text), err=True)


def hanging(line: str) -> str:
    """The line, with whatever follows a newline in it set further in than its beginning.

    What would take a terminal back to the beginning of the line counts as a newline too, and a step back as nothing:
    the margin stays.
    """
    first, *rest = _BREAK.split(line.replace("\b", ""))
    margin = " " * (len(first) - len(first.lstrip()) + 4)
    return "\n".join((first, *(f"{margin}{each}" for each in rest)))


def _shown(text: str) -> str:
    """The text as a terminal may have it: cards, agents and models wrote parts of it (case SP-04)."""
    from interlock.host.text import plain

    return text if text.isascii() and text.isprintable() else plain(text)


def verb(function: Callable[..., int | None]) -> Callable[..., None]:
    """Make a click command of a function: it gets a Face first, ``--json`` is added, errors become exit codes."""
    return _command(function, {})


def gate(**no_verdict: Any) -> Callable[[Callable[..., int | None]], Callable[..., None]]:
    """A verb that judges: where it came to no verdict its JSON says this besides the error, so that a script that asks finds a no."""
    return lambda function: _command(function, no_verdict)


def _command(function: Callable[..., int | None], no_verdict: Mapping[str, Any]) -> Callable[..., None]:
    @wraps(function)
    def wrapped(*args: Any, as_json: bool, **kwargs: Any) -> None:
        face = Face(json=as_json)
        try:
            judge(click.get_current_context(), kwargs)
            code = function(face, *args, **kwargs) or 0
        except InterlockError as fault:
            code = tell(face, fault, no_verdict)
        sys.exit(code)

    return click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")(wrapped)


def tell(face: Face, fault: InterlockError, besides: Mapping[str, Any] | None = None) -> int:
    """Show an error that a person can act on, and give its exit code; JSON has what ``besides`` says as well."""
    if face.json:
        shape: dict[str, Any] = {
            **(besides or {}),
            "code": fault.code,
            "message": fault.message,
            "hint": fault.hint,
        }
        if isinstance(fault, Refused):
            shape["refusal"] = fault.refusal.as_json()
        if isinstance(fault, BadInput):
            shape["problems"] = [problem.as_json() for problem in fault.problems]
        click.echo(json.dumps(shape, indent=2))
    elif isinstance(fault, Refused):
        face.say("\n".join(map(hanging, refusal_lines(fault.refusal))))
    elif isinstance(fault, BadInput):
        face.say("\n".join(hanging(line) for problem in fault.problems for line in problem_lines(problem)))
    else:
        face.say(hanging(f"error: {fault.message}"))
        if fault.hint:
            face.say(f"\n{hanging(f'hint: {fault.hint}')}")
    return fault.exit_code


def refusal_lines(refusal: Refusal) -> list[str]:
    """A refusal as a person reads it: what, why, who holds it, what would change it."""
    lines = [f"refused ({refusal.rule}): {refusal.what}", f"  why: {refusal.why}"]
    if refusal.holders:
        lines.append("  held by: " + ", ".join(refusal.holders))
    for problem in refusal.problems:
        lines.extend("  " + line for line in problem_lines(problem))
    lines.append(f"  what would change it: {refusal.would_change}")
    return lines


def problem_lines(problem: Problem) -> list[str]:
    place = f"{problem.where}: " if problem.where else ""
    return [f"{place}{problem.what} [{problem.kind}]", f"    {problem.why}", f"    fix: {problem.fix}"]


def age(seconds: float) -> str:
    """A duration in a person's units, the two largest at most."""
    left = max(0, int(seconds))
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        amount, left = divmod(left, size)
        if amount:
            parts.append(f"{amount} {unit}")
        if len(parts) == 2:
            break
    return " ".join(parts) or "0 s"


def since(moment: float) -> str:
    return age(time.time() - moment)


def table(rows: Iterable[Iterable[object]], header: Iterable[str]) -> list[str]:
    """Plain columns, as wide as their longest cell; the last one is not padded."""
    lines = [[str(cell) for cell in row] for row in (tuple(header), *map(tuple, rows))]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(line[:-1], widths, strict=False)), line[-1]])
        for line in lines
    ]
