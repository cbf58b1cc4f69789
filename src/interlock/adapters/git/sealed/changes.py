"""What a task wrote, told from its upper layer or by the times of its files; nothing of it is opened, followed or run."""

from __future__ import annotations

import json
import os
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from interlock.adapters.git.commits import temporary_index
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.plumbing import names
from interlock.adapters.git.sealed.layout import Layout, Task
from interlock.adapters.git.sealed.lower import Lower, is_opaque, is_whiteout
from interlock.adapters.git.trees import LONG
from interlock.host import files

MOST: Final = 200_000
DEEP: Final = 120
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A path that differs from what the task began with."""

    path: str
    kind: Literal["added", "changed", "deleted"]


@dataclass(slots=True, kw_only=True)
class Look:
    """What stands in the folder that a task writes to.

    ``present`` are files and links, ``special`` pipes, sockets and devices, ``gone`` whiteouts, ``opaque`` folders
    that hide those below, ``nested`` folders with a ``.git`` of their own.  ``newest`` is the latest time of any
    entry.  ``cut`` tells that there were more than ``MOST`` entries or ``DEEP`` folders in each other.
    """

    present: list[str] = field(default_factory=list)
    special: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    opaque: list[str] = field(default_factory=list)
    nested: list[str] = field(default_factory=list)
    newest: float = 0.0
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebased:
    """What putting a task on a new base wrote into its tree, which is not the task's doing, each with its marks."""

    base: str
    paths: dict[str, list[int] | None]


def look(folder: Path, *, layered: bool, times: bool = False) -> Look:
    """Walk a folder that an agent owns.  ``layered``: devices 0:0 and opaque folders mean what they do in an overlay."""
    found = Look()
    try:
        top = os.open(folder, _FOLDER)
    except OSError:
        return found
    stack = [(top, "", _scan(top, "", found, layered=layered, times=times))]
    left = MOST
    try:
        while stack:
            at, prefix, inner = stack[-1]
            name = next(inner, None)
            left -= 1
            if left < 0:
                found.cut = True
                break
            if name is None:
                os.close(stack.pop()[0])
            elif name and len(stack) >= DEEP:
                found.cut = True
            elif name:
                _descend(stack, at, f"{prefix}{name}", name, found, layered=layered, times=times)
    finally:
        for descriptor, _, _ in stack:
            os.close(descriptor)
    return found


def _descend(
    stack: list[tuple[int, str, Iterator[str]]],
    at: int,
    path: str,
    name: str,
    found: Look,
    *,
    layered: bool,
    times: bool,
) -> None:
    try:
        inner = os.open(name, _FOLDER, dir_fd=at)
    except OSError:  # gone meanwhile, or not to be read
        return
    if layered and is_opaque(inner):
        found.opaque.append(path)
    stack.append((inner, f"{path}/", _scan(inner, f"{path}/", found, layered=layered, times=times)))


def _scan(at: int, prefix: str, found: Look, *, layered: bool, times: bool) -> Iterator[str]:
    """Note the entries of one folder and give the names of the folders in it, empty text for each other entry."""
    with os.scandir(at) as listed:
        for entry in listed:
            name = entry.name
            path = f"{prefix}{name}"
            if times:
                with suppress(OSError):
                    facts = entry.stat(follow_symlinks=False)
                    found.newest = max(found.newest, facts.st_mtime, facts.st_ctime)
            if name == ".git":
                if prefix:
                    found.nested.append(prefix[:-1])
            elif entry.is_dir(follow_symlinks=False):
                yield name
                continue
            elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
                found.present.append(path)
            elif layered and _whited(entry):
                found.gone.append(path)
            else:
                found.special.append(path)
            yield ""


def _whited(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):
        return is_whiteout(entry.stat(follow_symlinks=False))
    return False


def changed(layout: Layout, task: Task) -> tuple[str, ...]:
    """Paths that differ from the base now, ignored and untracked ones too, in their order; ``.git`` is left out."""
    return tuple(each.path for each in every(layout, task)[0])


def every(layout: Layout, task: Task) -> tuple[tuple[Changed, ...], bool]:
    """The changes, and whether there were too many to be told all."""
    seen = look(layout.tree(task), layered=task.kind == "overlay")
    found = of_layer(task, seen) if task.kind == "overlay" else _of_copy(layout, task, seen)
    foreign = rebased(layout, task.job)
    if foreign is not None:
        found = {path: kind for path, kind in found.items() if not _still(layout.tree(task), path, foreign)}
    return tuple(Changed(path=path, kind=found[path]) for path in sorted(found)), seen.cut


Kinds = dict[str, Literal["added", "changed", "deleted"]]


def of_layer(task: Task, seen: Look) -> Kinds:
    """What an upper layer that was looked at changes of the layers below it."""
    lower = Lower(task.lower)
    found: Kinds = {}
    for path in (*seen.gone, *seen.opaque):
        found.update(dict.fromkeys(_below(lower, path), "deleted"))
    for path in (*seen.present, *seen.special):
        facts = lower.at(path)
        if facts is not None and stat.S_ISDIR(facts.st_mode):
            found.update(dict.fromkeys(_below(lower, path), "deleted"))
        found[path] = "added" if facts is None or stat.S_ISDIR(facts.st_mode) else "changed"
    for folder in _folders(seen):
        facts = lower.at(folder)
        if facts is not None and not stat.S_ISDIR(facts.st_mode):
            found[folder] = "deleted"
    return found


def _below(lower: Lower, path: str) -> Iterator[str]:
    for count, each in enumerate(lower.files(path)):
        if count >= MOST:
            return
        yield each


def _folders(seen: Look) -> set[str]:
    """The folders that hold what stands in the layer, and those that hide others: each could be where a file was."""
    found = set(seen.opaque)
    for path in (*seen.present, *seen.special, *seen.gone):
        above = path.rpartition("/")[0]
        while above and above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return found


def _of_copy(layout: Layout, task: Task, seen: Look) -> Kinds:
    """By the times of the files against an index of ours that is made at the first look."""
    mirror = Mirror(layout.found)
    kept = layout.task(task.job) / "seen.index"
    with temporary_index(mirror) as index:
        git = mirror.git.with_tree(Path(task.path), index)
        if kept.is_file():
            shutil.copy2(kept, index)
        else:
            git.run("read-tree", task.base, seconds=LONG)
            git.run("update-index", "-q", "--refresh", ok=(0, 1), seconds=LONG)
            _keep_index(index, kept)
        out = names(git.run("diff-files", "-z", "--name-status", "--ignore-submodules=all", seconds=LONG).out)
        tracked = set(names(git.run("ls-files", "-z").out))
    found: Kinds = dict.fromkeys((path for path in (*seen.present, *seen.special) if path not in tracked), "added")
    for status, path in zip(out[::2], out[1::2], strict=True):
        found[path] = "deleted" if status == "D" else "changed"
    return found


class Hidden:
    """Paths whose lower version cannot be seen, because something that the task wrote stands there or above."""

    def __init__(self, seen: Look) -> None:
        self._at = {*seen.present, *seen.special, *seen.gone, *seen.opaque}

    def __contains__(self, path: str) -> bool:
        while path:
            if path in self._at:
                return True
            path = path.rpartition("/")[0]
        return False


def _keep_index(index: Path, kept: Path) -> None:
    """Keep an index with its own time: entries are compared with it, and a later one would hide a change made since."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    fresh = kept.with_name(f"{kept.name}.{os.getpid()}-{threading.get_ident()}")
    shutil.copy2(index, fresh)
    fresh.replace(kept)


# ------------------------------------------------------------ what a new base wrote
def _record(layout: Layout, job: str) -> Path:
    return layout.task(job) / "rebased.json"


def rebased(layout: Layout, job: str) -> Rebased | None:
    """What the last new base wrote into a task's tree; None when there was none."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        shape: dict[str, Any] = json.loads(_record(layout, job).read_bytes())
        return Rebased(**shape)
    return None


def base_of(layout: Layout, job: str, first: str) -> str:
    """The commit that a task's work stands on now: the one it was last put on, else the first."""
    foreign = rebased(layout, job)
    return foreign.base if foreign else first


def note_rebased(layout: Layout, task: Task, base: str, paths: list[str]) -> None:
    """Write down that these paths, as they are now, come from a new base."""
    before = rebased(layout, task.job)
    tree = layout.tree(task)
    marks = {**(before.paths if before else {}), **{path: _marks(tree, path) for path in paths}}
    shape = {"base": base, "paths": marks}
    files.write_whole(_record(layout, task.job), json.dumps(shape).encode())


def _still(tree: Path, path: str, foreign: Rebased) -> bool:
    return path in foreign.paths and foreign.paths[path] == _marks(tree, path)


def _marks(tree: Path, path: str) -> list[int] | None:
    try:
        facts = os.lstat(f"{tree}/{path}")
    except OSError:
        return None
    if is_whiteout(facts):
        return None
    return [facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns]
