"""The whole demo, every refusal included, against as many looks at its status in the same run (goal: a minute)."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench._measure import Report

GOAL = 60.0
ENV = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "INTERLOCK_", "PYTEST_"))}
INTERLOCK = [sys.executable, "-m", "interlock"]


def timed(*words: str, where: str) -> tuple[float, float, subprocess.CompletedProcess[str]]:
    """Wall seconds and processor seconds of an interlock command with its children, and what it said."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [*INTERLOCK, *words],
        cwd=where,
        env=ENV,
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    after, took = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - began
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done


def main() -> None:
    report = Report("The demo, from an empty folder to four landed tasks and seven refusals")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        wall, cpu, done = timed("demo", "--json", "--dir", f"{folder}/demo", where=folder)
        commands = len(re.findall(r"^\$ interlock ", done.stderr, re.MULTILINE))
        floor = sum(timed("status", where=f"{folder}/demo/repo")[1] for _ in range(commands))
    told = json.loads(done.stdout.splitlines()[-1])
    report.figure("tasks landed", len(told["landed"]), "")
    report.figure("wall time", round(wall, 1), "s", goal=f"<= {GOAL:.0f} s", met=wall <= GOAL)
    report.figure("processor time", round(cpu, 1), "s cpu", goal=f"<= {GOAL:.0f} s", met=cpu <= GOAL)
    report.figure(f"floor: interlock status, {commands} times", round(floor, 1), "s cpu")
    report.figure("processor time over the floor", round(cpu / floor, 1), "x")
    report.end()


if __name__ == "__main__":
    main()
