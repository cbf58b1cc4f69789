"""Files that are rendered for one task: read and written inside its own room, rendered here from its values alone.

What an agent can write is only touched by a command in the task's room, so no link leads out of it, and only
this use case's own folder is handed in for the way between.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from jinja2 import FunctionLoader, StrictUndefined, TemplateError, TemplateSyntaxError
from jinja2.exceptions import SecurityError
from jinja2.sandbox import SandboxedEnvironment

from interlock.core.contract.around import Template
from interlock.core.problems import Problem, Refused, Where, refused
from interlock.core.sandbox import RUN, Bind
from interlock.ports.isolation import Room
from interlock.ports.processes import Commands, Done

STAGING: Final = f"{RUN}/staging"
_MOST: Final = 1 << 20
_SECONDS: Final = 60.0

# Goes to a folder of the tree one part at a time and stays in it: what it stands in cannot be swapped behind it.
_ENTER: Final = r"""
set -u; set -f
root=$(pwd -P)
refuse() { printf '%s\n' "$1" >&2; exit 9; }
enter() {
  local at=$root part IFS=/
  cd -- "$root"
  for part in $1; do
    [ ! -L "$part" ] || refuse "$1 leads through the link $part."
    if [ ! -d "$part" ]; then [ "$2" = make ] && mkdir -- "$part" || return 1; fi
    cd -- "$part"; at=${at%/}/$part
    [ "$(pwd -P)" = "$at" ] || refuse "$1 leads out of the tree."
  done
}
take() {
  enter "$1" look || { : > "$3.absent"; return 0; }
  if [ -L "$2" ] || [ ! -f "$2" ]; then : > "$3.absent"; return 0; fi
  head -c MOST -- "$2" > "$3.in"
}
put() {
  enter "$1" make || refuse "$1 is no folder."
  if [ -d "$2" ] && [ ! -L "$2" ]; then refuse "$2 is a folder."; fi
  rm -f -- ".$2.interlock"; set -C; cat -- "$3.out" > ".$2.interlock"; set +C
  [ ! -L "$2" ] || rm -f -- "$2"
  case $(uname) in Linux) mv -fT -- ".$2.interlock" "$2" ;; *) mv -fh -- ".$2.interlock" "$2" ;; esac
}
""".replace("MOST", str(_MOST + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """A folder of ours that commands of one use case see in the task's room, and nothing else of the task does."""

    commands: Commands
    room: Room
    folder: Path
    log: Path

    @property
    def inside(self) -> str:
        return STAGING if self.room.sandbox else str(self.folder)

    def run(self, command: str) -> Done:
        """Run a command in the task's room, the folder in reach: without network, services or the task's values."""
        sandbox = self.room.sandbox
        if sandbox is not None:
            bind = Bind(source=str(self.folder), target=STAGING, writable=True)
            sandbox = replace(sandbox, binds=(bind,), hosts=(), gate=None, inward=(), outward=(), record="")
        room = replace(self.room, sandbox=sandbox)
        return self.commands.run(command, room, {}, self.log, seconds=_SECONDS)

    def empty(self) -> None:
        for each in self.folder.iterdir():
            each.unlink()

    def read(self, name: str) -> bytes | None:
        """A plain file that a command left in the folder; None when there is none.  No link is followed."""
        with suppress(FileNotFoundError):
            descriptor = os.open(self.folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                return file.read(_MOST + 1)
        return None


def render(staging: Staging, templates: Sequence[Template], values: Mapping[str, str]) -> tuple[str, ...]:
    """Render the templates as the task's tree has them; gives the targets that were written.

    Nothing is written unless all can be rendered.  Raises Refused (template) with every problem at its line.
    """
    if not templates:
        return ()
    if problems := [problem for each in templates for problem in _unusable(each)]:
        raise _refused(problems)
    try:
        staging.empty()
        return _write(staging, templates, _rendered_all(staging, templates, values))
    finally:
        staging.empty()


def _rendered_all(staging: Staging, templates: Sequence[Template], values: Mapping[str, str]) -> list[str]:
    taken = staging.run(_ENTER + "\n".join(_call("take", each.source, staging, n) for n, each in enumerate(templates)))
    if taken.code != 0:
        raise _refused([_problem(templates[0].source, None, taken.tail.strip() or "The tree cannot be read.")])
    results = [_rendered(each, staging, number, values) for number, each in enumerate(templates)]
    if problems := [each for each in results if isinstance(each, Problem)]:
        raise _refused(problems)
    return [str(each) for each in results]


def _write(staging: Staging, templates: Sequence[Template], texts: Sequence[str]) -> tuple[str, ...]:
    for number, text in enumerate(texts):
        target = staging.folder / f"{number}.out"
        with target.open("x", encoding="utf-8") as file:  # never through a link
            file.write(text)
        target.chmod(0o644)
    done = staging.run(_ENTER + "\n".join(_call("put", each.target, staging, n) for n, each in enumerate(templates)))
    if done.code != 0:
        raise _refused([_problem(templates[0].target, None, done.tail.strip())])
    return tuple(each.target for each in templates)


def _call(verb: str, path: str, staging: Staging, number: int) -> str:
    pure = PurePosixPath(path)
    folder = "" if str(pure.parent) == "." else str(pure.parent)
    return shlex.join((verb, folder, pure.name, f"{staging.inside}/{number}"))


def _unusable(template: Template) -> list[Problem]:
    return [
        _problem(path, None, f"{path} leaves the task's tree or belongs to Git.")
        for path in (template.source, template.target)
        if _leaves(path)
    ]


def _leaves(path: str) -> bool:
    pure = PurePosixPath(path)
    return pure.is_absolute() or ".." in pure.parts or not pure.name or pure.parts[0].lower() == ".git"


def _rendered(template: Template, staging: Staging, number: int, values: Mapping[str, str]) -> str | Problem:
    data = staging.read(f"{number}.in")
    if data is None:
        return _problem(template.source, None, f"{template.source} is not a plain file of the task's tree.")
    if len(data) > _MOST:
        return _problem(template.source, None, f"{template.source} is larger than {_MOST} bytes.")
    try:
        return _environment(template.source, data.decode("utf-8")).get_template(template.source).render(values)
    except UnicodeDecodeError:
        return _problem(template.source, None, f"{template.source} is not UTF-8 text.")
    except TemplateSyntaxError as fault:
        return _problem(template.source, fault.lineno, f"{fault.message}.")
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as fault:
        return _problem(template.source, _line(fault, template.source), f"{str(fault).rstrip('.')}.")


class _Environment(SandboxedEnvironment):
    """Jinja2 without what could eat the machine: the text is the task's, the process is ours."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" or not all(isinstance(each, int | float) for each in (left, right)):
            raise SecurityError(f"the operator {operator} is not for templates")
        return super().call_binop(context, operator, left, right)


def _environment(name: str, text: str) -> _Environment:
    """One template that can include nothing else; configuration files are not HTML."""

    def load(asked: str) -> tuple[str, str, Callable[[], bool]] | None:
        return (text, name, lambda: True) if asked == name else None

    return _Environment(
        loader=FunctionLoader(load),
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
    )


def _line(fault: BaseException, name: str) -> int | None:
    """The line of the template in which it failed: the last frame that is the template's."""
    line, trace = None, fault.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == name:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _problem(file: str, line: int | None, what: str) -> Problem:
    return Problem(
        kind="template",
        what=what,
        why="A template sees the variables of interlock env and nothing else, and is written inside the tree.",
        fix="Mend the template, or its line under templates in interlock.yaml.",
        where=Where(file=file, line=line),
    )


def _refused(problems: Sequence[Problem]) -> Refused:
    first = problems[0]
    return refused(
        rule="template",
        what=f"{first.where}: {first.what}",
        why="A file that is only half right would start a service on somebody else's port or data.",
        would_change="Mend each problem in the task's tree or in interlock.yaml, then say interlock up again.",
        number=len(problems),
        problems=tuple(problems),
    )
