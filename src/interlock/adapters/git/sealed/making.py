"""The making of one sealed task in steps that can be taken again after a kill, and its undoing on failure; bases are bases' work."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from interlock.adapters.git import intents, locks, names_free, objects
from interlock.adapters.git.discover import BRANCHES
from interlock.adapters.git.errors import GitFailed
from interlock.adapters.git.making import refuse_submodules, write_files
from interlock.adapters.git.sealed import bases, deltas, folders, owning, repository, store
from interlock.adapters.git.sealed.bases import Layer
from interlock.adapters.git.sealed.layout import Kit, Task
from interlock.adapters.git.trees import LONG, remove_folder
from interlock.core.problems import InterlockError, Refused, refused
from interlock.core.sandbox import Sandbox
from interlock.ports.isolation import Place, Room

_TRIES = 3

Fill = Callable[[Kit, Layer | None, str, Path], None]
"""Write the files of a commit into a folder that has its private repository, and the index there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A task to be made.  ``plain`` fills a folder of files (level snapshot); without it an overlay may be laid."""

    place: Place
    slug: str
    objects: str = store.INSIDE
    plain: Fill | None = None

    @property
    def ref(self) -> str:
        return f"{BRANCHES}{self.place.branch}"


def create(kit: Kit, wanted: Wanted) -> Task:
    """Make tree and branch at the base; heal a half-made one of this job; make a lost tree again from its branch.

    The same call after a kill at any point ends with the whole tree.  Raises Refused: name-taken, isolation,
    isolation-failed, sandbox (an installer failed), workspace-missing, locked; GitFailed.  After a failure of a
    first creation nothing is left.
    """
    layout, place = kit.layout, wanted.place
    with locks.held(layout.lock(place.job), what=f"The tree of {wanted.slug} is being made"):
        task = layout.read(place.job)
        if task and (task.branch, task.path) != (place.branch, str(place.path)):
            raise refused(
                "name-taken",
                f"Job {place.job} has a tree at {task.path} already.",
                "A job has one tree, and it does not move.",
                "Clean the job first.",
            )
        if task and task.state == "ready" and is_there(kit, task):
            return task
        if task and task.state == "ready" and kit.layout.tree(task).is_dir():
            folders.show(task)  # only the folder with the note is gone; the layer with the work is not
            return task
        if task is None or task.state == "removed":
            return _make(kit, wanted, place.base, begun=False, fresh=True)
        if task.state == "making":
            return _make(kit, wanted, _commit_of(kit, wanted, task), begun=True, fresh=task.fresh)
        return _make(kit, wanted, _tip(kit, wanted), begun=True, fresh=False)


def is_there(kit: Kit, task: Task) -> bool:
    """True when the tree and the folder that people see are where the record says."""
    path = Path(task.path)
    return path.is_dir() and not path.is_symlink() and kit.layout.tree(task).is_dir()


def _commit_of(kit: Kit, wanted: Wanted, task: Task) -> str:
    return task.base if task.fresh else _tip(kit, wanted)


def _tip(kit: Kit, wanted: Wanted) -> str:
    """Where the task's branch stands, from which a tree that is gone is made again.  Raises Refused without a branch."""
    tip = kit.mirror.found.git().refs(wanted.ref).get(wanted.ref)
    if tip is None:
        raise refused(
            "workspace-missing",
            f"The tree of {wanted.place.branch} is gone, and so is the branch.",
            "There is nothing left to make it from, and another branch is never taken instead.",
            f"Find the commit (git -C {kit.mirror.found.top} reflog, refs/interlock/kept/) and make the branch again.",
        )
    if not objects.present(kit.mirror.git, [tip]):
        source = kit.mirror.found.common_dir / "objects"
        objects.fetch_local(kit.mirror.git, source, [tip], [wanted.place.base])
    return tip


def _make(kit: Kit, wanted: Wanted, commit: str, *, begun: bool, fresh: bool) -> Task:
    place = wanted.place
    with _undone(kit, wanted, begun=begun, fresh=fresh) as undo:
        refuse_submodules(kit.mirror, commit)
        store.feed(kit.mirror, kit.layout, place.base)
        task, layer = _claim(kit, wanted, undo, fresh=fresh)
        _write(kit, wanted, task, layer, commit)
        _pin(kit, place)
        task = replace(task, state="ready", lower=task.lower if task.kind == "overlay" else ())
        kit.layout.write(task)
    return task


@dataclass(slots=True)
class _Undo:
    """How far a first creation came: whether a killed call began it, whether its record and its branch are down."""

    begun: bool
    recorded: bool
    branch: bool = False


@contextmanager
def _undone(kit: Kit, wanted: Wanted, *, begun: bool, fresh: bool) -> Iterator[_Undo]:
    """Take away what a failed first creation made, and nothing else: a branch only where it stands on the base."""
    undo = _Undo(begun=begun, recorded=begun)
    try:
        yield undo
    except (InterlockError, OSError):
        if undo.recorded and fresh:
            _take_back(kit, wanted, branch=undo.branch or (undo.begun and not _others(kit, wanted)))
        raise


def _take_back(kit: Kit, wanted: Wanted, *, branch: bool) -> None:
    place = wanted.place
    _clear(kit, wanted, strict=False)
    user = kit.mirror.found.git()
    if branch and user.refs(wanted.ref).get(wanted.ref) == place.base:
        with suppress(GitFailed):
            user.run("update-ref", "-d", wanted.ref, place.base)
    with suppress(GitFailed):
        kit.mirror.git.run("update-ref", "-d", pin_of(place.job))
    kit.layout.forget(place.job)
    with suppress(OSError):
        place.path.parent.rmdir()  # the root of all tasks, only while it is empty


def _claim(kit: Kit, wanted: Wanted, undo: _Undo, *, fresh: bool) -> tuple[Task, Layer | None]:
    """Take the names and the layers, written down before anything else; then no eviction takes the layers away."""
    place = wanted.place
    found = kit.mirror.found
    for _ in range(_TRIES):
        layer = bases.choose(kit, place.base)
        overlay = layer is not None and wanted.plain is None
        task = Task(
            job=place.job,
            slug=wanted.slug,
            branch=place.branch,
            base=place.base,
            path=str(place.path),
            kind="overlay" if overlay else "copy",
            lower=tuple(map(str, layer.lower)) if layer else (),
            fresh=fresh,
        )
        refs = found.git().refs(BRANCHES, "refs/remotes/")
        if not undo.begun:
            names_free.check_local(found, wanted.slug, place.path, refs)
        with bases.standing(kit.layout):
            if layer is not None and not all(folder.is_dir() for folder in layer.lower):
                continue
            kit.layout.write(task)
            undo.recorded = True
        if fresh:
            _branch(kit, wanted, refs, begun=undo.begun)
            undo.branch = True
        return task, layer
    raise evicted()


def evicted() -> Refused:
    """The refusal for a warm base that went away each time it was chosen."""
    return refused(
        "locked", "The warm base went away while it was chosen.", "It was evicted meanwhile.", "Run the command again."
    )


def _others(kit: Kit, wanted: Wanted) -> list[str]:
    """Other jobs that have the same names on record."""
    place = wanted.place
    sealed = [task for task in kit.layout.every() if task.state != "removed"]
    jobs = [task.job for task in sealed if task.branch == place.branch or task.path == str(place.path)]
    jobs += [intent.job for intent in intents.of_path(kit.mirror.found, place.path)]
    return [job for job in jobs if job != place.job]


def _taken(place: Place, jobs: list[str]) -> Refused:
    return refused(
        "name-taken",
        f"The branch {place.branch} and the folder {place.path} belong to job {jobs[0]}.",
        "A task gets a branch and a folder of its own, never somebody else's.",
        "Clean that job, or choose another slug.",
        holders=tuple(f"job {job}" for job in jobs),
    )


def _branch(kit: Kit, wanted: Wanted, refs: dict[str, str], *, begun: bool) -> None:
    """The task's branch in the user's repository at the base, made now or by a killed call of the same job."""
    place = wanted.place
    user = kit.mirror.found.git()
    tip = refs.get(wanted.ref)
    others = _others(kit, wanted) if begun and tip else []
    if others:
        raise _taken(place, others)
    if tip == place.base and begun:
        return
    if tip is not None:
        raise refused(
            "name-taken",
            f"The branch {place.branch} stands at {tip[:12]}.",
            "It may hold work that this job did not do.",
            "Rename the branch, or dispatch another slug.",
            holders=(place.branch,),
        )
    known = list(dict.fromkeys(refs.values()))
    if place.base not in known and not objects.complete(user, [place.base], known):
        haves = objects.present(kit.mirror.git, known)
        objects.send_local(kit.mirror.git, kit.mirror.found.common_dir / "objects", [place.base], haves)
    try:
        user.move(wanted.ref, place.base, None, why="a task's branch")
    except GitFailed as fault:
        if wanted.ref not in user.refs(wanted.ref):
            raise
        raise _taken(place, _others(kit, wanted) or ["unknown"]) from fault


def _clear(kit: Kit, wanted: Wanted, *, strict: bool = True) -> None:
    """Remove what a killed or failed call of this job left: its own folder, and in the tasks' root what bears its mark."""
    path = wanted.place.path
    remove_folder(kit.layout.task(wanted.place.job))
    remove_folder(folders.beside(path, wanted.place.job))
    if os.path.lexists(path):
        if folders.is_ours(path, wanted.place.job):
            remove_folder(path)
        elif strict:
            raise folders.in_the_way(path)


def _write(kit: Kit, wanted: Wanted, task: Task, layer: Layer | None, commit: str) -> None:
    """The task's files: all of them in a folder, or an upper layer with no more than the private repository."""
    place = wanted.place
    _clear(kit, wanted)
    home = kit.layout.home(task.job)
    home.mkdir(parents=True)
    exclude = layer.base.exclude() if layer else b""
    private = repository.Private(
        commit=commit, objects=wanted.objects, branch=place.branch, slug=wanted.slug, exclude=exclude
    )
    if task.kind == "overlay" and layer is not None:
        upper = kit.layout.upper(task.job)
        Path(kit.layout.layers(task).work).mkdir()
        _repository(kit, upper / ".git", private, place)
        shutil.copyfile(layer.index, upper / ".git" / "index")
        owning.give(kit.layout.task(task.job))
        if commit != place.base:
            most = deltas.MOST * 50
            deltas.fill(kit.mirror, (place.base, commit), upper / ".git" / "index", upper, layer.lower, most)
            owning.give(upper / ".git")
        folders.show(task)
    else:
        beside = folders.beside(place.path, place.job)
        _repository(kit, beside / ".git", private, place)
        folders.mark(beside).write_text(place.job)
        (wanted.plain or checked_out)(kit, layer, commit, beside)
        owning.give(kit.layout.task(task.job))
        folders.name(beside, place.path)


def _repository(kit: Kit, git_dir: Path, private: repository.Private, place: Place) -> None:
    repository.write(kit.mirror, git_dir, private)
    if private.commit != place.base:
        objects.send_local(kit.mirror.git, git_dir / "objects", [private.commit], [place.base])


def checked_out(kit: Kit, layer: Layer | None, commit: str, folder: Path) -> None:
    """Fill a folder by checking the commit out, by the mirror's settings, and make it the agent's."""
    del layer
    git = kit.mirror.git.with_tree(folder, folder / ".git" / "index")
    write_files(kit.mirror, git, commit)
    if owning.agent() is not None:
        owning.give(folder)
        git.run("update-index", "-q", "--refresh", ok=(0, 1), seconds=LONG)
        owning.give(folder / ".git")


def pin_of(job: str) -> str:
    """The ref of the mirror that keeps a task's base."""
    return f"refs/interlock/bases/{job}"


def _pin(kit: Kit, place: Place) -> None:
    kit.mirror.git.run("update-ref", pin_of(place.job), place.base)


def room(kit: Kit, place: Place) -> Room:
    """Where a task's commands run: its tree behind walls, without network.  Raises Refused (workspace-missing)."""
    layout = kit.layout
    task = layout.read(place.job)
    if task is None or task.state != "ready" or not is_there(kit, task):
        raise missing(place)
    sandbox = Sandbox(
        home=str(layout.home(task.job)),
        tree=task.path if task.kind == "copy" else "",
        layers=layout.layers(task) if task.kind == "overlay" else None,
        binds=(store.bind(layout),),
        user=owning.agent(),
    )
    return Room(path=place.path, written=layout.tree(task), sandbox=sandbox)


def missing(place: Place) -> Refused:
    """The refusal for a task whose tree is not there."""
    return refused(
        "workspace-missing",
        f"The tree of {place.branch} is gone: {place.path}.",
        "The harness never works in another tree instead.",
        f"interlock resume makes the tree again from {place.branch}; work that was not committed is lost.",
    )
