"""A task's tree put on a new base with its work merged in, in steps that can be taken again; when to is the app's word."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from interlock.adapters.git import admin, index_lock, merging, objects
from interlock.adapters.git.commits import commit_tree, temporary_index
from interlock.adapters.git.discover import BRANCHES
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.plumbing import GitDir, names, packed
from interlock.adapters.git.scratch import ruled
from interlock.adapters.git.trees import LONG, changed, check_out
from interlock.core.gate.changes import EXACT
from interlock.core.problems import Refused, refused
from interlock.ports.isolation import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebasing:
    """Work to put on a new base; see ports.Repo.rebase_place."""

    mirror: Mirror
    place: Place
    head: str
    onto: str
    keep: str


def rebase_place(job: Rebasing) -> tuple[str, ...]:
    """Put the merge of head into onto in the task's tree, its branch at onto; gives the paths left with clash marks.

    The head stays reachable at ``keep``.  The merged files stand in the task's index, clashing ones as git itself
    would leave them, so that the next commit is one commit on onto.  The same call again after a kill goes on.
    Raises Refused: unsaved when the tree differs from its branch or an untracked file is in the way, locked,
    head-moved, no-merge-base.
    """
    found = job.mirror.found
    ref = f"{BRANCHES}{job.place.branch}"
    tree_admin = admin.registered(found, job.place)
    with ruled(job.mirror.git, job.onto) as by:
        melted = merging.melt(by, job.onto, job.head)
    with index_lock.index_lock(tree_admin.index), temporary_index(job.mirror) as index:
        git = job.mirror.git.with_tree(job.place.path, index)
        tip = _tip(job, ref, tree_admin.head())
        _begin(job, git, tip, melted.tree)
        git.run("read-tree", tip, seconds=LONG)
        git.run("update-index", "-q", "--refresh", ok=(0, 1), seconds=LONG)
        check_out(git, melted.tree)
        if tip != job.onto:
            found.git().move(ref, job.onto, tip, why="put on a new base")
        if melted.clashes:
            lines = [f"0 {'0' * len(job.onto)}\t{path}" for path in melted.paths]
            lines += [f"{mode} {oid} {stage}\t{path}" for mode, oid, stage, path in melted.clashes]
            git.run("update-index", "-z", "--index-info", stdin=packed(lines))
        git.run("update-index", "-q", "--refresh", ok=(0, 1), seconds=LONG)
        index_lock.replace_index(tree_admin.index, index)
    return melted.paths


def _tip(job: Rebasing, ref: str, head: str) -> str:
    tip = job.mirror.found.git().refs(ref).get(ref)
    if tip and head == ref:
        if not objects.present(job.mirror.git, [tip]):
            objects.fetch_local(job.mirror.git, job.mirror.found.common_dir / "objects", [tip], [job.place.base])
        return tip
    raise refused(
        "head-moved",
        f"HEAD of the task is not on {job.place.branch}.",
        "Its files could belong to another branch.",
        f"Put HEAD back: git -C {job.place.path} switch {job.place.branch}",
    )


def _begin(job: Rebasing, git: GitDir, tip: str, tree: str) -> None:
    """See that nothing would be lost, then bring all objects over and write down, by the kept ref, that it began."""
    user = job.mirror.found.git()
    kept = user.refs(job.keep).get(job.keep)
    if kept == job.head:
        return
    git.run("read-tree", tip, seconds=LONG)
    if differs := changed(git):
        raise unsaved(job.place, differs, f"differs from its branch at {tip[:12]}")
    if blocking := _in_the_way(git, tip, tree, job.place.path):
        raise unsaved(job.place, blocking, "holds untracked files where the new base has its own")
    whole = commit_tree(job.mirror.git, tree, [job.onto, job.head], "a merge in a task's tree")
    objects.send_local(job.mirror.git, job.mirror.found.common_dir / "objects", [whole], [job.place.base])
    if tip not in (job.head, job.onto):
        user.move(f"{job.keep}-tip", tip, user.refs(f"{job.keep}-tip").get(f"{job.keep}-tip"), why="before a new base")
    user.move(job.keep, job.head, kept, why="before a new base")


def _in_the_way(git: GitDir, tip: str, tree: str, folder: Path) -> list[str]:
    """Paths that the new tree adds and where something untracked stands, or where a file is in place of its folder."""
    out = git.run("diff-tree", *EXACT, "--name-only", "--diff-filter=A", tip, tree).out
    tracked = set(names(git.run("ls-files", "-z").out))
    return [path for path in names(out) if _blocked(folder, path, tracked)]


def _blocked(folder: Path, path: str, tracked: set[str]) -> bool:
    full = folder / path
    if os.path.lexists(full):
        if not full.is_dir() or full.is_symlink():
            return True
        inside = (Path(at) / name for at, _, files in os.walk(full) for name in files)
        return any(str(found.relative_to(folder)) not in tracked for found in inside)
    for parent in Path(path).parents:
        at = folder / parent
        if os.path.lexists(at) and (at.is_symlink() or not at.is_dir()) and str(parent) not in tracked:
            return True
    return False


def unsaved(place: Place, paths: list[str], how: str) -> Refused:
    """The refusal for a tree that holds what a new base would write over."""
    return refused(
        "unsaved",
        f"The tree of {place.branch} {how}: {', '.join(paths[:5])}.",
        "Putting it on a new base would write over what is kept nowhere else.",
        "Commit, move or undo these files first.",
    )
