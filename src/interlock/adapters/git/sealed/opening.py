"""A sealed task's tree as it is now, copied to a new folder for an editor; without git's folder, links as links."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.sealed import changes, looking
from interlock.adapters.git.sealed.layout import Layout, Task
from interlock.adapters.git.sealed.lower import Lower
from interlock.core.problems import Misuse, refused


def materialise(mirror: Mirror, layout: Layout, task: Task, target: Path) -> tuple[str, ...]:  # noqa: ARG001 - as its kin
    """Write the tree to ``target``; gives the pipes, sockets, devices and unreadable files that were left out.

    Raises Refused (name-taken) when ``target`` exists, Misuse when the tree is too large to be walked.
    """
    if os.path.lexists(target):
        raise refused("name-taken", f"{target} exists.", "A copy goes to a new folder.", "Name another folder.")
    seen = changes.look(layout.tree(task), layered=task.kind == "overlay")
    if seen.cut:
        raise Misuse(f"The tree of {task.slug} holds more than {changes.MOST} entries, or folders too deep to copy.")
    target.mkdir(parents=True)
    left = [*seen.special]
    for root, path in (*_of_layers(task, seen), *((layout.tree(task), path) for path in seen.present)):
        if not _copy(root, path, target / path):
            left.append(path)
    return tuple(sorted(left))


def _of_layers(task: Task, seen: changes.Look) -> list[tuple[Path, str]]:
    """Files of the layers below that can be seen, each with the layer it lies in."""
    lower = Lower(task.lower)
    hidden = changes.Hidden(seen)
    paths = (path for name in lower.names() for path in lower.files(name) if path not in hidden)
    return [(Path(layer), path) for path in paths if (layer := lower.layer_of(path)) is not None]


def _copy(root: Path, path: str, target: Path) -> bool:
    """Copy one plain file or link without following anything; False for what is neither by now."""
    above, _, name = path.rpartition("/")
    with suppress(OSError), looking.folder(root, above) as at:
        target.parent.mkdir(parents=True, exist_ok=True)
        facts = os.stat(name, dir_fd=at, follow_symlinks=False)
        if stat.S_ISLNK(facts.st_mode):
            target.symlink_to(os.readlink(name, dir_fd=at))
            return True
        return looking.copy_at(at, name, target)
    return False
