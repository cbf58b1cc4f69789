"""What a sandbox costs at the start: walls alone and whole runs, over exec of true and over a run without walls, in one go.

    python bench/sandbox.py [--json] [ROUNDS]

As root it measures the two stages and, through setpriv, the same as a plain user, which is what the goal is for.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench._measure import Report, median, seconds, side_by_side

from interlock.core.sandbox import Layers, Sandbox
from interlock.host import environment, processes
from interlock.host.sandbox import command, identity, landlock
from interlock.host.sandbox.attacks import attacks
from interlock.host.sandbox.probe import probe

ROUNDS = 30
GOAL_OVER_EXEC = 0.015
PLAIN_UID = "60998"
TRUE = "/usr/bin/true"
FLOOR = "exec of true (floor)"


def boxes(root: Path) -> tuple[Sandbox, Sandbox]:
    """The sandbox of a task whose tree is a folder, and of one whose tree is layers."""
    user = identity.default_user()
    for name in ("tree", "home", "lower", "both/up", "both/work"):
        (root / name).mkdir(parents=True)
    identity.own(root, user)
    plain = Sandbox(tree=str(root / "tree"), home=str(root / "home"), user=user)
    both = root / "both"
    layers = Layers(lower=(str(root / "lower"),), upper=str(both / "up"), work=str(both / "work"))
    return plain, replace(plain, tree="", layers=layers)


def alone(sandbox: Sandbox) -> None:
    """The walls and true, without keeper or log."""
    with command.walls(sandbox) as walls:
        subprocess.run([*walls.words, TRUE], env={}, pass_fds=walls.descriptors, check=True)


def whole(root: Path, sandbox: Sandbox | None) -> None:
    """A run as agents and checks have it: keeper, second wall, log, ladder."""
    env = environment.exact({}) if sandbox is None else environment.inside({}, sandbox)
    ended = processes.run((TRUE,), env=env, cwd=root, log=root / "log", sandbox=sandbox)
    if ended.exit_code != 0:
        raise SystemExit(f"the run failed: {ended}")


def cpu(work: Callable[[], object], rounds: int) -> float:
    """Processor time of a call and its children in seconds, which other work on the machine hardly changes."""

    def used() -> float:
        return sum(
            usage.ru_utime + usage.ru_stime
            for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        )

    began = used()
    for _ in range(rounds):
        work()
    return (used() - began) / rounds


def measure(report: Report, root: Path, rounds: int) -> None:
    """All of it, side by side."""
    plain, layered = boxes(root)
    _ = landlock.version()  # written in bytecode now, as a wheel's files are
    works: dict[str, Callable[[], object]] = {
        FLOOR: lambda: subprocess.run([TRUE], env={}, check=True),
        "walls, tree is a folder": lambda: alone(plain),
        "walls, tree is layers": lambda: alone(layered),
        "run without walls": lambda: whole(root, None),
        "run, tree is a folder": lambda: whole(root, plain),
        "run, tree is layers": lambda: whole(root, layered),
    }
    found = side_by_side(works, rounds)
    floor = found[FLOOR]
    for name, samples in found.items():
        report.times(name, samples, floor=None if samples is floor else floor)
    goal = "<= 15 ms"
    for name in ("walls, tree is a folder", "walls, tree is layers"):
        over = median(found[name]) - median(floor)
        met = None if os.geteuid() == 0 else over <= GOAL_OVER_EXEC
        report.figure(f"{name}: over exec", round(over * 1e3, 2), "ms", goal=goal, met=met)
    for name in ("run, tree is a folder", "run, tree is layers"):
        over = median(found[name]) - median(found["run without walls"])
        report.figure(f"{name}: over a run without", round(over * 1e3, 2), "ms")
    spent = {name: cpu(work, rounds) for name, work in works.items()}
    for name, value in spent.items():
        report.figure(f"{name}: processor", round(value * 1e3, 2), "ms")
    for name in ("walls, tree is a folder", "walls, tree is layers"):
        over = spent[name] - spent[FLOOR]
        met = None if os.geteuid() == 0 else over <= GOAL_OVER_EXEC
        report.figure(f"{name}: over exec, processor", round(over * 1e3, 2), "ms", goal=goal, met=met)
    probe.cache_clear()
    report.figure("probe", round(seconds(lambda: probe(plain.user)) * 1e3, 1), "ms", goal="< 50 ms", met=None)
    report.figure("all attacks", round(seconds(lambda: list(attacks("sealed"))) * 1e3), "ms")


def main() -> None:
    """Measure as who we are; as root, once more as a plain user."""
    numbers = [word for word in sys.argv[1:] if word.isdigit()]
    who = "as root, in two stages" if os.geteuid() == 0 else f"as uid {os.geteuid()}"
    report = Report(f"Sandbox start, {who}")
    with tempfile.TemporaryDirectory(prefix="il-bench-") as folder:
        measure(report, Path(folder), int(numbers[0]) if numbers else ROUNDS)
    report.end()
    if os.geteuid() == 0 and (setpriv := shutil.which("setpriv")):
        words = [setpriv, "--reuid", PLAIN_UID, "--regid", PLAIN_UID, "--clear-groups", "--"]
        subprocess.run([*words, sys.executable, __file__, *sys.argv[1:]], cwd="/", check=True)


if __name__ == "__main__":
    main()
