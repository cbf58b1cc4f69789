"""Whether a sealed task's tree is exactly a commit, and what lies in it beside what it tracks; making commits is work's."""

from __future__ import annotations

from dataclasses import dataclass

from interlock.adapters.git.commits import temporary_index
from interlock.adapters.git.discover import BRANCHES
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.sealed import standing, view
from interlock.adapters.git.sealed.layout import Layout
from interlock.adapters.git.sealed.standing import Standing
from interlock.adapters.git.trees import LONG
from interlock.core.contract.paths import decider, parse
from interlock.core.gate.changes import EXACT
from interlock.ports.isolation import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Equal:
    """What is asked: the commit, the paths that may lie beside it, and patterns of caches that may."""

    commit: str
    known: frozenset[str]
    caches: tuple[str, ...]


def equals_commit(mirror: Mirror, layout: Layout, place: Place, asked: Equal) -> bool:
    """True when the tree holds exactly the commit, and beside it only what may lie there.

    Every file that the task wrote is hashed; what its layers had before it began is not looked at again.
    """
    task = view.registered(layout, place)
    with temporary_index(mirror) as index:
        git = view.of(layout, task).git(mirror.git, index)
        found = standing.against(layout, task, git, asked.commit)
        if found.cut or found.gone or found.filled:
            return False
        standing.update(git, found.here)
        if git.run("diff-index", "--cached", *EXACT, "--name-only", asked.commit, seconds=LONG).out:
            return False
    patterns = [parse(cache) for cache in asked.caches]
    return all(path in asked.known or decider(patterns, path.rstrip("/")) is not None for path in beside(found))


def extra_files(mirror: Mirror, layout: Layout, place: Place) -> tuple[str, ...]:
    """Untracked and ignored paths that the task wrote, each file by itself; a nested repository ends with a slash."""
    task = view.registered(layout, place)
    ref = f"{BRANCHES}{task.branch}"
    tip = mirror.found.git().refs(ref).get(ref) or task.base
    with temporary_index(mirror) as index:
        git = view.of(layout, task).git(mirror.git, index)
        commit = tip if git.run("cat-file", "-e", tip, ok=(0, 1, 128)).code == 0 else task.base
        found = standing.against(layout, task, git, commit)
        theirs = frozenset(standing.listed(layout, task, git))
    return tuple(path for path in beside(found) if path not in theirs)


def beside(found: Standing) -> tuple[str, ...]:
    """Everything in a tree that is not tracked, in its order."""
    folders = (f"{path}/" for path in (*found.nested, *found.ignored_nested))
    return tuple(sorted((*found.untracked, *found.ignored, *folders)))
