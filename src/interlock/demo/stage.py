"""Where the demo plays: its folders, the commands it really runs, and what it says about them; the order is story's."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.core.problems import InterlockError
from interlock.host import commands

SECONDS = 120.0
REDIRECT = ("GIT_", "INTERLOCK_", "PYTEST_")
OURS = frozenset({"INTERLOCK_PORT_REGISTRY", "INTERLOCK_ISOLATION", "INTERLOCK_AGENT_USER", "INTERLOCK_TOOLS"})
ROOT = {"INTERLOCK_ROOT_AGENTS": "allow"}
"""Where there is no sandbox, root's agents are refused; those of the demo are our own, and harmless."""

QUICK = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
"""Keeps the plug-ins of whoever runs the demo out of its test suite; the policy hands it on to checks."""


class Broken(InterlockError):
    """A command of the demo did not do what the demo shows; the story ends there."""

    code = "demo"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command gave: its exit code and the JSON on its standard output."""

    code: int
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Stage:
    """A folder with ``remote.git`` and ``repo`` in it; ``say`` takes one line of narration."""

    folder: Path
    say: Callable[[str], None]

    @property
    def repo(self) -> Path:
        return self.folder / "repo"

    @property
    def remote(self) -> Path:
        return self.folder / "remote.git"

    def title(self, text: str) -> None:
        self.say("")
        self.say(f"== {text}")

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.repo / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def git(self, *args: str, cwd: Path | None = None, told: bool = True) -> str:
        """Run git in the repository or in another folder.  Raises Broken."""
        if told:
            self._tell("git", args)
        done = commands.run(("git", *args), env=self._env(), cwd=cwd or self.repo, seconds=SECONDS)
        if done.code:
            raise Broken(f"git {args[0]} ended with {done.code}: {done.error}")
        return done.text

    def pytest(self, tree: Path) -> commands.Finished:
        argv = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
        return commands.run(argv, env=self._env(), cwd=tree, seconds=SECONDS)

    def interlock(self, *args: str, codes: Iterable[int] = (0,), told: bool = True) -> Answer:
        """Run the real command with --json and read its answer.  Raises Broken for any other exit code."""
        if told:
            self._tell("interlock", args)
        argv = (sys.executable, "-P", "-m", "interlock", *args, "--json")
        done = commands.run(argv, env=self._env(), cwd=self.repo, seconds=SECONDS)
        for line in done.error.splitlines():
            self.say(f"  | {line}")
        if done.code not in set(codes):
            last = "\n".join((done.text + "\n" + done.error).strip().splitlines()[-8:])
            raise Broken(
                f"interlock {' '.join(args)} ended with {done.code}:\n{last}", hint=f"Look into {self.folder}."
            )
        return Answer(done.code, json.loads(done.text))

    def _tell(self, program: str, args: Iterable[str]) -> None:
        self.say(f"$ {program} {shlex.join(args)}")

    def _env(self) -> dict[str, str]:
        """Ours without what would point git, pytest or interlock elsewhere, and with the demo's own git settings."""
        kept = {name: value for name, value in os.environ.items() if name in OURS or not name.startswith(REDIRECT)}
        return (
            kept
            | ROOT
            | {
                "GIT_CONFIG_GLOBAL": str(self.folder / "gitconfig"),
                "GIT_TERMINAL_PROMPT": "0",
                QUICK: "1",
            }
        )


GITCONFIG = """\
[user]
	name = Ana
	email = ana@example.org
[init]
	defaultBranch = main
[commit]
	gpgsign = false
[advice]
	detachedHead = false
"""
