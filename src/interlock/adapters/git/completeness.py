"""Whether a commit holds the whole change of each head that it is said to hold; what follows when it does not is the train's."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.adapters.git import diffs
from interlock.adapters.git.commits import commit_tree
from interlock.adapters.git.merging import melt
from interlock.adapters.git.plumbing import GitDir
from interlock.adapters.git.scratch import Scratch, ruled
from interlock.core.gate.changes import RAW, Change
from interlock.core.problems import Refused

_LONG = 300.0
Stands = tuple[int, str]


def lacking(git: GitDir, base: str, commit: str, heads: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Heads whose change is not whole in the commit, and paths that no head and not the base brought.

    A path that stands as the head has it is whole at once.  Others, that several changed, are merged once more: what is there already changes
    nothing.  Where git then sees it otherwise, the heads are merged into the base anew, and the same tree speaks for all of them.
    """
    made = _raw(git, base, commit)
    wanted = diffs.changes_many(git, base, list(heads))
    doubtful = [head for head in heads if _differs(wanted[head], made)]
    brought = {change.path for head in heads if not isinstance(wanted[head], Refused) for change in _of(wanted[head])}
    extra = tuple(sorted(set(made) - brought))
    if not doubtful and not extra:
        return (), ()
    with ruled(git, base) as by:
        bad = tuple(head for head in doubtful if not _is_whole(git, by, base, commit, head))
        if (bad or extra) and _merged_anew(git, by, base, heads) == _tree(git, commit):
            return (), ()
    return bad, extra


def _of(changes: tuple[Change, ...] | Refused) -> tuple[Change, ...]:
    return () if isinstance(changes, Refused) else changes


def _differs(changes: tuple[Change, ...] | Refused, made: dict[str, Stands]) -> bool:
    """Whether some path does not stand in the commit just as the head left it."""
    if isinstance(changes, Refused):
        return True
    return any(made.get(change.path) != (change.new_mode, change.new_oid) for change in changes)


def _raw(git: GitDir, base: str, commit: str) -> dict[str, Stands]:
    """What the commit changes on its base: path → mode and object that stand there now."""
    fields = git.run("diff-tree", *RAW, base, commit, seconds=_LONG).out.decode("utf-8", "surrogateescape").split("\0")
    found: dict[str, Stands] = {}
    for meta, path in zip(fields[::2], fields[1::2], strict=False):
        _, mode, _, oid, *_ = meta.split(" ")
        found[path] = (int(mode, 8), oid)
    return found


def _is_whole(git: GitDir, by: Scratch, base: str, commit: str, head: str) -> bool:
    """Whether merging the head's change into the commit's tree once more changes nothing."""
    start = diffs.merge_bases(git, base, [head])[head]
    if start is None:
        return False
    tree = _tree(git, commit)
    melted = melt(by, commit_tree(git, tree, [start], "what landed"), head)
    return melted.clean and melted.tree == tree


def _merged_anew(git: GitDir, by: Scratch, base: str, heads: Sequence[str]) -> str | None:
    at, tree = base, ""
    for head in heads:
        melted = melt(by, at, head)
        if not melted.clean:
            return None
        tree = melted.tree
        at = commit_tree(git, tree, [at, head], "a step of a merge")
    return tree


def _tree(git: GitDir, commit: str) -> str:
    return git.text("rev-parse", f"{commit}^{{tree}}")
