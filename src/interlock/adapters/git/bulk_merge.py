"""Many merges by one ``git merge-tree --stdin``, and what it says of each; which ones are asked for is matrix's work."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from interlock.adapters.git.errors import GitFailed
from interlock.adapters.git.plumbing import GitDir
from interlock.adapters.git.scratch import LONG, Scratch
from interlock.core.gate.changes import RAW, Change, from_raw

_LOUD: Final = ("CONFLICT", "ERROR")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One merge: its tree, and where it clashes: (paths, kind, git's own sentence); none where it is clean.

    ``clashes`` of an unclean merge name each path at least once; a clash may name a path under both of its names.
    """

    tree: str
    clean: bool
    clashes: tuple[tuple[str, str, str], ...] = ()


def melt_many(made: Scratch, git: GitDir, pairs: Sequence[tuple[str, str]]) -> tuple[Told, ...]:
    """The merges of pairs of commits that have an ancestor in common, in their order.

    A merge that git itself breaks at (a tree that no git would write) spoils none but its own pair, which then clashes.
    """
    try:
        return _melt(made, git, pairs)
    except GitFailed as fault:
        if len(pairs) == 1:
            return (Told(tree="", clean=False, clashes=(("", "CONFLICT (git failed)", fault.message),)),)
    middle = len(pairs) // 2
    return melt_many(made, git, pairs[:middle]) + melt_many(made, git, pairs[middle:])


def _melt(made: Scratch, git: GitDir, pairs: Sequence[tuple[str, str]]) -> tuple[Told, ...]:
    if not pairs:
        return ()
    asked = "".join(f"{ours} {theirs}\n" for ours, theirs in pairs).encode()
    out = made.run(git, "merge-tree", "--write-tree", "--stdin", "-z", "--name-only", stdin=asked, ok=(0, 1)).out
    told = tuple(_told(iter(out.split(b"\0"))))
    if len(told) != len(pairs):
        raise ValueError(f"git told {len(told)} merges of {len(pairs)}.")
    return told


def _told(tokens: Iterator[bytes]) -> Iterator[Told]:
    for state in tokens:
        if not state.strip():
            return
        tree = next(tokens).decode().strip()
        paths = list(_until_empty(tokens))
        if state.strip() == b"1":
            yield Told(tree=tree, clean=True)
            continue
        messages = list(_messages(tokens))
        yield Told(tree=tree, clean=False, clashes=_clashes(paths, messages))


def _until_empty(tokens: Iterator[bytes]) -> Iterator[str]:
    for token in tokens:
        if not token:
            return
        yield os.fsdecode(token)


def _messages(tokens: Iterator[bytes]) -> Iterator[tuple[list[str], str, str]]:
    for count in tokens:
        if not count.isdigit():  # the end, which advice about submodules may stand before
            return
        paths = [os.fsdecode(next(tokens)) for _ in range(int(count))]
        kind, text = next(tokens).decode(), os.fsdecode(next(tokens)).strip()
        if kind.startswith(_LOUD):
            yield paths, kind, text


def _clashes(paths: Sequence[str], messages: Sequence[tuple[list[str], str, str]]) -> tuple[tuple[str, str, str], ...]:
    """What git said, with the paths that it left unmerged and said nothing about.

    A file that it moved out of a folder's way is named last by its own name; of a submodule it says the same twice.
    """
    subs = {named[0] for named, kind, _ in messages if named and "(submodule" in kind}
    found = {
        (named[-1 if "(file/directory)" in kind else 0], kind, text): None
        for named, kind, text in messages
        if named and ("(submodule" in kind or named[0] not in subs)
    }
    known = {path for named, _, _ in messages for path in named}
    found |= {(path, "CONFLICT (unmerged)", ""): None for path in paths if path not in known}
    return tuple(found)


def diff_trees(made: Scratch, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], tuple[Change, ...]]:
    """Raw differences of (old tree, new tree) pairs by one diff-tree."""
    if not pairs:
        return {}
    asked = "".join(f"{old} {new}\n" for old, new in dict.fromkeys(pairs)).encode()
    out = made.git.run("diff-tree", "--stdin", *RAW, stdin=asked, seconds=LONG).out
    found: dict[tuple[str, str], list[Change]] = {pair: [] for pair in pairs}
    current: list[Change] = []
    tokens = iter(out.split(b"\0"))
    for token in tokens:
        # A pair's line, with those of pairs before it that do not differ, stands before its first entry.
        *headers, last = [token] if token.startswith(b":") else token.split(b"\n")
        for header in headers:
            old, new = header.decode().split()
            current = found[(old, new)]
        if last:
            current.append(from_raw(last.decode(), os.fsdecode(next(tokens))))
    return {pair: tuple(changes) for pair, changes in found.items()}
