"""A small layer that turns the tree of one commit into that of another: changed files and whiteouts; bases decides where."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from interlock.adapters.git.making import naming_filters
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.plumbing import GitDir, packed
from interlock.adapters.git.sealed import owning
from interlock.adapters.git.trees import LONG
from interlock.core.gate.changes import SUBMODULE

MOST: Final = 2000
"""More changed files than this are not layered: another base is quicker to use and no slower to make."""


class TooFar(Exception):
    """The two commits cannot be bridged by a layer: too many files, or attributes that decide the bytes of others."""


@dataclass(slots=True)
class _Difference:
    """Paths that are written in the new commit, and those that are only taken away."""

    written: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)


def fill(
    mirror: Mirror, span: tuple[str, str], index: Path, tree: Path, lower: Iterable[Path], most: int = MOST
) -> None:
    """Put into ``tree`` what makes the second commit of the first when laid over ``lower``, and turn ``index`` along.

    ``index`` is that of the first commit with the times of its files, so that git need not read them again; it is
    left with those of the second.  Raises TooFar.
    """
    old, new = span
    found = _difference(mirror.git, old, new, most)
    git = mirror.git.with_tree(tree, index)
    with naming_filters(mirror):
        git.run("read-tree", "-m", "-u", new, seconds=LONG)
    for path in _hidden(found, tuple(lower), git, new):
        whiteout(tree / path)
    owning.give(tree)
    if found.written and owning.agent() is not None:  # being given away changed the times that the index holds
        git.run(
            *("--literal-pathspecs", "add", "--refresh", "--pathspec-from-file=-", "--pathspec-file-nul"),
            stdin=packed(found.written),
            seconds=LONG,
        )


def _difference(git: GitDir, old: str, new: str, most: int) -> _Difference:
    out = git.run("diff-tree", "-r", "-z", "--no-renames", "--raw", old, new, seconds=LONG).out.split(b"\0")
    found = _Difference()
    if len(out) // 2 > most:
        raise TooFar(f"{len(out) // 2} files changed")
    for facts, name in zip(out[::2], out[1::2], strict=False):
        mode, path = facts.split(b" ")[1], os.fsdecode(name)
        if path.rpartition("/")[2] == ".gitattributes":
            raise TooFar(f"{path} changed")
        if int(mode, 8) == SUBMODULE:
            found.links.append(path)
        elif int(mode, 8) == 0:
            found.gone.append(path)
        else:
            found.written.append(path)
    return found


def _hidden(found: _Difference, lower: tuple[Path, ...], git: GitDir, new: str) -> list[str]:
    """Where whiteouts go: at a folder of which nothing is left, else at each file that went away.

    A file where a folder was, or a folder where a file was, hides what lies below it by itself.
    """
    anew = {*found.written, *found.links}
    leading = {folder for path in anew for folder in _folders(path)}
    gone = [path for path in found.gone if path not in leading and not any(part in anew for part in _folders(path))]
    kept = _kept(gone, git, new)
    hidden: dict[str, None] = {}
    for path in gone:
        top = next((folder for folder in _folders(path) if folder not in kept), path)
        whole = top == path or _only_tracked(top, lower, frozenset(gone))
        hidden[top if whole else path] = None
    return list(hidden)


def _folders(path: str) -> list[str]:
    """The folders that lead to a path, outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:number]) for number in range(1, len(parts))]


def _kept(gone: list[str], git: GitDir, new: str) -> set[str]:
    """Folders of files that went away in which the new commit still has something."""
    asked = list(dict.fromkeys(folder for path in gone for folder in _folders(path)))
    plain = [folder for folder in asked if "\n" not in folder]
    if not plain:
        return set(asked)
    lines = os.fsencode("".join(f"{new}:{folder}\n" for folder in plain))
    answers = git.run("cat-file", "--batch-check", stdin=lines, seconds=LONG).out.splitlines()
    absent = {folder for folder, answer in zip(plain, answers, strict=True) if answer.endswith(b" missing")}
    return set(asked) - absent


def _only_tracked(folder: str, lower: tuple[Path, ...], gone: frozenset[str]) -> bool:
    """Whether nothing but files that went away lies in a folder: what was installed there stays."""
    for layer in lower:
        for at, _, names in os.walk(layer / folder):
            below = os.path.relpath(at, layer)
            if any(f"{below}/{name}" not in gone for name in names):
                return False
    return True


def whiteout(path: Path) -> None:
    """Hide what the layers below have at a path.  Making such a device needs no privilege."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        path.unlink()
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(0, 0))
