"""What is known about a red train that no run tells: who is green alone, and which pairs prediction names; deciding is the core's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlock.app.base import View
from interlock.app.foreseen import suspects as predicted
from interlock.app.together import green_alone
from interlock.core.merge.train import TrainState
from interlock.ports.bundle import Ports


def hints(ports: Ports, view: View, train: TrainState) -> dict[str, Any]:
    """Both, once for a train: asked when the first run is red, since a green train needs neither."""
    if any(not run.green for run in train.ran):
        return {}
    jobs = tuple(member.job for member in train.members)
    return {"alone": list(green_alone(ports, view, train, jobs)), "suspects": suspects(ports, view, jobs)}


def suspects(ports: Ports, view: View, jobs: tuple[str, ...], base: str = "") -> list[dict[str, Any]]:
    """Pairs of these, on a base (none: the present one), that prediction says break together, as JSON; a fault of it is told and costs runs, never a landing."""
    if len(jobs) < 2:
        return []
    try:
        found = predicted(ports, view, jobs, base)
        return [pair.as_json() | {"a": a, "b": b} for key, pair in found.items() for a, b in [_in_order(key, jobs)]]
    except Exception as fault:  # noqa: BLE001 -- whatever it is, the suite itself finds the pair
        ports.narrate(f"train: no pair is suspected, since prediction failed: {type(fault).__name__}: {fault}")
        return []


def _in_order(pair: frozenset[str], jobs: tuple[str, ...]) -> tuple[str, str]:
    first, second = sorted(pair, key=jobs.index)
    return first, second


def words_of(pair: Mapping[str, Any]) -> str:
    """A suspected pair in words: symbol, file and line, and why."""
    where = f"{pair['path']}:{pair['line']}" if pair.get("line") else str(pair.get("path") or "")
    symbol = f"{pair['symbol']} in " if pair.get("symbol") else ""
    return f"Suspected: {symbol}{where}: {pair.get('why') or pair.get('rule') or ''}".rstrip(":. ")
