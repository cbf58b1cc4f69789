"""What supervising idle agents costs: our share of a core and our memory for each, and from a cancel to a dead tree, beside bare processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench._measure import Report, percentile

from interlock.core.agent.gateway import ModelGateway, Upstream
from interlock.core.sandbox import Host, Sandbox
from interlock.host import environment, procfs, tree
from interlock.host.attempts import HostRuns
from interlock.host.folder import Folder
from interlock.host.sandbox import identity
from interlock.host.sandbox.probe import probe
from interlock.ports.processes import Launch

AGENTS = 20
SECONDS = 15.0
SETTLE = 1.5
CORE_GOAL = 5.0
MEMORY_GOAL = 15.0
CANCEL_GOAL = 2.0
ENV = {"PATH": os.environ["PATH"]}


@dataclass(frozen=True, slots=True)
class Idle:
    """One idle agent, and the processes that are there for it alone."""

    agent: int
    ours: tuple[int, ...]


def used(pid: int) -> float:
    """Seconds that a process was on a core (the first figure of schedstat is nanoseconds)."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def memory(pid: int) -> float:
    """Megabytes of a process, what it shares counted in part."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def on_core(pids: Iterable[int], seconds: float) -> float:
    """The share of a core, in per cent, that the processes take together."""
    known = tuple(pids)
    before = sum(used(pid) for pid in known)
    began = time.perf_counter()
    time.sleep(seconds)
    return (sum(used(pid) for pid in known) - before) / (time.perf_counter() - began) * 100


@contextmanager
def supervised(folder: Path, launches: Mapping[str, Launch]) -> Iterator[dict[str, Idle]]:
    """The launches as attempts that run, each with its runner, waited for by threads as the control plane does."""
    runs = HostRuns()
    threads = [threading.Thread(target=runs.run, args=(folder / name, launch)) for name, launch in launches.items()]
    for thread in threads:
        thread.start()
    while not all(Folder(folder / name).agent() for name in launches):
        time.sleep(0.05)
    try:
        yield {name: _family(Folder(folder / name)) for name in launches}
    finally:
        for name in launches:
            runs.cancel(folder / name)
        for thread in threads:
            thread.join()


def _family(place: Folder) -> Idle:
    runner, agent = place.runner(), place.agent()
    assert runner is not None
    assert agent is not None
    below = [who.pid for who in tree.descendants(runner.pid)]
    return Idle(agent=agent.pid, ours=(runner.pid, *(pid for pid in below if pid != agent.pid)))


def measured(report: Report, name: str, folder: Path, launches: Mapping[str, Launch]) -> None:
    """All figures of one kind of attempt; what the runners have in common is counted in equal parts."""
    with supervised(folder, launches) as family:
        time.sleep(SETTLE)
        ours = [pid for idle in family.values() for pid in idle.ours]
        waiting = time.process_time()
        share = on_core(ours, SECONDS)
        waited = (time.process_time() - waiting) / SECONDS * 100
        shared = sum(memory(pid) for pid in procfs.descendants(os.getpid())) / len(family)
        held = [sum(memory(pid) for pid in idle.ours) + shared for idle in family.values()]
        took = _cancelled(folder, family)
    goal = f"{CORE_GOAL:g} %"
    report.figure(f"{name}: runners, keepers, relays", round(share, 2), "% of a core")
    report.figure(
        f"{name}: with the one who waits",
        round(share + waited, 2),
        "% of a core",
        goal=goal,
        met=share + waited <= CORE_GOAL,
    )
    worst = max(held)
    report.figure(f"{name}: memory each", round(worst, 1), "MB", goal=f"{MEMORY_GOAL:g} MB", met=worst <= MEMORY_GOAL)
    late = percentile(took, 0.95)
    report.figure(
        f"{name}: cancel to dead, p95 of {len(took)}",
        round(late, 2),
        "s",
        goal=f"{CANCEL_GOAL:g} s",
        met=late <= CANCEL_GOAL,
    )


def _cancelled(folder: Path, family: Mapping[str, Idle]) -> list[float]:
    """Cancel one after the other; how long each took until nothing of it lived."""
    took = []
    for name, idle in family.items():
        began = time.perf_counter()
        HostRuns().cancel(folder / name)
        while any(_lives(pid) for pid in (idle.agent, *idle.ours[1:])):
            time.sleep(0.002)
        took.append(time.perf_counter() - began)
    return took


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in b"ZX"
    except OSError:
        return False


def floor(report: Report, argv: tuple[str, ...], name: str) -> None:
    """The same number of bare processes, with nobody to watch over them."""
    bare = [subprocess.Popen(argv, env=ENV, stdin=subprocess.DEVNULL, start_new_session=True) for _ in range(AGENTS)]
    time.sleep(SETTLE)
    report.figure(f"floor, {name}: all", round(on_core([each.pid for each in bare], SECONDS / 3), 2), "% of a core")
    report.figure(f"floor, {name}: memory each", round(max(memory(each.pid) for each in bare), 1), "MB")
    took = []
    for each in bare:
        began = time.perf_counter()
        each.send_signal(signal.SIGKILL)
        each.wait()
        took.append(time.perf_counter() - began)
    report.figure(f"floor, {name}: kill to dead, p95", round(percentile(took, 0.95), 4), "s")


def walled(folder: Path, number: int, *, models: bool) -> Launch:
    """An idle agent in a sandbox; its models behind a gateway and the proxy beside it, or neither."""
    user = identity.default_user()
    own = folder / f"box{number}"
    for name in ("tree", "home"):
        (own / name).mkdir(parents=True, exist_ok=True)
        identity.own(own / name, user)
    walls = Sandbox(tree=str(own / "tree"), home=str(own / "home"), user=user)
    if models:
        walls = replace(walls, hosts=(Host(name="packages.invalid"),), record=str(own))
    gateway = ModelGateway(
        upstreams=(Upstream(name="v", dialects=("anthropic",), url="https://models.invalid", key="k"),),
        token="t",
        listen="unix",
        record=str(own),
        ledgers=str(folder),
        ledger=str(own / "ledger.json"),
    )
    launch = Launch(argv=("sleep", "600"), env=environment.inside({}, walls), cwd=own / "tree", sandbox=walls)
    return replace(launch, split=True, ends=("result",), gateway=gateway if models else None)


def main() -> None:
    os.environ.setdefault("INTERLOCK_ROOT_AGENTS", "allow")
    report = Report(f"supervise: {AGENTS} idle agents")
    floor(report, ("sleep", "600"), "sleep")
    floor(report, (sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"), "a bare Python")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        (folder / "spool").mkdir()
        env = {**ENV, "INTERLOCK_SPOOL": str(folder / "spool"), "INTERLOCK_ATTEMPT_NUMBER": "1"}
        plain = Launch(argv=("sleep", "600"), env=env, cwd=folder, split=True, ends=("result",))
        measured(report, "level worktree", folder / "plain", {str(n): plain for n in range(AGENTS)})
        if probe(identity.default_user()).ok:
            for models, kind in ((False, "sealed"), (True, "sealed, with gateway and proxy")):
                launches = {str(n): walled(folder, n, models=models) for n in range(AGENTS)}
                measured(report, kind, folder / f"walled{models}", launches)
        else:
            report.note("No sandbox can be made here; its rows are left out.")
    report.end()


if __name__ == "__main__":
    main()
