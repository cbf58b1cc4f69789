"""A throw-away world for tests: a bare remote, a clone with cards and scripted agents, and the command line on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

CARD = """\
slug: {slug}
class: {klass}
goal: {goal}
owned_paths: {owns}
read_only_paths: {reads}
depends_on: {needs}
checks: {checks}
done_when: [the checks pass]
stop_when: [a change outside owned_paths is needed]
integration_owner: "@ana"
agent: {{use: command, command: {command}}}
{extra}"""


def start(words: Sequence[str], where: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Start interlock afresh with these words, in this folder, with exactly this environment; ends in two minutes."""
    return subprocess.run(
        [sys.executable, "-m", "interlock", *words],
        cwd=where,
        env=env,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )


@dataclass(frozen=True, slots=True)
class World:
    """A temporary folder with ``remote.git``, ``repo`` and a home of its own; nothing ambient reaches its commands.

    ``start`` is how every world runs interlock; a set of tests may put a quicker way in its place.
    """

    start: ClassVar[staticmethod[[Sequence[str], Path, Mapping[str, str]], subprocess.CompletedProcess[str]]] = (
        staticmethod(start)
    )

    root: Path
    level: str = "worktree"

    @classmethod
    def make(
        cls,
        root: Path,
        *,
        branch: str = "main",
        policy: str | None = None,
        caps: str | None = None,
        level: str = "worktree",
    ) -> World:
        """Make remote and clone, with a policy whose full check is ``true`` and nobody's sign-off is asked.

        ``level`` is the best isolation level that tasks get.
        """
        world = cls(root, level)
        (root / "home").mkdir(parents=True)
        world.git("init", "-q", "--bare", "-b", branch, str(world.remote), at=root)
        world.git("init", "-q", "-b", branch, str(world.repo), at=root)
        world.git("remote", "add", "origin", str(world.remote))
        world.write("interlock.yaml", policy or "train: {checks: ['true'], sign_off: none}\n")
        world.write("tasks/caps.txt", caps or "vertical-slice 5\ntests 5\nbug-fix 5\nmigration 1\ncross-cutting 1\n")
        return world

    @property
    def remote(self) -> Path:
        return self.root / "remote.git"

    @property
    def repo(self) -> Path:
        return self.root / "repo"

    @property
    def env(self) -> dict[str, str]:
        """An exact environment: PATH, a home of its own, an identity, and where port blocks are registered."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root / "home"),
            "XDG_STATE_HOME": str(
                self.root / "home" / ".local" / "state"
            ),  # or whoever takes this env keeps another's keys
            "LANG": "C.UTF-8",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ana",
            "GIT_AUTHOR_EMAIL": "ana@example.invalid",
            "GIT_COMMITTER_NAME": "Ana",
            "GIT_COMMITTER_EMAIL": "ana@example.invalid",
            "INTERLOCK_PORT_REGISTRY": str(self.root / "ports"),
            "INTERLOCK_ISOLATION": self.level,
            **({"INTERLOCK_ROOT_AGENTS": "allow"} if os.geteuid() == 0 and self.level == "worktree" else {}),
        }

    def git(self, *words: str, at: Path | None = None) -> str:
        """Run git as a user would; gives what it printed, without the last newline."""
        done = subprocess.run(
            ["git", *words],
            cwd=at or self.repo,
            env=self.env,
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            raise AssertionError(f"git {' '.join(words)}: {done.stderr.decode()}")
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    def write(self, path: str, text: str) -> None:
        target = self.repo / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def card(
        self,
        slug: str,
        *,
        owns: str | None = None,
        command: str = "true",
        checks: tuple[str, ...] = ("true",),
        klass: str = "vertical-slice",
        reads: str = "[]",
        needs: str = "[]",
        extra: str = "",
    ) -> None:
        """Write a card that is ready; by default it owns a folder of its slug's name."""
        self.write(
            f"tasks/{slug}.yaml",
            CARD.format(
                slug=slug,
                klass=klass,
                goal=f"Do {slug}",
                owns=owns or json.dumps([f"{slug}/**"]),
                reads=reads,
                needs=needs,
                checks=json.dumps(list(checks)),
                command=json.dumps(command),
                extra=extra,
            ),
        )

    def push(self, message: str = "base") -> str:
        """Commit everything and push it to the remote's default branch; gives the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        self.git("push", "-q", "origin", "HEAD")
        return self.git("rev-parse", "HEAD")

    def cli(self, *words: str, code: int | None = 0, at: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run interlock; ``code`` is the exit code that is expected, None for any."""
        done = self.start(words, at or self.repo, self.env)
        if code is not None and done.returncode != code:
            raise AssertionError(f"interlock {' '.join(words)} → {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def ask(self, *words: str, code: int | None = 0) -> dict[str, Any]:
        """Run interlock with --json and give the object it answers."""
        answer: dict[str, Any] = json.loads(self.cli(*words, "--json", code=code).stdout)
        return answer

    def main_files(self) -> set[str]:
        """The paths on the remote's default branch."""
        return set(self.git("ls-tree", "-r", "--name-only", "-z", "HEAD", at=self.remote).split("\0")) - {""}
