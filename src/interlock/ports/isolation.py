"""What a task has of its own: its tree, room, block of ports, databases and browser profiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from interlock.core.contract.around import ApprovalRule, Browser, Database, Secret
from interlock.core.contract.card import Level
from interlock.core.sandbox import Sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The tree of one task: its folder as this machine sees it, its branch, the level it was made at and its job."""

    path: Path
    branch: str
    base: str
    level: Level = "worktree"
    job: str = ""


class Blocks(Protocol):
    """Blocks of ports, in one registry per machine that processes and users share."""

    def claim(
        self, owner: str, families: Mapping[str, int], *, wanted: int | None = None
    ) -> tuple[int, dict[str, int]]:
        """The lowest block whose ports are all free, held for owner (idempotent).  Block 0 is never given."""
        ...

    def release(self, owner: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What the guards on an agent's PATH know: the rules about approvals, what was approved, and folders that are shared."""

    rules: tuple[ApprovalRule, ...] = ()
    approved: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Where commands run: a tree as this machine sees it, and the sandbox around it (None: level worktree).

    ``written`` is the folder of this machine where what commands write into the tree appears: the tree itself, or
    the upper layer of an overlay.
    """

    path: Path
    written: Path
    sandbox: Sandbox | None = None
    guarded: Guarded = field(default_factory=Guarded)


class Workspaces(Protocol):
    """Trees of tasks.  A place says at which level it was made; what is asked of it goes there."""

    def level_for(self, demanded: Level | None) -> Level:
        """The level for a new task: the demanded one, else the best that works here.  Raises Refused (isolation)."""
        ...

    def path_for(self, slug: str, job: str, level: Level) -> Path: ...
    def check_free(self, slug: str, path: Path) -> None:
        """Raise Refused (name-taken) when a branch, ref or folder is in the way; nothing is made."""
        ...

    def create(self, place: Place, slug: str) -> Place:
        """Make tree and branch at the base, or heal a half-made one of the same job; done when it returns."""
        ...

    def exists(self, place: Place) -> bool: ...
    def room(self, place: Place) -> Room:
        """Where the commands of this task run; a sandbox without network, sockets or secrets yet.  Raises Refused."""
        ...

    def fresh(self, commit: str, folder: Path, level: Level) -> AbstractContextManager[Room]:
        """A tree of exactly this commit for checks, made new and taken away afterwards."""
        ...

    def put_back(self, room: Room, commit: str) -> tuple[str, ...]:
        """Make the tracked files of a tree those of the commit again; gives the paths that were not."""
        ...

    def changed(self, place: Place) -> tuple[str, ...]:
        """Paths that differ from the base now, ignored ones too: what a scope that is watched live needs."""
        ...

    def last_touched(self, place: Place) -> float:
        """When a file, a ref or a process of the task last moved, in seconds since the epoch."""
        ...

    def materialise(self, place: Place, target: Path) -> None:
        """Write the task's tree as it is now to a new folder, for an editor.  Raises Refused (name-taken)."""
        ...

    def occupants(self, place: Place) -> tuple[str, ...]:
        """Live processes that work in the tree: ``pid name``; unreadable counts as occupied."""
        ...

    def snapshot(self, place: Place, ref: str) -> SnapshotTaken: ...
    def remove(self, place: Place, ref: str) -> None:
        """Take the tree away after its snapshot; the folder goes to the trash, the branch by expected value."""
        ...

    def restore(self, ref: str, place: Place) -> None: ...
    def evict(self) -> tuple[str, ...]:
        """Take away prepared trees that nothing stands on and the policy does not keep; gives their names."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotTaken:
    """What a snapshot holds: its ref and commit, the paths beyond the branch, and ignored ones that were too large."""

    ref: str
    oid: str
    modified: tuple[str, ...]
    untracked: tuple[str, ...]
    ignored: tuple[str, ...]
    left_out: tuple[str, ...]
    detached: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One task's database: its name, the URL as this machine reaches it, and the server's address for a relay.

    ``address`` is ``tcp:HOST:PORT`` or ``unix:PATH``; None for a file, which is then ``file``.  ``url`` may hold a
    password and is never put on the record.
    """

    name: str
    url: str
    address: str | None = None
    file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What a database is branched from: its policy, the digest of its migration and seed files, and how to prepare it.

    ``prepare`` migrates and seeds a fresh database whose branch it is given, inside a sandbox; it is called only
    when no template of that digest is there.
    """

    database: Database
    digest: str
    prepare: Callable[[Branch], None]
    folder: Path


class Databases(Protocol):
    """One kind of database that tasks can have a branch of (conformance suite: interlock.testing.databases)."""

    def branch(self, baseline: Baseline, task: str, folder: Path) -> Branch:
        """The task's own database, made or found again (idempotent); ``folder`` is the job's record.

        Raises Refused (database) with who is in the way, InterlockError when the server cannot be reached.
        """
        ...

    def release(self, baseline: Baseline, task: str, folder: Path) -> str | None:
        """Archive or drop the task's database, and nobody else's; gives what was kept.  Idempotent.

        Raises InterlockError when it has to be tried again.
        """
        ...

    def owned(self, baseline: Baseline) -> tuple[str, ...]:
        """Tasks that have a database of this kind now, by listing what is there (case DB-06)."""
        ...


class Browsers(Protocol):
    """Profiles of browsers, one per task and role."""

    def profile(self, browser: Browser, folder: Path) -> Path:
        """The task's own profile for a role, copied from the golden one or found again.  Raises InterlockError."""
        ...


class Secrets(Protocol):
    """Secrets from their one approved source."""

    def read(self, secret: Secret) -> str:
        """The value.  Raises Refused (secret) when the source does not give it."""
        ...

    def check(self, secret: Secret) -> None:
        """Look whether the source is there, without its value; a command is not run.  Raises Refused (secret)."""
        ...
