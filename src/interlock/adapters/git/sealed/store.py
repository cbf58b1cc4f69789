"""The store: objects of the base commits' history, which tasks may read and nobody but us writes; private ones are repository's."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from interlock.adapters.git import locks, objects
from interlock.adapters.git.errors import GitFailed
from interlock.adapters.git.mirror import HEAD, Mirror
from interlock.adapters.git.plumbing import GitDir
from interlock.adapters.git.sealed import owning
from interlock.adapters.git.sealed.layout import Kit, Layout
from interlock.core.sandbox import RUN, Bind

INSIDE: Final = f"{RUN}/objects"
"""Where a sandbox finds the store's objects."""

_HAVES: Final = 16
_LOOSE, _PACKS = 27, 50  # as in the mirror: git's own limits
_LONG: Final = 1800.0


def bind(layout: Layout) -> Bind:
    """The store's objects, read-only, as every sandbox of a task sees them."""
    return Bind(source=str(layout.store / "objects"), target=INSIDE)


def fed(layout: Layout) -> list[str]:
    """Commits that are in the store with all their history, newest first: a few, to tell transfers what is there."""
    with suppress(FileNotFoundError):
        marks = sorted((layout.store / "fed").iterdir(), key=lambda mark: -mark.stat().st_mtime_ns)
        return [mark.name for mark in marks[:_HAVES]]
    return []


def feed(mirror: Mirror, layout: Layout, commit: str) -> None:
    """Bring a base commit with its history into the store; a mark tells that it is whole, so a killed call is made up for."""
    mark = layout.store / "fed" / commit
    if mark.exists():
        return
    with locks.held(layout.root / "store.lock", what="The store of sealed tasks is being fed") as lock:
        if mark.exists():
            return
        _ensure(mirror, layout)
        git = mirror.git.holding(lock)
        if owning.agent() is not None:
            git = git.with_options("core.sharedRepository=world")
        objects.send_local(git, layout.store / "objects", [commit], fed(layout))
        _tidy(layout, lock)
        mark.touch()


def is_trunk(kit: Kit, commit: str) -> bool:
    """Whether a commit is of the default branch: then its files are the team's and not a task's."""
    if (kit.layout.store / "fed" / commit).exists():
        return True
    return kit.mirror.git.run("merge-base", "--is-ancestor", commit, HEAD, ok=(0, 1, 128)).code == 0


def lend(kit: Kit, git_dir: Path, commit: str) -> None:
    """Give a private repository the objects that its commit has beyond the store's, and no other task's."""
    if not fed(kit.layout):
        feed(kit.mirror, kit.layout, kit.mirror.last_base().oid)
    known = fed(kit.layout)
    if commit not in known:
        objects.send_local(kit.mirror.git, git_dir / "objects", [commit], known)


def _ensure(mirror: Mirror, layout: Layout) -> None:
    """Make the bare repository in one step as others see it."""
    if layout.store.is_dir():
        return
    for old in layout.root.glob("store-making-*"):
        shutil.rmtree(old)
    folder = Path(tempfile.mkdtemp(prefix="store-making-", dir=layout.root))
    kind = f"--object-format={mirror.found.object_format}"
    git = GitDir(path=folder, safe=(mirror.found.top,))
    git.run("init", "-q", "--bare", "--template=", kind, "--initial-branch=interlock", str(folder))
    (folder / "fed").mkdir()
    for each in (folder, folder / "objects", folder / "objects" / "info", folder / "objects" / "pack"):
        each.chmod(0o755)
    folder.rename(layout.store)


def _tidy(layout: Layout, lock: int) -> None:
    """Pack what piled up; nothing is ever pruned, since no reference holds what tasks read."""
    folder = layout.store / "objects"
    loose, packs = len(list((folder / "17").glob("*"))), len(list((folder / "pack").glob("*.pack")))
    if loose > _LOOSE or packs > _PACKS:
        git = GitDir(path=layout.store).holding(lock)
        with suppress(GitFailed):
            git.run("maintenance", "run", "--quiet", "--task=loose-objects", "--task=incremental-repack", seconds=_LONG)
