"""What the benchmarks share: timing side by side, medians and percentiles, lines with ratios, and JSON; no figures of its own."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def side_by_side(works: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Time each work in turn, round after round, so that a noisy moment meets all of them; seconds by name."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            found[name].append(seconds(work))
    return found


def percentile(values: Sequence[float], share: float) -> float:
    """The value that ``share`` (0 to 1) of all values do not exceed: the nearest one, nothing interpolated."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered) + 0.5) - 1))]


def median(values: Sequence[float]) -> float:
    return percentile(values, 0.5)


@dataclass(slots=True)
class Report:
    """The figures of one benchmark, printed as they come and at the end as JSON when ``--json`` is asked for."""

    title: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    as_json: bool = field(default_factory=lambda: "--json" in sys.argv[1:])

    def __post_init__(self) -> None:
        load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        self._say(f"{self.title}  (Python {platform.python_version()}, {platform.machine()}, {load})")

    def times(
        self,
        name: str,
        samples: Sequence[float],
        *,
        floor: Sequence[float] | None = None,
        goal_p95: float | None = None,
    ) -> None:
        """Median and 95th percentile of samples in seconds, their ratio to a floor, and whether a goal is met."""
        row: dict[str, Any] = {
            "name": name,
            "n": len(samples),
            "p50_ms": round(median(samples) * 1e3, 3),
            "p95_ms": round(percentile(samples, 0.95) * 1e3, 3),
        }
        line = f"  {name:<42} n {row['n']:>6}   p50 {row['p50_ms']:>9.2f} ms   p95 {row['p95_ms']:>9.2f} ms"
        if floor:
            row["p50_ratio"] = round(median(samples) / median(floor), 2)
            row["p95_ratio"] = round(percentile(samples, 0.95) / percentile(floor, 0.95), 2)
            line += f"   {row['p50_ratio']:.2f} x floor (p95 {row['p95_ratio']:.2f} x)"
        if goal_p95 is not None:
            row["goal_p95_ms"], row["met"] = goal_p95 * 1e3, percentile(samples, 0.95) <= goal_p95
            line += f"   goal p95 {row['goal_p95_ms']:.0f} ms: {'met' if row['met'] else 'missed'}"
        self.rows.append(row)
        self._say(line)

    def figure(self, name: str, value: float, unit: str, *, goal: str = "", met: bool | None = None) -> None:
        """One number with its unit, and its goal in words."""
        self.rows.append({"name": name, "value": value, "unit": unit, "goal": goal, "met": met})
        told = "" if met is None else f"   goal {goal}: {'met' if met else 'missed'}"
        self._say(f"  {name:<42} {value:>12g} {unit}{told}")

    def note(self, text: str) -> None:
        self.rows.append({"note": text})
        self._say(f"  {text}")

    def end(self) -> None:
        if self.as_json:
            print(json.dumps({"title": self.title, "rows": self.rows}, indent=2))

    def _say(self, line: str) -> None:
        print(line, file=sys.stderr if self.as_json else sys.stdout, flush=True)
