"""The train's brain in a simulated train, beside serial landing, batches with bisection and a window like Zuul's, in one run.

The same arrivals, suites and flakes for all: Poisson arrivals, suites of ten minutes (lognormal), 3 % bad changes, 0.3 % of the pairs
with a shared scope break together.  Trees are digests, so 10,000 landings with their tested trees take seconds.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench._measure import Report, percentile, seconds
from bench._simulated import Brain, Change, Setting, Simulated, arrivals, is_red, simulate, truth

from interlock.core.merge.queue import Cancel, Land, Move, Out, Queue, Result, Set, Test
from interlock.core.merge.speculation import decide

SEEDS = (1, 2, 3)
HOURS = 200.0
RARE = 1000.0
"""Hours for what is rare: with three seeds 24,000 to 36,000 changes for each share."""


# ---------------------------------------------------------------- others' ways, on the same queue
def serial(queue: Queue) -> tuple[Move, ...]:
    """One at a time; red is out."""
    if queue.running or not queue.members:
        return ()
    head = (queue.members[0].job,)
    result = queue.results.get(head)
    if result is None:
        return (Test(head),)
    return (Land(head),) if result.green else (Out(head[0], (), "red-alone", head),)


class Halving:
    """Batches that are cut in half when they are red, as bors does it."""

    def __init__(self, size: int = 8) -> None:
        self.size = size
        self.parts: list[Set] = []

    def __call__(self, queue: Queue) -> tuple[Move, ...]:
        if queue.running or not queue.members:
            return ()
        if not self.parts:
            self.parts = [tuple(member.job for member in queue.members[: self.size])]
        part = self.parts[0]
        result = queue.results.get(part)
        if result is None:
            return (Test(part),)
        self.parts.pop(0)
        if result.green:
            return (Land(part),)
        if len(part) == 1:
            return (Out(part[0], (), "red-alone", part),)
        half = len(part) // 2
        self.parts[:0] = [part[:half], part[half:]]
        return self(queue)


def window(queue: Queue) -> tuple[Move, ...]:
    """Each on the nearest that does not fail, inside a window that grows and halves; red at the head is out, as Zuul does it."""
    ahead: Set = ()
    wanted: list[Set] = []
    for place, member in enumerate(queue.members[: queue.window]):
        step = (*ahead, member.job)
        result: Result | None = queue.results.get(step)
        if place == 0 and result:
            return (Land(step),) if result.green else (Out(member.job, (), "red-alone", step),)
        if result is None or result.green:
            ahead = step
            wanted += [step] if result is None else []
    cancels = [running for running in queue.running if running not in wanted]
    free = queue.slots - len(queue.running) + len(cancels)
    fresh = [members for members in wanted if members not in queue.running][: max(0, free)]
    return (*map(Cancel, sorted(cancels)), *map(Test, fresh))


BRAINS: dict[str, Callable[[], Brain]] = {
    "serial": lambda: serial,
    "batch and bisection": Halving,
    "window like Zuul": lambda: window,
    "this train": lambda: decide,
}


# ---------------------------------------------------------------- measuring
@dataclass
class Row:
    """Means over the seeds: landings an hour, minutes from approval to landing, runs and starts a landing, and what went wrong."""

    rate: float
    share: float
    p50: float
    p95: float
    runs: float
    starts: float
    wrong: float
    escaped: int
    mismatched: int


def could_land(changes: tuple[Change, ...]) -> int:
    """How many land when each is tried in order by one who knows the truth."""
    known = truth(changes)
    landed: set[str] = set()
    for change in changes:
        if not is_red(known, (change.job,), landed):
            landed.add(change.job)
    return len(landed)


def measure(
    make: Callable[[], Brain], rate: float, setting: Setting, *, hours: float = HOURS, bad: float = 0.03
) -> Row:
    rows = []
    for seed in SEEDS:
        changes = arrivals(random.Random(seed).random, rate=rate, hours=hours, bad=bad)
        done = simulate(make(), changes, random.Random(seed + 100).random, setting)
        rows.append(_row(done, setting, hours, could_land(changes)))
    return Row(*(sum(values) / len(values) for values in zip(*rows, strict=True)))


def _row(done: Simulated, setting: Setting, hours: float, possible: int) -> tuple[float, ...]:
    landed = len(done.landed)
    return (
        landed / max(hours, done.span / 3600),
        landed / possible,
        percentile(done.waits, 0.5) / 60,
        percentile(done.waits, 0.95) / 60,
        done.busy / setting.suite / landed,
        done.runs / landed,
        100 * done.wrong / done.arrived,
        done.escaped,
        done.mismatched,
    )


def table(report: Report, name: str, rate: float, setting: Setting, *, bad: float = 0.03, hours: float = HOURS) -> Row:
    """Every way on the same arrivals, each as a ratio to the window; gives this train's row."""
    report.note(f"{name}: {rate:g} an hour, slots {setting.slots}, flakes {setting.flake:.0%}, bad {bad:.0%}")
    rows = {way: measure(make, rate, setting, bad=bad, hours=hours) for way, make in BRAINS.items()}
    like = rows["window like Zuul"]
    for way, row in rows.items():
        report.note(
            f"  {way:<20} {row.rate:5.2f}/h ({row.rate / like.rate:.2f} x)  p50 {row.p50:6.0f}  p95 {row.p95:6.0f} min ({row.p95 / like.p95:.2f} x)"
            f"  {row.runs:.2f} runs ({row.runs / like.runs:.2f} x), {row.starts:.2f} starts a landing  wrong {row.wrong:.3f} %"
            f"  escaped {row.escaped:g}  other tree {row.mismatched:g}"
        )
    return rows["this train"]


def goals(report: Report) -> None:
    """The rows of the goals: eight slots at 12 an hour, one slot at 8, wrong evictions at 1 to 3 % of flakes."""
    row = table(report, "eight slots", 12, Setting(slots=8))
    report.figure("landings an hour, 8 slots", round(row.rate, 2), "/h", goal=">= 11/h", met=row.rate >= 11)
    report.figure("of what could land", round(row.share, 4), "of 1")
    report.figure("wait, 95th percentile", round(row.p95, 1), "min", goal="<= 19 min", met=row.p95 <= 19)
    report.figure("runs a landing (slot time)", round(row.runs, 3), "runs", goal="<= 1.25", met=row.runs <= 1.25)
    row = table(report, "one slot", 8, Setting(slots=1))
    report.figure("landings an hour, one slot", round(row.rate, 2), "/h", goal=">= 7.5/h", met=row.rate >= 7.5)
    report.figure("of what could land", round(row.share, 4), "of 1")
    report.figure("runs a landing (slot time)", round(row.runs, 3), "runs", goal="<= 0.75", met=row.runs <= 0.75)
    for slots, rate in ((8, 12), (1, 8)):
        for flake in (0.01, 0.02, 0.03):
            row = measure(lambda: decide, rate, Setting(slots=slots, flake=flake), hours=RARE)
            name = f"wrong evictions, {slots} slots, {flake:.0%} flakes"
            report.figure(name, round(row.wrong, 3), "%", goal="<= 0.1 %", met=row.wrong <= 0.1)


def variants(report: Report) -> None:
    """What the policy was chosen by: retries, batches, prediction, and more than the slots can take."""
    for name, rate, setting in (
        ("no retry", 12, Setting(slots=8, retries=0)),
        ("one retry, 3 % flakes", 12, Setting(slots=8, flake=0.03, adaptive=False)),
        ("adaptive, 3 % flakes", 12, Setting(slots=8, flake=0.03)),
        ("prediction finds 80 %", 12, Setting(slots=8, recall=0.8)),
        ("two slots", 12, Setting(slots=2)),
        ("two slots, no batches", 12, Setting(slots=2, batch=1)),
        ("crowded", 30, Setting(slots=8)),
        ("crowded, no batches", 30, Setting(slots=8, batch=1)),
        ("one slot, batch 16", 8, Setting(slots=1, batch=16)),
    ):
        row = measure(lambda: decide, rate, setting, hours=60)
        like = measure(lambda: window, rate, setting, hours=60)
        report.note(
            f"  {name:<24} {rate}/h: {row.rate:5.2f}/h ({row.rate / like.rate:.2f} x the window)  p95 {row.p95:4.0f} min"
            f" ({row.p95 / like.p95:.2f} x)  {row.runs:.2f} runs ({row.runs / like.runs:.2f} x)  wrong {row.wrong:.2f} %"
        )


def landings(report: Report, wanted: int = 10_000) -> None:
    """Landings until there are ten thousand, with a base that others move now and then: each tree is the tested one."""
    landed = escaped = other = 0
    for seed in range(1, 100):
        if landed >= wanted:
            break
        slots = (1, 2, 4, 8)[seed % 4]
        changes = arrivals(random.Random(seed).random, rate=4 if slots < 4 else 12, hours=300, bad=0.08)
        setting = Setting(slots=slots, flake=0.03, moved_every=7200.0, recall=0.5)
        done = simulate(decide, changes, random.Random(seed + 100).random, setting)
        landed, escaped, other = landed + len(done.landed), escaped + done.escaped, other + done.mismatched
    report.figure("simulated landings", landed, "changes", goal=">= 10,000", met=landed >= wanted)
    report.figure("landed on another tree than tested", other, "landings", goal="0", met=other == 0)
    report.figure("breaks that got through", escaped, "landings", goal="0", met=escaped == 0)


def latency(report: Report, waiting: int = 100) -> None:
    """One decision over a hundred waiting changes, in the middle of a crowded day."""
    times: list[float] = []

    def timed(queue: Queue) -> tuple[Move, ...]:
        found: list[tuple[Move, ...]] = []
        took = seconds(lambda: found.append(decide(queue)))
        if len(queue.members) >= waiting:
            times.append(took)
        return found[0]

    for slots in (1, 8):
        changes = arrivals(random.Random(5).random, rate=60, hours=6)
        simulate(timed, changes, random.Random(6).random, Setting(slots=slots, window=100))
        report.times(f"a decision over {waiting} and more, {slots} slots", times, goal_p95=0.05)
        times.clear()


def main() -> None:
    report = Report("The train, simulated")
    landings(report)
    latency(report)
    goals(report)
    table(report, "eight slots, many bad and flaky", 12, Setting(slots=8, flake=0.03), bad=0.08)
    variants(report)
    report.end()


if __name__ == "__main__":
    main()
