"""Merging heads into a base away from every work tree, in three styles, or the first head that clashes; testing is the train's.

How files are merged is decided by the attributes of the commit that is merged into, and never by those that a head brings.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from interlock.adapters.git import replaying
from interlock.adapters.git.commits import commit_tree
from interlock.adapters.git.errors import GitFailed, NoMergeBase
from interlock.adapters.git.plumbing import GitDir
from interlock.adapters.git.scratch import Scratch, ruled
from interlock.core.contract.policy import Style
from interlock.core.gate.changes import RAW
from interlock.ports.repository import Merged, TextConflict

_LONG = 300.0
_ASIDE = re.compile(r"~[0-9a-f]{40}([0-9a-f]{24})?(_\d+)?$")


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
        """The names that stand in the tree; a file in the way of a folder has that of its commit at its end."""
        return tuple(dict.fromkeys(path for _, _, _, path in self.clashes))

    @property
    def named(self) -> tuple[str, ...]:
        """The same as the commits call them."""
        return tuple(dict.fromkeys(_ASIDE.sub("", path) for path in self.paths))


def melt(by: Scratch, ours: str, theirs: str) -> Melt:
    """The merge of two commits as a tree, by the attributes that lie there.  Raises NoMergeBase when they have nothing in common."""
    try:
        done = by.run(by.git, "merge-tree", "--write-tree", "-z", "--no-messages", ours, theirs, ok=(0, 1))
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


def merge(
    git: GitDir, base: str, heads: Sequence[str], message: str, *, style: Style = "merge", each: Sequence[str] = ()
) -> Merged | TextConflict:
    """The heads on the base, in their order, in one of the three styles; the tree is the same in each.

    ``merge``: one commit whose first parent is base and whose further parents are the heads.  ``squash``: one commit for each head, with its
    message of ``each``, in one line on the base.  ``rebase``: the heads' own commits replayed in one line, each with its author and
    message; a head whose commits cannot be replayed one by one to the same tree is squashed.  The steps in between are thrown away.  Gives the first head that
    clashes instead, with the paths.  Raises NoMergeBase, GitFailed.
    """
    at, line, tree = base, base, git.text("rev-parse", f"{base}^{{tree}}") if not heads else ""
    with ruled(git, base) as by:
        for number, head in enumerate(heads):
            melted = melt(by, at, head)
            if not melted.clean:
                return TextConflict(head=head, paths=melted.named)
            tree = melted.tree
            if style != "merge":
                text = each[number] if number < len(each) else message
                line = (
                    replaying.replay(git, by, base, line, head, tree) if style == "rebase" else None
                ) or commit_tree(git, tree, [line], text, replaying.author_of(git, head))
                at = line
            elif number + 1 < len(heads):
                at = by.commit(tree, [at, head])  # only the next head is merged into it
    commit = commit_tree(git, tree, [base, *heads], message) if style == "merge" else line
    return Merged(commit=commit, tree=tree, diff=difference(git, base, commit))


def drivers(git: GitDir, commit: str, paths: Sequence[str]) -> dict[str, str]:
    """The paths of these that a program is to merge by the attributes of a commit: path → its name.  It is never run."""
    with ruled(git, commit) as by:
        return by.drivers(paths)


def difference(git: GitDir, base: str, commit: str) -> str:
    """A name for what changes between two commits: equal whenever the same files change from and to the same bytes."""
    raw = git.run("diff-tree", *RAW, base, commit, seconds=_LONG).out
    return hashlib.sha256(raw).hexdigest()
