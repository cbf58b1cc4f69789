"""Where a sealed task's parts stand on this machine and the record that says how it was made; making them is making's work."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from interlock.adapters.git.discover import Found
from interlock.adapters.git.mirror import Mirror
from interlock.core.contract.policy import Policy
from interlock.core.sandbox import Layers
from interlock.host import files
from interlock.ports.isolation import Room

Kind = Literal["copy", "overlay"]
State = Literal["making", "ready", "removed"]

SMALL_FILES = 200
SMALL_BYTES = 32_000_000
"""Up to here a tree without dependencies is copied: that takes at most twice as long as an overlay, and an editor can open it."""

NOTE = "SEALED.md"
"""What stands in the folder of a task whose tree is an overlay: how to look at it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One sealed task.  ``path`` is its folder beside the repository, ``lower`` its layers with the topmost first.

    Kind ``copy``: the tree is the folder ``path``.  Kind ``overlay``: the tree is ``upper`` over ``lower``, and
    ``path`` holds a note; views of the whole tree are mounted there for the time of one command.
    """

    job: str
    slug: str
    branch: str
    base: str
    path: str
    kind: Kind
    lower: tuple[str, ...] = ()
    fresh: bool = True
    state: State = "making"


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of sealed tasks of one repository, below its common git directory."""

    found: Found

    @property
    def root(self) -> Path:
        return self.found.state / "sealed"

    @property
    def store(self) -> Path:
        """The bare repository whose objects tasks may read: the default branch's history and no other task's work."""
        return self.root / "store.git"

    @property
    def bases(self) -> Path:
        return self.root / "bases"

    def task(self, job: str) -> Path:
        """The folder of one task: ``up``, ``work`` and ``home``."""
        return self.root / "tasks" / job

    def upper(self, job: str) -> Path:
        return self.task(job) / "up"

    def home(self, job: str) -> Path:
        return self.task(job) / "home"

    def lock(self, job: str) -> Path:
        return self.root / "locks" / f"{job}.lock"

    def tree(self, task: Task) -> Path:
        """The folder where what the task writes appears: its tree, or the upper layer."""
        return Path(task.path) if task.kind == "copy" else self.upper(task.job)

    def repository(self, task: Task) -> Path:
        """The task's private git directory.  It is the agent's: only ever read as files, never with git's settings."""
        return self.tree(task) / ".git"

    def layers(self, task: Task) -> Layers:
        folder = self.task(task.job)
        return Layers(lower=task.lower, upper=str(folder / "up"), work=str(folder / "work"))

    def read(self, job: str) -> Task | None:
        """The record of a job's task; None when there is none, or when what stands there is not one."""
        try:
            shape: dict[str, Any] = json.loads((self.root / "records" / f"{job}.json").read_bytes())
            return Task(**{**shape, "lower": tuple(shape["lower"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write(self, task: Task) -> None:
        """Put the record down, whole or not at all."""
        folder = self.root / "records"
        folder.mkdir(parents=True, exist_ok=True)
        data = json.dumps(asdict(task), indent=2).encode("utf-8", "surrogateescape")
        files.write_whole(folder / f"{task.job}.json", data)

    def forget(self, job: str) -> None:
        (self.root / "records" / f"{job}.json").unlink(missing_ok=True)

    def every(self) -> tuple[Task, ...]:
        """All tasks on record."""
        names = sorted(file.stem for file in (self.root / "records").glob("*.json"))
        return tuple(task for name in names if (task := self.read(name)) is not None)


@dataclass(frozen=True, slots=True)
class Kit:
    """What making takes from outside: the mirror, the policy as of a commit, and how an installer is run in a room.

    ``install`` takes the room, the command and the file for its log, and raises Refused (sandbox) when it fails.
    """

    mirror: Mirror
    policy: Callable[[str], Policy]
    install: Callable[[Room, str, Path], None]

    @property
    def layout(self) -> Layout:
        return Layout(self.mirror.found)
