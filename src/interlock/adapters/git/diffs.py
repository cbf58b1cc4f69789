"""The difference of many heads to one base, exact names and no rename detection, in a handful of processes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from interlock.adapters.git.blobs import read_blobs
from interlock.adapters.git.errors import NoMergeBase
from interlock.adapters.git.plumbing import GitDir
from interlock.core.gate.changes import RAW, SUBMODULE, SYMLINK, Change, of_each
from interlock.core.problems import Refused

OID = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def changes_many(git: GitDir, base: str, heads: Sequence[str]) -> dict[str, tuple[Change, ...] | Refused]:
    """What each head changes against its merge base with base, or why that cannot be told.

    Takes commit oids.  Three processes for any number of heads (a fourth reads new symbolic links; heads that
    merged the base in need one more for each distinct set of commits they took in, and so do heads with new submodules).
    """
    heads = list(dict.fromkeys(heads))
    for oid in (base, *heads):
        if not OID.fullmatch(oid):
            raise ValueError(f"{oid!r} is not the full name of a commit.")  # a ref would look like an empty difference
    bases = merge_bases(git, base, heads)
    pairs = {head: found for head in heads if (found := bases[head]) is not None and found != head}
    raw = _diff(git, pairs)
    targets = _targets(git, (change for changes in raw.values() for change in changes))
    result: dict[str, tuple[Change, ...] | Refused] = {}
    for head in heads:
        if bases[head] is None:
            result[head] = NoMergeBase(base, head, shallow=(git.path / "shallow").exists())
        else:
            result[head] = _noted(raw.get(head, ()), targets, _undeclared(git, head, raw.get(head, ())))
    return result


def merge_bases(git: GitDir, base: str, heads: Sequence[str]) -> dict[str, str | None]:
    """The merge base of each head with base, None where they have nothing in common.

    One walk lists what the heads have and base has not.  Every common ancestor lies behind a parent that is not
    on that list, so a head with a single such parent has its merge base there.
    """
    if not heads:
        return {}
    listed = git.text(
        "rev-list", "--topo-order", "--parents", "--stdin", stdin="\n".join([*heads, f"^{base}"]).encode()
    )
    border: dict[str, frozenset[str]] = {}
    for line in reversed(listed.splitlines()):
        commit, *parents = line.split(" ")
        behind = [border.get(parent, frozenset((parent,))) for parent in parents]
        border[commit] = behind[0] if len(behind) == 1 else frozenset().union(*behind)
    several: dict[frozenset[str], str | None] = {}
    found: dict[str, str | None] = {}
    for head in heads:
        edge = border.get(head, frozenset((head,)))
        if len(edge) == 1:
            (found[head],) = edge
        else:
            if edge not in several:
                several[edge] = _one_merge_base(git, base, head)
            found[head] = several[edge]
    return found


def _one_merge_base(git: GitDir, base: str, head: str) -> str | None:
    return git.run("merge-base", base, head, ok=(0, 1)).text.strip() or None


def _diff(git: GitDir, pairs: Mapping[str, str]) -> dict[str, tuple[Change, ...]]:
    """Raw differences of (head ← base) pairs by one diff-tree, which is told each head with that base as its parent."""
    if not pairs:
        return {}
    asked = "".join(f"{head} {base}\n" for head, base in pairs.items())
    out = git.run("diff-tree", "--stdin", *RAW, stdin=asked.encode(), seconds=300).out
    return {head: tuple(changes) for head, changes in of_each(out).items()}


def _targets(git: GitDir, changes: Iterable[Change]) -> dict[str, str]:
    """The texts of new symbolic links by their blob."""
    oids = list(dict.fromkeys(change.new_oid for change in changes if change.new_mode == SYMLINK))
    read = read_blobs(git, oids)
    return {oid: os.fsdecode(data) for oid, data in zip(oids, read, strict=True) if data is not None}


def _undeclared(git: GitDir, head: str, changes: Sequence[Change]) -> frozenset[str]:
    """New submodules that ``.gitmodules`` of the head does not name."""
    new = {change.path for change in changes if change.new_mode == SUBMODULE != change.old_mode}
    if not new:
        return frozenset()
    words = ("config", "-z", "--blob", f"{head}:.gitmodules", "--get-regexp", r"^submodule\..*\.path$")
    done = git.run(*words, ok=(0, 1, 3, 128, 129))  # none there, or none that can be read
    told = done.text if done.code == 0 else ""
    return frozenset(new - {entry.partition("\n")[2].rstrip("/") for entry in told.split("\0")})


def _noted(changes: Sequence[Change], targets: Mapping[str, str], undeclared: frozenset[str]) -> tuple[Change, ...]:
    """The changes with what people want to know: where a link leads, which deleted file an added one equals, and new
    submodules that come from nowhere.
    """
    gone = {change.old_oid: change.path for change in reversed(changes) if change.status == "D"}
    noted = []
    for change in changes:
        target = targets.get(change.new_oid) if change.new_mode == SYMLINK else None
        source = gone.get(change.new_oid) if change.status == "A" else None
        alone = change.path in undeclared
        odd = target or source or alone
        noted.append(replace(change, target=target, renamed_from=source, undeclared=alone) if odd else change)
    return tuple(noted)
