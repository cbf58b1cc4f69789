"""Everything of a sealed task kept as one commit at a ref before it is taken away; what is in its layers stays there."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from interlock.adapters.git import objects
from interlock.adapters.git import snapshot as plain
from interlock.adapters.git.commits import temporary_index
from interlock.adapters.git.discover import BRANCHES
from interlock.adapters.git.errors import GitFailed
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.plumbing import GitDir, names, packed
from interlock.adapters.git.sealed import head, objects_of, standing, view
from interlock.adapters.git.sealed.layout import Layout, Task
from interlock.adapters.git.sealed.standing import Standing
from interlock.adapters.git.snapshot import LIMIT, Kept, Picture
from interlock.adapters.git.trees import LONG
from interlock.core.gate.changes import EXACT
from interlock.ports.isolation import Place, SnapshotTaken

_ONE_BY_ONE: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A picture of a task, with the commits that its own repository remembers and those that are not whole."""

    picture: Picture
    extras: tuple[str, ...]
    incomplete: tuple[str, ...]


def snapshot(
    mirror: Mirror, layout: Layout, task: Task, place: Place, ref: str, *, limit: int = LIMIT
) -> SnapshotTaken:
    """Keep tracked, untracked and (up to ``limit`` bytes) ignored files that the task wrote, unchanged by any filter.

    As snapshot.snapshot: the commits of the private repository, its HEAD and what is staged in it are kept as
    well, as far as they can be read.  Raises Refused (workspace-missing), GitFailed.
    """
    view.registered(layout, place)
    taken = take(mirror, layout, task, limit=limit)
    commit = plain.commit_picture(mirror.git, mirror.git.refs(ref).get(ref), taken.picture, taken.extras)
    plain.publish(mirror, ref, commit, task.base)
    return plain.told(ref, commit, taken.picture, taken.extras, taken.incomplete)


def take(mirror: Mirror, layout: Layout, task: Task, *, limit: int = LIMIT) -> Taken:
    """Look at a task and write what is in it as objects of the mirror; no ref is made."""
    tip = _tip(mirror, task)
    with objects_of.copied(mirror, layout, task) as source, temporary_index(mirror) as index:
        reading = mirror.git.also_reading(source)
        stands = head.of(layout, task)
        known = objects_of.bring(mirror, source, [stands.oid] if stands.oid else [], [task.base])
        at = known[0] if known else tip
        kept = Kept(
            branch=task.branch,
            tip=tip,
            head=at,
            detached=stands.branch != task.branch,
            index=_staged(layout, task, reading, at, index.with_name("theirs")),
        )
        kept, extras, incomplete = _remembered(mirror, layout, task, source, kept)
        return Taken(picture=_picture(mirror, layout, task, kept, index, limit), extras=extras, incomplete=incomplete)


def _tip(mirror: Mirror, task: Task) -> str:
    """Where the branch stands in the user's repository, brought into the mirror; the base where there is none."""
    ref = f"{BRANCHES}{task.branch}"
    tip = mirror.found.git().refs(ref).get(ref) or task.base
    if not objects.present(mirror.git, [tip]):
        objects.fetch_local(mirror.git, mirror.found.common_dir / "objects", [tip], [task.base])
    return tip


def _staged(layout: Layout, task: Task, reading: GitDir, at: str, copy: Path) -> str | None:
    """The tree of what is staged in the private index; None when that is the commit at HEAD, or no index can be read."""
    with suppress(GitFailed):
        if standing.their_index(layout, task, copy):
            return plain.staged_tree(reading, copy, at)
    return None


def _remembered(
    mirror: Mirror, layout: Layout, task: Task, source: Path, kept: Kept
) -> tuple[Kept, tuple[str, ...], tuple[str, ...]]:
    """The commits beside the branch that the private repository remembers, brought into the mirror one by one."""
    reading = mirror.git.also_reading(source)
    named = head.remembered(layout, task)
    try:
        extras, incomplete = plain.extras_of(reading, named, kept, task.base)
    except GitFailed:  # objects that say something else than their names
        extras, incomplete = objects.present(reading, named)[:_ONE_BY_ONE], []
    whole = objects_of.bring(mirror, source, extras, [task.base])
    lost = [f"commit {oid}" for oid in extras if oid not in whole]
    if kept.index and not _has_tree(mirror.git, kept.index):
        kept = Kept(**{**asdict(kept), "index": None})
    return kept, tuple(whole), (*incomplete, *lost)


def _has_tree(git: GitDir, tree: str) -> bool:
    return git.run("rev-list", "--objects", "--quiet", tree, ok=(0, 1, 128), seconds=LONG).code == 0


def _picture(mirror: Mirror, layout: Layout, task: Task, kept: Kept, index: Path, limit: int) -> Picture:
    seen = view.of(layout, task)
    git = seen.git(mirror.git, index)
    found = standing.against(layout, task, git, kept.head)
    modified = _modified(git, kept.head, found)
    tree = layout.tree(task)
    ignored, large = plain.bounded(tree, found.ignored, limit)
    nested = [f"{path}/" for path in (*found.nested, *found.ignored_nested)]
    real = [path for path in modified if path in set(found.here)]
    gone = [path for path in modified if path in set(found.gone)]
    raw = seen.git(mirror.raw, index.with_name("raw"))
    return Picture(
        kept=kept,
        tree=plain.overlaid(raw, kept.head, [*real, *found.untracked, *ignored], gone),
        modified=tuple(modified),
        untracked=found.untracked,
        ignored=tuple(ignored),
        left_out=(*found.filled, *large, *nested, *(["more than could be looked at"] if found.cut else [])),
    )


def _modified(git: GitDir, at: str, found: Standing) -> list[str]:
    """Tracked paths that differ from a commit, which git's index holds."""
    if found.gone:
        lines = [f"0 {'0' * len(at)}\t{path}" for path in found.gone]
        git.run("update-index", "-z", "--index-info", stdin=packed(lines), seconds=LONG)
    standing.update(git, found.here)
    return names(git.run("diff-index", "--cached", *EXACT, "--name-only", at, seconds=LONG).out)
