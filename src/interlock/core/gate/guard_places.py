"""Places that a task must not destroy: root, system, homes, shared folders and its own tree as a whole; commands are guards'."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Final, NamedTuple

SYSTEM: Final = (
    "/Applications",
    "/Library",
    "/System",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/proc",
    "/sbin",
    "/sys",
    "/usr",
)
HARMLESS: Final = ("/dev/shm", "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd", "/dev/mqueue")  # noqa: S108
HOMES: Final = ("/home", "/Users", "/mnt", "/media", "/net", "/nfs", "/opt", "/srv", "/Volumes")
CACHES: Final = (".cache", ".cargo", ".gradle", ".m2", ".npm", ".pnpm-store", ".tox", ".yarn", "tmp")
"""Folders of a home that are there to be emptied."""
KEYS: Final = (".aws", ".azure", ".config", ".docker", ".gnupg", ".kube", ".ssh")


class Scene(NamedTuple):  # no dataclass: a guard is started for one command, and importing those doubles its time
    """Where a command is called: absolute paths without links in them.

    ``shared`` are folders that other tasks use too, ``entries`` the visible names at the top of the tree, ``real``
    what a path leads to on the disk (links followed, ``..`` taken out).
    """

    cwd: str
    home: str
    tree: str
    shared: tuple[str, ...] = ()
    entries: frozenset[str] = frozenset()
    real: Callable[[str], str] = posixpath.normpath

    def target(self, operand: str, *, follow: bool) -> str:
        """The path that an operand stands for; ``follow`` tells whether a link at its end is gone through."""
        path = posixpath.join(self.cwd, operand)
        bare = path.rstrip("/")
        if follow or path.endswith("/") or posixpath.basename(bare) in ("", ".", ".."):
            return self.real(path)
        return posixpath.join(self.real(posixpath.dirname(bare)), posixpath.basename(bare))


def covers(outer: str, inner: str) -> bool:
    """Whether ``inner`` is the folder ``outer`` or lies in it."""
    return bool(outer) and (inner == outer or inner.startswith(outer.rstrip("/") + "/"))


def danger(path: str, scene: Scene, *, deep: bool, whole: bool = True) -> str | None:
    """Why the path must stay as it is, as a sentence; None when it is the task's to change.

    ``deep`` tells that everything below it goes too, ``whole`` that the tree itself counts.
    """
    if path in ("/", "//"):
        return "It is the root of the file system."
    if (held := _holds(path, scene, whole=whole)) is not None:
        return held
    if covers(scene.tree, path):
        link = posixpath.join(scene.tree, ".git")
        return "It is what ties the task's tree to its repository." if covers(link, path) else None
    return _outside(path, scene, deep=deep)


def _outside(path: str, scene: Scene, *, deep: bool) -> str | None:
    for each in scene.shared:
        if covers(each, path):
            return f"It lies in {each}, which other tasks and people use too."
    return _in_home(path, scene, deep=deep) if covers(scene.home, path) else _of_system(path)


def whole_tree(paths: list[str], scene: Scene) -> bool:
    """Whether the paths are, together, everything that is to be seen at the top of the tree."""
    named = {posixpath.basename(path) for path in paths if posixpath.dirname(path) == scene.tree}
    return len(scene.entries) > 1 and scene.entries <= named


def _holds(path: str, scene: Scene, *, whole: bool) -> str | None:
    """Why a folder must stay for what it is or holds."""
    places = [(scene.home, "the home folder"), (scene.tree, "the task's whole tree")]
    places += [(each, f"{each}, which other tasks and people use too") for each in scene.shared]
    for place, name in places:
        if covers(path, place) and (whole or place != scene.tree or path != place):
            return f"It {'is' if path == place else 'holds'} {name}."
    return None


def _in_home(path: str, scene: Scene, *, deep: bool) -> str | None:
    first, _, rest = path[len(scene.home.rstrip("/")) + 1 :].partition("/")
    if first in CACHES or (first not in KEYS and rest and not deep):
        return None
    return "It lies in the home folder, outside the task's tree."


def _of_system(path: str) -> str | None:
    if any(covers(each, path) for each in HARMLESS):
        return None
    if any(covers(each, path) for each in SYSTEM) or posixpath.dirname(path) == "/":
        return "It belongs to the system."
    if posixpath.dirname(path) in HOMES:
        return "It is somebody's home, or a folder of this machine."
    return None
