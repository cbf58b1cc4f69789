"""Workspaces at level sealed for tests, and commands run in their rooms behind the real walls."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.integration.git.build import World

from interlock.adapters.git.levels import LevelWorkspaces
from interlock.adapters.git.repo import GitRepo
from interlock.adapters.git.sealed.layout import Layout
from interlock.core.contract.around import Dependency
from interlock.core.contract.policy import Policy
from interlock.core.problems import Refusal, Refused
from interlock.host.sandbox.command import walls
from interlock.ports.isolation import Place, Room

ENV = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/home/agent",
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
}


def run(room: Room, script: str, *, code: int | None = 0) -> str:
    """Run a shell script in a room; gives what it wrote."""
    assert room.sandbox is not None
    with walls(room.sandbox) as around:
        done = subprocess.run(
            [*around.words, "/bin/bash", "-ec", script],
            env=ENV,
            pass_fds=around.descriptors,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=100,
        )
    if code is not None:
        assert done.returncode == code, f"{script}: {done.returncode}\n{done.stdout}{done.stderr}"
    return (done.stdout + done.stderr).rstrip("\n")


def installer(*tools: str) -> Callable[[Room, str, Path], None]:
    """What wiring gives: a command in the room with its output in the log, refused with its last lines."""

    def install(room: Room, command: str, log: Path) -> None:
        from dataclasses import replace

        assert room.sandbox is not None
        seen = replace(room, sandbox=replace(room.sandbox, tools=tools))
        try:
            log.write_text(run(seen, command))
        except AssertionError as fault:
            log.write_text(str(fault))
            raise Refused(
                Refusal(rule="sandbox", what=str(fault)[-300:], why="It failed.", would_change="Mend it.")
            ) from fault

    return install


@dataclass(frozen=True)
class Yard:
    """A repository whose tasks are sealed."""

    team: World
    repo: GitRepo
    spaces: LevelWorkspaces
    policies: dict[str, Policy] = field(default_factory=dict)

    @property
    def layout(self) -> Layout:
        return Layout(self.repo.found)

    def place(self, slug: str = "t", job: str | None = None, base: str | None = None) -> Place:
        """Where a task is to be made, as dispatch says it."""
        job = job or f"job-{slug}"
        base = base or self.repo.refresh().oid
        path = self.spaces.path_for(slug, job, "sealed")
        return Place(path=path, branch=f"agent/{slug}", base=base, level="sealed", job=job)

    def make(self, slug: str = "t", job: str | None = None, base: str | None = None) -> Place:
        return self.spaces.create(self.place(slug, job, base), slug)

    def run(self, place: Place, script: str, *, code: int | None = 0) -> str:
        return run(self.spaces.room(place), script, code=code)

    def left(self, job: str) -> list[str]:
        """Everything on disk that bears a job's name."""
        top = self.team.root
        return [
            str(path.relative_to(top))
            for path in top.rglob("*")
            if (job in path.name or path.name.endswith(".making")) and path.suffix != ".lock"
        ]


def yard(
    team: World, *, install: Callable[[Room, str, Path], None] | None = None, wanted: Policy | None = None
) -> Yard:
    """Sealed workspaces with one policy for every commit."""
    repo = team.repo()
    repo.refresh()
    policy = wanted or Policy()
    return Yard(team, repo, LevelWorkspaces(repo, policy=lambda _: policy, install=install or installer()))


def by_command(install: str, *lock: str, folder: str = "") -> Policy:
    """A policy whose dependencies are put there by a command."""
    return Policy(dependencies=(Dependency(use="command", lock=lock, install=install, folder=folder),))


def owner() -> int:
    """The uid that the files of tasks have here."""
    return 60999 if os.geteuid() == 0 else os.geteuid()
