"""Bringing a sealed task back in steps that can be taken again: from the trash as it was, else made anew from its snapshot."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from interlock.adapters.git import locks
from interlock.adapters.git.commits import temporary_index
from interlock.adapters.git.discover import BRANCHES
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.restoring import check_place, make_branch, saved_at
from interlock.adapters.git.sealed import folders, making, objects_of, owning, rebasing, repository, store, view
from interlock.adapters.git.sealed.layout import NOTE, Layout, Task
from interlock.adapters.git.sealed.rebasing import Span
from interlock.adapters.git.sealed.repository import Private
from interlock.adapters.git.sealed.trash import Bin, bin_of
from interlock.adapters.git.snapshot import Kept
from interlock.adapters.git.trees import LONG, check_out, remove_folder
from interlock.ports.isolation import Place


def restore(mirror: Mirror, layout: Layout, ref: str, place: Place) -> None:
    """Bring branch, folders, private repository and every file back.

    The same call after a kill goes on.  Raises Refused (name-taken) when branch or folder is in the way,
    (unsaved) when there is no snapshot at ref, (workspace-missing) when the task has no record.
    """
    commit, kept = saved_at(mirror, ref)
    task = layout.read(place.job)
    if task is None:
        raise making.missing(place)
    with locks.held(layout.lock(task.job), what=f"The tree of {task.slug} is being brought back"):
        target = bin_of(layout, task, ref)
        if not target.marker.exists():
            check_place(mirror, place, kept)
            target.marker.parent.mkdir(parents=True, exist_ok=True)
            target.marker.write_text("tree" if _as_it_was(task, target) else "snapshot")
        make_branch(mirror, kept)
        if target.marker.read_text() == "tree":
            task = _back(layout, task, target)
        else:
            task = _anew(mirror, layout, task, Snapshot(commit=commit, kept=kept, level=place.level))
        mirror.git.run("update-ref", making.pin_of(task.job), task.base)
        layout.write(replace(task, state="ready"))
        target.marker.unlink()


def _as_it_was(task: Task, target: Bin) -> bool:
    """Whether what was taken away can simply be put back."""
    if not target.parts.is_dir() or not all(Path(lower).is_dir() for lower in task.lower):
        return False
    return task.kind == "overlay" or target.tree.is_dir()


def _back(layout: Layout, task: Task, target: Bin) -> Task:
    parts, tree = layout.task(task.job), Path(task.path)
    if target.parts.is_dir():
        remove_folder(parts)
        target.parts.rename(parts)
    if target.tree.is_dir() and not tree.exists():
        target.tree.rename(tree)
    if task.kind == "overlay" and not tree.exists():  # only a note was in it
        tree.mkdir(parents=True)
        (tree / NOTE).write_text(folders.note(task), encoding="utf-8")
    return task


# ------------------------------------------------------------ from the snapshot alone
class Snapshot:
    """A snapshot to make a task of, and the level of the task."""

    __slots__ = ("commit", "kept", "level")

    def __init__(self, *, commit: str, kept: Kept, level: str) -> None:
        self.commit = commit
        self.kept = kept
        self.level = level


def _anew(mirror: Mirror, layout: Layout, task: Task, saved: Snapshot) -> Task:
    """Make the task beside its place, and put it there in one step; layers that are gone become plain files."""
    path = Path(task.path)
    if task.kind == "overlay" and not all(Path(lower).is_dir() for lower in task.lower):
        task = replace(task, kind="copy", lower=())
    if path.exists():  # a call that was killed had come this far
        return task
    beside = path.with_name(f".{path.name}-{task.job}.restoring")
    for folder in (beside, layout.task(task.job)):
        remove_folder(folder)
    beside.mkdir(parents=True)
    layout.home(task.job).mkdir(parents=True)
    building = replace(task, path=str(beside))
    if task.kind == "overlay":
        Path(layout.layers(task).work).mkdir()
        layout.upper(task.job).mkdir()
        (beside / NOTE).write_text(folders.note(task), encoding="utf-8")
        owning.give(Path(layout.layers(task).work))
    owning.give(layout.home(task.job), layout.tree(building))
    _fill(mirror, layout, building, saved)
    beside.rename(path)
    return task


def _fill(mirror: Mirror, layout: Layout, task: Task, saved: Snapshot) -> None:
    """Write files and private repository: files of the commit at HEAD as any checkout would, others as they were kept."""
    kept, tree = saved.kept, layout.tree(task)
    with temporary_index(mirror) as index:
        if task.kind == "overlay":
            rebasing.write(layout, task, mirror.git, Span(old=task.base, new=kept.head), index)
        else:
            check_out(mirror.git.with_tree(tree, index), kept.head)
        rebasing.write(layout, task, mirror.raw, Span(old=kept.head, new=saved.commit), index)
        owning.give(tree)
        shared = store.INSIDE if saved.level == "sealed" else str(layout.store / "objects")
        private = Private(commit=kept.tip, objects=shared, branch=task.branch, slug=task.slug)
        repository.write(mirror, tree / ".git", private)
        owning.give(tree / ".git")
        objects_of.give(mirror, layout, task, saved.commit)
        if kept.detached:
            (tree / ".git" / "HEAD").write_text(f"{kept.head}\n")
        elif kept.head != kept.tip:
            (tree / ".git" / BRANCHES / task.branch).write_text(f"{kept.head}\n")
        mine = index.with_name("mine")
        git = view.of(layout, task).git(mirror.git, mine)
        git.run("read-tree", kept.index or kept.head, seconds=LONG)
        git.run("update-index", "-q", "--refresh", ok=(0, 1), seconds=LONG)
        shutil.copy2(mine, tree / ".git" / "index")
        owning.give(tree / ".git")
