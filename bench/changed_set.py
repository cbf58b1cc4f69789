"""What a sealed task changed, by its upper layer, against ``git status`` of the same tree, in turn, at 20,000 files; goal 5 ms."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench._git import SCRATCH, git, repository
from bench._measure import Report, side_by_side

from interlock.adapters.git.commits import temporary_index
from interlock.adapters.git.levels import LevelWorkspaces
from interlock.adapters.git.repo import GitRepo
from interlock.adapters.git.sealed import changes, idle, view
from interlock.adapters.git.sealed.layout import Layout, Task
from interlock.ports.isolation import Place

FILES, ROUNDS, GOAL = 20_000, 15, 0.005


def main() -> None:
    """A task that edited, deleted and added some files, and one that also installed 2,000."""
    report = Report("the changed set of a sealed task, in process")
    with tempfile.TemporaryDirectory(dir=SCRATCH, prefix="interlock-bench-") as folder:
        top = repository(Path(folder), FILES)
        repo = GitRepo.open(top)
        base = repo.refresh().oid
        for edits, more in ((50, 0), (50, 2_000)):
            measure(report, repo, base, edits, more)
    report.end()


def measure(report: Report, repo: GitRepo, base: str, edits: int, more: int) -> None:
    layout, spaces = Layout(repo.found), LevelWorkspaces(repo)
    name = f"t{edits}-{more}"
    path = spaces.path_for(name, name, "sealed")
    place = spaces.create(Place(path=path, branch=f"agent/{name}", base=base, level="sealed", job=name), name)
    task = layout.read(name)
    assert task is not None
    edit(layout, task, edits, more)
    plain = repo.found.top.parent / f"plain-{name}"
    git(repo.found.top, "worktree", "add", "-q", "--detach", str(plain), base)
    edit_plain(plain, edits, more)
    with temporary_index(repo.mirror) as index:
        seen = view.of(layout, task).git(repo.mirror.git, index)
        seen.run("read-tree", base)
        seen.run("update-index", "-q", "--refresh", ok=(0, 1))
        works: dict[str, Callable[[], object]] = {
            "git status, plain checkout": lambda: git(plain, "status", "--porcelain", "-uall", "--ignored"),
            "git status, in a view": lambda: seen.run("status", "--porcelain", "-uall", "--ignored"),
            "os.walk of the upper layer": lambda: [
                each for _, _, names in os.walk(layout.upper(name)) for each in names
            ],
            "changed": lambda: changes.changed(layout, task),
            "last touched, with its processes": lambda: idle.last_touched(layout, task),
        }
        found = side_by_side(works, ROUNDS)
    floor = found["os.walk of the upper layer"]
    told = len(changes.changed(layout, task))
    assert told == edits * 3 + more
    for what, samples in found.items():
        goal = GOAL if what == "changed" and not more else None
        report.times(f"{what}, {told} paths", samples, floor=floor, goal_p95=goal)
    assert place.path.is_dir()


def edit(layout: Layout, task: Task, edits: int, more: int) -> None:
    """Write into the upper layer what a task would: changed files, deleted ones, new ones."""
    upper, lower = layout.upper(task.job), Path(task.lower[-1])
    tracked = sorted(file for file in lower.rglob("*") if file.is_file())
    for file in tracked[:edits]:
        target = upper / file.relative_to(lower)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("changed\n")
    for file in tracked[edits : 2 * edits]:
        target = upper / file.relative_to(lower)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.mknod(target, 0o020600, os.makedev(0, 0))
    add(upper, edits, more)


def edit_plain(tree: Path, edits: int, more: int) -> None:
    tracked = sorted(file for file in tree.rglob("*") if file.is_file() and file.name != ".git")
    for file in tracked[:edits]:
        file.write_text("changed\n")
    for file in tracked[edits : 2 * edits]:
        file.unlink()
    add(tree, edits, more)


def add(tree: Path, edits: int, more: int) -> None:
    for number in range(edits + more):
        target = tree / "added" / f"{number // 100}" / f"{number}.txt"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("new\n")


if __name__ == "__main__":
    main()
