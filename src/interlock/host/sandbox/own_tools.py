"""What of ours goes into every sandbox: the keeper, the agent's tools, and a Python to run them; all of it read-only."""

from __future__ import annotations

import os
import shutil
import sys
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from interlock.core.problems import refused
from interlock.core.sandbox import RUN, Bind
from interlock.host.sandbox import system, toolchains

LIB: Final = f"{RUN}/lib"
_PACKAGE: Final = Path(__file__).resolve().parents[2]
_KEEPER: Final = "import sys; sys.path.append(sys.argv[1]); from interlock.host.keeper import main; main()"
_TASK: Final = "import sys; sys.path.append(sys.argv.pop(1)); from interlock.task.main import main; sys.exit(main())"
_OLDEST: Final = 11


class Python(NamedTuple):
    """An interpreter as it is called inside, and the folder to show for it where programs do not hold it already."""

    path: str
    folder: str | None


@lru_cache(maxsize=1)
def python() -> Python:
    """The interpreter below ours when it stands in a folder of its own, else the system's.  Raises Refused (sandbox)."""
    below = os.path.realpath(sys.executable)
    if system.is_shown(below):
        return Python(below, None)
    prefix = os.path.realpath(sys.base_prefix)
    if below.startswith(f"{prefix}/") and not toolchains.is_wide(Path(prefix)):
        return Python(below, prefix)
    for minor in range(sys.version_info.minor, _OLDEST - 1, -1):
        found = shutil.which(f"python3.{minor}", path="/usr/bin:/usr/local/bin")
        if found and system.is_shown(os.path.realpath(found)):
            return Python(os.path.realpath(found), None)
    raise refused(
        rule="sandbox",
        what="No Python can be shown inside a sandbox.",
        why=f"{below} stands in {prefix}, which holds more than Python, and /usr has none from 3.{_OLDEST}.",
        would_change=f"Install python3.{_OLDEST} or later below /usr, or run Interlock with a Python in a folder of its own.",
    )


def binds() -> tuple[Bind, ...]:
    """What to show: our package, and nothing beside it; the interpreter's folder at its own path."""
    found = [Bind(source=str(_PACKAGE), target=f"{LIB}/interlock")]
    if (folder := python().folder) is not None:
        found.append(Bind(source=folder, target=folder))
    return tuple(found)


def keeper(control: int, status: int, *words: str) -> tuple[str, ...]:
    """How the keeper is started inside, with its two descriptors and further words."""
    start = ("-I", "-S", "-X", "utf8", "-c", _KEEPER, LIB, str(control), str(status))
    return (python().path, *start, *words)


def task_tool() -> str:
    """The text of interlock-task as it is inside."""
    return f"#!/bin/sh\nexec {python().path} -I -S -c '{_TASK}' {LIB} \"$@\"\n"
