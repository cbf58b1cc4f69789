"""A sealed task's tree made into one commit from outside, told by what it wrote; its own repository is only read as files."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from interlock.adapters.git import commits, locks, objects
from interlock.adapters.git.commits import Committing, temporary_index
from interlock.adapters.git.discover import BRANCHES
from interlock.adapters.git.errors import GitFailed
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.plumbing import GitDir, packed
from interlock.adapters.git.sealed import head, looking, objects_of, standing, view
from interlock.adapters.git.sealed.layout import Layout, Task
from interlock.adapters.git.trees import LONG
from interlock.core.problems import refused
from interlock.ports.repository import Work


def commit_work(layout: Layout, job: Committing) -> Work:
    """Commit a sealed task's whole tree from outside as one commit on parent, and move its branch there.

    The branch moves in the user's repository by compare-and-swap; the private one, and what was pushed to the
    mirror, follow.  Commits that the agent made stay reachable at ``keep``.  The same call again after a kill goes
    on.  Raises Refused (head-moved, locked, workspace-missing, submodule), SigningTimeout, GitFailed.
    """
    mirror, place = job.mirror, job.place
    task = view.registered(layout, place)
    with (
        locks.held(layout.lock(task.job), what=f"The tree of {task.slug} is in use"),
        temporary_index(mirror) as index,
    ):
        standing.refuse_locked(layout, task)
        own = _own_tip(layout, task, job)
        git = view.of(layout, task).git(mirror.git, index)
        found = standing.stage(layout, task, git, job.parent)
        tree = git.text("write-tree")
        ref = f"{BRANCHES}{place.branch}"
        tip = mirror.found.git().refs(ref).get(ref)
        commit = commits.commit_of(job, tree, tip or job.parent)
        _keep_own(layout, task, job, own, commit)
        _move_branch(job, ref, tip, commit)
        move_pushed(mirror, ref, commit, f"{job.keep}-pushed")
        written = None if found.cut else (*found.here, *found.untracked)
        settle(mirror, layout, task, Settled(commit=commit, written=written))
    return Work(commit=commit, tree=tree, empty=commit == job.parent)


def _own_tip(layout: Layout, task: Task, job: Committing) -> str:
    """The commit of the private branch, when HEAD is on it; else what HEAD holds is kept and the commit refused."""
    stands = head.of(layout, task)
    if stands.branch == task.branch and stands.oid:
        return stands.oid
    ref = f"{BRANCHES}{task.branch}"
    kept = [(job.keep, head.tip(layout, task, ref)), (f"{job.keep}-head", stands.oid)]
    safe = [name for name, oid in kept if oid and keep(job.mirror, layout, task, name, oid)]
    where = f"on {stands.branch or stands.oid or 'nothing'}"
    if stands.branch == task.branch:
        where = "on a branch that is gone"
    raise refused(
        "head-moved",
        f"HEAD of the task is {where}; it belongs on {task.branch}.",
        "Work is taken from the task's own branch only; a guess could take another task's.",
        f"The commits are kept at {', '.join(safe) or 'no ref, since there was none'}. "
        f"Put HEAD back inside the task: git switch {task.branch}",
    )


def keep(mirror: Mirror, layout: Layout, task: Task, ref: str, oid: str) -> bool:
    """Make a commit of the private repository reachable in the mirror and in the user's; False when it is not whole."""
    if not objects_of.take(mirror, layout, task, [oid]):
        return False
    user = mirror.found.git()
    if not objects.complete(user, [oid], objects.present(user, [task.base])):
        objects.send_local(mirror.git, mirror.found.common_dir / "objects", [oid], objects.present(user, [task.base]))
    for git in (mirror.git, user):
        before = git.refs(ref).get(ref)
        if before != oid:
            git.move(ref, oid, before, why="what the agent committed itself")
    return True


def _keep_own(layout: Layout, task: Task, job: Committing, own: str, commit: str) -> None:
    """Keep what the agent committed itself, unless that is part of what the branch holds anyway."""
    git = job.mirror.git
    if own in (job.parent, commit, task.base):
        return
    if objects.present(git, [own]) and _follows(git, own, commit):
        return
    keep(job.mirror, layout, task, job.keep, own)


def _follows(git: GitDir, old: str, new: str) -> bool:
    return git.run("merge-base", "--is-ancestor", old, new, ok=(0, 1, 128)).code == 0


def _move_branch(job: Committing, ref: str, tip: str | None, commit: str) -> None:
    """Move the branch in the user's repository; what else it stood on is kept beside what the agent committed."""
    if tip == commit:
        return
    user = job.mirror.found.git()
    if tip not in (None, job.parent):
        commits.keep(job, f"{job.keep}-branch", str(tip))
    haves = objects.present(user, [job.parent])
    objects.send_local(job.mirror.git, job.mirror.found.common_dir / "objects", [commit], haves)
    user.move(ref, commit, tip, why="one commit for the attempt")


def move_pushed(mirror: Mirror, ref: str, commit: str | None, keep: str) -> None:
    """Let what the agent pushed through its gate follow, so that its next push goes forward from the commit.

    None takes it away.  What no commit leads to is kept at ``keep``.
    """
    git = mirror.git
    pushed = git.refs(ref).get(ref)
    if pushed is None or pushed == commit:
        return
    if commit is None or not _follows(git, pushed, commit):
        git.move(keep, pushed, git.refs(keep).get(keep), why="what the agent pushed")
    if commit is None:
        git.run("update-ref", "-d", ref, pushed)
    else:
        git.move(ref, commit, pushed, why="one commit for the attempt")


# ------------------------------------------------------------ the private repository follows
@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Where the private branch is to stand; ``tree`` is what its index holds, with ``clashes`` beside it.

    ``carry`` is a commit that leads to everything in ``tree``.  Of the files only ``written`` ones (None: all) are
    looked at: the index has the times of the others already.
    """

    commit: str
    tree: str = ""
    carry: str = ""
    written: tuple[str, ...] | None = None
    clashes: tuple[tuple[str, str, str, str], ...] = ()


def settle(mirror: Mirror, layout: Layout, task: Task, wanted: Settled) -> None:
    """Move the private branch and index to a commit, as plain files.

    It is for the agent's convenience: where it made something else of its repository, that is left alone.
    """
    ref = f"{BRANCHES}{task.branch}"
    if head.says(layout, task) != ref:
        return
    if head.tip(layout, task, ref) == wanted.commit and not wanted.tree:
        return
    with suppress(OSError, GitFailed), temporary_index(mirror) as index:
        objects_of.give(mirror, layout, task, wanted.carry or wanted.commit)
        _fill(mirror, layout, task, wanted, index)
        # As index_lock.replace_index: a later time of the index would hide a change made since.
        looking.write(layout.tree(task), ".git/index", index.read_bytes(), moment=index.stat().st_mtime_ns)
        looking.write(layout.tree(task), f".git/{ref}", f"{wanted.commit}\n".encode())


def _fill(mirror: Mirror, layout: Layout, task: Task, wanted: Settled, index: Path) -> None:
    """An index of the commit that keeps the times which the agent's own one has, so that its git need not read again."""
    git = view.of(layout, task).git(mirror.git, index)
    tree = wanted.tree or wanted.commit
    standing.their_index(layout, task, index)
    try:
        git.run("read-tree", "--reset", tree, seconds=LONG)
    except GitFailed:
        index.unlink(missing_ok=True)
        git.run("read-tree", tree, seconds=LONG)
    if wanted.clashes:
        paths = dict.fromkeys(path for _, _, _, path in wanted.clashes)
        lines = [f"0 {'0' * len(wanted.commit)}\t{path}" for path in paths]
        lines += [f"{mode} {oid} {stage}\t{path}" for mode, oid, stage, path in wanted.clashes]
        git.run("update-index", "-z", "--index-info", stdin=packed(lines))
    if wanted.written is None:
        git.run("update-index", "-q", "--refresh", ok=(0, 1), seconds=LONG)
    else:
        clashing = {path for _, _, _, path in wanted.clashes}
        standing.update(git, [path for path in wanted.written if path not in clashing])
