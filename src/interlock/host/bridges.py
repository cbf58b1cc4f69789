"""The program that starts the bridge to an ACP agent, on this machine and inside a sandbox; what it does is the bridge's own."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from pathlib import Path
from typing import Final

from interlock.core.problems import Refusal, Refused
from interlock.host.sandbox import ours, system, toolchains

NAME: Final = "interlock-bridge"
_ROOT: Final = Path(__file__).resolve().parents[2]
_START: Final = (
    "import sys; sys.path[1:1] = [sys.argv.pop(1), sys.argv.pop(1)]; "
    "from interlock.bridge.main import main; sys.exit(main())"
)


def program(*, walled: bool) -> str:
    """The text of the program that an attempt's tools hold under ``NAME``.

    Raises Refused (no-agent) where the SDK of the protocol is not installed, or cannot be seen inside a sandbox.
    """
    site = _site()
    if not walled:
        return _text(sys.executable, str(_ROOT), site)
    python = ours.python()
    same = os.path.realpath(sys.executable) == python.path
    if not same or not (system.is_shown(site) or any(Path(site).is_relative_to(tool) for tool in toolchains.tools())):
        raise Refused(
            Refusal(
                rule="no-agent",
                what="The bridge to ACP agents cannot be started inside a sandbox.",
                why=f"The Agent Client Protocol's SDK stands in {site}, which is not to be seen there"
                f"{'' if same else ', and belongs to another Python'}.",
                would_change="Install Interlock with the extra acp into a virtual environment of its own.",
            )
        )
    return _text(python.path, ours.LIB, site)


def _text(python: str, root: str, site: str) -> str:
    words = " ".join(shlex.quote(word) for word in (python, "-I", "-S", "-X", "utf8", "-c", _START, root, site))
    return f'#!/bin/sh\nexec {words} "$@"\n'


def _site() -> str:
    """The folder that holds the SDK and what it needs."""
    found = importlib.util.find_spec("acp")
    if found is None or not found.submodule_search_locations:
        raise Refused(
            Refusal(
                rule="no-agent",
                what="ACP agents cannot be driven here.",
                why="The Agent Client Protocol's SDK is not installed.",
                would_change="Install it: pip install 'interlock[acp]'.",
            )
        )
    return str(Path(next(iter(found.submodule_search_locations))).parent)
