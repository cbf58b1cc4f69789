"""Tools of this machine that every sandbox sees without being named: those that a person has plainly put to use here.

They are Interlock's own Python environment, an activated virtual environment, the installers on PATH, and what
``INTERLOCK_TOOLS`` names.  All of it is read-only inside; a policy adds more by name.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

from interlock.host.sandbox import system

NAMED: Final = "INTERLOCK_TOOLS"
_ALONE: Final = ("uv", "uvx")
"""Programs that are one file."""

_WITH_FOLDER: Final = ("node",)
"""Programs whose folder's parent holds what belongs to them: <prefix>/bin/node."""


def tools() -> tuple[str, ...]:
    """Folders and files to show at their own path, each once; nothing that holds a home, and nothing that is shown anyway."""
    wanted = [sys.prefix, os.environ.get("VIRTUAL_ENV", ""), *_on_path(), *_named()]
    found = dict.fromkeys(path for path in wanted if path and Path(path).exists() and not system.is_shown(path))
    return tuple(path for path in found if not is_wide(Path(path)))


def is_wide(path: Path) -> bool:
    """Whether showing a folder would show somebody's home, or so much that it is no tool any more."""
    real = path.resolve()
    return real in _homes() or (real.is_dir() and len(real.parts) < 3)


def _homes() -> tuple[Path, ...]:
    """The home of the user who starts us, with all above it; a user without one has nothing to hide there."""
    try:
        home = Path.home().resolve()
    except RuntimeError:
        return (Path("/"),)
    return (home, *home.parents)


def _on_path() -> list[str]:
    found = []
    for name in (*_ALONE, *_WITH_FOLDER):
        at = shutil.which(name)
        if at is None:
            continue
        found.append(at)
        if name in _WITH_FOLDER:
            found.append(str(Path(os.path.realpath(at)).parent.parent))
    return found


def _named() -> list[str]:
    return [str(Path(path).expanduser()) for path in os.environ.get(NAMED, "").split(":") if path]


_INTERPRETERS: Final = frozenset(
    {"sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl", "deno", "bun"}
)


def named_in(command: str) -> tuple[str, ...]:
    """Programs of this machine that a command names by their whole path: its first word, and the script of an interpreter.

    Cards and policies are read from the default branch, so that a program named there was named by the team.  One of a
    virtual environment brings that environment along.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return ()
    wanted = words[:1]
    if words and Path(words[0]).name.rstrip("0123456789.") in _INTERPRETERS:
        wanted += next(([word] for word in words[1:] if not word.startswith("-")), [])
    files = [
        path for path in wanted if path.startswith("/") and os.path.normpath(path) == path and Path(path).is_file()
    ]
    found = [environment_of(Path(path)) or path for path in files]
    return tuple(path for path in dict.fromkeys(found) if not system.is_shown(path) and not is_wide(Path(path)))


def environment_of(program: Path) -> str | None:
    """The virtual environment that a program stands in, if it does."""
    folder = program.parent.parent
    return str(folder) if (folder / "pyvenv.cfg").is_file() else None
