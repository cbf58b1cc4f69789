"""The scope of every open branch, and the files that several change, at 500 and 1,000 branches; against git one by one."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench._git import ENV, SCRATCH, branches, git
from bench._measure import Report, median

FILES = 20_000
COUNTS = (500, 1_000)
SAMPLE = 50
ROUNDS = 5
GOALS = {("scope", 500): 0.4, ("overlap", 1_000): 0.2}


def cpu(work: Callable[[], object]) -> float:
    """User and system time of all processes that a piece of work starts, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def interlock(top: Path, *words: str) -> dict[str, object]:
    """Run the command line as a person would."""
    command = [sys.executable, "-m", "interlock", *words, "--base", "main", "--json"]
    done = subprocess.run(command, cwd=top, env=ENV, capture_output=True, check=False)
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def naive(top: Path, count: int) -> Callable[[], object]:
    """What a script does: one three-dot difference for each branch, on a sample of them."""

    def loop() -> None:
        for number in range(0, count, count // SAMPLE):
            git(top, "diff", "--name-only", f"main...agent/s{number}")

    return loop


def main() -> None:
    """Measure each count in a repository of its own; all figures are CPU time, the start of the command included."""
    report = Report(f"scope and overlap over all branches, {FILES} files, CPU time with the command's start")
    for count in COUNTS:
        with tempfile.TemporaryDirectory(dir=SCRATCH, prefix="interlock-bench-") as folder:
            measure(report, branches(Path(folder), files=FILES, count=count), count)
    report.end()


def measure(report: Report, top: Path, count: int) -> None:
    start = [cpu(lambda: interlock_start(top)) for _ in range(ROUNDS)]
    report.times("interlock scope --help", start)
    loop = [cpu(naive(top, count)) * count / SAMPLE for _ in range(2)]
    report.times(f"git diff one by one, {count} branches (from {SAMPLE})", loop)
    for verb, words in (("scope", ("scope", "--all")), ("overlap", ("overlap",))):
        samples = [cpu(lambda words=words: interlock(top, *words)) for _ in range(ROUNDS)]  # type: ignore[misc]
        report.times(f"interlock {verb}, {count} branches", samples, floor=loop)
        if goal := GOALS.get((verb, count)):
            report.figure(
                f"{verb} of {count} branches",
                round(median(samples), 3),
                "s",
                goal=f"at most {goal} s",
                met=median(samples) <= goal,
            )
            net = median(samples) - median(start)
            report.figure(f"{verb} of {count} branches without the start", round(net, 3), "s")
    answer = interlock(top, "overlap")
    files = answer["files"]
    report.note(f"{len(files) if isinstance(files, dict) else 0} files are changed by several of {count} branches")


def interlock_start(top: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "interlock", "scope", "--help"], cwd=top, env=ENV, capture_output=True, check=False
    )


if __name__ == "__main__":
    main()
