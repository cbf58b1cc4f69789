"""When a sealed task last moved and who lives in it: by the times of its files and its processes, never by dates of commits."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from interlock.adapters.git import occupants as living
from interlock.adapters.git import watching
from interlock.adapters.git.discover import BRANCHES
from interlock.adapters.git.sealed import changes, looking
from interlock.adapters.git.sealed.layout import Layout, Task

_FILES: Final = ("", "/HEAD", "/index", "/packed-refs", "/logs/HEAD", "/FETCH_HEAD", "/refs/heads", "/refs/tags")


def last_touched(layout: Layout, task: Task) -> float:
    """The newest time of anything in the tree, of the private repository's refs and of its processes, since the epoch.

    A process counts as moving now when it uses the processor, else from its start on.
    """
    tree = layout.tree(task)
    moments = [tree.lstat().st_mtime, changes.look(tree, layered=task.kind == "overlay", times=True).newest]
    names = (*_FILES, f"/{BRANCHES}{task.branch}", f"/logs/{BRANCHES}{task.branch}")
    seen = (looking.facts(tree, f".git{name}") for name in names)
    moments += [max(facts.st_mtime, facts.st_ctime) for facts in seen if facts]
    pids = [int(first) for each in occupants(layout, task) if (first := each.split()[0]).isdigit()]
    return max(*moments, watching.moved(pids))


def occupants(layout: Layout, task: Task) -> tuple[str, ...]:
    """Live processes in the task's folder, or in a sandbox that has its tree: ``pid name``; unreadable counts as inside."""
    inner = layout.task(task.job)
    found = dict.fromkeys(living.occupants(Path(task.path), mounted=(layout.tree(task),)))
    found.update(dict.fromkeys(living.occupants(inner)))
    return tuple(found)
