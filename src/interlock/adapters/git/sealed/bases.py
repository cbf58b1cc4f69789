"""Warm bases: the tree of a commit with its dependencies, built once and never changed; what tasks lay over them is making's."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from interlock.adapters.git import locks
from interlock.adapters.git.making import write_files
from interlock.adapters.git.mirror import HEAD
from interlock.adapters.git.plumbing import packed
from interlock.adapters.git.sealed import deltas, owning, repository, store
from interlock.adapters.git.sealed.deltas import TooFar
from interlock.adapters.git.sealed.install import Needs, install_all, needs
from interlock.adapters.git.sealed.layout import SMALL_BYTES, SMALL_FILES, Kit, Layout
from interlock.adapters.git.trees import LONG, changed, clear_the_way, others, remove_folder
from interlock.core.problems import Refused
from interlock.host import files

_WAIT: Final = 3600.0
_MAKING: Final = ".making-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A whole base: the commit its tree has, the digest of its dependencies, and whether the default branch holds it.

    One that is not trusted was built with a task's own files, so it serves that very commit, and only until it lands.
    """

    folder: Path
    commit: str
    digest: str
    trusted: bool
    built: float

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    @property
    def index(self) -> Path:
        return self.folder / "index"

    def exclude(self) -> bytes:
        """Lines for what the installers left that the repository does not ignore."""
        with suppress(FileNotFoundError):
            return (self.folder / "exclude").read_bytes()
        return b""

    def use(self) -> None:
        """Note that the base was used now; its eviction goes by it."""
        (self.folder / "used").touch()


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """What a tree of one commit stands on: folders with the topmost first, and an index that has their files' times."""

    base: Base
    lower: tuple[Path, ...]
    index: Path


def choose(kit: Kit, commit: str, private: Path | None = None) -> Layer | None:
    """The layers of a commit, made where they are not there; None for a tree that is small and has no dependencies.

    A delta that no other task will want goes to ``private``.  Raises Refused (sandbox) when an installer fails.
    """
    wanted = needs(kit, commit)
    base = _nearest(kit, wanted, commit)
    if base is None and not wanted.dependencies and is_small(kit, commit):
        return None
    if base is None and not wanted.trusted:
        base = _of_the_team(kit, wanted, commit)
    if base is not None:
        with suppress(TooFar):
            layer = _on(kit, base, commit, private)
            base.use()
            return layer
    if not wanted.dependencies and is_small(kit, commit):
        return None
    base = build(kit, commit, wanted)
    return Layer(base=base, lower=(base.tree,), index=base.index)


@contextmanager
def standing(layout: Layout, *, still: bool = True) -> Iterator[None]:
    """While many stand on bases, none is evicted; ``still`` False is the one that evicts.  Held for moments only."""
    layout.root.mkdir(parents=True, exist_ok=True)
    with (layout.root / "bases.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_SH if still else fcntl.LOCK_EX)
        yield


def every(layout: Layout) -> Iterator[Base]:
    """All whole bases."""
    for folder in sorted(layout.bases.glob("*")):
        if not folder.name.startswith("."):
            with suppress(OSError, ValueError, TypeError, KeyError):
                shape: dict[str, Any] = json.loads((folder / "base.json").read_bytes())
                yield Base(folder=folder, **shape)


def _nearest(kit: Kit, wanted: Needs, commit: str) -> Base | None:
    """The newest base that the commit may stand on, one of its own before all.

    What a task's own code installed is laid under its very commit alone, and not even there once that has landed.
    """
    fitting = [
        base
        for base in every(kit.layout)
        if base.digest == wanted.digest and (base.trusted or (base.commit == commit and not wanted.trusted))
    ]
    return min(fitting, key=lambda base: (not base.trusted, base.commit != commit, -base.built), default=None)


def _of_the_team(kit: Kit, wanted: Needs, commit: str) -> Base | None:
    """A base of the default branch that a task's commit can stand on: where it left it, else its tip, if one fits."""
    left = kit.mirror.git.run("merge-base", commit, HEAD, ok=(0, 1)).text.strip()
    for each in dict.fromkeys((left, kit.mirror.last_base().oid)):
        with suppress(Refused):  # it lacks a lock file: the commit adds it
            if each and (there := needs(kit, each)).trusted and there.digest == wanted.digest:
                return build(kit, each, there)
    return None


def _on(kit: Kit, base: Base, commit: str, private: Path | None) -> Layer:
    """The layers of a commit over a base, with a delta between where it is another commit's."""
    if base.commit == commit:
        return Layer(base=base, lower=(base.tree,), index=base.index)
    shared = base.folder / "deltas" / commit
    if private is None and not shared.is_dir():
        lock = kit.layout.root / "locks" / f"delta-{base.folder.name}.lock"
        with locks.held(lock, what="A layer is being made"):
            if not shared.is_dir():
                _make_delta(kit, base, commit, shared)
    if shared.is_dir() or private is None:
        os.utime(shared)
        return Layer(base=base, lower=(shared / "tree", base.tree), index=shared / "index")
    _fill(kit, base, commit, private, deltas.MOST * 50)
    return Layer(base=base, lower=(private / "tree", base.tree), index=private / "index")


def _make_delta(kit: Kit, base: Base, commit: str, target: Path) -> None:
    """Make a delta beside its place and put it there when it is whole; leftovers of a killed try are removed."""
    target.parent.mkdir(exist_ok=True)
    for old in target.parent.glob(f"{_MAKING}*"):
        remove_folder(old)
    making = target.parent / f"{_MAKING}{commit}"
    try:
        _fill(kit, base, commit, making, deltas.MOST)
        making.rename(target)
    finally:
        remove_folder(making)


def _fill(kit: Kit, base: Base, commit: str, folder: Path, most: int) -> None:
    (folder / "tree").mkdir(parents=True)
    shutil.copyfile(base.index, folder / "index")
    deltas.fill(kit.mirror, (base.commit, commit), folder / "index", folder / "tree", (base.tree,), most)


def is_small(kit: Kit, commit: str) -> bool:
    """Whether a plain copy of the commit's files costs no more than an overlay; told once for each commit."""
    kept = kit.layout.root / "sizes" / commit
    with suppress(FileNotFoundError, ValueError):
        count, size = map(int, kept.read_text().split())
        return count <= SMALL_FILES and size <= SMALL_BYTES
    listed = kit.mirror.git.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit, seconds=LONG).out.split(b"\0")[:-1]
    sizes = [entry.partition(b"\t")[0].split()[3] for entry in listed]
    count, size = len(sizes), sum(int(each) for each in sizes if each != b"-")
    kept.parent.mkdir(parents=True, exist_ok=True)
    files.write_whole(kept, f"{count} {size}\n".encode())
    return count <= SMALL_FILES and size <= SMALL_BYTES


def build(kit: Kit, commit: str, wanted: Needs) -> Base:
    """A base of exactly this commit, built or found; only a whole one is ever seen.  Raises Refused (sandbox)."""
    layout = kit.layout
    key = hashlib.sha256(f"{commit} {wanted.digest} {wanted.trusted}".encode()).hexdigest()[:16]
    lock = layout.root / "locks" / f"base-{key}.lock"
    with locks.held(lock, what="A warm base is being built", wait=_WAIT) as held:
        if (found := _read(layout, key)) is not None:
            found.use()
            return found
        layout.bases.mkdir(parents=True, exist_ok=True)
        for old in layout.bases.glob(f"{_MAKING}{key}-*"):
            remove_folder(old)
        making = Path(tempfile.mkdtemp(prefix=f"{_MAKING}{key}-", dir=layout.bases))
        making.chmod(0o755)
        try:
            _build(kit, commit, wanted, making, held)
            making.rename(layout.bases / key)
        finally:
            remove_folder(making)
    return next(base for base in every(layout) if base.folder.name == key)


def _read(layout: Layout, key: str) -> Base | None:
    return next((base for base in every(layout) if base.folder.name == key), None)


def _build(kit: Kit, commit: str, wanted: Needs, folder: Path, held: int) -> None:
    tree, index = folder / "tree", folder / "index"
    tree.mkdir()
    git = kit.mirror.git.with_tree(tree, index).holding(held)
    write_files(kit.mirror, git, commit)
    owning.give(tree)
    if wanted.dependencies:
        home = folder / "home"
        home.mkdir()
        private = repository.Private(commit=commit, objects=store.INSIDE)
        repository.write(kit.mirror, tree / ".git", private)
        store.lend(kit, tree / ".git", commit)
        shutil.copyfile(index, tree / ".git" / "index")
        owning.give(tree / ".git", home)
        install_all(kit, commit, wanted, tree, home)
        remove_folder(tree / ".git")
        remove_folder(home)
        _settle(kit, folder)
    git.run("update-index", "-q", "--refresh", ok=(0, 1), seconds=LONG)
    shape = {
        "commit": commit,
        "digest": wanted.digest,
        "trusted": wanted.trusted,
        "built": tree.stat().st_ctime,
    }
    (folder / "used").touch()
    files.write_whole(folder / "base.json", json.dumps(shape).encode(), mode=0o644)


def _settle(kit: Kit, folder: Path) -> None:
    """Put back tracked files that an installer changed, and note what it left that the repository does not ignore."""
    git = kit.mirror.git.with_tree(folder / "tree", folder / "index")
    if wrong := changed(git):
        for path in wrong:
            clear_the_way(folder / "tree", path)
        git.run("checkout-index", "-q", "-f", "-z", "--stdin", stdin=packed(wrong), seconds=LONG)
        owning.give(*(folder / "tree" / path for path in wrong))
    left = others(git, "--exclude-standard", "--directory", "--no-empty-directory")
    lines = "".join(f"/{_escaped(path)}\n" for path in left)
    (folder / "exclude").write_bytes(os.fsencode(lines))


def _escaped(path: str) -> str:
    """A path as a pattern of git's that means it alone."""
    return "".join(f"\\{each}" if each in "\\*?[!# " else each for each in path)
