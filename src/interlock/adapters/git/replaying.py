"""The commits of a head replayed in one line on another commit, with their authors and words; whether they may land is the train's."""

from __future__ import annotations

from interlock.adapters.git.commits import commit_tree
from interlock.adapters.git.plumbing import GitDir
from interlock.adapters.git.scratch import Scratch
from interlock.ports.repository import Author

_LONG = 300.0


def replay(git: GitDir, by: Scratch, base: str, line: str, head: str, tree: str) -> str | None:
    """The end of the line with the head's own commits on it, or None where they do not lead to the tree one by one.

    Commits that merge something, or that change nothing any more, are left out.
    """
    listed = git.text("rev-list", "--reverse", "--topo-order", "--no-merges", head, f"^{base}", seconds=_LONG)
    at, stands = line, git.text("rev-parse", f"{line}^{{tree}}")
    for commit in listed.splitlines():
        picked = _pick(git, by, stands, commit)
        if picked is None:
            return None
        if picked != stands:
            at = commit_tree(git, picked, [at], message_of(git, commit), author_of(git, commit))
            stands = picked
    return at if stands == tree and at != line else None


def _pick(git: GitDir, by: Scratch, tree: str, commit: str) -> str | None:
    """The tree with what one commit changes, or None where that clashes.

    A commit of that tree on the commit's parent is merged with the commit, so that the parent is the base of the merge.
    """
    parent = git.text("rev-parse", f"{commit}^")
    ours = commit_tree(git, tree, [parent], "a step of a rebase")
    done = by.run(by.git, "merge-tree", "--write-tree", "-z", "--no-messages", ours, commit, ok=(0, 1))
    return done.out.partition(b"\0")[0].decode() if done.code == 0 else None


def author_of(git: GitDir, commit: str) -> Author:
    name, _, email = git.text("log", "-1", "--no-mailmap", "--format=%an%x00%ae", commit).partition("\0")
    return Author(name=name, email=email)


def message_of(git: GitDir, commit: str) -> str:
    return git.text("log", "-1", "--format=%B", commit) + "\n"
