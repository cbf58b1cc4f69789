"""Paths as reports write them, made relative to the tree that a check ran in; whose tree it is, is the caller's knowledge."""

from __future__ import annotations

import os
import posixpath
from pathlib import Path
from urllib.parse import unquote


class Places:
    """How paths of one tree are called in reports: relative, absolute, as URI; it counts those of other places."""

    def __init__(self, tree: Path | None) -> None:
        roots = {str(tree), os.path.realpath(tree)} if tree is not None else set[str]()
        self._roots = sorted((root.rstrip("/") for root in roots), key=len, reverse=True)
        self.inside = 0
        self.outside = 0

    def of(self, written: str, *, base: str = "", uri: bool = False) -> str:
        """The path within the tree, or the absolute path of something else."""
        path = written.replace("\\", "/")
        if uri or path.startswith("file:"):
            path = unquote(path.removeprefix("file://localhost").removeprefix("file://").removeprefix("file:"))
        if base and not path.startswith("/"):
            path = posixpath.join(base, path)
        path = posixpath.normpath(path) if path else ""
        for root in self._roots:
            if path == root or path.startswith(f"{root}/"):
                self.inside += 1
                return path[len(root) + 1 :] or "."
        if path.startswith(("/", "../")) or path == "..":
            self.outside += 1
            return path
        self.inside += 1
        return path

    @property
    def elsewhere(self) -> bool:
        """Whether paths were named and none of them lies in the tree."""
        return self.outside > 0 and self.inside == 0
