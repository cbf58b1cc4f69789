"""Trees of exactly one commit for checks, behind walls, gone afterwards; those of tasks are making's work."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.plumbing import names
from interlock.adapters.git.sealed import bases, making, owning, repository, store
from interlock.adapters.git.sealed.bases import Layer
from interlock.adapters.git.sealed.layout import Kit
from interlock.adapters.git.sealed.lower import OPAQUE, Lower, is_opaque, is_whiteout
from interlock.adapters.git.trees import LONG, remove_folder
from interlock.core.problems import refused
from interlock.core.sandbox import Layers, Sandbox
from interlock.ports.isolation import Room

_MARK: Final = ".interlock-fresh"
_FEW: Final = 2000
_TRIES: Final = 3


@contextmanager
def fresh(kit: Kit, commit: str, folder: Path) -> Iterator[Room]:
    """A tree of exactly this commit in ``folder``, taken away afterwards.

    Checks may call git in it; what they write stays there.  What a killed call left in the folder is replaced;
    anything else there is refused (name-taken).
    """
    begin(folder)
    try:
        private = repository.Private(commit=commit, objects=store.INSIDE)
        home = folder / "home"
        home.mkdir()
        sandbox = Sandbox(home=str(home), binds=(store.bind(kit.layout),), user=owning.agent())
        with chosen(kit, commit, folder / "layer") as layer:
            if layer is not None:
                yield _overlay(kit, layer, private, folder, sandbox)
                return
            tree = folder / "tree"
            _repository(kit, tree / ".git", private)
            making.checked_out(kit, None, commit, tree)
            owning.give(home)
            yield Room(path=tree, written=tree, sandbox=replace(sandbox, tree=str(tree)))
    finally:
        remove_folder(folder)


def _overlay(kit: Kit, layer: Layer, private: repository.Private, folder: Path, sandbox: Sandbox) -> Room:
    """A new upper layer over those of the commit."""
    upper, work = folder / "up", folder / "work"
    work.mkdir()
    _repository(kit, upper / ".git", replace(private, exclude=layer.base.exclude()))
    shutil.copyfile(layer.index, upper / ".git" / "index")
    owning.give(folder)
    layers = Layers(lower=tuple(map(str, layer.lower)), upper=str(upper), work=str(work))
    return Room(path=upper, written=upper, sandbox=replace(sandbox, layers=layers))


def begin(folder: Path) -> None:
    """Make the folder of a fresh tree, in place of one that a killed call left.  Raises Refused (name-taken)."""
    if os.path.lexists(folder):
        if not (folder / _MARK).is_file():
            raise refused(
                "name-taken", f"{folder} exists.", "A fresh tree must be new.", "Move what is there, then try again."
            )
        remove_folder(folder)
    folder.mkdir(parents=True)
    (folder / _MARK).touch()


def _repository(kit: Kit, git_dir: Path, private: repository.Private) -> None:
    repository.write(kit.mirror, git_dir, private)
    store.lend(kit, git_dir, private.commit)


@contextmanager
def chosen(kit: Kit, commit: str, private: Path) -> Iterator[Layer | None]:
    """The layers of a commit, held against eviction by a record that is locked for as long as we live."""
    folder = kit.layout.root / "uses"
    folder.mkdir(parents=True, exist_ok=True)
    for _ in range(_TRIES):
        remove_folder(private)
        layer = bases.choose(kit, commit, private)
        if layer is None:
            yield None
            return
        with _record(folder, list(map(str, layer.lower))):
            # An eviction that looked before the record was there is over when its lock is free.
            with bases.standing(kit.layout):
                whole = all(each.is_dir() for each in layer.lower)
            if whole:
                yield layer
                return
    raise making.evicted()


@contextmanager
def _record(folder: Path, bases_used: list[str]) -> Iterator[None]:
    record = folder / secrets.token_hex(8)
    with record.open("xb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(bases_used).encode())
        file.flush()
        try:
            yield
        finally:
            record.unlink(missing_ok=True)


# ------------------------------------------------------------ putting back
def put_back(mirror: Mirror, layers: Layers, commit: str) -> tuple[str, ...]:
    """Take every tracked path out of the upper layer again, so that the commit's own is seen; gives those that differed."""
    upper = Path(layers.upper)
    below = Lower(layers.lower)
    touched = list(_touched(upper, below))
    if not touched:
        return ()
    tracked = _tracked(mirror, commit, [path for path, _ in touched])
    wrong: list[str] = []
    for path, kind in touched:
        full = upper / path
        if path not in tracked or not os.path.lexists(full):
            continue
        if kind in ("folder", "opaque") and tracked[path] != "tree":
            remove_folder(full)
            wrong.append(path)
        elif kind == "opaque":
            os.removexattr(full, OPAQUE)
            wrong.append(f"{path}/")
        elif kind != "folder":
            if kind != "same" or tracked[path] == "tree":
                wrong.append(path)
            full.unlink()
    return tuple(wrong)


def _touched(upper: Path, below: Lower) -> Iterator[tuple[str, str]]:
    """What the upper layer holds, outermost first, git's folder left out: opaque, folder, same, or other."""
    for at, folders, files in os.walk(upper):
        inside = os.path.relpath(at, upper)
        prefix = "" if inside == "." else f"{inside}/"
        if not prefix and ".git" in folders:
            folders.remove(".git")
        for name in sorted(folders):
            full = Path(at) / name
            if full.is_symlink():
                yield f"{prefix}{name}", "other"
            else:
                yield f"{prefix}{name}", "opaque" if is_opaque(str(full)) else "folder"
        for name in sorted(files):
            path = f"{prefix}{name}"
            yield path, "same" if _is_same(Path(at) / name, below, path) else "other"


def _is_same(file: Path, below: Lower, path: str) -> bool:
    """Whether a file of the upper layer is a mere copy of what lies below it."""
    here, there = file.lstat(), below.at(path)
    if there is None or is_whiteout(here) or here.st_mode != there.st_mode or here.st_size != there.st_size:
        return False
    above, _, name = path.rpartition("/")
    original = next((Path(each) / name for each in below.folders(above) if os.path.lexists(f"{each}/{name}")), None)
    if original is None:
        return False
    if file.is_symlink():
        return file.readlink() == original.readlink()
    return file.is_file() and file.read_bytes() == original.read_bytes()


def _tracked(mirror: Mirror, commit: str, paths: list[str]) -> dict[str, str]:
    """Which of the paths the commit has, and whether as a ``tree``, a ``blob`` or a ``commit`` (a submodule)."""
    if len(paths) <= _FEW and not any("\n" in path for path in paths):
        lines = os.fsencode("".join(f"{commit}:{path}\n" for path in paths))
        done = mirror.git.run("cat-file", "--batch-check=%(objecttype)", stdin=lines, seconds=LONG)
        kinds = {"blob", "tree", "commit"}
        return {path: kind for path, kind in zip(paths, done.text.splitlines(), strict=True) if kind in kinds}
    listed = mirror.git.run("ls-tree", "-r", "-t", "-z", "--full-tree", commit, seconds=LONG).out
    found: dict[str, str] = {}
    for entry in names(listed):
        facts, _, path = entry.partition("\t")
        found[path] = facts.split()[1]
    return found
