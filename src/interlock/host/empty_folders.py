"""Empty folders that an agent's own sandbox leaves in a tree, taken away; anything that holds something stays."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def remove_empty(tree: Path, names: Iterable[str]) -> tuple[str, ...]:
    """Remove the folders of these names at the top of a tree that are empty; gives those that went.

    A link is no folder, and git knows no empty folder, so that nothing of the work can be meant.
    """
    gone = []
    for name in names:
        if "/" in name or name in ("", ".", ".."):
            continue
        path = tree / name
        with suppress(OSError):
            if not path.is_symlink():
                path.rmdir()
                gone.append(name)
    return tuple(gone)
