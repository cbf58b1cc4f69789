"""Whether a task's names are free: branch, namespace, remote branch, folder; looked up before anything is taken."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from interlock.adapters.git import admin, intents
from interlock.adapters.git.discover import BRANCHES, Found
from interlock.adapters.git.mirror import TRACKED, Mirror
from interlock.core.job.ids import branch_of
from interlock.core.problems import Refused, refused


def check_free(mirror: Mirror, slug: str, path: Path) -> None:
    """Raise Refused (name-taken) naming the branch, ref or folder that is in the way; nothing is made."""
    branch = branch_of(slug)
    check_local(mirror.found, slug, path)
    if mirror.path.is_dir():
        there = mirror.git.refs(f"{TRACKED}agent", f"{TRACKED}agent/")
        _check(branch, [name.removeprefix(TRACKED) for name in there], "on the remote")


def check_local(found: Found, slug: str, path: Path, refs: Mapping[str, str] | None = None) -> None:
    """The same for what is on this machine; ``refs`` are its branches by full name, when they are known already."""
    outside(found, path)
    heads = found.git().refs(f"{BRANCHES}agent", f"{BRANCHES}agent/") if refs is None else refs
    fold = (found.common_dir / "hEaD").exists()  # a file system that does not tell cases apart
    names = [name.removeprefix(BRANCHES) for name in heads if name.startswith(BRANCHES)]
    try:
        _check(branch_of(slug), names, "in this repository", fold=fold)
        if os.path.lexists(path):
            raise _taken(f"The folder {path} exists.", "Move or clean it, then dispatch again.")
    except Refused as taken:
        jobs = tuple(f"job {intent.job}" for intent in intents.of_path(found, path))
        raise Refused(replace(taken.refusal, holders=(*taken.refusal.holders, *jobs))) from None
    if admin.find(found, path):
        would = f"Restore the folder, or take the entry away: git -C {found.top} worktree remove {path}"
        raise _taken(f"A worktree is registered at {path}, though its folder is gone.", would)


def outside(found: Found, path: Path) -> None:
    """Raise Refused (isolation) for a folder inside the repository (case WT-10)."""
    real = Path(os.path.realpath(path))
    for inner in (found.top, found.common_dir):
        if real.is_relative_to(os.path.realpath(inner)):
            raise refused(
                "isolation",
                f"The tree {path} would lie inside the repository {inner}.",
                "Test runners and module maps of the main checkout would find the task's files too.",
                "Choose a folder outside the repository.",
            )


def _check(branch: str, present: list[str], where: str, *, fold: bool = False) -> None:
    """A branch cannot stand beside a branch of its own name, of its namespace's name, or below its name."""
    wanted = branch.casefold() if fold else branch
    namespace = wanted.partition("/")[0]
    for name in present:
        seen = name.casefold() if fold else name
        if seen in (wanted, namespace) or seen.startswith(f"{wanted}/"):
            what = f"exists {where} already" if seen == wanted else f"{where} is in the way of {branch}"
            raise _taken(
                f"The branch {name} {what}.",
                f"Delete or rename {name} if its work is kept elsewhere, or choose another slug.",
                name,
            )


def _taken(what: str, would_change: str, *holders: str) -> Refused:
    return refused(
        "name-taken",
        what,
        "A task gets a branch and a folder of its own, never somebody else's.",
        would_change,
        holders=holders,
    )
