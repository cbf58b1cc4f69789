"""Work trees looked at and filled through the mirror: equal to a commit, what lies beside it; fresh ones made and taken away."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from interlock.adapters.git import admin
from interlock.adapters.git.commits import gitlinks, temporary_index
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.plumbing import GitDir, names, packed
from interlock.core.contract.paths import decider, parse
from interlock.core.problems import refused
from interlock.ports.isolation import Place

LONG: Final = 900.0
# More workers gain nothing, and for few files starting them costs more than they save: facts/isolation §1.1.
_WORKERS: Final = ("checkout.workers=2", "checkout.thresholdForParallelism=4000")
_MARK: Final = "interlock-fresh"


def check_out(git: GitDir, commit: str) -> None:
    """Write all files of a commit into git's work tree and fill its index; what is in the way is overwritten."""
    git.with_options(*_WORKERS).run("read-tree", "-u", "--reset", commit, seconds=LONG)


def changed(git: GitDir) -> list[str]:
    """Tracked paths whose file differs from git's index, which is refreshed on the way."""
    git.run("update-index", "-q", "--refresh", ok=(0, 1), seconds=LONG)
    # Nothing is run inside submodules, whose settings are the agent's.
    return names(git.run("diff-files", "-z", "--name-only", "--ignore-submodules=dirty", seconds=LONG).out)


def extra_files(mirror: Mirror, place: Place) -> tuple[str, ...]:
    """Untracked and ignored paths of a task's tree, each file by itself; a nested repository ends with a slash."""
    tree_admin = admin.registered(mirror.found, place)
    with temporary_index(mirror) as index:
        if tree_admin.index.is_file():
            shutil.copyfile(tree_admin.index, index)
        return tuple(others(mirror.git.with_tree(place.path, index)))


def others(git: GitDir, *options: str) -> list[str]:
    """Paths in git's work tree that its index does not hold."""
    return names(git.run("ls-files", "-z", "--others", *options, seconds=LONG).out)


def equals_commit(mirror: Mirror, place: Place, commit: str, *, known: Iterable[str], caches: Sequence[str]) -> bool:
    """True when the tree holds exactly the commit, and beside it only known paths and what the patterns in caches match.

    Every tracked file is hashed; a commit with a submodule that has files is never equal, since they are not
    compared.
    """
    with temporary_index(mirror) as index:
        git = mirror.git.with_tree(place.path, index)
        git.run("read-tree", commit, seconds=LONG)
        if any((place.path / link / ".git").exists() for link in gitlinks(git)) or changed(git):
            return False
        allowed = frozenset(known)
        patterns = [parse(cache) for cache in caches]
        return all(path in allowed or decider(patterns, path.rstrip("/")) is not None for path in others(git))


@contextmanager
def fresh_tree(mirror: Mirror, commit: str, path: Path) -> Iterator[Path]:
    """A tree of exactly this commit at path, with a small repository of its own around it, taken away afterwards.

    Checks may call git in it; what they write stays there, the mirror's objects are only read.  A tree that a
    killed call left at the path is replaced; anything else there is refused (name-taken).
    """
    if os.path.lexists(path):
        if not (path / ".git" / _MARK).is_file():
            raise refused(
                "name-taken", f"{path} exists.", "A fresh tree must be new.", "Move what is there, then try again."
            )
        remove_folder(path)
    git_dir = path / ".git"
    for folder in ("refs/heads", "objects/info", "info"):
        (git_dir / folder).mkdir(parents=True)
    (git_dir / _MARK).touch()
    (git_dir / "config").write_bytes(_config_of(mirror))
    (git_dir / "objects" / "info" / "alternates").write_text(f"{mirror.path / 'objects'}\n")
    for name in ("attributes", "exclude"):
        if (mirror.path / "info" / name).is_file():
            shutil.copyfile(mirror.path / "info" / name, git_dir / "info" / name)
    (git_dir / "HEAD").write_text(f"{commit}\n")
    try:
        check_out(mirror.git.with_tree(path, git_dir / "index"), commit)
        yield path
    finally:
        remove_folder(path)


def _config_of(mirror: Mirror) -> bytes:
    """The least a repository needs to read the mirror's objects."""
    if mirror.found.object_format == "sha1":
        return b"[core]\n\trepositoryFormatVersion = 0\n\tbare = false\n"
    kind = mirror.found.object_format
    return f"[core]\n\trepositoryFormatVersion = 1\n\tbare = false\n[extensions]\n\tobjectFormat = {kind}\n".encode()


def put_back(mirror: Mirror, path: Path, commit: str) -> tuple[str, ...]:
    """Make the tracked files at path those of the commit again; gives the paths that were not.

    What stands in such a file's place, or in that of its folder, is taken away; untracked files stay.
    """
    with temporary_index(mirror) as index:
        git = mirror.git.with_tree(path, index)
        git.run("read-tree", commit, seconds=LONG)
        wrong = changed(git)
        for name in wrong:
            clear_the_way(path, name)
        if wrong:
            git.run("checkout-index", "-q", "-z", "--stdin", stdin=packed(wrong), seconds=LONG)
    return tuple(wrong)


def clear_the_way(root: Path, name: str) -> None:
    """Take away links and files where folders of a path belong, and a folder where its file belongs."""
    for part in [*reversed((root / name).parents), root / name]:
        if not part.is_relative_to(root) or part == root:
            continue
        if part.is_symlink() or part.is_file():
            part.unlink()
    if (root / name).is_dir():
        remove_folder(root / name)


def remove_folder(path: Path) -> None:
    """Remove a folder that is ours alone, also where a check left parts of it read-only, or moved it away."""
    if not os.path.lexists(path):
        return
    try:
        shutil.rmtree(path)
    except PermissionError:
        path.chmod(stat.S_IRWXU)
        for at, folders, _ in os.walk(path):
            for name in folders:
                part = Path(at) / name
                if not part.is_symlink():
                    part.chmod(stat.S_IRWXU)
        shutil.rmtree(path)
