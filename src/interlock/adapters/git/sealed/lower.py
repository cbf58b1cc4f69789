"""What the read-only layers below a task's own hold at a path, as the kernel would merge them; they are never written here."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

OPAQUE: Final = "user.overlay.opaque"


def is_whiteout(facts: os.stat_result) -> bool:
    """True for the device that stands for a deletion."""
    return stat.S_ISCHR(facts.st_mode) and facts.st_rdev == 0


def is_opaque(folder: str | int) -> bool:
    """True for a folder that hides those below it."""
    with suppress(OSError):
        return os.getxattr(folder, OPAQUE) == b"y"
    return False


@dataclass(frozen=True, slots=True)
class Lower:
    """Layers with the topmost first; nothing changes them while they are in use, so what was seen is remembered."""

    layers: tuple[str, ...]
    _seen: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False, repr=False)

    def folders(self, path: str) -> tuple[str, ...]:
        """The folders that are merged at ``path``, topmost first; empty when there is none to be seen."""
        if not path:
            return self.layers
        found = self._seen.get(path)
        if found is None:
            above, _, name = path.rpartition("/")
            found = self._seen[path] = tuple(_merged(self.folders(above), name))
        return found

    def at(self, path: str) -> os.stat_result | None:
        """What stands at ``path``, a link as itself; None where nothing is to be seen."""
        above, _, name = path.rpartition("/")
        for folder in self.folders(above):
            with suppress(OSError):
                facts = os.lstat(f"{folder}/{name}")
                return None if is_whiteout(facts) else facts
        return None

    def layer_of(self, path: str) -> str | None:
        """The layer whose entry is seen at ``path``; None where nothing is to be seen."""
        above, _, name = path.rpartition("/")
        for folder in self.folders(above):
            with suppress(OSError):
                facts = os.lstat(f"{folder}/{name}")
                return None if is_whiteout(facts) else folder[: len(folder) - len(above)].rstrip("/")
        return None

    def names(self) -> list[str]:
        """What is to be seen at the top, without git's own folder."""
        found = {entry.name for layer in self.layers for entry in os.scandir(layer)}
        return sorted(name for name in found if name != ".git" and self.at(name) is not None)

    def files(self, path: str) -> Iterator[str]:
        """Every file and link at or below ``path``, without git's own folders."""
        facts = self.at(path)
        if facts is not None and not stat.S_ISDIR(facts.st_mode):
            yield path
            return
        waiting = [path] if facts is not None else []
        while waiting:
            folder = waiting.pop()
            hidden: set[str] = set()
            for each in self.folders(folder):
                for entry in os.scandir(each):
                    inner = f"{folder}/{entry.name}"
                    if entry.name in hidden or entry.name == ".git":
                        continue
                    hidden.add(entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(inner)
                    elif not is_whiteout(entry.stat(follow_symlinks=False)):
                        yield inner


def _merged(above: tuple[str, ...], name: str) -> Iterator[str]:
    for folder in above:
        path = f"{folder}/{name}"
        try:
            facts = os.lstat(path)
        except OSError:
            continue
        if not stat.S_ISDIR(facts.st_mode):
            return
        yield path
        if is_opaque(path):
            return
