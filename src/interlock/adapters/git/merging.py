"""Merging heads into a base away from every work tree: one commit, or the first head that clashes; testing it is the train's."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass

from interlock.adapters.git import diffs
from interlock.adapters.git.commits import commit_tree
from interlock.adapters.git.errors import GitFailed, NoMergeBase
from interlock.adapters.git.plumbing import GitDir
from interlock.ports import Merged, TextConflict

_LONG = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Melt:
    """What merging two commits gives: a tree (with clash marks where they clash) and the entries that clash.

    ``clashes`` are (mode, oid, stage, path) as an index holds them; there may be none although the merge is not
    clean, when only directories clash.
    """

    clean: bool
    tree: str
    clashes: tuple[tuple[str, str, str, str], ...]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for _, _, _, path in self.clashes))


def melt(git: GitDir, ours: str, theirs: str) -> Melt:
    """The merge of two commits as a tree.  Raises NoMergeBase when they have nothing in common."""
    try:
        done = git.run("merge-tree", "--write-tree", "-z", "--no-messages", ours, theirs, ok=(0, 1), seconds=_LONG)
    except GitFailed as fault:
        if "unrelated histories" in fault.text:
            raise NoMergeBase(ours, theirs, shallow=False) from fault
        raise
    tree, _, rest = done.out.partition(b"\0")
    clashes = []
    for entry in rest.split(b"\0"):
        if entry:
            meta, _, path = entry.partition(b"\t")
            mode, oid, stage = meta.decode().split(" ")
            clashes.append((mode, oid, stage, os.fsdecode(path)))
    return Melt(clean=done.code == 0, tree=tree.decode().strip(), clashes=tuple(clashes))


def merge(git: GitDir, base: str, heads: Sequence[str], message: str) -> Merged | TextConflict:
    """One commit whose first parent is base and whose further parents are the heads, merged in their order.

    The steps in between are thrown away: on the default branch each first-parent commit is one tree that was
    tested.  Gives the first head that clashes instead, with the paths.  Raises NoMergeBase, GitFailed.
    """
    at = base
    for head in heads:
        melted = melt(git, at, head)
        if not melted.clean:
            return TextConflict(head=head, paths=melted.paths)
        at = commit_tree(git, melted.tree, [at, head], "a step of a merge")
    tree = git.text("rev-parse", f"{at}^{{tree}}")
    commit = commit_tree(git, tree, [base, *heads], message)
    return Merged(commit=commit, tree=tree, diff=difference(git, base, commit))


def difference(git: GitDir, base: str, commit: str) -> str:
    """A name for what changes between two commits: equal whenever the same files change from and to the same bytes."""
    raw = git.run("diff-tree", *diffs.RAW, base, commit, seconds=_LONG).out
    return hashlib.sha256(raw).hexdigest()
