"""Who lives in a folder, told from /proc; what follows from it is the callers' decision."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from interlock.host import procfs

_FORK_TO_EXEC = 0.05
"""Seconds, once for each process that cannot be looked into; from fork to exec is far less."""


def occupants(path: Path, *, mounted: Iterable[Path] = ()) -> tuple[str, ...]:
    """Live processes whose working directory lies inside ``path``, as ``pid name``.

    ``mounted`` are folders that sandboxes see elsewhere: a process whose mount namespace has one of them bound, or
    as the upper layer of an overlay, lives there too.  One of our own user that cannot be looked into counts as
    inside, and so does a machine without /proc (case WT-09).  Processes of other users that cannot be looked into
    are left out, since a machine is full of them, and so is init, which may shut even its own user out.
    """
    pids = procfs.pids()
    if not pids:
        return ("unknown: /proc cannot be read",)
    inside = os.path.realpath(path)
    mounts = _Mounts(tuple(os.path.realpath(folder) for folder in mounted))
    found = []
    for pid in pids:
        facts = procfs.stat(pid)
        if facts is None or facts[1] in "ZX":
            continue
        if _told(pid, partial(_lives_in, pid, inside)) or _told(pid, partial(mounts.of, pid)):
            found.append(f"{pid} {facts[0]}")
    return tuple(found)


def _told(pid: int, look: Callable[[], bool]) -> bool:
    """What a look at a process tells; one that stays shut counts as inside when it is of our own user.

    The child of a process that shuts others out is shut too, until it begins a program of its own: so it is looked at twice.
    """
    for patience in (_FORK_TO_EXEC, 0):
        try:
            return look()
        except PermissionError:
            if pid == 1 or not _is_ours(pid):
                return False
            time.sleep(patience)
        except OSError:
            return False  # ended meanwhile
    return True


def _lives_in(pid: int, folder: str) -> bool:
    where = str(Path(f"/proc/{pid}/cwd").readlink()).removesuffix(" (deleted)")
    return where == folder or where.startswith(folder + os.sep)


def _is_ours(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}").stat().st_uid == os.getuid()
    except OSError:
        return False


@dataclass(slots=True)
class _Mounts:
    """Which mount namespaces other than ours have one of the folders; each is looked at once."""

    folders: tuple[str, ...]
    _known: dict[str, bool] = field(default_factory=dict)
    _roots: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.folders:
            self._known[_namespace("self")] = False
            own = _mountinfo("self")
            self._roots = [_seat(folder, own) for folder in self.folders]

    def of(self, pid: int) -> bool:
        if not self.folders:
            return False
        name = _namespace(pid)
        if name not in self._known:
            self._known[name] = any(self._is_one(line) for line in _mountinfo(pid))
        return self._known[name]

    def _is_one(self, line: list[str]) -> bool:
        if (layer := _upper(line)) is not None:
            return any(layer.endswith(folder) for folder in self.folders)
        device, root = line[2], line[3]
        return any(device == wanted and (root == seat or root.startswith(f"{seat}/")) for wanted, seat in self._roots)


def _namespace(pid: int | str) -> str:
    return str(Path(f"/proc/{pid}/ns/mnt").readlink())


def _mountinfo(pid: int | str) -> list[list[str]]:
    """The mounts that a process sees, as the fields of man 5 proc_pid_mountinfo."""
    lines = Path(f"/proc/{pid}/mountinfo").read_bytes().decode("utf-8", "surrogateescape").splitlines()
    return [[_plain(word) for word in line.split(" ")] for line in lines]


def _plain(word: str) -> str:
    """A field without the octal escapes of blanks, tabs, line breaks and backslashes."""
    for code, letter in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        word = word.replace(code, letter)
    return word


def _upper(line: list[str]) -> str | None:
    """The upper layer of a mount that is an overlay which can be written."""
    with suppress(ValueError, IndexError):
        dash = line.index("-", 6)
        if line[dash + 1] == "overlay":
            options = line[dash + 3].partition(",upperdir=")[2]
            return options.partition(",workdir=")[0].replace("\\", "") if options else None
    return None


def _seat(folder: str, mounts: list[list[str]]) -> tuple[str, str]:
    """The device and the path in its file system of a folder that we see."""
    best = ("", "", "")
    for line in mounts:
        device, root, at = line[2], line[3], line[4].rstrip("/")
        if (folder == at or folder.startswith(f"{at}/")) and len(at) >= len(best[2]):
            best = (device, root, at)
    device, root, at = best
    return device, f"{root.rstrip('/')}{folder[len(at) :]}"
