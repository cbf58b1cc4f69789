"""Whether git here can do what is needed, tried on a throw-away repository and not read off its version."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from interlock.adapters.git.plumbing import GitDir
from interlock.core.problems import InterlockError


def git_probes() -> tuple[tuple[str, bool, Callable[[], str]], ...]:
    """Name, whether it is needed, and the function that tries it and says what works or raises."""
    return (("git merges without a tree", True, _merge_tree),)


def _merge_tree() -> str:
    with tempfile.TemporaryDirectory() as folder:
        git = GitDir(path=Path(folder) / "probe.git")
        git.path.mkdir()
        git.run("init", "-q", "--bare", "--template=", str(git.path))
        tree = git.text("mktree", stdin=b"")
        base = git.text("commit-tree", tree, "-m", "base")
        side = git.text("commit-tree", tree, "-p", base, "-m", "side")
        merged = git.text("merge-tree", "--write-tree", base, side)
        if merged != tree:
            raise InterlockError("git merge-tree gives another tree than it should.", hint="Install git 2.38 or newer.")
    return "merge-tree --write-tree gives the tree it should."
