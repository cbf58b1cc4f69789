"""What a landed change did, taken back on a later commit, as a commit of its own; deciding to land that is the train's."""

from __future__ import annotations

from interlock.adapters.git.commits import commit_tree
from interlock.adapters.git.merging import melt
from interlock.adapters.git.plumbing import GitDir
from interlock.adapters.git.scratch import ruled
from interlock.ports.repository import Author, Inverse, TextConflict

TRAILER = "Interlock-Job"


def landed_as(git: GitDir, onto: str, job: str) -> str | None:
    """The commit in the history of ``onto`` that carries a job's work alone, whichever way it landed; the newest of several."""
    words = ("log", "--no-merges", "--max-count=1", "--format=%H", "-E", f"--grep=^{TRAILER}: {job}$")
    return git.text(*words, onto, seconds=600.0) or None


def inverse(git: GitDir, onto: str, commit: str, message: str, author: Author) -> Inverse | TextConflict:
    """One commit on ``onto`` whose difference is that of ``commit``, backwards; or the paths that later work changed.

    It is a merge of what went before the change, as if that followed it: git then takes the change's own lines out
    and leaves everybody else's.
    """
    before = git.text("rev-parse", "--verify", f"{commit}^1^{{tree}}")
    undone = commit_tree(git, before, [commit], "the tree before the change")
    with ruled(git, onto) as by:
        melted = melt(by, onto, undone)
    if not melted.clean:
        return TextConflict(head=commit, paths=melted.named)
    made = commit_tree(git, melted.tree, [onto], message, author)
    raw = git.run("diff-tree", "-r", "-z", "--no-renames", "--name-only", onto, made).out
    paths = tuple(part.decode("utf-8", "surrogateescape") for part in raw.split(b"\0") if part)
    return Inverse(commit=made, of=commit, paths=paths)


def taken_out(git: GitDir, head: str, work: str) -> str | None:
    """A commit with the tree of ``head`` without what ``work`` did, whether or not that is in its history; None where it clashes.

    Files are merged by the attributes that stood before the work, which ``head`` has no say in.
    """
    tree, before = (git.text("rev-parse", "--verify", f"{each}^{{tree}}") for each in (head, f"{work}^1"))
    ours = commit_tree(git, tree, [work], "the combination, as if it followed the change")
    theirs = commit_tree(git, before, [work], "the tree before the change")
    with ruled(git, before) as by:
        melted = melt(by, ours, theirs)
    return commit_tree(git, melted.tree, [head], "without the change") if melted.clean else None
