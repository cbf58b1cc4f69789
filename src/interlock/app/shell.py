"""A person and a task: a shell in its room, its files as a folder, its variables; walls are the same as its agent's."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.app.base import last_view
from interlock.app.cardjson import from_json
from interlock.app.isolate import INHERIT, environment_of, place_of
from interlock.app.rooms import room_of
from interlock.app.show import known_job
from interlock.app.up import standing
from interlock.core.contract.defaults import with_defaults
from interlock.core.job.lifecycle import Job
from interlock.core.problems import Misuse
from interlock.core.sandbox import HOME
from interlock.ports.bundle import Ports


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A folder with a task's files: the tree itself, or a copy of it."""

    job: Job
    path: Path
    copy: bool

    @property
    def what(self) -> str:
        if self.copy:
            return "A copy of the task's files as they are now: what is changed there stays there."
        return "The task's own tree: what is changed there is the task's work."

    def as_json(self) -> dict[str, Any]:
        kind = "copy" if self.copy else "tree"
        return {"job": self.job.id, "slug": self.job.slug, "path": str(self.path), "kind": kind, "what": self.what}


def shell(ports: Ports, slug: str, words: Sequence[str]) -> tuple[Job, int]:
    """Hand the terminal to a shell, or to one command, in the task's room; gives the job and the exit code.

    Raises Misuse without a task, Refused (workspace-missing, sandbox, secret).
    """
    job = standing(ports, slug, closed=True)
    view = last_view(ports)
    card = with_defaults(from_json(job.card), view.policy)
    record = ports.records.job(job.id) / "shell"
    record.mkdir(parents=True, exist_ok=True)
    done = room_of(ports, job, card, view, record=record)
    values = {**done.env, "INTERLOCK_SPOOL": str(ports.records.spool(job.id))}
    room, env = ports.agents.tools(done.room, values, record)
    env["TERM"] = os.environ.get("TERM", "dumb")
    return job, ports.commands.shell(tuple(words) or ("bash",), room, env)


def seen_from_here(ports: Ports, slug: str) -> dict[str, str]:
    """The variables of a job's task as this machine sees them: ports of its block, paths outside a sandbox.

    What has a meaning only inside a sandbox is left out: the address of a database there is somebody else's here.
    Raises Misuse without a task.
    """
    job = known_job(ports, slug)
    if job.workspace is None:
        raise Misuse(f"{slug} has no task of its own yet.", hint=f"interlock dispatch {slug}")
    values = {name: value for name, value in environment_of(ports, job).items() if name != INHERIT}
    values |= {name: str(number) for name, number in job.ports.items()}
    if job.level != "sealed":
        return values
    values.pop("DATABASE_URL", None)
    profiles = f"{HOME}/browser/"
    for name, value in values.items():
        if value.startswith(profiles):
            values[name] = str(ports.records.shared(job.id, "browser") / value.removeprefix(profiles))
    return values | {"INTERLOCK_SPOOL": str(ports.records.spool(job.id))}


def open_tree(ports: Ports, slug: str, target: Path | None) -> Opened:
    """The task's files as a folder; without a target, its own tree where that stands as a folder of this machine.

    Raises Misuse without a task, Refused (workspace-missing, name-taken).
    """
    job = standing(ports, slug, closed=True)
    place = place_of(job)
    if target is None:
        room = ports.workspaces.room(place)
        if room.written == room.path:
            return Opened(job=job, path=place.path, copy=False)
        target = ports.repo.top.with_name(f"{ports.repo.top.name}.{job.slug}")
    ports.workspaces.materialise(place, target)
    return Opened(job=job, path=target, copy=True)
