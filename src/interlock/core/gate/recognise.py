"""Whether a check is one plain pytest command, and where a report option goes into it; running it is the adapters' work."""

from __future__ import annotations

import posixpath
import re
import shlex
from dataclasses import dataclass
from itertools import pairwise

# pytest, python -m pytest, uv run pytest, .venv/bin/pytest and .venv/bin/python -m pytest, each with options after it,
# and with values of the environment before it.
_PYTEST = re.compile(
    r"\s*(?:[A-Za-z_]\w*=(?:[^\s'\"]|'[^']*'|\"[^\"]*\")*\s+)*(?:uv\s+run\s+(?:--?[\w-]+(?:=\S+)?\s+)*)?(?:[\w.~/-]*/)?"
    r"(?:pytest|py\.test|python[\d.]*\s+(?:-[A-Za-z]+\s+)*?-m\s+pytest)(?=\s|$)"
)
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", re.DOTALL)
_OPERATORS = frozenset(";&|<>()\n'\"")
_OWN_REPORT = ("--junitxml", "--junit-xml")
# A shell expands these, or pytest does itself ($ and ~), so that the file cannot be told from the command's text.
_EXPANDED = frozenset("$~`*?[]{}\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestCommand:
    """A plain pytest command: where options may be put in, and the report that it names itself, if any.

    ``own_report`` is relative to the folder it runs in, or absolute; ``unclear_report`` is what the command names instead
    when its text does not tell which file that is (empty when it names nothing).
    """

    options_at: int
    own_report: str | None
    takes_report: bool
    unclear_report: str | None = None


def pytest_command(run: str) -> PytestCommand | None:
    """The pytest command that a check is, or None when it is something else, or more than one simple command."""
    found = _PYTEST.match(run)
    if found is None or not _is_simple(run.strip()):
        return None
    words = _options(run[found.end() :])
    named = _named_report(words)
    clear = bool(named) and not _EXPANDED & set(named or "")
    return PytestCommand(
        options_at=found.end(),
        own_report=posixpath.normpath(named) if named and clear else None,
        takes_report=named is None and not _refuses_reports(words),
        unclear_report=None if clear else named,
    )


def _options(rest: str) -> list[str]:
    """The words of a command as a shell reads them, up to ``--``."""
    try:
        words = shlex.split(rest.replace("\\\n", ""))
    except ValueError:
        words = rest.split()
    return words[: words.index("--")] if "--" in words else words


def _named_report(words: list[str]) -> str | None:
    """The file that the last report option names, as pytest takes it; empty when it names none."""
    named = None
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option in _OWN_REPORT:
            named = value if equals else "".join(words[at + 1 : at + 2])
    return named


def _refuses_reports(words: list[str]) -> bool:
    return "-pno:junitxml" in words or ("-p", "no:junitxml") in pairwise(words)


def with_report(run: str, path: str) -> str:
    """The same command, made to write a JUnit report to ``path`` (quoted already for a shell)."""
    command = pytest_command(run)
    if command is None or not command.takes_report:
        raise ValueError(f"no report can be put into {run!r}")
    at = command.options_at
    return f"{run[:at]} --junitxml={path}{run[at:]}"


def _is_simple(run: str) -> bool:
    """Whether a shell reads one simple command: no operators, nothing that runs another command inside."""
    return "`" not in run and "$(" not in run and not _OPERATORS & set(_QUOTED.sub("", run))
