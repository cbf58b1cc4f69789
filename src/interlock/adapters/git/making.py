"""The making of one worktree in steps that can be taken again after a kill, and its complete undoing on failure."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from interlock.adapters.git import admin, intents, locks, names_free, objects, settings
from interlock.adapters.git.admin import Admin
from interlock.adapters.git.discover import BRANCHES, Found
from interlock.adapters.git.errors import GitFailed
from interlock.adapters.git.index_lock import lock_of
from interlock.adapters.git.intents import Intent
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.plumbing import GitDir
from interlock.adapters.git.trees import check_out, remove_folder
from interlock.core.gate.changes import SUBMODULE
from interlock.core.problems import InterlockError, refused


def lock_path(found: Found) -> Path:
    """The lock around registrations: git's own adds, read while another one is half done, fail (facts/isolation §1.4)."""
    return found.state / "worktrees.lock"


def make(mirror: Mirror, intent: Intent, own: int) -> None:
    """Bring the tree to where the intent says, from wherever a killed call left it.

    ``own`` is the descriptor of the job's lock, which git commands keep should we die.  Undoes everything when a
    first creation fails.
    """
    found = mirror.found
    begun = intents.read(found, intent.job) == intent
    try:
        refuse_submodules(mirror, intent.commit)
        with locks.held(lock_path(found), what="A worktree is being registered") as shared:
            git = found.git().holding(own, shared)
            refs = git.refs(BRANCHES, "refs/remotes/")
            if not begun:
                names_free.check_local(found, intent.slug, Path(intent.path), refs)
                intent = replace(intent, before=tuple(admin.names(found)))
                intents.write(found, intent)
                begun = True
            _bring_commit(mirror, intent, list(dict.fromkeys(refs.values())))
            tree_admin = _register(found, git, intent, refs.get(f"{BRANCHES}{intent.branch}"))
        _fill(mirror, intent, tree_admin, own)
        settings.ignore_in(found)
    except InterlockError as fault:
        if begun and intent.fresh:
            undo(found, intent, fault)
        raise


def finished(found: Found, intent: Intent) -> Intent:
    """The intent as it stands on disk, which is the one that was made."""
    return intents.read(found, intent.job) or intent


def again(found: Found, intent: Intent) -> Intent:
    """The intent to make a folder again that is gone: from its branch as it stands.  Raises Refused without a branch."""
    ref = f"{BRANCHES}{intent.branch}"
    tip = found.git().refs(ref).get(ref)
    if tip is None:
        raise refused(
            "workspace-missing",
            f"The folder {intent.path} is gone, and so is its branch {intent.branch}.",
            "There is nothing left to make it from, and another branch is never taken instead.",
            f"Find the commit (git -C {found.top} reflog, refs/interlock/kept/) and make the branch again.",
        )
    intent = replace(intent, commit=tip, fresh=False, state="making")
    intents.write(found, intent)
    return intent


def undo(found: Found, intent: Intent, fault: InterlockError) -> None:
    """Take away what a failed first creation made, and nothing else: a branch only where it stands on the base."""
    with locks.held(lock_path(found), what="A worktree is being registered"):
        path = Path(intent.path)
        tree_admin = admin.find(found, path)
        if tree_admin:
            if path.is_dir():
                remove_folder(path)
            shutil.rmtree(tree_admin.folder)
        _drop_half_made(found, intent)
        git = found.git()
        ref = f"{BRANCHES}{intent.branch}"
        somebody_else = isinstance(fault, GitFailed) and "already exists" in fault.text and tree_admin is None
        if git.refs(ref).get(ref) == intent.commit and not somebody_else:
            with suppress(GitFailed):
                git.run("update-ref", "-d", ref, intent.commit)
        intents.forget(found, intent.job)
        with suppress(OSError):
            path.parent.rmdir()  # the root of all tasks, only while it is empty


def _bring_commit(mirror: Mirror, intent: Intent, refs: list[str]) -> None:
    """Have the commit whole on both sides: in the user's repository for the branch, in the mirror for the files.

    ``refs`` are commits that the user's repository has branches at.
    """
    user = mirror.found.git()
    store = mirror.found.common_dir / "objects"
    if not intent.fresh:
        if not objects.present(mirror.git, [intent.commit]):
            objects.fetch_local(mirror.git, store, [intent.commit], [intent.base])
        return
    if intent.commit not in refs and not objects.complete(user, [intent.commit], refs):
        objects.send_local(mirror.git, store, [intent.commit], objects.present(mirror.git, refs))


def _register(found: Found, git: GitDir, intent: Intent, tip: str | None) -> Admin:
    """The registration of the tree with its branch, made now or found whole; what is half made is made again.

    ``tip`` is where the branch stands now, None when there is none.
    """
    path = Path(intent.path)
    ref = f"{BRANCHES}{intent.branch}"
    _drop_half_made(found, intent)
    if tip not in (None, intent.commit):
        raise refused(
            "name-taken",
            f"The branch {intent.branch} stands at {tip[:12]} and not at {intent.commit[:12]}.",
            "It holds work that this job did not do.",
            "Rename the branch, or dispatch another slug.",
            holders=(intent.branch,),
        )
    tree_admin = admin.find(found, path)
    if tree_admin and _is_whole(tree_admin, ref):
        link(tree_admin, path)
        return tree_admin
    if tree_admin:
        _take_down(tree_admin, path)
    if path.is_dir() and any(path.iterdir()):
        raise refused(
            "name-taken",
            f"The folder {path} exists and is no worktree of this repository.",
            "What is in it is kept nowhere else, so it is not written over.",
            "Move it away, then run the command again.",
        )
    new = ["--no-track", "-b", intent.branch, str(path), intent.commit]
    args = new if tip is None else [str(path), intent.branch]
    done = git.run("worktree", "add", "--no-checkout", *args, ok=range(256), seconds=300)
    # Decided by what is there, not by the exit code: a hook may fail although all is done (case GE-04).
    tree_admin = admin.find(found, path)
    if tree_admin is None or not _is_whole(tree_admin, ref) or _tip(found, git, ref) != intent.commit:
        raise GitFailed(["git", "worktree", "add"], done.code, done.error)
    return tree_admin


def _tip(found: Found, git: GitDir, ref: str) -> str | None:
    """Where a branch stands: from its own file, which one that was just made has, else as git says."""
    with suppress(OSError):
        return (found.common_dir / ref).read_text().strip()
    return git.refs(ref).get(ref)


def _is_whole(tree_admin: Admin, ref: str) -> bool:
    return tree_admin.head() == ref and (tree_admin.folder / "commondir").is_file()


def link(tree_admin: Admin, path: Path) -> None:
    """Let the folder point at its registration, as git does, and take away what a killed git left."""
    path.mkdir(parents=True, exist_ok=True)
    gitfile = path / ".git"
    line = f"gitdir: {tree_admin.folder}\n"
    if not gitfile.is_file() or gitfile.read_text(errors="replace") != line:
        gitfile.write_text(line)
    with suppress(FileNotFoundError):
        if (tree_admin.folder / "locked").read_text().strip() == "initializing":
            (tree_admin.folder / "locked").unlink()
    lock_of(tree_admin.index).unlink(missing_ok=True)


def _take_down(tree_admin: Admin, path: Path) -> None:
    """Remove a registration that a killed git left in pieces; its folder holds no more than the link."""
    with suppress(FileNotFoundError):
        (path / ".git").unlink()
        path.rmdir()
    shutil.rmtree(tree_admin.folder)


def _drop_half_made(found: Found, intent: Intent) -> None:
    """Remove registrations without a tree that a killed add of this job left, told by their name and their novelty."""
    mine = re.compile(rf"{re.escape(Path(intent.path).name)}\d*")
    for name in admin.names(found):
        folder = found.common_dir / "worktrees" / name
        if mine.fullmatch(name) and name not in intent.before and admin.tree_of(folder) is None:
            shutil.rmtree(folder)


def _fill(mirror: Mirror, intent: Intent, tree_admin: Admin, own: int) -> None:
    """Write the files of the commit, by the mirror's settings, over whatever half is there."""
    lock_of(tree_admin.index).unlink(missing_ok=True)
    write_files(mirror, mirror.git.with_tree(Path(intent.path), tree_admin.index).holding(own), intent.commit)


def write_files(mirror: Mirror, git: GitDir, commit: str) -> None:
    """Write a commit's files into git's work tree.  Raises Refused (isolation-failed) where a required filter cannot run."""
    with naming_filters(mirror):
        check_out(git, commit)


@contextmanager
def naming_filters(mirror: Mirror) -> Iterator[None]:
    """Files are written within: a required filter that cannot run is refused by its name (isolation-failed)."""
    try:
        yield
    except GitFailed as fault:
        program = _failed_filter(mirror, fault.text)
        if program is None:
            raise
        raise refused(
            "isolation-failed",
            f"The filter {program} that this repository requires could not run: {fault.text.splitlines()[0]}",
            "Without it the task's files would not be the repository's files.",
            f"Install {program.split()[0]} and dispatch again, or renew the filter's setting in {mirror.path / 'config'}.",
        ) from fault


def _failed_filter(mirror: Mirror, text: str) -> str | None:
    """The program of the content filter that made a checkout fail, or None when it was something else."""
    named = re.search(r"smudge filter (\S+) failed|external filter '(.+?)' failed", text)
    if named is None:
        return None
    if named.group(2):
        return named.group(2)
    name = named.group(1)
    keys = (f"filter.{name}.process", f"filter.{name}.smudge")
    found = [mirror.git.run("config", "--get", key, ok=(0, 1)).text.strip() for key in keys]
    return next((program for program in found if program), name)


def refuse_submodules(mirror: Mirror, commit: str) -> None:
    """A submodule that the main checkout has filled would be an empty folder in the task (case WT-07)."""
    git = mirror.git
    found = mirror.found
    if not (found.common_dir / "modules").exists() and not (found.top / ".gitmodules").exists():
        return
    if git.run("cat-file", "-e", f"{commit}:.gitmodules", ok=(0, 1, 128)).code != 0:
        return
    entries = git.run("ls-tree", "-r", "-z", "--full-tree", commit).text.split("\0")
    links = [entry.partition("\t")[2] for entry in entries if entry.startswith(f"{SUBMODULE:o} ")]
    filled = [link for link in links if (mirror.found.top / link / ".git").exists()]
    if filled:
        raise refused(
            "isolation",
            f"The main checkout has files in the submodule {filled[0]}, and a task's tree would not.",
            "Trees of tasks are made without the files of submodules, so its tests would be missing.",
            "Use a repository without submodules, or empty it there: git submodule deinit PATH.",
            holders=tuple(filled),
        )
