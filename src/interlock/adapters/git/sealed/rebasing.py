"""A sealed task's tree put on a new base: what differs is written through a view, in steps that can be taken again."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from interlock.adapters.git import locks, merging, objects
from interlock.adapters.git.commits import commit_tree, temporary_index
from interlock.adapters.git.discover import BRANCHES
from interlock.adapters.git.merging import Melt
from interlock.adapters.git.plumbing import GitDir, names, packed
from interlock.adapters.git.rebasing import Rebasing, unsaved
from interlock.adapters.git.scratch import ruled
from interlock.adapters.git.sealed import changes, equal, head, looking, standing, view, work
from interlock.adapters.git.sealed.layout import Layout, Task
from interlock.adapters.git.trees import LONG, check_out
from interlock.core.gate.changes import EXACT
from interlock.core.problems import refused


def rebase_place(layout: Layout, job: Rebasing) -> tuple[str, ...]:
    """Put the merge of head into onto in the task's tree, its branch at onto; gives the paths left with clash marks.

    As rebasing.rebase_place, with the same refusals; the layers below stay those of the first base.
    """
    mirror = job.mirror
    task = view.registered(layout, job.place)
    ref = f"{BRANCHES}{task.branch}"
    with ruled(mirror.git, job.onto) as by:
        melted = merging.melt(by, job.onto, job.head)
    with (
        locks.held(layout.lock(task.job), what=f"The tree of {task.slug} is in use"),
        temporary_index(mirror) as index,
    ):
        standing.refuse_locked(layout, task)
        tip = _tip(layout, task, job, ref)
        carry = commit_tree(mirror.git, melted.tree, [job.onto, job.head], "a merge in a task's tree")
        _begin(layout, task, job, tip, melted, index)
        written = _write(layout, task, job, Span(old=tip, new=melted.tree), index)
        if tip != job.onto:
            mirror.found.git().move(ref, job.onto, tip, why="put on a new base")
        work.move_pushed(mirror, ref, job.onto, f"{job.keep}-pushed")
        wanted = work.Settled(commit=job.onto, tree=melted.tree, carry=carry, clashes=melted.clashes, written=written)
        work.settle(mirror, layout, task, wanted)
    return melted.paths


def _tip(layout: Layout, task: Task, job: Rebasing, ref: str) -> str:
    mirror = job.mirror
    tip = mirror.found.git().refs(ref).get(ref)
    if tip and head.says(layout, task) == ref:
        if not objects.present(mirror.git, [tip]):
            objects.fetch_local(mirror.git, mirror.found.common_dir / "objects", [tip], [task.base])
        return tip
    raise refused(
        "head-moved",
        f"HEAD of the task is not on {task.branch}.",
        "Its files could belong to another branch.",
        f"Put HEAD back inside the task: git switch {task.branch}",
    )


def _begin(layout: Layout, task: Task, job: Rebasing, tip: str, melted: Melt, index: Path) -> None:
    """See that nothing would be lost, then bring the objects over and write down, by the kept ref, that it began."""
    mirror = job.mirror
    user = mirror.found.git()
    refs = user.refs(job.keep, f"{job.keep}-tip")
    if refs.get(job.keep) == job.head:
        return
    git = view.of(layout, task).git(mirror.git, index)
    found = standing.stage(layout, task, git, tip)
    words = ("diff-index", "--cached", *EXACT, "--name-only", "--diff-filter=a", tip)
    if differs := names(git.run(*words, seconds=LONG).out):
        raise unsaved(job.place, differs, f"differs from its branch at {tip[:12]}")
    added = names(git.run("diff-tree", *EXACT, "--name-only", "--diff-filter=A", tip, melted.tree).out)
    if blocking := _in_the_way(added, equal.beside(found)):
        raise unsaved(job.place, blocking, "holds untracked files where the new base has its own")
    haves = objects.present(user, [task.base])
    objects.send_local(mirror.git, mirror.found.common_dir / "objects", [job.onto, job.head], haves)
    if tip not in (job.head, job.onto):
        user.move(f"{job.keep}-tip", tip, refs.get(f"{job.keep}-tip"), why="before a new base")
    user.move(job.keep, job.head, refs.get(job.keep), why="before a new base")


def _in_the_way(added: list[str], beside: tuple[str, ...]) -> list[str]:
    """Paths that the new tree adds and where something untracked stands, above or below."""
    there = {path.rstrip("/") for path in beside}
    above = {path[:at] for path in there for at, letter in enumerate(path) if letter == "/"}
    return [
        path
        for path in added
        if path in there or path in above or any(str(parent) in there for parent in Path(path).parents)
    ]


# ------------------------------------------------------------ writing files
@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The tree (or commit) whose files stand there, and the one whose files are to."""

    old: str
    new: str


def _write(layout: Layout, task: Task, job: Rebasing, span: Span, index: Path) -> tuple[str, ...]:
    """Write what differs, and note what of it is not the task's doing; gives the files that stand there now."""
    paths = write(layout, task, job.mirror.git, span, index)
    own = set(names(job.mirror.git.run("diff-tree", *EXACT, "--name-only", job.onto, span.new).out))
    changes.note_rebased(layout, task, job.onto, [path for path in paths if path not in own])
    gone = set(names(job.mirror.git.run("diff-tree", *EXACT, "--name-only", "--diff-filter=D", span.old, span.new).out))
    return tuple(path for path in paths if path not in gone)


def write(layout: Layout, task: Task, git: GitDir, span: Span, index: Path) -> list[str]:
    """Write what differs between two trees into the task's tree, and nothing else; gives the paths."""
    out = git.run("diff-tree", *EXACT, "--name-only", span.old, span.new, seconds=LONG).out
    paths = names(out)
    if not paths:
        return []
    wanted = frozenset(paths)
    tree = _part(git, span.new, wanted, index.with_name("new"))
    seen = view.writable(layout, task, index.parent).git(git, index.with_name("old"))
    _part(git, span.old, wanted, index.with_name("old"))
    seen.run("update-index", "-q", "--refresh", ok=(0, 1), seconds=LONG)
    check_out(seen, tree)
    _hand_over(layout.tree(task), paths)
    return paths


def _part(git: GitDir, tree: str, wanted: frozenset[str], index: Path) -> str:
    """An index with those of a tree's entries that are wanted, and the tree of it."""
    index.unlink(missing_ok=True)
    listed = names(git.run("ls-tree", "-r", "-z", "--full-tree", tree, seconds=LONG).out)
    lines = [entry for entry in listed if entry.partition("\t")[2] in wanted]
    part = git.with_tree(git.path, index)
    part.run("read-tree", "--empty")
    part.run("update-index", "-z", "--index-info", stdin=packed(lines), seconds=LONG)
    return part.text("write-tree", "--missing-ok")


def _hand_over(root: Path, paths: list[str]) -> None:
    """Give files and folders that we wrote as root to whom the tree belongs."""
    owner = looking.owner_of(root)
    if owner < 0:
        return
    parts = {part for path in paths for part in (Path(path), *Path(path).parents) if part.name}
    for part in parts:
        with suppress(OSError), looking.folder(root, str(part.parent) if part.parent.name else "") as at:
            if os.stat(part.name, dir_fd=at, follow_symlinks=False).st_uid == 0:
                os.chown(part.name, owner, owner, dir_fd=at, follow_symlinks=False)
