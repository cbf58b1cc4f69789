"""Trees of tasks at level worktree: named, made, healed and looked at; taking them away is trash's work."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from interlock.adapters.git import admin, intents, locks, making, names_free, trash, trees, watching
from interlock.adapters.git.intents import Intent
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.occupants import occupants
from interlock.adapters.git.restoring import restore
from interlock.adapters.git.snapshot import snapshot
from interlock.core.contract.card import Level
from interlock.core.problems import refused
from interlock.host.state import state_folder
from interlock.ports.isolation import Place, Room, SnapshotTaken


class HasMirror(Protocol):
    """What the trees hang on: a repository with its trusted mirror."""

    @property
    def mirror(self) -> Mirror: ...


@dataclass(frozen=True, slots=True)
class Worktrees:
    """Plain git worktrees beside the repository; ``root`` overrides where (see ports.Workspaces)."""

    repo: HasMirror
    root: Path | None = None

    @property
    def _mirror(self) -> Mirror:
        return self.repo.mirror

    def level_for(self, demanded: Level | None) -> Level:  # noqa: ARG002 - which levels work here is levels' to say
        return "worktree"

    def path_for(self, slug: str, job: str, level: Level = "worktree") -> Path:  # noqa: ARG002 - all are named alike
        """The folder of a task: ``<repository>-tasks/<slug>`` beside it, else in the user's state folder.

        Raises Refused (isolation) for a configured root inside the repository.
        """
        path = self._root() / slug
        names_free.outside(self._mirror.found, path)
        return path

    def _root(self) -> Path:
        top = self._mirror.found.top
        if self.root is not None:
            return Path(os.path.normpath(top / self.root.expanduser()))
        name = top.name.removesuffix(".git")
        beside = top.parent / f"{name}-tasks"
        if os.access(beside if beside.is_dir() else top.parent, os.W_OK | os.X_OK):
            return beside
        mark = sha256(os.fsencode(self._mirror.found.common_dir)).hexdigest()[:8]
        return state_folder() / "tasks" / f"{name}-{mark}"

    def check_free(self, slug: str, path: Path) -> None:
        """Raise Refused (name-taken) when a branch, ref or folder is in the way; nothing is made."""
        names_free.check_free(self._mirror, slug, path)

    def create(self, place: Place, slug: str) -> Place:
        """Make tree and branch at base; heal a half-made one of this job; make a lost folder again from its branch.

        The same call after a kill at any point ends with the whole tree.  Raises Refused: name-taken,
        isolation (submodules, a folder inside the repository), isolation-failed (a required filter cannot run),
        workspace-missing, locked; GitFailed.  After a failure of a first creation nothing is left.
        """
        job, base = place.job, place.base
        found = self._mirror.found
        wanted = Intent(
            job=job, slug=slug, branch=place.branch, path=str(place.path), base=base, commit=base, fresh=True
        )
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

    def room(self, place: Place) -> Room:
        """The tree itself, with nothing around it.  Raises Refused (workspace-missing)."""
        admin.registered(self._mirror.found, place)
        return Room(path=place.path, written=place.path)

    @contextmanager
    def fresh(self, commit: str, folder: Path, level: Level = "worktree") -> Iterator[Room]:  # noqa: ARG002 - see levels
        """A tree of exactly this commit for checks, made new and taken away afterwards."""
        with trees.fresh_tree(self._mirror, commit, folder) as path:
            yield Room(path=path, written=path)

    def put_back(self, room: Room, commit: str) -> tuple[str, ...]:
        """Make the tracked files of a tree those of the commit again; gives the paths that were not."""
        return trees.put_back(self._mirror, room.written, commit)

    def changed(self, place: Place) -> tuple[str, ...]:
        """Paths that differ from the base now, ignored ones too."""
        return watching.changed(self._mirror, place)

    def last_touched(self, place: Place) -> float:
        """When a file, a ref or a process of the task last moved, in seconds since the epoch."""
        return watching.last_touched(self._mirror, place)

    def materialise(self, place: Place, target: Path) -> None:
        """Write the task's tree as it is now to a new folder.  Raises Refused (name-taken)."""
        watching.materialise(self._mirror, place, target)

    def occupants(self, place: Place) -> tuple[str, ...]:
        """Live processes whose working directory lies inside: ``pid name``; unreadable counts as occupied."""
        return occupants(place.path)

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
    return Place(path=Path(intent.path), branch=intent.branch, base=intent.base, job=intent.job)
