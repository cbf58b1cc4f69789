"""The present state of a task's tree as a commit in a throw-away store, told from outside; committing it for good is commits' work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from interlock.adapters.git import admin, commits
from interlock.adapters.git.discover import Found
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.scratch import Scratch
from interlock.adapters.git.sealed import standing, view
from interlock.adapters.git.sealed.layout import Layout
from interlock.ports.isolation import Place


def present(found: Found, made: Scratch, place: Place, head: str) -> str | None:
    """What the tree holds now (tracked, untracked, not ignored) as a commit on ``head``; None where it is the head's own.

    Objects go to the throw-away store alone, and neither branch, index nor files of the task are touched.
    Raises Refused (workspace-missing, submodule), GitFailed.
    """
    mirror = Mirror(found)
    git = replace(
        mirror.git, objects=made.objects, alternates=(mirror.path / "objects", found.common_dir / "objects")
    ).with_options("core.commitGraph=false")
    with TemporaryDirectory(prefix="index-", dir=made.folder) as folder:
        index = Path(folder) / "index"
        if place.level == "worktree":
            tree_admin = admin.registered(found, place)
            at = git.with_tree(place.path, index)
            commits.stage(at, head, tree_admin.index)
        else:
            layout = Layout(found)
            task = view.registered(layout, place)
            at = view.of(layout, task).git(git, index)
            standing.stage(layout, task, at, head)
        tree = at.text("write-tree")
    if tree == git.text("rev-parse", f"{head}^{{tree}}"):
        return None
    return made.commit(tree, [head])
