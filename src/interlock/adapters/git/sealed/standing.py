"""What a task's tree holds beside a commit: tracked, untracked, ignored, nested; and an index filled with all of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from interlock.adapters.git import commits
from interlock.adapters.git.errors import GitFailed
from interlock.adapters.git.plumbing import GitDir, names, packed
from interlock.adapters.git.sealed import changes, looking
from interlock.adapters.git.sealed.layout import Layout, Task
from interlock.adapters.git.sealed.lower import Lower
from interlock.adapters.git.trees import LONG
from interlock.core.gate.changes import EXACT, SUBMODULE
from interlock.core.problems import refused

INDEX_BYTES: Final = 300_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Paths that may differ from a commit: ``here`` are tracked ones that exist, ``gone`` those that do not.

    ``nested`` are repositories inside the tree, ``links`` the commit's submodules, ``filled``
    those that have files.  ``cut``: there was too much.
    """

    here: tuple[str, ...]
    gone: tuple[str, ...]
    untracked: tuple[str, ...]
    ignored: tuple[str, ...]
    nested: tuple[str, ...]
    ignored_nested: tuple[str, ...]
    links: tuple[str, ...]
    filled: tuple[str, ...]
    cut: bool


def against(layout: Layout, task: Task, git: GitDir, commit: str) -> Standing:
    """Fill the index of ``git``, whose work tree is the task's, with a commit, and tell what the tree has beside it."""
    git.run("read-tree", commit, seconds=LONG)
    entries = names(git.run("ls-files", "-z", "--stage", seconds=LONG).out)
    tracked = frozenset(entry.partition("\t")[2] for entry in entries)
    links = tuple(entry.partition("\t")[2] for entry in entries if entry.startswith(f"{SUBMODULE:o} "))
    seen = changes.look(layout.tree(task), layered=task.kind == "overlay")
    here, gone = _tracked(task, git, commit, seen, tracked)
    nested = _nested(seen.nested, tracked, links)
    links, folders = _never_filled(git, links, seen)
    inside = _Inside((*nested, *links))
    others = [path for path in seen.present if path not in tracked and path not in inside]
    ignored = _ignored(git, [*others, *nested])
    return Standing(
        here=tuple(path for path in here if path not in inside),
        gone=(*(path for path in gone if path not in links and path not in folders), *folders),
        untracked=tuple(path for path in others if path not in ignored),
        ignored=tuple(path for path in others if path in ignored),
        nested=tuple(path for path in nested if path not in ignored),
        ignored_nested=tuple(path for path in nested if path in ignored),
        links=links,
        filled=tuple(path for path in links if path in seen.nested),
        cut=seen.cut,
    )


def _never_filled(git: GitDir, links: tuple[str, ...], seen: changes.Look) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The submodules that still are ones, and those that were never filled and now are folders of files that count.

    The latter are taken out of the index, since git does not look below one.
    """
    empty = [link for link in links if link not in seen.nested]
    held = {link: [path for path in seen.present if path.startswith(f"{link}/")] for link in empty}
    counts = {link: len(_ignored(git, paths, "--no-index")) < len(paths) for link, paths in held.items()}
    folders = tuple(link for link in links if counts.get(link))
    if folders:
        git.run("update-index", "-z", "--force-remove", "--stdin", stdin=packed(folders))
    return tuple(link for link in links if link not in folders), folders


def _tracked(
    task: Task, git: GitDir, commit: str, seen: changes.Look, tracked: frozenset[str]
) -> tuple[list[str], list[str]]:
    """Tracked paths that may differ from the commit: those that exist, and those that do not."""
    present = set(seen.present)
    if task.kind == "copy":
        return sorted(tracked & present), sorted(tracked - present)
    lower = Lower(task.lower)
    suspects = set(changes.of_layer(task, seen))
    if commit != task.base:
        suspects |= set(names(git.run("diff-tree", *EXACT, "--name-only", task.base, commit).out))
    for path in [each for each in suspects if each.rpartition("/")[2] == ".gitattributes"]:
        above = path.removesuffix(".gitattributes")  # what it says decides the bytes of all that is below it
        suspects.update(each for each in tracked if each.startswith(above))
    hidden = changes.Hidden(seen)
    wanted = sorted(suspects & tracked)
    here = [path for path in wanted if path in present or (path not in hidden and _is_file(lower, path))]
    return here, sorted(set(wanted) - set(here))


def _is_file(lower: Lower, path: str) -> bool:
    facts = lower.at(path)
    return facts is not None and (stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode))


class _Inside:
    """Paths at or below one of some folders."""

    def __init__(self, folders: Iterable[str]) -> None:
        self._folders = frozenset(folders)

    def __contains__(self, path: str) -> bool:
        while path and self._folders:
            if path in self._folders:
                return True
            path = path.rpartition("/")[0]
        return False


def _nested(folders: list[str], tracked: frozenset[str], links: tuple[str, ...]) -> list[str]:
    """Outermost folders with a repository of their own; git looks into one that it tracks files of."""
    if not folders:
        return []
    known = {path[:at] for path in tracked for at, letter in enumerate(path) if letter == "/"}
    found: list[str] = []
    for folder in sorted(folders, key=lambda name: name.count("/")):
        if folder not in known and folder not in _Inside((*found, *links)):
            found.append(folder)
    return found


def _ignored(git: GitDir, paths: list[str], *words: str) -> frozenset[str]:
    """Those of the paths that the rules in the tree and in the mirror ignore."""
    if not paths:
        return frozenset()
    asked = [f"./{path}" for path in paths]  # a name that begins with a colon would be a pattern
    found = names(git.run("check-ignore", *words, "-z", "--stdin", stdin=packed(asked), ok=(0, 1), seconds=LONG).out)
    return frozenset(path.removeprefix("./") for path in found)


def stage(layout: Layout, task: Task, git: GitDir, parent: str) -> Standing:
    """Fill git's index with what the task's tree holds, as commits.stage does for a tree of level worktree.

    Only paths that the task may have written are looked at.  What its own index tracks counts although it is
    ignored.  Raises Refused (submodule) for a nested repository without a commit.
    """
    found = against(layout, task, git, parent)
    if found.cut:
        commits.stage(git, parent)
        return found
    if found.gone:
        lines = [f"0 {'0' * len(parent)}\t{path}" for path in found.gone]
        git.run("update-index", "-z", "--index-info", stdin=packed(lines), seconds=LONG)
    paths = [*found.here, *found.untracked, *_also_tracked(layout, task, git, found)]
    update(git, paths)
    if found.nested:
        _add_nested(git, found.nested)
    if found.links:
        update(git, found.links)
    if found.links or ".gitmodules" in (*found.here, *found.untracked):
        commits.take_links(git, _own_links(layout, task, git, found))
    return found


def update(git: GitDir, paths: Iterable[str]) -> None:
    """Take the paths into git's index as they are in its tree.  Raises GitFailed for a name that git does not allow."""
    if not paths:
        return
    done = git.run(
        *("update-index", "-z", "--add", "--remove", "--replace", "--stdin"), stdin=packed(tuple(paths)), seconds=LONG
    )
    if b"Ignoring path" in done.err:
        raise GitFailed(["git", "update-index"], 128, done.error)


def _add_nested(git: GitDir, folders: tuple[str, ...]) -> None:
    try:
        git.run("--literal-pathspecs", "add", "--", *folders, seconds=LONG)
    except GitFailed as fault:
        if (known := commits.no_commit(fault)) is None:
            raise
        raise known from fault


def their_index(layout: Layout, task: Task, copy: Path) -> bool:
    """Copy the index of the private repository, when it is a plain file of reasonable size, to ``copy``."""
    data = looking.read(layout.tree(task), ".git/index", INDEX_BYTES)
    if data is not None:
        copy.write_bytes(data)
    return data is not None


def listed(layout: Layout, task: Task, git: GitDir) -> list[str]:
    """What the task's own index tracks; nothing where it is not an index."""
    copy = (git.index or Path()).with_name("theirs")
    if not their_index(layout, task, copy):
        return []
    try:
        return names(git.with_tree(git.work_tree or Path(), copy).run("ls-files", "-z").out)
    except GitFailed:
        return []


def _also_tracked(layout: Layout, task: Task, git: GitDir, found: Standing) -> list[str]:
    if not found.ignored:
        return []
    theirs = set(listed(layout, task, git))
    return [path for path in found.ignored if path in theirs]


def _own_links(layout: Layout, task: Task, git: GitDir, found: Standing) -> dict[str, str]:
    """Submodules whose commit was set in the task's own index alone: their folder is there, and was never filled."""
    copy = (git.index or Path()).with_name("theirs")
    if not their_index(layout, task, copy):
        return {}
    try:
        theirs = commits.gitlinks(git.with_tree(git.work_tree or Path(), copy))
    except GitFailed:
        return {}
    before = commits.gitlinks(git)
    return {
        path: oid
        for path, oid in theirs.items()
        if before.get(path) != oid and _is_empty(layout.tree(task), path, below=path in found.links and path in before)
    }


def _is_empty(tree: Path, path: str, *, below: bool) -> bool:
    """Whether an empty folder stands there; ``below`` says that one does in the layers under the task's own."""
    with suppress(OSError), looking.folder(tree, path) as at:
        return not os.listdir(at)  # noqa: PTH208 - a descriptor has no path
    return below and looking.facts(tree, path) is None


def refuse_locked(layout: Layout, task: Task) -> None:
    """Refuse (locked) while a git command of the task has its index locked."""
    facts = looking.facts(layout.tree(task), ".git/index.lock")
    if facts is None:
        return
    lock = layout.repository(task) / "index.lock"
    raise refused(
        "locked",
        f"The task's index is locked by {lock}.",
        "A lock may belong to a command that still writes, so it is removed only on request.",
        f"Look at the task, then remove it: rm {lock}",
    )
