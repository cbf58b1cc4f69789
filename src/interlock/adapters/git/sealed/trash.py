"""Taking a sealed task away so that it can come back: two renames and the name of a branch that is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from interlock.adapters.git import locks, snapshot
from interlock.adapters.git.discover import BRANCHES
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.sealed import idle, kept, view, work
from interlock.adapters.git.sealed.layout import Layout, Task
from interlock.adapters.git.snapshot import Kept
from interlock.adapters.git.trash import delete_branch, refuse_alive, tree_of, unsaved


@dataclass(frozen=True, slots=True)
class Bin:
    """Where one removal puts things: the folder beside its root, so that a rename suffices, the task's parts with ours."""

    tree: Path
    parts: Path
    marker: Path

    @property
    def used(self) -> bool:
        return self.tree.exists() or self.parts.exists()


def bin_of(layout: Layout, task: Task, ref: str) -> Bin:
    name = "-".join(ref.split("/")[-2:])
    ours = layout.root / "trash"
    return Bin(tree=Path(task.path).parent / ".trash" / name, parts=ours / name, marker=ours / f"{name}.restoring")


def remove(mirror: Mirror, layout: Layout, task: Task, ref: str) -> None:
    """Move the task's folders to the trash, and delete the branch where the snapshot keeps it.

    Where the tree is gone there is no snapshot: then the rest is moved, and the branch stays unless it is merged.
    The same call after a kill goes on.  Raises Refused: alive, unsaved (no snapshot, or the tree changed since),
    locked.
    """
    with locks.held(layout.lock(task.job), what=f"The tree of {task.slug} is being taken away"):
        now = layout.read(task.job)
        if now is None or now.state == "removed":
            return  # done before, and the folder may have a new tree since
        saved = snapshot.read(mirror, ref)
        target = bin_of(layout, task, ref)
        if view.there(layout, task) and not target.used:
            _check_saved(mirror, layout, task, ref, saved)
        target.parts.parent.mkdir(parents=True, exist_ok=True)
        parts, tree = layout.task(task.job), Path(task.path)
        if parts.is_dir() and not target.parts.exists():
            parts.rename(target.parts)
        if tree.is_dir() and not tree.is_symlink() and not target.tree.exists():
            target.tree.parent.mkdir(exist_ok=True)
            tree.rename(target.tree)
        work.move_pushed(mirror, f"{BRANCHES}{task.branch}", None, f"refs/interlock/kept/{task.job}/pushed")
        delete_branch(mirror, task.branch, saved[1] if saved else None)
        layout.write(replace(now, state="removed"))


def _check_saved(mirror: Mirror, layout: Layout, task: Task, ref: str, saved: tuple[str, Kept] | None) -> None:
    """Look again, under the lock: nobody lives there, and the snapshot is of the tree as it is now."""
    path = Path(task.path)
    refuse_alive(path, idle.occupants(layout, task))
    if saved is None:
        raise unsaved(path, ref, taken=False)
    picture = kept.take(mirror, layout, task).picture
    if saved[1] != picture.kept or tree_of(mirror, saved[0]) != picture.tree:
        raise unsaved(path, ref, taken=True)
