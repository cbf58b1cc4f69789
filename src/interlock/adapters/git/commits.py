"""A task's tree made into one commit from outside, by the mirror's settings; judging the commit is the gates' work."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from interlock.adapters.git import admin, index_lock, objects
from interlock.adapters.git.admin import Admin
from interlock.adapters.git.discover import BRANCHES
from interlock.adapters.git.errors import GitFailed, SigningTimeout
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.plumbing import EMAIL, GitDir, config_value, names, packed
from interlock.core.gate.changes import SUBMODULE
from interlock.core.problems import Refused, refused
from interlock.ports.isolation import Place
from interlock.ports.repository import Author, Work

_LONG: Final = 600.0
SIGNING: Final = 30.0


@contextmanager
def temporary_index(mirror: Mirror) -> Iterator[Path]:
    """A path for an index of our own, taken away afterwards."""
    parent = mirror.path / "tmp"
    parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="index-", dir=parent) as folder:
        yield Path(folder) / "index"


def stage(git: GitDir, parent: str, theirs: Path | None = None) -> None:
    """Fill git's index with what its work tree holds: all tracked by parent, and all else that is not ignored.

    ``theirs`` is the task's own index: what the agent chose to track although it is ignored counts as tracked.
    Submodules and nested repositories become their commit, and git is never run inside them: their settings
    are the agent's.  A submodule that was never filled and now holds files is a folder in its place.
    """
    git.run("read-tree", parent, seconds=_LONG)
    links = gitlinks(git)
    folders = {path: oid for path, oid in links.items() if _is_folder(git, path)}
    if folders:
        gone = [f"0 {'0' * len(oid)}\t{path}" for path, oid in folders.items()]
        git.run("update-index", "-z", "--index-info", stdin=packed(gone))
        links = {path: oid for path, oid in links.items() if path not in folders}
    try:
        git.run("add", "-A", "--", ".", *(f":(exclude,literal){path}" for path in links), seconds=_LONG)
    except GitFailed as fault:
        if (known := no_commit(fault)) is None:
            raise
        raise known from fault
    if links:
        git.run("update-index", "-z", "--add", "--remove", "--replace", "--stdin", stdin=packed(list(links)))
    if folders:
        restore_links(git, folders)
    if theirs is not None and theirs.is_file():
        _also_tracked(git, theirs)


def no_commit(fault: GitFailed) -> Refused | None:
    """The refusal for a nested repository that git cannot add; None when the failure is another one."""
    if "does not have a commit checked out" not in fault.text:
        return None
    return refused(
        "submodule",
        f"The task holds a repository of its own that has no commit ({fault.text.splitlines()[0]}).",
        "Its files would neither be committed nor shown.",
        "Remove the .git folder in it, or the whole folder.",
    )


def gitlinks(git: GitDir) -> dict[str, str]:
    """Submodules in git's index, with their commits; one that is not merged is none."""
    mode = f"{SUBMODULE:o} "
    entries = (entry.partition("\t") for entry in names(git.run("ls-files", "-z", "--stage").out))
    return {path: meta.split(" ")[1] for meta, _, path in entries if meta.startswith(mode) and meta.endswith(" 0")}


def _is_folder(git: GitDir, path: str) -> bool:
    """Whether a submodule's folder holds files and no repository."""
    full = (git.work_tree or Path()) / path
    return _stands(full, path) and not os.path.lexists(full / ".git") and any(full.iterdir())


def _stands(full: Path, path: str) -> bool:
    """True for a folder that is really at that path, not behind a link."""
    return full.is_dir() and os.path.realpath(full).endswith(f"/{path}") and not full.is_symlink()


def restore_links(git: GitDir, links: Mapping[str, str]) -> None:
    """Put submodules back into git's index below which nothing was found that counts."""
    tracked = names(git.run("ls-files", "-z", "--", *(f":(literal,top){path}" for path in links)).out)
    held = {path for path in links if any(each.startswith(f"{path}/") for each in tracked)}
    take_links(git, {path: oid for path, oid in links.items() if path not in held})


def take_links(git: GitDir, links: Mapping[str, str]) -> None:
    """Take submodules into git's index with these commits."""
    if links:
        lines = [f"{SUBMODULE:o} {oid} 0\t{path}" for path, oid in links.items()]
        git.run("update-index", "-z", "--index-info", stdin=packed(lines))


def _also_tracked(git: GitDir, theirs: Path) -> None:
    """Add what stands in another index and on disk, but not in this one; and a submodule's commit that was set there alone."""
    copy = git.index.with_name("theirs") if git.index else theirs
    shutil.copyfile(theirs, copy)
    mine = set(names(git.run("ls-files", "-z").out))
    tree = git.work_tree or Path()
    own = GitDir.with_tree(git, tree, copy)
    listed = names(own.run("ls-files", "-z").out)
    if ".gitmodules" in listed:
        before = gitlinks(git)
        moved = {path: oid for path, oid in gitlinks(own).items() if before.get(path) != oid}
        take_links(git, {path: oid for path, oid in moved.items() if _is_empty(tree / path, path)})
    extra = [path for path in dict.fromkeys(listed) if path not in mine and is_file(tree, path)]
    if extra:
        git.run("update-index", "-z", "--add", "--replace", "--stdin", stdin=packed(extra))


def _is_empty(full: Path, path: str) -> bool:
    """Whether an empty folder stands there, as that of a submodule which was never filled."""
    return _stands(full, path) and not any(full.iterdir())


def is_file(tree: Path, path: str) -> bool:
    """True for a file or link that is really at that path, not behind a link."""
    full = tree / path
    return (full.is_symlink() or full.is_file()) and os.path.realpath(full.parent) == str(
        Path(os.path.realpath(tree)) / Path(path).parent
    )


def commit_tree(
    git: GitDir,
    tree: str,
    parents: list[str],
    message: str,
    author: Author | None = None,
    *,
    sign: bool = False,
    seconds: float = SIGNING,
) -> str:
    """A commit object, committed by Interlock.  Raises SigningTimeout when the signing program does not answer."""
    args = ["commit-tree", "-F", "-", *(part for parent in parents for part in ("-p", parent))]
    if sign:
        args.append(f"-S{config_value(git, 'user.signingkey') or config_value(git, 'user.email') or EMAIL}")
    env = {"GIT_AUTHOR_NAME": author.name, "GIT_AUTHOR_EMAIL": author.email} if author else {}
    text = message.encode("utf-8", "surrogateescape")
    try:
        done = git.run(*args, tree, stdin=text, env=env, seconds=seconds if sign else 60.0)
    except GitFailed as fault:
        if sign and fault.returncode is None:
            raise SigningTimeout(seconds) from fault
        raise
    return done.text.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Committing:
    """One commit to make of a task's tree; see ports.Repo.commit_work."""

    mirror: Mirror
    place: Place
    parent: str
    message: str
    author: Author
    sign: bool
    keep: str
    wait: float = index_lock.WAIT
    signing: float = SIGNING


def commit_work(job: Committing) -> Work:
    """Commit a task's whole tree from outside as one commit on parent, and move its branch and index there.

    The same call again after a kill finds its commit and goes on.  Raises Refused (head-moved, locked,
    workspace-missing), SigningTimeout, GitFailed.
    """
    found = job.mirror.found
    place = job.place
    tree_admin = admin.registered(found, place)
    with index_lock.index_lock(tree_admin.index, wait=job.wait), temporary_index(job.mirror) as index:
        tip = _branch_tip(job, tree_admin)
        git = job.mirror.git.with_tree(place.path, index)
        stage(git, job.parent, tree_admin.index)
        tree = git.text("write-tree")
        commit = commit_of(job, tree, tip)
        if tip not in (job.parent, commit):
            keep(job, job.keep, tip)
        if tip != commit:
            objects.send_local(job.mirror.git, found.common_dir / "objects", [commit], [job.parent])
            found.git().move(f"{BRANCHES}{place.branch}", commit, tip, why="one commit for the attempt")
        git.run("update-index", "-q", "--refresh", ok=(0, 1), seconds=_LONG)
        index_lock.replace_index(tree_admin.index, index)
    return Work(commit=commit, tree=tree, empty=commit == job.parent)


def _branch_tip(job: Committing, tree_admin: Admin) -> str:
    """The commit of the task's branch, when HEAD is on it; else what HEAD holds is kept and the commit refused."""
    found = job.mirror.found
    says = tree_admin.head()
    ref = f"{BRANCHES}{job.place.branch}"
    tip = found.git().refs(ref).get(ref)
    if says == ref and tip:
        return tip
    kept = [(job.keep, tip), (f"{job.keep}-head", admin.head_of(found, job.place).oid)]
    for name, oid in kept:
        if oid:
            keep(job, name, oid)
    stands = "on a branch that is gone" if says == ref else f"on {says.removeprefix(BRANCHES) or 'nothing'}"
    safe = ", ".join(name for name, oid in kept if oid) or "no ref, since there was none"
    raise refused(
        "head-moved",
        f"HEAD of the task is {stands}; it belongs on {job.place.branch}.",
        "Work is taken from the task's own branch only; a guess could take another task's.",
        f"The commits are kept at {safe}. Put HEAD back: git -C {job.place.path} switch {job.place.branch}",
    )


def keep(job: Committing, ref: str, oid: str) -> None:
    """Make a commit of the agent reachable in the user's repository, where its objects are."""
    git = job.mirror.found.git()
    before = git.refs(ref).get(ref)
    if before != oid:
        git.move(ref, oid, before, why="what the agent committed itself")


def commit_of(job: Committing, tree: str, tip: str) -> str:
    """The commit for this tree: the parent itself when nothing changed, the one made before a kill, or a new one."""
    git = job.mirror.git
    if tree == git.text("rev-parse", f"{job.parent}^{{tree}}"):
        return job.parent
    if tip != job.parent and _is_ours(job, tree, tip):
        return tip
    return commit_tree(git, tree, [job.parent], job.message, job.author, sign=job.sign, seconds=job.signing)


def _is_ours(job: Committing, tree: str, tip: str) -> bool:
    """True when the branch already stands on the commit that this call would make, left by a killed one."""
    if not objects.present(job.mirror.git, [tip]):
        return False
    text = job.mirror.git.run("cat-file", "commit", tip).text
    head, _, message = text.partition("\n\n")
    lines = head.splitlines()
    committed = next((line for line in lines if line.startswith("committer ")), "")
    return (
        lines[:2] == [f"tree {tree}", f"parent {job.parent}"]
        and not lines[2].startswith("parent ")
        and f" <{EMAIL}> " in committed
        and message.rstrip("\n") == job.message.rstrip("\n")
    )
