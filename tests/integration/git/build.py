"""Real repositories for the git tests: a bare remote, a checkout, and helpers that run git as a person would."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from interlock.adapters.git.repo import GitRepo
from interlock.adapters.git.worktrees import Worktrees
from interlock.ports.isolation import Place
from interlock.ports.repository import Author, Work

AUTHOR = Author(name="agent (t)", email="agent+t@interlock.invalid")
ENV = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ana",
    "GIT_AUTHOR_EMAIL": "ana@example.org",
    "GIT_COMMITTER_NAME": "Ana",
    "GIT_COMMITTER_EMAIL": "ana@example.org",
}


def git(where: Path, *args: str, code: int | None = 0, stdin: str | None = None) -> str:
    """Run git as the user in a folder; gives stdout without the last line break."""
    done = subprocess.run(
        ["git", *args], cwd=where, env=ENV, capture_output=True, input=stdin, text=True, errors="surrogateescape"
    )
    if code is not None:
        assert done.returncode == code, f"git {' '.join(args)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout.rstrip("\n")


@dataclass(frozen=True)
class World:
    """A repository with its remote, as a team has it."""

    root: Path
    top: Path
    remote: Path

    def repo(self) -> GitRepo:
        return GitRepo.open(self.top)

    def trees(self, repo: GitRepo | None = None) -> Worktrees:
        return Worktrees(repo or self.repo())

    def commit(self, files: dict[str, str | bytes | None], message: str = "change", branch: str | None = None) -> str:
        """Write (None: delete) files in the main checkout and commit them there."""
        if branch:
            git(self.top, "switch", "-q", branch)
        write(self.top, files)
        git(self.top, "add", "-A")
        git(self.top, "commit", "-q", "--allow-empty", "-m", message)
        return git(self.top, "rev-parse", "HEAD")

    def push(self, branch: str = "main") -> str:
        git(self.top, "push", "-q", "origin", branch)
        return git(self.top, "rev-parse", branch)

    def outsider(self, files: dict[str, str | bytes | None], branch: str = "main") -> str:
        """A commit that somebody else pushes to the remote."""
        other = self.root / "other"
        if not other.exists():
            git(self.root, "clone", "-q", str(self.remote), "other")
        git(other, "fetch", "-q", "origin")
        git(other, "checkout", "-q", "--detach", f"origin/{branch}")
        write(other, files)
        git(other, "add", "-A")
        git(other, "commit", "-q", "-m", "by an outsider")
        git(other, "push", "-q", "origin", f"HEAD:refs/heads/{branch}")
        return git(other, "rev-parse", "HEAD")

    def tip(self, branch: str = "main") -> str:
        """Where the remote's branch stands."""
        return git(self.remote, "rev-parse", branch)


def write(folder: Path, files: dict[str, str | bytes | None]) -> None:
    for name, data in files.items():
        path = folder / name
        if data is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)


def world(root: Path, files: dict[str, str | bytes | None] | None = None, *, branch: str = "main") -> World:
    """A checkout with one commit, pushed to a bare remote beside it."""
    git(root, "init", "-q", "--bare", "-b", branch, "remote.git")
    git(root, "init", "-q", "-b", branch, "repo")
    made = World(root=root, top=root / "repo", remote=root / "remote.git")
    git(made.top, "remote", "add", "origin", str(made.remote))
    made.commit(files or {"src/a.py": "a = 1\n", "src/b.py": "b = 2\n", "README.md": "hello\n"}, "first")
    made.push(branch)
    return made


def place(made: World, slug: str = "t", job: str = "job1", repo: GitRepo | None = None) -> Place:
    """A task's tree at the present default branch."""
    repo = repo or made.repo()
    base = repo.refresh()
    trees = made.trees(repo)
    return trees.create(placed(trees, slug, job, base.oid), slug)


def placed(trees: Worktrees, slug: str, job: str, base: str, path: Path | None = None) -> Place:
    """Where a task's tree is to be made, as dispatch says it."""
    return Place(path=path or trees.path_for(slug, job), branch=f"agent/{slug}", base=base, job=job)


def work(repo: GitRepo, where: Place, *, message: str = "work", keep: str = "refs/interlock/kept/j/1") -> Work:
    return repo.commit_work(where, parent=where.base, message=message, author=AUTHOR, sign=False, keep=keep)


def snapshot_of(folder: Path) -> dict[str, bytes | str]:
    """Every file below a folder with its bytes, links with their targets; for comparing before and after."""
    found: dict[str, bytes | str] = {}
    for at, folders, files in os.walk(folder):
        if ".git" in folders:
            folders.remove(".git")
        for name in [*files, *(entry for entry in folders if (Path(at) / entry).is_symlink())]:
            path = Path(at) / name
            if name != ".git":
                key = os.path.relpath(path, folder)
                found[key] = os.readlink(path) if path.is_symlink() else path.read_bytes()
    return found
