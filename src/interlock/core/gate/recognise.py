"""Whether a check is one plain pytest command, and where a report option goes into it; running it is the adapters' work."""

from __future__ import annotations

import re
from dataclasses import dataclass

# pytest, python -m pytest, uv run pytest, .venv/bin/pytest and .venv/bin/python -m pytest, each with options after it,
# and with values of the environment before it.
_PYTEST = re.compile(
    r"\s*(?:[A-Za-z_]\w*=[^\s'\"]*\s+)*(?:uv\s+run\s+(?:--?[\w-]+(?:=\S+)?\s+)*)?(?:[\w.~/-]*/)?"
    r"(?:pytest|py\.test|python[\d.]*\s+(?:-[A-Za-z]+\s+)*?-m\s+pytest)(?=\s|$)"
)
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", re.DOTALL)
_OPERATORS = frozenset(";&|<>()\n'\"")
_OWN_REPORT = re.compile(r"\s--junit-?xml(?:=|\s+)([^\s'\"$]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestCommand:
    """A plain pytest command: where options may be put in, and the report that it names itself, if any."""

    options_at: int
    own_report: str | None
    takes_report: bool


def pytest_command(run: str) -> PytestCommand | None:
    """The pytest command that a check is, or None when it is something else, or more than one simple command."""
    found = _PYTEST.match(run)
    if found is None or not _is_simple(run.strip()):
        return None
    own = _OWN_REPORT.search(run)
    asks = "--junit" in run or "no:junitxml" in run
    return PytestCommand(options_at=found.end(), own_report=own[1] if own else None, takes_report=not asks)


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
