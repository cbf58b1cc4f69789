"""A commit with some paths as in another commit, made in the mirror away from every work tree; what for is the app's."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.adapters.git.commits import commit_tree, temporary_index
from interlock.adapters.git.mirror import Mirror

_LONG = 300.0


def graft(mirror: Mirror, onto: str, source: str, paths: Sequence[str]) -> str:
    """A commit on ``onto`` with its tree, but the paths (files, or whole folders) as in ``source``.

    What ``source`` does not have there is removed.  Gives ``onto`` itself when nothing differs.  The commit is reachable from no
    ref: objects that new outlive any collection of garbage by two weeks, and it can be made again.  Raises GitFailed.
    """
    mirror.ensure()
    if not paths:
        return onto
    with temporary_index(mirror) as index:
        git = mirror.git.with_tree(index.parent, index)
        tree_now = git.text("rev-parse", f"{onto}^{{tree}}")
        git.run("read-tree", onto, seconds=_LONG)
        there = _entries(git.run("ls-files", "-s", "-z", "--", *_literal(paths), seconds=_LONG).out)
        wanted = git.run("ls-tree", "-r", "-z", "--full-tree", source, "--", *paths, seconds=_LONG).out
        lines = [entry for entry in wanted.split(b"\0") if entry]
        fresh = {entry.partition(b"\t")[2] for entry in lines}
        nothing = b"0 " + b"0" * len(tree_now)
        gone = b"".join(nothing + b"\t" + path + b"\0" for path in sorted(there - fresh))
        added = b"".join(_as_index(entry) + b"\0" for entry in lines)
        git.run("update-index", "-z", "--index-info", stdin=gone + added, seconds=_LONG)
        tree = git.text("write-tree", seconds=_LONG)
    if tree == tree_now:
        return onto
    return commit_tree(mirror.git, tree, [onto], "paths of another commit, for a check")


def _literal(paths: Sequence[str]) -> list[str]:
    return [f":(literal,top){path}" for path in paths]


def _entries(out: bytes) -> set[bytes]:
    return {entry.partition(b"\t")[2] for entry in out.split(b"\0") if entry}


def _as_index(entry: bytes) -> bytes:
    """``mode type oid TAB path`` as git's index takes it: ``mode oid TAB path``."""
    meta, _, path = entry.partition(b"\t")
    mode, _, oid = meta.split(b" ")
    return b" ".join((mode, oid)) + b"\t" + path
