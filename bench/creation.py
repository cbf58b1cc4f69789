"""A task's tree made by Interlock against raw ``git worktree add``, in turn, at 1,000 and 20,000 files; goal 1.3 times."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench._git import SCRATCH, git, repository
from bench._measure import Report, side_by_side

from interlock.adapters.git.repo import GitRepo
from interlock.adapters.git.worktrees import Worktrees
from interlock.ports.isolation import Place

SIZES = ((1_000, 9), (20_000, 5))
GOAL = 1.3


def main() -> None:
    """Measure each size in a repository of its own; nothing is deleted before the end, since that slows file systems."""
    report = Report("creation of a task's tree, in process, without the fetch")
    for files, rounds in SIZES:
        with tempfile.TemporaryDirectory(dir=SCRATCH, prefix="interlock-bench-") as folder:
            measure(report, repository(Path(folder), files), files, rounds)
    report.end()


def measure(report: Report, top: Path, files: int, rounds: int) -> None:
    repo = GitRepo.open(top)
    base = repo.refresh().oid
    trees = Worktrees(repo)
    count = iter(range(10_000))

    def raw(*options: str) -> Callable[[], object]:
        def add() -> None:
            name = f"raw{next(count)}"
            git(top, *options, "worktree", "add", "-q", "--no-track", "-b", name, str(top.parent / "raw" / name), base)

        return add

    def ours() -> None:
        name = f"t{next(count)}"
        place = Place(path=trees.path_for(name, name), branch=f"agent/{name}", base=base, job=name)
        trees.create(place, name)

    works: dict[str, Callable[[], object]] = {
        "git worktree add": raw(),
        "git worktree add, 2 workers": raw("-c", "checkout.workers=2"),
        "interlock": ours,
    }
    found = side_by_side(works, rounds)
    floor = found.pop("git worktree add")
    report.times(f"git worktree add, {files} files", floor)
    for name, samples in found.items():
        report.times(f"{name}, {files} files", samples, floor=floor)
    ratio = sorted(found["interlock"])[rounds // 2] / sorted(floor)[rounds // 2]
    report.figure(f"ratio at {files} files", round(ratio, 2), "x", goal=f"at most {GOAL}", met=ratio <= GOAL)
    sizes = {subprocess.check_output(["du", "-s", path]).split()[0] for path in (top.parent / "raw").iterdir()}
    report.note(f"each tree holds {'/'.join(size.decode() for size in sorted(sizes)[:1])} kB")


if __name__ == "__main__":
    main()
