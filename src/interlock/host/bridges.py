"""Programs of ours that an agent's run needs beside interlock-task: the one that starts the bridge to an ACP agent, whose work is its own."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from pathlib import Path
from typing import Final

from interlock.core.problems import refused
from interlock.host.sandbox import own_tools, system, toolchains

NAME: Final = "interlock-bridge"
_ROOT: Final = Path(__file__).resolve().parents[2]
_START: Final = (
    "import sys; sys.path[1:1] = [sys.argv.pop(1), sys.argv.pop(1)]; "
    "from interlock.bridge.main import main; sys.exit(main())"
)


PROGRAMS: Final[frozenset[str]] = frozenset({NAME})
"""All that there are, by the names under which they stand in an attempt's tools."""


def check(name: str) -> None:
    """Raise Refused (no-agent) where a program cannot be started at all: unknown, or the SDK that it needs is not here."""
    if name not in PROGRAMS:
        raise refused(
            rule="no-agent",
            what=f"The agent needs {name}, which Interlock does not bring.",
            why=f"It brings {', '.join(sorted(PROGRAMS))}.",
            would_change="Use a version of Interlock that the agent's adapter was made for.",
        )
    _site()


def program(name: str, *, walled: bool) -> str:
    """The text of a program of ``PROGRAMS``.

    Raises Refused (no-agent) where the SDK of the protocol is not installed, or cannot be seen inside a sandbox.
    """
    check(name)
    site = _site()
    if not walled:
        return _text(sys.executable, str(_ROOT), site)
    python = own_tools.python()
    same = os.path.realpath(sys.executable) == python.path
    if not same or not (system.is_shown(site) or any(Path(site).is_relative_to(tool) for tool in toolchains.tools())):
        raise refused(
            rule="no-agent",
            what="The bridge to ACP agents cannot be started inside a sandbox.",
            why=f"The Agent Client Protocol's SDK stands in {site}, which is not to be seen there"
            f"{'' if same else ', and belongs to another Python'}.",
            would_change="Install Interlock with the extra acp into a virtual environment of its own.",
        )
    return _text(python.path, own_tools.LIB, site)


def _text(python: str, root: str, site: str) -> str:
    words = " ".join(shlex.quote(word) for word in (python, "-I", "-S", "-X", "utf8", "-c", _START, root, site))
    return f'#!/bin/sh\nexec {words} "$@"\n'


def _site() -> str:
    """The folder that holds the SDK and what it needs."""
    found = importlib.util.find_spec("acp")
    if found is None or not found.submodule_search_locations:
        raise refused(
            rule="no-agent",
            what="ACP agents cannot be driven here.",
            why="The Agent Client Protocol's SDK is not installed.",
            would_change="Install it: pip install 'interlock[acp]'.",
        )
    return str(Path(next(iter(found.submodule_search_locations))).parent)
