"""CPU time of starting the command line, against bare Python and git, in one run (goal: 0.15 s, with the store 0.4 s)."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench._measure import Report, median

from interlock.testing.world import World

ROUNDS = 7


def cpu(argv: list[str], cwd: Path, env: dict[str, str]) -> float:
    """User and system seconds of a command with its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, cwd=cwd, env=env, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    report = Report("CLI start, CPU")
    interlock = [sys.executable, "-m", "interlock"]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        world = World.make(Path(folder) / "w")
        world.card("a")
        world.push()
        world.cli("dispatch", "a")
        env = {name: value for name, value in world.env.items() if name != "PYTHONDONTWRITEBYTECODE"}
        commands = {
            "python -c pass": ([sys.executable, "-c", "pass"], None),
            "git rev-parse": (["git", "rev-parse", "HEAD"], None),
            "--version": ([*interlock, "--version"], 0.15),
            "scope": ([*interlock, "scope", "a", "--base", "main", "--head", "HEAD", "--json"], 0.15),
            "overlap": ([*interlock, "overlap", "main", "--base", "main", "--json"], 0.15),
            "card check": ([*interlock, "card", "check", "--here", "--json"], 0.15),
            "status": ([*interlock, "status", "--json"], 0.4),
            "inbox": ([*interlock, "inbox", "--json"], 0.4),
            "caps show": ([*interlock, "caps", "show", "--json"], 0.4),
            "audit": ([*interlock, "audit", "--json"], 0.4),
        }
        for name, (argv, goal) in commands.items():
            samples = [cpu(argv, world.repo, env) for _ in range(ROUNDS)]
            value = round(median(samples), 3)
            report.figure(
                name, value, "s cpu", goal=f"<= {goal} s" if goal else "", met=value <= goal if goal else None
            )
    report.end()


if __name__ == "__main__":
    main()
