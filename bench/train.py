"""Five branches through the train in one slot and two, beside one test run and, where it installs, mergetrain, in one run.

Both trains get the same five branches, the same one-second check and a bare remote, in memory where that can be
had, since this disk may be slow at creating files; a red pair and a red single hidden in five are counted in runs.  It takes less
than a minute on a quiet machine, the peer's installation included.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench._measure import Report, median, seconds

from interlock.testing.world import World

ROUNDS = 3
PACE = 0.5
"""Seconds of a check where runs are counted and not compared with one check."""
FILES = 200
SLUGS = ("a", "b", "c", "d", "e")
CHECK = """\
#!/bin/sh
echo run >> "{log}"
sleep "$(cat "{log}.seconds")"
test ! -e b/red || test ! -e d/red || exit 1
test ! -e a/alone || exit 1
test ! -e c/alone || exit 1
"""


HOLD = """
import sys
from interlock.app.decide import hold
from interlock.wiring import open_ports

ports = open_ports()
for slug in sys.argv[2:]:
    hold(ports, slug, "bench", sys.argv[1] or None)
"""


def hold(world: World, reason: str) -> None:
    """Keep all five out of the train, or let them in where there is no reason, by one process."""
    words = [sys.executable, "-c", HOLD, reason, *SLUGS]
    subprocess.run(words, cwd=world.repo, env=world.env, capture_output=True, check=True)


def prepare(
    root: Path, agents: dict[str, str], check: str = "./check.sh", more: str = "", *, pace: float = 1.0
) -> World:
    """A repository of two hundred files with five cards dispatched, worked and held; from then on its check takes ``pace`` seconds."""
    world = World.make(root, policy=f"train: {{checks: [./check.sh], sign_off: none{more}}}\n")
    (world.repo / "check.sh").write_text(CHECK.format(log=root / "runs"))
    (world.repo / "check.sh").chmod(0o755)
    seconds_of = root / "runs.seconds"
    seconds_of.write_text("0")
    for number in range(FILES):
        world.write(f"src/m{number % 20}/f{number}.py", f"VALUE = {number}\n")
    for slug in SLUGS:
        command = agents.get(slug, f"mkdir -p {slug}; echo x > {slug}/new")
        world.card(slug, command=command, checks=(check,))
    world.push()
    world.cli("dispatch", *SLUGS)
    hold(world, "bench")
    world.cli("run")
    seconds_of.write_text(str(pace))
    return world


def release(world: World) -> None:
    hold(world, "")


def check_runs(world: World) -> int:
    log = world.root / "runs"
    return len(log.read_text().splitlines()) if log.exists() else 0


TRAIN = """
import json, resource, sys, time
from interlock.app.supervise import supervise
from interlock.wiring import open_engine, open_ports

def cpu():
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)

ports = open_ports()
ports.repo.refresh()
engine = open_engine(ports)
started = []
sys.addaudithook(lambda event, _: started.append(event) if event == "subprocess.Popen" else None)
spent, began = cpu(), time.perf_counter()
supervise(ports, engine)
print(json.dumps([time.perf_counter() - began, cpu() - spent, len(started)]))
engine.close()
"""


def in_process(world: World) -> tuple[float, float, int]:
    """The train alone, without imports and the engine's start: its wall, its CPU time with all children, and how many it started."""
    done = subprocess.run(
        [sys.executable, "-c", TRAIN], cwd=world.repo, env=world.env, capture_output=True, text=True, check=True
    )
    wall, spent, started = json.loads(done.stdout.splitlines()[-1])
    return wall, spent, started


def independent(folder: Path, report: Report) -> None:
    ours, spent, whole, floor = [], [], [], []
    for number in range(ROUNDS):
        world = prepare(folder / f"in{number}", {})
        floor.append(seconds(lambda world=world: subprocess.run(["./check.sh"], cwd=world.repo, check=True)))  # type: ignore[misc]
        release(world)
        before = check_runs(world)
        wall, used, started = in_process(world)
        ours.append(wall)
        spent.append(used)
        assert check_runs(world) == before + 1
        assert set(SLUGS) == {row["slug"] for row in world.ask("train", "show")["landed"]}
    world = prepare(folder / "cli", {})
    release(world)
    whole.append(seconds(lambda: world.cli("run")))
    report.times("one test run (floor)", floor)
    report.times("five branches, in process", ours, floor=floor)
    ratio = round(median(ours) / median(floor), 2)
    report.figure("five branches against one test run", ratio, "x", goal="<= 1.25 x", met=ratio <= 1.25)
    report.times("five branches, CPU of it, the check's too", spent)
    report.figure("five branches, processes started", started, "processes")
    report.times("five branches, whole command", whole, floor=floor)


def slots(folder: Path, report: Report) -> None:
    """Five changes of which the first is red, one after another in one slot and side by side in two: the wall, and the runs."""
    walls: dict[int, float] = {}
    for many in (1, 2):
        red = {"a": "mkdir -p a; echo x > a/alone"}
        world = prepare(folder / f"slots{many}", red, "test -d src", f", slots: {many}", pace=PACE)
        release(world)
        before = check_runs(world)
        walls[many] = in_process(world)[0]
        assert set(SLUGS) - {"a"} == {row["slug"] for row in world.ask("train", "show")["landed"]}
        name = f"{many} slot{'s' if many > 1 else ''}"
        report.times(f"five, one of them red, {name}", [walls[many]])
        report.figure(f"check runs, {name}", check_runs(world) - before, "runs")
    report.figure("two slots against one", round(walls[2] / walls[1], 2), "x of the wall")


def guilty(folder: Path, report: Report) -> None:
    cases = {
        "a pair hidden in five": {s: f"mkdir -p {s}; echo x > {s}/red" for s in ("b", "d")},
        "one red of five": {"c": "mkdir -p c; echo x > c/alone"},
    }
    for number, (name, agents) in enumerate(cases.items()):
        check = "./check.sh" if len(agents) > 1 else "test -d src"
        world = prepare(folder / f"red{number}", agents, check, pace=PACE)
        before = check_runs(world)
        release(world)
        took = seconds(lambda world=world: world.cli("run"))  # type: ignore[misc]
        runs, landed = check_runs(world) - before, [row["slug"] for row in world.ask("train", "show")["landed"]]
        blamed = {job["slug"]: job["waits_for"] for job in world.ask("status")["jobs"]}
        report.figure(f"check runs, {name}", runs, "runs", goal="<= 5", met=runs <= 5)
        report.note(f"{name}: {took:.2f} s, landed {', '.join(landed)}; waits: {blamed}")


def mergetrain(folder: Path, report: Report) -> None:
    """The peer on the same repository, or the reason why it is not there."""
    try:
        program = _install(folder / "venv")
    except (subprocess.SubprocessError, OSError) as absent:
        report.note(f"mergetrain: not measured, it does not install here ({absent}).")
        return
    samples = []
    for number in range(ROUNDS):
        world = World.make(folder / f"peer{number}")
        (world.repo / "check.sh").write_text(CHECK.format(log=world.root / "runs"))
        (world.repo / "check.sh").chmod(0o755)
        (world.root / "runs.seconds").write_text("1")
        for index in range(FILES):
            world.write(f"src/m{index % 20}/f{index}.py", f"VALUE = {index}\n")
        world.write(".mergetrain.yaml", "version: 2\nproject: {name: peer}\ngates: [{name: check, run: ./check.sh}]\n")
        world.push()
        for slug in SLUGS:
            tree = world.root / f"tree-{slug}"
            world.git("worktree", "add", "-q", "--no-track", "-b", slug, str(tree), "main")
            (tree / f"new-{slug}").write_text("x")
            world.git("add", "-A", at=tree)
            world.git("commit", "-qm", slug, at=tree)
            words = [program, "enqueue", "--task", slug, "--branch", slug, "--worktree", str(tree), "--auto"]
            subprocess.run(words, cwd=world.repo, env=world.env, check=True, capture_output=True)
        began = time.perf_counter()
        subprocess.run([program, "daemon", "--once"], cwd=world.repo, env=world.env, check=True, capture_output=True)
        samples.append(time.perf_counter() - began)
        assert {f"new-{slug}" for slug in SLUGS} <= world.main_files()
    report.times("mergetrain, daemon --once", samples)


def _install(folder: Path) -> str:
    venv.create(folder, with_pip=True)
    subprocess.run(
        [folder / "bin" / "pip", "install", "-q", "mergetrain==3.7.1"], check=True, capture_output=True, timeout=180
    )
    return os.fspath(folder / "bin" / "mergetrain")


def main() -> None:
    report = Report("The train")
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as name:
        folder = Path(name)
        independent(folder, report)
        slots(folder, report)
        guilty(folder, report)
        mergetrain(folder, report)
    report.end()


if __name__ == "__main__":
    main()
