"""Where cards stand in a repository, and which slug a path stands for; reading them is cards'."""

from __future__ import annotations

FOLDER = "tasks"
SUFFIX = ".yaml"


def slug_of(path: str) -> str | None:
    """The slug of a card's path, or None when the path is no card's."""
    folder, _, name = path.rpartition("/")
    if folder != FOLDER or not name.endswith(SUFFIX) or name == SUFFIX:
        return None
    return name.removesuffix(SUFFIX)
