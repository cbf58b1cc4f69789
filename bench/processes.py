"""What one run through host.processes costs beside bare subprocess.run, what an attempt costs, and how long cancelling takes."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench._measure import Report, median, percentile, side_by_side

from interlock.host import namespace, procfs
from interlock.host.attempts import HostRuns
from interlock.host.processes import run
from interlock.ports.processes import Launch

ENV = {"PATH": os.environ["PATH"]}
CANCEL_GOAL = 2.0
# A tree that no polite signal ends, with a process in a session of its own and one without our environment.
STUBBORN = (
    "trap '' INT TERM; setsid bash -c 'trap \"\" INT TERM; exec -a {0} sleep 600' & "
    "env -i setsid bash -c 'trap \"\" INT TERM; exec -a {0} sleep 600' & exec -a {0} sleep 600"
)


def living(token: str) -> int:
    """How many processes go by this name."""
    found = 0
    for pid in procfs.pids():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        found += words.startswith(token.encode() + b"\0")
    return found


def cancel_seconds(folder: Path, *, contain: bool) -> float:
    """From the wish to cancel until nothing of the tree lives."""
    token = f"interlock-bench-{secrets.token_hex(6)}"
    launch = Launch(argv=("bash", "-c", STUBBORN.format(token)), env=ENV, cwd=folder)
    runs = HostRuns(contain=contain)
    thread = threading.Thread(target=runs.run, args=(folder / token, launch))
    thread.start()
    while living(token) < 3:
        time.sleep(0.01)
    began = time.perf_counter()
    runs.cancel(folder / token)
    while living(token):
        time.sleep(0.005)
    took = time.perf_counter() - began
    thread.join()
    return took


def main() -> None:
    report = Report("processes")
    if namespace.prefix() is None:
        report.note("No pid namespace can be had here; the rows that name one fall back to a subreaper.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        numbers = iter(range(1_000_000))

        def ours(argv: tuple[str, ...], *, contain: bool) -> Callable[[], object]:
            return lambda: run(argv, env=ENV, cwd=folder, log=folder / "log", contain=contain)

        def attempt() -> object:
            return HostRuns().run(folder / str(next(numbers)), Launch(argv=("true",), env=ENV, cwd=folder))

        true, talk = ("true",), ("head", "-c", "100000000", "/dev/zero")
        works = {
            "subprocess.run": lambda: subprocess.run(true, env=ENV, cwd=folder, capture_output=True, check=True),
            "in a pid namespace": ours(true, contain=True),
            "below a subreaper": ours(true, contain=False),
            "an attempt with its runner": attempt,
        }
        found = side_by_side(works, 60)
        for work, samples in found.items():
            report.times(f"true: {work}", samples, floor=found["subprocess.run"])
        added = median(found["in a pid namespace"]) - median(found["subprocess.run"])
        report.figure("added by a run in a pid namespace", round(added * 1e3, 2), "ms")
        works = {
            "subprocess.run into a file": lambda: _to_file(talk, folder / "plain"),
            "in a pid namespace, capped log": ours(talk, contain=True),
        }
        found = side_by_side(works, 5)
        for work, samples in found.items():
            report.times(f"100 MB: {work}", samples, floor=found["subprocess.run into a file"])
        for contain, kind in ((True, "namespace"), (False, "subreaper")):
            took = [cancel_seconds(folder, contain=contain) for _ in range(8)]
            worst = max(took)
            report.figure(f"cancel to a dead tree, {kind}, p50", round(percentile(took, 0.5), 2), "s")
            report.figure(
                f"cancel to a dead tree, {kind}, worst of {len(took)}",
                round(worst, 2),
                "s",
                goal=f"{CANCEL_GOAL:g} s",
                met=worst <= CANCEL_GOAL,
            )
    report.end()


def _to_file(argv: tuple[str, ...], path: Path) -> None:
    with path.open("wb") as file:
        subprocess.run(argv, env=ENV, stdout=file, check=True)


if __name__ == "__main__":
    main()
