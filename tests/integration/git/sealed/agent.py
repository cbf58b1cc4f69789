"""Sealed tasks for tests, made by the real making, and an agent that works in them behind a real overlay, never as root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.integration.git.build import AUTHOR, World, world

from interlock.adapters.git.repo import GitRepo
from interlock.adapters.git.sealed import bases, making, owning, store
from interlock.adapters.git.sealed.layout import Kind, Kit, Layout, Task
from interlock.adapters.git.sealed.making import Wanted
from interlock.core.contract.policy import Policy
from interlock.host import namespace
from interlock.ports.isolation import Place, Room
from interlock.ports.repository import Work

KINDS: tuple[Kind, ...] = ("copy", "overlay")
KEEP = "refs/interlock/kept/t/1"
REF = "refs/interlock/trash/t/job1-7"


def needs_overlay() -> None:
    """Skip where no overlay can be had; a failure under CI, where it must work."""
    if namespace.prefix() is None:
        if os.environ.get("CI"):
            pytest.fail("bubblewrap does not work here")
        pytest.skip("bubblewrap does not work here")


def no_install(room: Room, command: str, log: Path) -> None:
    raise AssertionError(f"nothing is to be installed: {command} in {room.path}, {log}")


@dataclass(frozen=True)
class Sealed:
    """A repository with one sealed task in it."""

    team: World
    repo: GitRepo
    kit: Kit
    place: Place

    @property
    def layout(self) -> Layout:
        return Layout(self.repo.found)

    @property
    def task(self) -> Task:
        task = self.layout.read(self.place.job)
        assert task is not None
        return task

    @property
    def git_dir(self) -> Path:
        return self.layout.repository(self.task)

    def work(self, parent: str | None = None, *, keep: str = KEEP, message: str = "work") -> Work:
        base = parent or self.place.base
        return self.repo.commit_work(self.place, parent=base, message=message, author=AUTHOR, sign=False, keep=keep)

    def run(self, script: str, *, code: int | None = 0) -> str:
        """Let the agent run a shell script in its tree."""
        done = subprocess.run(
            [*self._walls(), "sh", "-ec", script],
            env={"PATH": "/usr/bin:/bin", "HOME": "/home/agent", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            errors="surrogateescape",
        )
        if code is not None:
            assert done.returncode == code, f"{script}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    @contextmanager
    def lives(self, script: str = "echo here; exec sleep 60") -> Iterator[subprocess.Popen[str]]:
        """A process of the agent that lives meanwhile; it is there when this begins."""
        child = subprocess.Popen(
            [*self._walls(), "sh", "-ec", script],
            env={"PATH": "/usr/bin:/bin", "HOME": "/home/agent"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert child.stdout is not None
        try:
            child.stdout.readline()
            yield child
        finally:
            child.kill()
            child.communicate()

    def _walls(self) -> list[str]:
        prefix = namespace.prefix()
        assert prefix is not None
        layers = self.layout.layers(self.task)
        words = [prefix[0], "--unshare-pid", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--proc", "/proc"]
        for name in ("bin", "sbin", "lib", "lib64"):
            words += ["--symlink", f"usr/{name}", f"/{name}"]
        for folder in ("/home", "/run", str(Path(store.INSIDE).parent)):
            words += ["--perms", "0755", "--dir", folder]
        words += [
            "--dev",
            "/dev",
            "--perms",
            "1777",
            "--tmpfs",
            "/tmp",
            "--bind",
            str(self.layout.home(self.task.job)),
            "/home/agent",
        ]
        words += ["--ro-bind", str(self.layout.store / "objects"), store.INSIDE]
        if self.task.kind == "copy":
            words += ["--bind", self.task.path, "/ws"]
        else:
            for lower in reversed(layers.lower):
                words += ["--overlay-src", lower]
            words += ["--overlay", layers.upper, layers.work, "/ws"]
        words += ["--chdir", "/ws", "--"]
        uid = owning.agent()
        return words if uid is None else [*words, "setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


def sealed(
    root: Path,
    kind: Kind,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str | bytes | None] | None = None,
) -> Sealed:
    """A world with one task of the kind at its default branch."""
    needs_overlay()
    if kind == "overlay":
        monkeypatch.setattr(bases, "SMALL_FILES", 0)
    return of(world(root, files))


def of(team: World, slug: str = "t", job: str = "job1") -> Sealed:
    """One more task at the present default branch."""
    repo = team.repo()
    base = repo.refresh()
    kit = Kit(mirror=repo.mirror, policy=lambda _: Policy(), install=no_install)
    path = team.top.parent / "repo-tasks" / slug
    place = Place(path=path, branch=f"agent/{slug}", base=base.oid, level="sealed", job=job)
    making.create(kit, Wanted(place=place, slug=slug))
    return Sealed(team=team, repo=repo, kit=kit, place=place)
