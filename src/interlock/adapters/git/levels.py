"""Workspaces of every isolation level as one: which level works here, and each question to the level of its place."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from interlock.adapters.git import trees
from interlock.adapters.git.mirror import Mirror
from interlock.adapters.git.sealed import eviction, fresh, making, owning, snapshot_level
from interlock.adapters.git.sealed.layout import Kit, Layout, Task
from interlock.adapters.git.trees import remove_folder
from interlock.adapters.git.worktrees import HasMirror, Worktrees
from interlock.core.contract.card import Level
from interlock.core.contract.policy import Policy
from interlock.core.problems import Misuse, refused
from interlock.core.sandbox import Layers, Sandbox
from interlock.host import commands
from interlock.host.sandbox.command import walls
from interlock.host.sandbox.probe import probe
from interlock.ports.isolation import Place, Room, SnapshotTaken

CAP: Final = "INTERLOCK_ISOLATION"
"""The best level that is taken without being asked for."""

_SECONDS: Final = 10.0
_LEVELS: Final[tuple[Level, ...]] = ("sealed", "snapshot", "worktree")


def _plain(commit: str) -> Policy:  # noqa: ARG001 - what a repository without a policy has at every commit
    return Policy()


def _no_installer(room: Room, command: str, log: Path) -> None:  # noqa: ARG001 - the shape of an installer
    raise refused("sandbox", f"Nothing here can run {command}.", "No installer was given.", "Give one to the levels.")


@dataclass(frozen=True, slots=True)
class LevelWorkspaces:
    """Trees at every level (see ports.Workspaces).

    ``root`` overrides where tasks stand; ``policy`` gives the policy as of a commit, ``install`` runs an installer
    in a room (see layout.Kit).
    """

    repo: HasMirror
    root: Path | None = None
    policy: Callable[[str], Policy] = _plain
    install: Callable[[Room, str, Path], None] = _no_installer
    _whys: dict[Level, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def _mirror(self) -> Mirror:
        return self.repo.mirror

    @property
    def _layout(self) -> Layout:
        return Layout(self._mirror.found)

    @property
    def _worktrees(self) -> Worktrees:
        return Worktrees(self.repo, self.root)

    def _kit(self, level: Level) -> Kit:
        """What making needs; without walls nothing is installed, since paths inside and outside are not the same."""
        if level == "snapshot":
            return Kit(self._mirror, lambda commit: replace(self.policy(commit), dependencies=()), self.install)
        return Kit(self._mirror, self.policy, self.install)

    def _task(self, place: Place) -> Task:
        task = self._layout.read(place.job)
        if task is None:
            raise making.missing(place)
        return task

    # ------------------------------------------------------------ which level
    def level_for(self, demanded: Level | None) -> Level:
        """The level for a new task: the demanded one, else the best that works here.

        Raises Refused (isolation) when a demanded one does not, Misuse for a wrong INTERLOCK_ISOLATION.
        """
        if demanded is None:
            cap = os.environ.get(CAP) or _LEVELS[0]
            if cap not in _LEVELS:
                raise Misuse(f"{CAP} is {cap!r}.", hint=f"It can be {', '.join(_LEVELS)}.")
            return next(level for level in _LEVELS[_LEVELS.index(cap) :] if not self.why(level))
        if reason := self.why(demanded):
            raise refused(
                "isolation",
                f"The level {demanded} is demanded and cannot be had here: {reason}.",
                "A task never runs with weaker walls than its card or policy demands.",
                "Mend that (interlock doctor shows it), or change isolation in the card or in interlock.yaml.",
            )
        return demanded

    def why(self, level: Level) -> str:
        """Why a level cannot be had here, in words that can follow a colon; empty when it can.  Tried once."""
        if level not in self._whys:
            self._whys[level] = "" if level == "worktree" else self._try(level)
        return self._whys[level]

    def _try(self, level: Level) -> str:
        if level == "snapshot":
            self._layout.root.mkdir(parents=True, exist_ok=True)
            target = self._worktrees.path_for("x", "x").parent
            while not target.is_dir():
                target = target.parent
            return snapshot_level.why_not(self._layout.root, target)
        return _no_walls(self._layout.root)

    # ------------------------------------------------------------ making
    def path_for(self, slug: str, job: str, level: Level) -> Path:
        """The folder of a task; the same at every level.  Raises Refused (isolation)."""
        return self._worktrees.path_for(slug, job, level)

    def check_free(self, slug: str, path: Path) -> None:
        """Raise Refused (name-taken) when a branch, ref or folder is in the way; nothing is made."""
        self._worktrees.check_free(slug, path)

    def create(self, place: Place, slug: str) -> Place:
        """Make tree and branch at the base, or heal a half-made one of the same job; done when it returns."""
        if place.level == "worktree":
            return self._worktrees.create(place, slug)
        wanted = making.Wanted(place=place, slug=slug)
        kit = self._kit(place.level)
        if place.level == "snapshot":
            wanted = replace(wanted, objects=snapshot_level.store_of(kit), plain=snapshot_level.fill)
        task = making.create(kit, wanted)
        return replace(place, base=task.base)

    def exists(self, place: Place) -> bool:
        """True when the task's tree is there and on record."""
        if place.level == "worktree":
            return self._worktrees.exists(place)
        task = self._layout.read(place.job)
        return task is not None and task.state == "ready" and making.is_there(self._kit(place.level), task)

    def room(self, place: Place) -> Room:
        """Where the commands of this task run; a sandbox at level sealed alone.  Raises Refused (workspace-missing)."""
        if place.level == "worktree":
            return self._worktrees.room(place)
        made = making.room(self._kit(place.level), place)
        return made if place.level == "sealed" else replace(made, sandbox=None)

    @contextmanager
    def fresh(self, commit: str, folder: Path, level: Level) -> Iterator[Room]:
        """A tree of exactly this commit for checks, made new and taken away afterwards."""
        makers = {"worktree": self._worktrees.fresh, "snapshot": self._snapshot_fresh, "sealed": self._sealed_fresh}
        with makers[level](commit, folder) as room:
            yield room

    @contextmanager
    def _snapshot_fresh(self, commit: str, folder: Path) -> Iterator[Room]:
        with snapshot_level.fresh(self._kit("snapshot"), commit, folder) as room:
            yield room

    @contextmanager
    def _sealed_fresh(self, commit: str, folder: Path) -> Iterator[Room]:
        with fresh.fresh(self._kit("sealed"), commit, folder) as room:
            yield room

    def put_back(self, room: Room, commit: str) -> tuple[str, ...]:
        """Make the tracked files of a tree those of the commit again; gives the paths that were not."""
        layers = room.sandbox.layers if room.sandbox else None
        if layers is not None:
            return fresh.put_back(self._mirror, layers, commit)
        wrong = trees.put_back(self._mirror, room.written, commit)
        if room.sandbox is not None and wrong:
            owning.give(room.written)
        return wrong

    def evict(self) -> tuple[str, ...]:
        """Take away warm bases that the policy of the default branch does not keep; gives their keys."""
        rules = self.policy(self._mirror.last_base().oid).bases
        return eviction.evict(self._layout, rules)

    # ------------------------------------------------------------ looking
    def changed(self, place: Place) -> tuple[str, ...]:
        """Paths that differ from the base now, ignored ones too."""
        if place.level == "worktree":
            return self._worktrees.changed(place)
        from interlock.adapters.git.sealed import changes

        return changes.changed(self._layout, self._task(place))

    def last_touched(self, place: Place) -> float:
        """When a file, a ref or a process of the task last moved, in seconds since the epoch."""
        if place.level == "worktree":
            return self._worktrees.last_touched(place)
        from interlock.adapters.git.sealed import idle

        return idle.last_touched(self._layout, self._task(place))

    def materialise(self, place: Place, target: Path) -> None:
        """Write the task's tree as it is now to a new folder, for an editor.  Raises Refused (name-taken)."""
        if place.level == "worktree":
            self._worktrees.materialise(place, target)
        else:
            from interlock.adapters.git.sealed import opening

            opening.materialise(self._mirror, self._layout, self._task(place), target)

    def occupants(self, place: Place) -> tuple[str, ...]:
        """Live processes that work in the tree: ``pid name``; unreadable counts as occupied."""
        if place.level == "worktree":
            return self._worktrees.occupants(place)
        from interlock.adapters.git.sealed import idle

        return idle.occupants(self._layout, self._task(place))

    # ------------------------------------------------------------ taking away
    def snapshot(self, place: Place, ref: str) -> SnapshotTaken:
        """Keep everything of a task's tree at ref, in the mirror and in the user's repository."""
        if place.level == "worktree":
            return self._worktrees.snapshot(place, ref)
        from interlock.adapters.git.sealed import kept

        return kept.snapshot(self._mirror, self._layout, self._task(place), place, ref)

    def remove(self, place: Place, ref: str) -> None:
        """Take the tree away after its snapshot; the folder goes to the trash, the branch by expected value."""
        if place.level == "worktree":
            self._worktrees.remove(place, ref)
        else:
            from interlock.adapters.git.sealed import trash

            trash.remove(self._mirror, self._layout, self._task(place), ref)

    def restore(self, ref: str, place: Place) -> None:
        """Bring folder, branch and every file back, from the trash or else from the snapshot."""
        if place.level == "worktree":
            self._worktrees.restore(ref, place)
        else:
            from interlock.adapters.git.sealed import restoring

            restoring.restore(self._mirror, self._layout, ref, place)


def _no_walls(root: Path) -> str:
    """Why no sandbox with an overlay can be made where tasks stand, found out by making one; empty when it can."""
    found = probe(owning.agent())
    if not found.ok or not found.overlay:
        return f"{found.why.rstrip('.')}. {found.fix}".strip().rstrip(".")
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="probe-", dir=root) as folder:
        parts = {name: Path(folder) / name for name in ("home", "lower", "up", "work")}
        for each in parts.values():
            each.mkdir()
        owning.give(Path(folder))
        layers = Layers(lower=(str(parts["lower"]),), upper=str(parts["up"]), work=str(parts["work"]))
        with walls(Sandbox(home=str(parts["home"]), layers=layers, user=owning.agent())) as around:
            argv = [*around.words, "/bin/sh", "-c", "test -w /ws"]
            try:
                done = commands.run(argv, env={}, seconds=_SECONDS, pass_fds=around.descriptors)
            except commands.TimedOut:
                return f"a sandbox over {root} did not start within {_SECONDS:g} s"
        remove_folder(parts["work"])
    said = done.error.splitlines()[-1:] or [f"exit code {done.code}"]
    return "" if done.code == 0 else f"no overlay can be mounted over {root} ({said[0]})"
