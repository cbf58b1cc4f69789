"""Level snapshot: a plain tree that shares its blocks with a warm base, where the file system can; no walls around it."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from interlock.adapters.git.making import write_files
from interlock.adapters.git.sealed import repository, store
from interlock.adapters.git.sealed.bases import Layer
from interlock.adapters.git.sealed.fresh import begin, chosen
from interlock.adapters.git.sealed.layout import Kit
from interlock.adapters.git.sealed.lower import is_whiteout
from interlock.adapters.git.trees import LONG, remove_folder
from interlock.ports.isolation import Room

_FICLONE: Final = 0x40049409  # include/uapi/linux/fs.h


def why_not(source: Path, target: Path) -> str:
    """Why files of one folder cannot share their blocks with copies in the other; empty where they can."""
    try:
        with tempfile.NamedTemporaryFile(dir=source) as one, tempfile.NamedTemporaryFile(dir=target) as other:
            one.write(b"x" * 4096)
            one.flush()
            fcntl.ioctl(other.fileno(), _FICLONE, one.fileno())
    except OSError as fault:
        if fault.errno == errno.EXDEV:
            return f"{source} and {target} are on different file systems"
        return f"the file system of {target} cannot copy on write ({fault.strerror})"
    return ""


def store_of(kit: Kit) -> str:
    """The store's objects, by their path on this machine, since there is no sandbox that would show them elsewhere."""
    return str(kit.layout.store / "objects")


def fill(kit: Kit, layer: Layer | None, commit: str, folder: Path) -> None:
    """Write the files of a commit into a folder with its private repository; blocks are shared with the base's."""
    index = folder / ".git" / "index"
    git = kit.mirror.git.with_tree(folder, index)
    if layer is not None:
        for each in reversed(layer.lower):
            _clone(each, folder)
        shutil.copyfile(layer.index, index)
        git.run("update-index", "-q", "--refresh", ok=(0, 1), seconds=LONG)
    if layer is None or git.run("diff-index", "--cached", "--quiet", commit, ok=(0, 1), seconds=LONG).code != 0:
        write_files(kit.mirror, git, commit)


def _clone(source: Path, target: Path) -> None:
    """Lay one layer over a folder as real files; a whiteout takes away what stands there."""
    for at, folders, names in os.walk(source):
        here = target / os.path.relpath(at, source)
        for name in folders:
            inner = here / name
            if (Path(at) / name).is_symlink():
                _link(Path(at) / name, inner)
            else:
                _clear(inner, folder=True)
                inner.mkdir(exist_ok=True)
        for name in names:
            original, copy = Path(at) / name, here / name
            if is_whiteout(original.lstat()):
                _clear(copy)
            elif original.is_symlink():
                _link(original, copy)
            else:
                _file(original, copy)


def _clear(path: Path, *, folder: bool = False) -> None:
    if path.is_dir() and not path.is_symlink():
        if not folder:
            remove_folder(path)
    elif os.path.lexists(path):
        path.unlink()


def _link(original: Path, copy: Path) -> None:
    _clear(copy)
    copy.symlink_to(original.readlink())


def _file(original: Path, copy: Path) -> None:
    _clear(copy)
    with original.open("rb") as source, copy.open("xb") as target:
        try:
            fcntl.ioctl(target.fileno(), _FICLONE, source.fileno())
        except OSError:  # an empty file, or another file system since the probe
            shutil.copyfileobj(source, target)
    shutil.copystat(original, copy)


@contextmanager
def fresh(kit: Kit, commit: str, folder: Path) -> Iterator[Room]:
    """A tree of exactly this commit for checks, below ``folder``, taken away afterwards; see fresh.fresh."""
    begin(folder)
    try:
        tree = folder / "tree"
        repository.write(kit.mirror, tree / ".git", repository.Private(commit=commit, objects=store_of(kit)))
        store.lend(kit, tree / ".git", commit)
        with chosen(kit, commit, folder / "layer") as layer:
            fill(kit, layer, commit, tree)
        yield Room(path=tree, written=tree)
    finally:
        remove_folder(folder)
