"""A worktree looked at while its task runs: what differs from the base, when it last moved, a copy of it; nothing in it is changed."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from interlock.adapters.git import admin, locks, trees
from interlock.adapters.git.discover import BRANCHES
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.occupants import occupants
from interlock.core.problems import refused
from interlock.ports.isolation import Place

_SAMPLE: Final = 0.05  # seconds between two looks at the processor time of what lives in the tree
_TICKS: Final = (11, 12)  # utime and stime in /proc/PID/stat behind the name (man 5 proc)


def changed(mirror: Mirror, place: Place) -> tuple[str, ...]:
    """Paths that differ from the base: changed and deleted ones, and all that is beside them, ignored or not.

    An index of our own is kept between calls, so that only files that moved are read again.
    """
    admin.registered(mirror.found, place)
    folder = mirror.found.state / "watching"
    name = place.job or place.branch.replace("/", "-")
    with locks.held(folder / f"{name}.lock", what=f"{place.branch} is being looked at"):
        index = folder / f"{name}-{place.base[:12]}.index"
        index.with_name(f"{index.name}.lock").unlink(missing_ok=True)
        git = mirror.git.with_tree(place.path, index)
        if not index.is_file():
            git.run("read-tree", place.base, seconds=trees.LONG)
        return tuple(sorted({*trees.changed(git), *trees.others(git)}))


def last_touched(mirror: Mirror, place: Place) -> float:
    """When a file, a ref or a process of the task last moved, in seconds since the epoch.

    A process counts as moving now when it uses the processor, else from its start on.
    """
    tree_admin = admin.registered(mirror.found, place)
    moments = [place.path.lstat().st_mtime]
    for at, folders, names in os.walk(place.path):
        for name in (*folders, *names):
            with suppress(OSError):
                moments.append(os.lstat(os.path.join(at, name)).st_mtime)  # noqa: PTH118 - many files
    branch = f"{BRANCHES}{place.branch}"
    for file in (tree_admin.folder / "HEAD", tree_admin.folder / "logs" / "HEAD", mirror.found.common_dir / branch):
        with suppress(OSError):
            moments.append(file.lstat().st_mtime)
    living = [int(each.split()[0]) for each in occupants(place.path) if each.split()[0].isdigit()]
    return max(*moments, moved(living))


def moved(pids: list[int]) -> float:
    """When one of these processes last moved; 0 for none."""
    if not pids:
        return 0.0
    before = [_ticks(pid) for pid in pids]
    time.sleep(_SAMPLE)
    if before != [_ticks(pid) for pid in pids]:
        return time.time()
    started = [0.0]
    for pid in pids:
        with suppress(OSError):
            started.append(Path(f"/proc/{pid}").stat().st_ctime)
    return max(started)


def _ticks(pid: int) -> tuple[bytes, ...]:
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return tuple(fields[number] for number in _TICKS)
    return ()


def materialise(mirror: Mirror, place: Place, target: Path) -> None:
    """Copy the task's tree as it is now, without git's link, to a new folder.  Raises Refused (name-taken)."""
    admin.registered(mirror.found, place)
    if os.path.lexists(target):
        raise refused("name-taken", f"{target} exists.", "A copy goes to a new folder.", "Name another folder.")

    def link(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if name == ".git" and Path(folder) == place.path]

    shutil.copytree(place.path, target, symlinks=True, ignore=link, copy_function=_copy)


def _copy(source: str, target: str) -> str:
    """Copy plain files; sockets and pipes are left out, since a copy would wait for them."""
    if Path(source).is_file() or Path(source).is_symlink():
        shutil.copy2(source, target, follow_symlinks=False)
    return target
