"""What clients left of their sessions below an attempt's HOME: found without following a link, and read within bounds; meaning it is an adapter's."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from interlock.core.agent.adapter import AgentAdapter
from interlock.host import files

_FILES: Final = 50
_ONE_MOST: Final = 32 << 20
_ALL_MOST: Final = 64 << 20
"""Bytes of one file and of all together; no more than one is held at a time."""
_LOOKED_AT: Final = 20_000
_DEEP: Final = 16
"""Names that are looked at, and folders below each other, before the search ends: the agent writes there."""

_FOLDER: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY
_BELOW: Final = "**"


def of(adapter: AgentAdapter, home: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a client's sessions below HOME, newest first: path and bytes, one read when it is asked for.

    Nothing where HOME is no folder of its own.  Files that cannot be read are passed over.
    """
    left = _ALL_MOST
    for name in _newest(adapter.transcripts(), home):
        data = b""
        with suppress(OSError, ValueError), files.open_beneath(home, name) as descriptor:
            data = files.read_open(descriptor, min(_ONE_MOST, left))
        if data:
            left -= len(data)
            yield name, data
        if left <= 0:
            return


def _newest(patterns: tuple[str, ...], home: Path) -> list[str]:
    found: dict[str, float] = {}
    search = _Search(found)
    with suppress(OSError):
        if not stat.S_ISDIR(home.lstat().st_mode):
            return []
        root = os.open(home, _FOLDER)
        try:
            for pattern in patterns:
                search.beneath(root, (), tuple(pattern.split("/")))
        finally:
            os.close(root)
    return sorted(found, key=lambda name: -found[name])[:_FILES]


class _Search:
    """Plain files that match a pattern, with their times; each folder is opened in the one above, and no link is."""

    def __init__(self, found: dict[str, float]) -> None:
        self._found = found
        self._looked = 0

    def beneath(self, folder: int, at: tuple[str, ...], pattern: tuple[str, ...]) -> None:
        """Look in an open folder, called ``at`` below HOME, for what matches the rest of a pattern."""
        first, rest = pattern[0], pattern[1:]
        if first == _BELOW:
            self.beneath(folder, at, rest)
        for entry in self._entries(folder):
            if not rest and fnmatchcase(entry.name, first) and entry.is_file(follow_symlinks=False):
                self._found["/".join((*at, entry.name))] = entry.stat(follow_symlinks=False).st_mtime
            elif rest and entry.is_dir(follow_symlinks=False) and len(at) < _DEEP:
                self._into(folder, entry.name, at, first, rest)

    def _into(self, folder: int, name: str, at: tuple[str, ...], first: str, rest: tuple[str, ...]) -> None:
        if first != _BELOW and not fnmatchcase(name, first):
            return
        with suppress(OSError):
            below = os.open(name, _FOLDER, dir_fd=folder)
            try:
                self.beneath(below, (*at, name), (first, *rest) if first == _BELOW else rest)
            finally:
                os.close(below)

    def _entries(self, folder: int) -> Iterator[os.DirEntry[str]]:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                self._looked += 1
                if self._looked > _LOOKED_AT:
                    return
                yield entry
