"""Bringing a task's tree back in steps that can be taken again: from the trash as it was, else from its snapshot."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from interlock.adapters.git import admin, index_lock, intents, locks, snapshot
from interlock.adapters.git.admin import Admin
from interlock.adapters.git.commits import temporary_index
from interlock.adapters.git.discover import BRANCHES
from interlock.adapters.git.errors import GitFailed
from interlock.adapters.git.making import link, lock_path
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.plumbing import GitDir, names, packed
from interlock.adapters.git.snapshot import Kept
from interlock.adapters.git.trash import Bin, bin_of
from interlock.adapters.git.trees import LONG, check_out
from interlock.core.gate.changes import EXACT
from interlock.core.problems import refused
from interlock.ports.isolation import Place


def restore(mirror: Mirror, ref: str, place: Place) -> None:
    """Bring branch, folder, registration, index and every file back.

    The same call after a kill goes on.  Raises Refused (name-taken) when branch or folder is in the way,
    (unsaved) when there is no snapshot at ref.
    """
    found = mirror.found
    commit, kept = saved_at(mirror, ref)
    with locks.held(lock_path(found), what="A tree is being brought back") as lock:
        target = bin_of(mirror, place, ref)
        if not target.marker.exists():
            check_place(mirror, place, kept)
            target.marker.parent.mkdir(parents=True, exist_ok=True)
            target.marker.write_text("tree" if target.tree.is_dir() else "snapshot")
        as_it_was = target.marker.read_text() == "tree"
        make_branch(mirror, kept)
        tree_admin = _register(mirror, place, target, kept, lock)
        if as_it_was and target.tree.is_dir():
            _make_way(place.path)
            target.tree.rename(place.path)
        link(tree_admin, place.path)
        if not as_it_was:
            _fill(mirror, place, commit, kept, tree_admin)
        _ready(mirror, place)
        target.marker.unlink()


def saved_at(mirror: Mirror, ref: str) -> tuple[str, Kept]:
    """The commit of a snapshot and what it says.  Raises Refused (unsaved) where there is none."""
    saved = snapshot.read(mirror, ref)
    if saved is None:
        raise refused(
            "unsaved",
            f"There is no snapshot at {ref}.",
            "Nothing else says what was in the tree.",
            "See git for-each-ref refs/interlock/trash for those that exist.",
        )
    return saved


def check_place(mirror: Mirror, place: Place, kept: Kept) -> None:
    """Refuse (name-taken) when a folder, a registration or a branch that stands elsewhere is in the way."""
    ref = f"{BRANCHES}{kept.branch}"
    stands = mirror.found.git().refs(ref).get(ref)
    in_the_way = ""
    if os.path.lexists(place.path):
        in_the_way = f"The folder {place.path} exists."
    elif admin.find(mirror.found, place.path):
        in_the_way = f"Another worktree is registered at {place.path}."
    elif stands not in (None, kept.tip):
        in_the_way = f"The branch {kept.branch} stands at {str(stands)[:12]} and not at {kept.tip[:12]}."
    if in_the_way:
        raise refused(
            "name-taken",
            in_the_way,
            "Bringing a tree back never replaces another one.",
            "Move or clean what is there, then restore again.",
        )


def make_branch(mirror: Mirror, kept: Kept) -> None:
    """The task's branch where the snapshot says, unless it stands."""
    git = mirror.found.git()
    ref = f"{BRANCHES}{kept.branch}"
    if ref not in git.refs(ref):
        git.move(ref, kept.tip, None, why="restored")


def _register(mirror: Mirror, place: Place, target: Bin, kept: Kept, lock: int) -> Admin:
    """The registration: the old one put back, or a new one."""
    found = mirror.found
    present = admin.find(found, place.path)
    if present is not None:
        return present
    folder = found.common_dir / "worktrees"
    if target.registration.is_dir():
        folder.mkdir(exist_ok=True)
        gitfile = Path(os.path.realpath(place.path.parent)) / place.path.name / ".git"
        (target.registration / "gitdir").write_bytes(os.fsencode(gitfile) + b"\n")
        taken = {entry.name for entry in folder.iterdir()}
        names_ = (place.path.name, *(f"{place.path.name}{number}" for number in range(1, len(taken) + 2)))
        name = next(name for name in names_ if name not in taken)
        target.registration.rename(folder / name)
        return Admin(folder / name)
    git = found.git().holding(lock)
    done = git.run("worktree", "add", "--no-checkout", str(place.path), kept.branch, ok=range(256), seconds=300)
    made = admin.find(found, place.path)
    if made is None:
        raise GitFailed(["git", "worktree", "add"], done.code, done.error)
    if kept.detached:
        GitDir(path=made.folder, safe=(found.top,)).run("update-ref", "--no-deref", "HEAD", kept.head)
    return made


def _make_way(path: Path) -> None:
    """Take an empty worktree's folder away, for the real one to come; one that holds more stays and is an error."""
    if path.is_dir():
        (path / ".git").unlink(missing_ok=True)
        path.rmdir()


def _fill(mirror: Mirror, place: Place, commit: str, kept: Kept, tree_admin: Admin) -> None:
    """Write the files: those of the commit at HEAD as any checkout would, all others as the bytes that were kept."""
    with temporary_index(mirror) as index:
        git = mirror.git.with_tree(place.path, index)
        check_out(git, kept.head)
        _overlay(mirror, place.path, index.with_name("raw"), kept.head, commit)
        if tree_admin.index.is_file():
            index.write_bytes(tree_admin.index.read_bytes())
        elif kept.index:
            git.run("read-tree", kept.index, seconds=LONG)
        git.run("update-index", "-q", "--refresh", ok=(0, 1), seconds=LONG)
        with index_lock.index_lock(tree_admin.index):
            index_lock.replace_index(tree_admin.index, index)


def _overlay(mirror: Mirror, folder: Path, index: Path, head: str, commit: str) -> None:
    """Make the paths that differ from head what the snapshot says."""
    paths = names(mirror.git.run("diff-tree", *EXACT, "--name-only", head, commit).out)
    raw = mirror.raw.with_tree(folder, index)
    raw.run("read-tree", commit, seconds=LONG)
    present = set(names(raw.run("ls-files", "-z").out))
    for path in paths:
        (folder / path).unlink(missing_ok=True)
    wanted = [path for path in paths if path in present]
    raw.run("checkout-index", "-q", "-z", "--stdin", stdin=packed(wanted), seconds=LONG)


def _ready(mirror: Mirror, place: Place) -> None:
    """Let the newest intent for the folder stand again, so that a lost folder can be made again as before."""
    folder = intents.folder(mirror.found)
    gone = [
        intent
        for file in sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime)
        if (intent := intents.read(mirror.found, file.stem)) and intent.path == str(place.path)
    ]
    if gone and not intents.of_path(mirror.found, place.path):
        intents.write(mirror.found, replace(gone[-1], state="ready"))
