"""The first of two stages when we are root: mounts what a task's user could not reach, and becomes that user; no Python between.

Root's bubblewrap makes a root of its own where each source stands below one open folder; setpriv changes the user;
the second bubblewrap, now without any right over this machine, makes the sandbox out of it.  Nothing of a task
ever runs as uid 0 (a sandbox made as root could write to /proc/sys, facts/isolation §5.2).
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from interlock.core.problems import refused
from interlock.host.sandbox import bwrap, system
from interlock.host.sandbox.identity import group_of

_STAGE: Final = "/stage"
_PROGRAMS: Final = f"{_STAGE}/bwrap"
_SAME: Final = ("/etc", "/proc")
"""Shown to the second stage as they are, for it to take its parts from."""


class Stage:
    """What the second stage finds where; ``user`` None: there is no first stage, and everything is where it is."""

    def __init__(self, program: Path, user: int | None) -> None:
        """Take the bubblewrap, and the uid to become.  Raises Refused (sandbox) where setpriv is missing."""
        self._program = program
        self._user = user
        self._taken: dict[tuple[str, bool], str] = {}
        self._setpriv = _setpriv() if user is not None else ""

    @property
    def program(self) -> str:
        """The bubblewrap as the second stage calls it."""
        if self._user is None or not bwrap.surroundings(self._program):
            return str(self._program)
        return f"{_PROGRAMS}/{self._program.relative_to(self._program.parents[2])}"

    def take(self, source: str, *, writable: bool = False) -> str:
        """How the second stage calls a file or folder of this machine."""
        if self._user is None or any(source == same or source.startswith(f"{same}/") for same in _SAME):
            return source
        if system.is_shown(source) and not writable:
            return source
        return self._taken.setdefault((source, writable), f"{_STAGE}/{len(self._taken)}")

    def words(self) -> list[str]:
        """The words before the second stage's; call it when all is taken."""
        if self._user is None:
            return []
        words = [str(self._program)]
        for root, link in system.roots():
            words += ["--symlink", link, root] if link is not None else ["--ro-bind", root, root]
        for same in _SAME:
            words += ["--bind" if same == "/proc" else "--ro-bind", same, same]
        words += ["--dev-bind", "/dev", "/dev", "--dir", "/tmp", "--perms", "0755", "--dir", _STAGE]  # noqa: S108
        if folders := bwrap.surroundings(self._program):
            words += ["--perms", "0755", "--dir", _PROGRAMS]
            for folder in folders:
                words += ["--ro-bind", str(folder), f"{_PROGRAMS}/{folder.name}"]
        for (source, writable), target in self._taken.items():
            words += ["--bind" if writable else "--ro-bind", source, target]
        words += ["--chdir", "/", "--die-with-parent", "--cap-drop", "ALL", "--cap-add", "CAP_SETUID"]
        words += ["--cap-add", "CAP_SETGID", "--", self._setpriv, "--reuid", str(self._user)]
        return [*words, "--regid", str(group_of(self._user)), "--clear-groups", "--"]


def _setpriv() -> str:
    found = shutil.which("setpriv", path="/usr/bin:/bin:/usr/sbin:/sbin")
    if found is None or not system.is_shown(os.path.realpath(found)):
        raise refused(
            rule="sandbox",
            what="setpriv is not on this machine.",
            why="Interlock runs as root, and a sandbox gives up root through setpriv (util-linux).",
            would_change="Install util-linux, or run Interlock as a user of its own.",
        )
    return found
