"""Trees of tasks at level worktree: named, made, healed and looked at; taking them away is trash's work."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from interlock.adapters.git import admin, free, intents, locks, making, trash
from interlock.adapters.git.errors import refused
from interlock.adapters.git.intents import Intent
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.occupants import occupants
from interlock.adapters.git.restoring import restore
from interlock.adapters.git.snapshot import snapshot
from interlock.core.job.ids import branch_of
from interlock.ports import Place, SnapshotTaken


class HasMirror(Protocol):
    """What the trees hang on: a repository with its trusted mirror."""

    @property
    def mirror(self) -> Mirror: ...


@dataclass(frozen=True, slots=True)
class Worktrees:
    """Plain git worktrees beside the repository; ``root`` overrides where (see ports.Workspaces)."""

    repo: HasMirror
    root: Path | None = None
    level: str = "worktree"

    @property
    def _mirror(self) -> Mirror:
        return self.repo.mirror

    def path_for(self, slug: str, job: str) -> Path:  # noqa: ARG002 - another level names folders by job
        """The folder of a task: ``<repository>-tasks/<slug>`` beside it, else in the user's state folder.

        Raises Refused (isolation) for a configured root inside the repository.
        """
        path = self._root() / slug
        free.outside(self._mirror.found, path)
        return path

    def _root(self) -> Path:
        top = self._mirror.found.top
        if self.root is not None:
            return Path(os.path.normpath(top / self.root.expanduser()))
        name = top.name.removesuffix(".git")
        beside = top.parent / f"{name}-tasks"
        if os.access(beside if beside.is_dir() else top.parent, os.W_OK | os.X_OK):
            return beside
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        mark = sha256(os.fsencode(self._mirror.found.common_dir)).hexdigest()[:8]
        return Path(state) / "interlock" / "tasks" / f"{name}-{mark}"

    def check_free(self, slug: str, path: Path) -> None:
        """Raise Refused (name-taken) when a branch, ref or folder is in the way; nothing is made."""
        free.check_free(self._mirror, slug, path)

    def create(self, job: str, slug: str, base: str, path: Path) -> Place:
        """Make tree and branch at base; heal a half-made one of this job; make a lost folder again from its branch.

        The same call after a kill at any point ends with the whole tree.  Raises Refused: name-taken,
        isolation (submodules, a folder inside the repository), isolation-failed (a required filter cannot run),
        workspace-missing, locked; GitFailed.  After a failure of a first creation nothing is left.
        """
        found = self._mirror.found
        wanted = Intent(job=job, slug=slug, branch=branch_of(slug), path=str(path), base=base, commit=base, fresh=True)
        with locks.held(intents.lock(found, job), what=f"The tree of {slug} is being made") as own:
            intent = intents.read(found, job)
            if intent and (intent.branch, intent.path) != (wanted.branch, wanted.path):
                raise refused(
                    "name-taken",
                    f"Job {job} has a tree at {intent.path} already.",
                    "A job has one tree, and it does not move.",
                    "Clean the job first.",
                )
            if intent and intent.state == "ready" and self.exists(_place(intent)):
                return _place(intent)
            if intent and intent.state == "ready":
                intent = making.again(found, intent)
            if intent is None or intent.state == "removed":
                intent = wanted
            making.make(self._mirror, intent, own)
            intents.write(found, replace(making.finished(found, intent), state="ready"))
        return _place(wanted)

    def exists(self, place: Place) -> bool:
        """True when the folder is there and registered as the worktree of this repository."""
        return admin.there(place.path) and admin.find(self._mirror.found, place.path) is not None

    def occupants(self, path: Path) -> tuple[str, ...]:
        """Live processes whose working directory lies inside: ``pid name``; unreadable counts as occupied."""
        return occupants(path)

    def snapshot(self, place: Place, ref: str) -> SnapshotTaken:
        """Keep everything of a task's tree at ref, in the mirror and in the user's repository; see snapshot.snapshot."""
        return snapshot(self._mirror, place, ref)

    def remove(self, place: Place, ref: str) -> None:
        """Take the tree away after its snapshot; the folder goes to the trash, the branch by expected value."""
        trash.remove(self._mirror, place, ref)

    def restore(self, ref: str, place: Place) -> None:
        """Bring folder, registration, branch and every file back, from the trash or else from the snapshot."""
        restore(self._mirror, ref, place)


def _place(intent: Intent) -> Place:
    return Place(path=Path(intent.path), branch=intent.branch, base=intent.base)
