"""Everything in a task's tree kept as one commit at a ref, byte for byte, before anything is taken away."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from interlock.adapters.git import admin, objects
from interlock.adapters.git.admin import Admin
from interlock.adapters.git.commits import commit_tree, gitlinks, is_file, temporary_index
from interlock.adapters.git.discover import BRANCHES, Found
from interlock.adapters.git.errors import GitFailed
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.plumbing import GitDir, names, packed
from interlock.adapters.git.trees import LONG, changed, others
from interlock.core.problems import refused
from interlock.ports.isolation import Place, SnapshotTaken

LIMIT: Final = 50_000_000  # bytes of ignored files that a snapshot takes, the smallest first


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a snapshot's message says of it: where branch and HEAD stood, and the tree that was staged, if it differs.

    ``detached`` tells that HEAD was not on the task's branch.
    """

    branch: str
    tip: str
    head: str
    detached: bool
    index: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A task's tree as it is now: a tree object of all that is kept, and what stands beside the commit at HEAD."""

    kept: Kept
    tree: str
    modified: tuple[str, ...]
    untracked: tuple[str, ...]
    ignored: tuple[str, ...]
    left_out: tuple[str, ...]


def snapshot(mirror: Mirror, place: Place, ref: str, *, limit: int = LIMIT) -> SnapshotTaken:
    """Keep tracked, untracked and (up to ``limit`` bytes) ignored files of a task at ref, unchanged by any filter.

    The commit's parents hold the branch, a detached HEAD, the index where it differs, what unfinished operations
    and HEAD's own history remember, and the task's stash.  The ref is made in the mirror and in the user's
    repository.  ``left_out`` names what is not in it: larger ignored files, nested repositories, submodules.
    Raises Refused (workspace-missing), GitFailed.
    """
    found = mirror.found
    picture = take(mirror, place, limit=limit)
    reading = mirror.git.also_reading(found.common_dir / "objects")
    tree_admin = admin.registered(found, place)
    extras, incomplete = extras_of(reading, remembered(found, tree_admin, place), picture.kept, place.base)
    commit = commit_picture(reading, mirror.git.refs(ref).get(ref), picture, extras)
    objects.fetch_local(mirror.git, found.common_dir / "objects", [commit], [place.base])
    publish(mirror, ref, commit, place.base)
    return told(ref, commit, picture, extras, incomplete)


def commit_picture(git: GitDir, earlier: str | None, picture: Picture, extras: Sequence[str]) -> str:
    """Commit a picture, with the branch, the ``extras`` and the ``earlier`` snapshot at its ref as parents."""
    parents = [picture.kept.tip, *extras, *([earlier] if earlier else [])]
    text = f"Snapshot of {picture.kept.branch}\n\n{json.dumps(asdict(picture.kept))}\n"
    return commit_tree(git, picture.tree, list(dict.fromkeys(parents)), text)


def told(ref: str, commit: str, picture: Picture, extras: Sequence[str], incomplete: Sequence[str]) -> SnapshotTaken:
    """What a snapshot holds and leaves out; a commit of HEAD alone is named where it could be kept."""
    loose = picture.kept.head if picture.kept.detached and picture.kept.head in extras else None
    return SnapshotTaken(
        ref=ref,
        oid=commit,
        modified=picture.modified,
        untracked=picture.untracked,
        ignored=picture.ignored,
        left_out=(*picture.left_out, *incomplete),
        detached=(loose,) if loose else (),
    )


def publish(mirror: Mirror, ref: str, commit: str, base: str) -> None:
    """Make a snapshot that is whole in the mirror reachable there and in the user's repository."""
    user = mirror.found.git()
    objects.send_local(mirror.git, mirror.found.common_dir / "objects", [commit], objects.present(user, [base]))
    for git in (mirror.git, user):
        git.move(ref, commit, git.refs(ref).get(ref), why="snapshot of a task's tree")


def _holds(folder: Path) -> bool:
    """Whether the folder of a submodule holds anything."""
    return folder.is_dir() and not folder.is_symlink() and any(folder.iterdir())


def take(mirror: Mirror, place: Place, *, limit: int = LIMIT) -> Picture:
    """Look at a task's tree and write what is in it as objects of the mirror; no ref is made."""
    found = mirror.found
    tree_admin = admin.registered(found, place)
    reading = mirror.git.also_reading(found.common_dir / "objects")
    with temporary_index(mirror) as index:
        kept = _kept(reading, found, tree_admin, place, index.with_name("theirs"))
        git = reading.with_tree(place.path, index)
        git.run("read-tree", kept.head, seconds=LONG)
        modified = changed(git)
        links = [link for link in gitlinks(git) if _holds(place.path / link)]
        untracked = others(git, "--exclude-standard")
        ignored, large = bounded(place.path, others(git, "--ignored", "--exclude-standard"), limit)
        left_out = [*links, *large, *(path for path in (*untracked, *ignored) if path.endswith("/"))]
        raw = mirror.raw.also_reading(found.common_dir / "objects").with_tree(place.path, index.with_name("raw"))
        tree = _overlay(raw, kept.head, place.path, [*modified, *untracked, *ignored])
    return Picture(
        kept=kept,
        tree=tree,
        modified=tuple(modified),
        untracked=tuple(path for path in untracked if not path.endswith("/")),
        ignored=tuple(path for path in ignored if not path.endswith("/")),
        left_out=tuple(dict.fromkeys(left_out)),
    )


def read(mirror: Mirror, ref: str) -> tuple[str, Kept] | None:
    """The commit of a snapshot and what it says, from the mirror, else from the user's repository."""
    oid = mirror.git.refs(ref).get(ref)
    if oid is None:
        oid = mirror.found.git().refs(ref).get(ref)
        if oid is None:
            return None
        objects.fetch_local(mirror.git, mirror.found.common_dir / "objects", [oid], [])
        mirror.git.move(ref, oid, None, why="snapshot taken over")
    text = mirror.git.run("cat-file", "commit", oid).text
    shape: dict[str, Any] = json.loads(text.rstrip().splitlines()[-1])
    return oid, Kept(**shape)


def _kept(git: GitDir, found: Found, tree_admin: Admin, place: Place, copy: Path) -> Kept:
    ref = f"{BRANCHES}{place.branch}"
    says = tree_admin.head()
    on_branch = says.startswith(BRANCHES)
    head = found.git().refs(says).get(says) if on_branch else says
    tip = found.git().refs(ref).get(ref) or head
    if not head or not tip:
        raise refused(
            "head-moved",
            f"HEAD of {place.path} leads to no commit, so its tree cannot be kept.",
            "A snapshot says what differs from the commit a task stands on.",
            f"Put HEAD back: git -C {place.path} symbolic-ref HEAD {ref}",
        )
    index = None
    if tree_admin.index.is_file():
        shutil.copyfile(tree_admin.index, copy)
        index = staged_tree(git, copy, head)
    return Kept(branch=place.branch, tip=tip, head=head, detached=says != ref, index=index)


def staged_tree(git: GitDir, copy: Path, head: str) -> str | None:
    """The tree of what is staged, or None when that is the commit at HEAD; clashing entries stand beside their path."""
    staged = GitDir.with_tree(git, copy.parent, copy)
    clashing = names(staged.run("ls-files", "-z", "--unmerged").out)
    if clashing:
        lines = [f"0 {'0' * len(head)}\t{entry.partition(chr(9))[2]}" for entry in clashing]
        for entry in clashing:
            meta, _, path = entry.partition("\t")
            mode, oid, stage = meta.split(" ")
            lines.append(f"{mode} {oid} 0\t{path}.stage{stage}")
        staged.run("update-index", "-z", "--index-info", stdin=packed(lines))
    tree = staged.text("write-tree")
    return None if tree == git.text("rev-parse", f"{head}^{{tree}}") else tree


def bounded(folder: Path, ignored: Iterable[str], limit: int) -> tuple[list[str], list[str]]:
    """The ignored files that fit under the limit, the smallest first, and the others."""
    sized = sorted((_size(folder / path), path) for path in ignored)
    fits: list[str] = []
    large: list[str] = []
    total = 0
    for size, path in sized:
        total += size
        (fits if total <= limit else large).append(path)
    return fits, large


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _overlay(raw: GitDir, head: str, folder: Path, paths: list[str]) -> str:
    real = [path for path in paths if not path.endswith("/") and is_file(folder, path)]
    gone = [path for path in paths if not os.path.lexists(folder / path)]
    return overlaid(raw, head, real, gone)


def overlaid(raw: GitDir, head: str, real: Sequence[str], gone: Sequence[str]) -> str:
    """The tree of head with real paths as their bytes are on disk, and without those that are gone."""
    raw.run("read-tree", head, seconds=LONG)
    if gone:
        lines = [f"0 {'0' * len(head)}\t{path}" for path in gone]
        raw.run("update-index", "-z", "--index-info", stdin=packed(lines))
    if real:
        raw.run("update-index", "-z", "--add", "--replace", "--stdin", stdin=packed(real), seconds=LONG)
    return raw.text("write-tree", "--missing-ok")


def remembered(found: Found, tree_admin: Admin, place: Place) -> list[str]:
    """Commits that unfinished operations of a worktree, HEAD's own history and the stash remember."""
    return [*tree_admin.pseudo_refs().values(), *tree_admin.reflog(), *_stash(found, place.branch)]


def extras_of(git: GitDir, named: Iterable[str], kept: Kept, base: str) -> tuple[list[str], list[str]]:
    """Commits that only this tree remembers, as few as hold them all; and those that are not whole any more."""
    there = objects.present(git, [oid for oid in dict.fromkeys((kept.head, *named)) if oid.strip("0")])
    if kept.index:
        there.append(commit_tree(git, kept.index, [kept.head], "What was staged"))
    beyond = _beyond(git, there, [kept.tip, base])
    whole = [oid for oid in beyond if objects.complete(git, [oid], [base])]
    if len(whole) > 1:
        whole = git.text("merge-base", "--independent", *whole).split()
    incomplete = [f"commit {oid}" for oid in beyond if oid not in whole and not _reached(git, oid, whole)]
    return whole, incomplete


def _beyond(git: GitDir, oids: list[str], known: list[str]) -> list[str]:
    """Those of the commits that are not part of the known ones."""
    if not oids:
        return []
    lines = "\n".join([*oids, *(f"^{oid}" for oid in known)])
    try:
        listed = set(git.text("rev-list", "--ignore-missing", "--stdin", stdin=lines.encode()).split())
    except GitFailed:  # a history with holes: all of them count
        return oids
    return [oid for oid in oids if oid in listed]


def _reached(git: GitDir, oid: str, whole: list[str]) -> bool:
    return any(git.run("merge-base", "--is-ancestor", oid, top, ok=(0, 1, 128)).code == 0 for top in whole)


def _stash(found: Found, branch: str) -> list[str]:
    """Entries of the repository-wide stash that were made on this branch."""
    try:
        lines = (found.common_dir / "logs" / "refs" / "stash").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    mine = (f"WIP on {branch}:", f"On {branch}:")
    return [line.split(" ")[1] for line in lines if line.partition("\t")[2].startswith(mine)]
