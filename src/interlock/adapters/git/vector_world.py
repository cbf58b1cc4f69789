"""A small team of its own for the git attacks: remote, checkout, a task at one level, and every verb of the control plane on it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from interlock.adapters.git.errors import GitFailed
from interlock.adapters.git.levels import LevelWorkspaces
from interlock.adapters.git.plumbing import call, environment
from interlock.adapters.git.reader import open_reader
from interlock.adapters.git.repo import GitRepo
from interlock.adapters.git.sealed import bases
from interlock.adapters.git.sealed.install import needs
from interlock.adapters.git.sealed.layout import Kit, Layout
from interlock.core.contract.card import Level
from interlock.core.contract.policy import Policy
from interlock.core.problems import InterlockError
from interlock.ports.isolation import Place, Room
from interlock.ports.repository import Author, Base, Merged, Work

DRIVEN: Final = "*.c filter=x diff=x merge=x\n*.d diff=y filter=y\n"
_AUTHOR: Final = Author(name="agent (attack)", email="agent+attack@interlock.invalid")


def git(where: Path, *words: str) -> str:
    """A git command as a person of the team gives it, before any agent is there.  Raises GitFailed."""
    env = {**environment(), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = call(words, env=env, cwd=where)
    if done.code != 0:
        raise GitFailed(["git", *words], done.code, done.error)
    return done.text.strip()


def _nothing(room: Room, command: str, log: Path) -> None:
    """The installer of a repository that has nothing to install."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A repository with a remote; ``level`` is that of its tasks."""

    root: Path
    level: Level

    @property
    def top(self) -> Path:
        return self.root / "repo"

    @property
    def remote(self) -> Path:
        return self.root / "remote.git"

    @property
    def repo(self) -> GitRepo:
        return GitRepo.open(self.top)

    @classmethod
    def make(cls, root: Path, level: Level) -> World:
        """The remote with one commit; at level sealed with a warm base, so that tasks are overlays."""
        world = cls(root=root, level=level)
        git(root, "init", "-q", "--bare", "-b", "main", "remote.git")
        git(root, "init", "-q", "-b", "main", "repo")
        lines = "".join(f"{number}\n" for number in range(20))
        files = {"src/a.c": lines, "src/b.c": lines, "t.d": lines, "m.txt": lines, ".gitattributes": DRIVEN}
        for name, text in files.items():
            path = world.top / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        git(world.top, "remote", "add", "origin", str(world.remote))
        git(world.top, "add", "-A")
        git(world.top, "commit", "-q", "-m", "first")
        git(world.top, "push", "-q", "origin", "main")
        git(root, "clone", "-q", str(world.remote), "other")
        if level == "sealed":
            base = world.repo.refresh()
            kit = Kit(world.repo.mirror, lambda _: Policy(), _nothing)
            bases.build(kit, base.oid, needs(kit, base.oid))
        return world

    def task(self, slug: str) -> Place:
        """A task at the present default branch, with edits to files whose attributes name drivers."""
        repo = self.repo
        spaces = LevelWorkspaces(repo)
        base = repo.refresh()
        path = spaces.path_for(slug, slug, self.level)
        place = Place(path=path, branch=f"agent/{slug}", base=base.oid, level=self.level, job=slug)
        place = spaces.create(place, slug)
        written = self.written(place)
        for name in ("src/a.c", "t.d", "m.txt"):
            text = (self.root / "other" / name).read_text()
            (written / name).parent.mkdir(exist_ok=True)
            (written / name).write_text(f"by {slug}\n{text}")
        return place

    def written(self, place: Place) -> Path:
        """The folder where what the agent writes appears."""
        if self.level == "worktree":
            return place.path
        layout = Layout(self.repo.found)
        task = layout.read(place.job)
        return place.path if task is None else layout.tree(task)

    def settings(self, place: Place) -> Path:
        """The git directory whose settings the agent can write."""
        return self.top / ".git" if self.level == "worktree" else self.written(place) / ".git"

    def outsider(self) -> None:
        """Somebody else changes the same files on the default branch."""
        other = self.root / "other"
        git(other, "fetch", "-q", "origin")
        git(other, "reset", "-q", "--hard", "origin/main")
        for name in ("src/a.c", "t.d", "m.txt"):
            with (other / name).open("a") as file:
                file.write("more\n")
        git(other, "commit", "-qam", "by an outsider")
        git(other, "push", "-q", "origin", "HEAD:main")


def network(world: World, place: Place) -> list[str]:
    """The verbs that reach the remote; gives what was refused or failed."""
    repo = world.repo
    base = Base(remote="origin", branch="main", oid=place.base)
    steps: list[Callable[[], object]] = [
        repo.refresh,
        lambda: repo.push_branch(place.branch, base.oid, None),
        lambda: repo.land(base, base.oid),
        repo.agent_branches,
    ]
    return _tried(steps)


def everything(world: World, place: Place) -> list[str]:
    """Each verb of the control plane, in the order of a task's life; gives what was refused or failed."""
    repo = world.repo
    spaces = LevelWorkspaces(repo)
    keep = f"refs/interlock/kept/{place.job}/1"
    faults = _tried(
        [
            lambda: repo.head_of(place),
            lambda: repo.extra_files(place),
            lambda: spaces.changed(place),
            lambda: spaces.last_touched(place),
            lambda: open_reader(world.top).branches(place.base),
        ]
    )
    works: list[Work] = []
    faults += _tried(
        [
            lambda: works.append(
                repo.commit_work(place, parent=place.base, message="work", author=_AUTHOR, sign=False, keep=keep)
            )
        ]
    )
    head = works[0].commit if works else place.base
    world.outsider()
    faults += _tried([repo.refresh])
    base = repo.last_base()
    merged = repo.merge(base.oid, [head], message="land")
    commit = merged.commit if isinstance(merged, Merged) else base.oid
    faults += _tried(
        [
            lambda: repo.changes(base.oid, head),
            lambda: repo.equals_commit(place, head, known=(), caches=()),
            lambda: _fresh(world, spaces, commit),
            lambda: repo.push_branch(place.branch, head, None),
            lambda: repo.import_branch(place.branch),
            lambda: repo.keep(f"{keep}-x", head),
            lambda: repo.land(base, commit),
            lambda: repo.landed_slugs(commit),
            lambda: repo.rebase_place(place, head=head, onto=base.oid, keep=f"{keep}-y"),
            lambda: spaces.materialise(place, world.root / f"open-{place.job}"),
        ]
    )
    return faults + _away_and_back(spaces, place)


def _fresh(world: World, spaces: LevelWorkspaces, commit: str) -> None:
    with spaces.fresh(commit, world.root / "fresh", world.level) as room:
        spaces.put_back(room, commit)


def _away_and_back(spaces: LevelWorkspaces, place: Place) -> list[str]:
    ref = f"refs/interlock/trash/{place.job}/{place.job}-1"
    return _tried(
        [
            lambda: spaces.snapshot(place, ref),
            lambda: spaces.remove(place, ref),
            lambda: spaces.restore(ref, place),
            lambda: spaces.create(place, place.job),
        ]
    )


def _tried(steps: list[Callable[[], object]]) -> list[str]:
    faults = []
    for step in steps:
        try:
            step()
        except InterlockError as fault:
            faults.append(f"{type(fault).__name__}: {fault.message}")
    return faults
