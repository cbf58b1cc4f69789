"""A sealed task made at 1,000, 20,000 and 100,000 files, its sandbox started, beside git worktree add and the raw floor."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench._git import SCRATCH, git, repository
from bench._measure import Report, seconds, side_by_side

from interlock.adapters.git.levels import LevelWorkspaces
from interlock.adapters.git.repo import GitRepo
from interlock.adapters.git.sealed import changes
from interlock.adapters.git.sealed.layout import Layout
from interlock.core.sandbox import Layers, Sandbox
from interlock.host.sandbox.command import walls
from interlock.host.sandbox.identity import default_user, own
from interlock.ports.isolation import Place, Room

SIZES = ((1_000, 20, 5), (20_000, 20, 3), (100_000, 20, 1))
"""Files, rounds, and rounds of the slow ``git worktree add``."""

AT_ONCE = 20


def started(room: Room) -> None:
    """The room's sandbox, to its first program and back."""
    assert room.sandbox is not None
    with walls(room.sandbox) as around:
        command = [*around.words, "/bin/true"]
        subprocess.run(command, env={}, pass_fds=around.descriptors, check=True)


def main() -> None:
    """Measure each size in a repository of its own; nothing is deleted before the end, since that slows file systems."""
    report = Report("a sealed task, in process, to the first program in its sandbox")
    for files, rounds, slow in SIZES:
        with tempfile.TemporaryDirectory(dir=SCRATCH, prefix="interlock-bench-") as folder:
            measure(report, repository(Path(folder), files), files, rounds, slow)
    report.end()


def measure(report: Report, top: Path, files: int, rounds: int, slow: int) -> None:
    repo = GitRepo.open(top)
    base = repo.refresh().oid
    spaces = LevelWorkspaces(repo)
    count = iter(range(100_000))

    def made() -> Place:
        slug = f"t{next(count)}"
        path = spaces.path_for(slug, slug, "sealed")
        return spaces.create(Place(path=path, branch=f"agent/{slug}", base=base, level="sealed", job=slug), slug)

    def added() -> None:
        name = f"raw{next(count)}"
        git(top, "worktree", "add", "-q", "--no-track", "-b", name, str(top.parent / "raw" / name), base)

    report.figure(f"first one, with its base, {files} files", round(seconds(made), 2), "s")
    floor = raw_floor(top.parent / "floor", Layout(repo.found), spaces.room(made()))
    works: dict[str, Callable[[], object]] = {
        "floor": floor,
        "made": made,
        "both": lambda: started(spaces.room(made())),
    }
    found = side_by_side(works, rounds)
    report.times(f"floor: 3 mkdir, sandbox with overlay, {files}", found["floor"])
    report.times(f"sealed, made, {files} files", found["made"], floor=found["floor"])
    goal = 0.150 if files > 1_000 else None
    report.times(f"sealed, made and started, {files} files", found["both"], floor=found["floor"], goal_p95=goal)
    report.times(f"git worktree add, {files} files", side_by_side({"add": added}, slow)["add"])
    at_once(report, files, made)
    commit = next_commit(top, repo)
    base = repo.refresh().oid
    assert base == commit
    report.figure(f"first one at a commit 5 files on, {files}", round(seconds(made) * 1e3, 1), "ms")
    fresh(report, files, spaces, base, top.parent)
    looked_at(report, files, repo, spaces, made())


def raw_floor(folder: Path, layout: Layout, room: Room) -> Callable[[], None]:
    """What no design can save: the folders, and a sandbox with the same parts."""
    assert room.sandbox is not None
    sandbox = room.sandbox
    folder.mkdir()
    count = iter(range(100_000))
    lower = (sandbox.layers.lower if sandbox.layers else ()) or (str(layout.root),)

    def floor() -> None:
        parts = [folder / str(next(count)) / name for name in ("up", "work", "home")]
        for part in parts:
            part.mkdir(parents=True)
        own(parts[0].parent, default_user())
        layers = Layers(lower=lower, upper=str(parts[0]), work=str(parts[1]))
        started(
            Room(path=folder, written=parts[0], sandbox=Sandbox(home=str(parts[2]), layers=layers, binds=sandbox.binds))
        )

    return floor


def at_once(report: Report, files: int, made: Callable[[], Place]) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        taken = seconds(lambda: list(pool.map(lambda _: made(), range(AT_ONCE))))
    report.figure(f"{AT_ONCE} at once, {files} files", round(taken, 3), "s", goal="at most 0.5 s", met=taken <= 0.5)


def next_commit(top: Path, repo: GitRepo) -> str:
    """Five files changed on the default branch."""
    for number in range(5):
        (top / f"src/d{number}/f{number}.py").write_text(f"changed {number}\n")
    git(top, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "next")
    git(top, "push", "-q", "origin", "main")
    del repo
    return git(top, "rev-parse", "HEAD")


def fresh(report: Report, files: int, spaces: LevelWorkspaces, base: str, folder: Path) -> None:
    def once() -> None:
        with spaces.fresh(base, folder / "fresh", "sealed") as room:
            started(room)

    report.times(f"a fresh tree for checks, started, {files}", side_by_side({"fresh": once}, 10)["fresh"])


def looked_at(report: Report, files: int, repo: GitRepo, spaces: LevelWorkspaces, place: Place) -> None:
    """The changed set by our walk beside git status in the same tree, and what the task takes on disk."""
    layout = Layout(repo.found)
    task = layout.read(place.job)
    room = spaces.room(place)
    assert task is not None
    assert room.sandbox is not None
    for number in range(20):
        target = room.written / f"src/d{number}"
        target.mkdir(parents=True, exist_ok=True)
        (target / "new.txt").write_text("x")
    own(room.written, default_user())
    with walls(room.sandbox) as around:
        script = "git status >/dev/null; git config core.untrackedCache false; t=$EPOCHREALTIME; git status >/dev/null; u=$EPOCHREALTIME; echo $((${u/./} - ${t/./}))"
        command = [*around.words, "/bin/bash", "-c", script]
        env = {"PATH": "/usr/bin:/bin", "HOME": "/home/agent"}
        told = subprocess.run(command, env=env, pass_fds=around.descriptors, check=True, capture_output=True)
    status = int(told.stdout) / 1e6
    walk = side_by_side({"walk": lambda: changes.changed(layout, task)}, 20)["walk"]
    report.times(f"20 changed files found by walking, {files}", walk)
    report.figure(f"git status in the same tree, warm, {files}", round(status * 1e3, 1), "ms")
    size = lambda path: int(subprocess.check_output(["du", "-sk", path]).split()[0])  # noqa: E731
    index = (room.written / ".git" / "index").stat().st_size // 1024
    report.figure(f"disk of one task, {files} files", size(room.written), "kB", goal=f"of it the index {index} kB")
    if (raw := next(iter(sorted((layout.found.top.parent / "raw").iterdir())), None)) is not None:
        report.figure(f"disk of one worktree, {files} files", size(raw), "kB")


if __name__ == "__main__":
    os.environ.pop("INTERLOCK_ISOLATION", None)
    assert shutil.which("git")
    main()
