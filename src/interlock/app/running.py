"""Where checks run and what is remembered of it: one run for each equal command on an equal tree; judging is the suite's work."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from interlock.app.rooms import Furnished
from interlock.core.contract.card import Check, Level
from interlock.core.gate.surfaces import demand_of, is_readable
from interlock.core.job.evidence import CheckRun
from interlock.ports.bundle import Ports
from interlock.ports.isolation import Room

READER = 4
"""Counted up when reports are read in another way, so that no run is compared with one that was read before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where a suite runs: the commit and its tree, the level of the walls around it, the folder of its logs.

    ``furnish`` gives a room what its checks may have, as long as they run; ``around`` is a digest of that, since a run is
    taken over only where it would find the same.  A word from ``stop`` ends what runs.  ``ready`` is the room of a tree that was proven to
    equal the commit, or None for a fresh one; ``compared`` says that the runs are only compared with, so that a
    red one is worth keeping: others are run again when they are asked for.
    """

    commit: str
    tree: str
    level: Level
    logs: Path
    furnish: Callable[[Room], AbstractContextManager[Furnished]]
    around: str = ""
    ready: Room | None = None
    compared: bool = False
    stop: Callable[[], str | None] | None = None


def run_all(ports: Ports, checks: Sequence[Check], bench: Bench) -> dict[str, CheckRun]:
    """The run of each check by its command: taken over where it is known on that tree, made otherwise, one process at a time."""
    runs, missing = _known(ports, checks, bench)
    if not missing:
        return runs
    if bench.ready is not None:
        return runs | _run_in(ports, missing, bench, bench.ready)
    with lock_of(ports, bench):
        runs, missing = _known(ports, checks, bench)  # another process may have run them meanwhile
        return runs | (run_fresh(ports, missing, bench) if missing else {})


def _known(ports: Ports, checks: Sequence[Check], bench: Bench) -> tuple[dict[str, CheckRun], list[tuple[Check, str]]]:
    """Runs that need not be done again, and the checks that must be run, with their keys."""
    runs: dict[str, CheckRun] = {}
    missing: list[tuple[Check, str]] = []
    for check in checks:
        key = key_of(check, bench)
        known = ports.store.cached_run(key) or (ports.store.cached_run(f"{key}-red") if bench.compared else None)
        if known is not None:
            runs[check.run] = replace(known, cached=True)
        elif check.run not in runs:
            if why := ports.store.cache_doubt(key):
                ports.narrate(f"checks {bench.commit[:12]}: {check.run}: a kept run is not taken over. {why}")
            missing.append((check, key))
    return runs, missing


def lock_of(ports: Ports, bench: Bench) -> AbstractContextManager[None]:
    """Held while checks run in a fresh tree of that name."""
    name = hashlib.sha256(str(_folder(bench)).encode()).hexdigest()[:16]
    return ports.records.lock(f"tree-{name}", wait=None)


def run_fresh(
    ports: Ports, checks: Sequence[tuple[Check, str]], bench: Bench, *, remember: bool = True
) -> dict[str, CheckRun]:
    """Run checks in a tree made new for them; the caller holds the bench's lock."""
    with ports.workspaces.fresh(bench.commit, _folder(bench), bench.level) as room:
        return _run_in(ports, checks, bench, room, remember=remember)


def _folder(bench: Bench) -> Path:
    return bench.logs / f"tree-{bench.tree[:12]}"


def _run_in(
    ports: Ports, checks: Sequence[tuple[Check, str]], bench: Bench, room: Room, *, remember: bool = True
) -> dict[str, CheckRun]:
    """Run checks one after the other; each finds the tracked files as the commit has them, whatever others wrote.

    Raises Refused (evidence-key) before the first one, where nobody would believe what comes out.
    """
    ports.signer.check()
    runs: dict[str, CheckRun] = {}
    with bench.furnish(room) as done:
        for check, key in checks:
            if check.run in runs:
                continue
            if runs:
                _put_back(ports, bench, room)
            ports.narrate(f"checks {bench.commit[:12]}: {check.run}")
            log = bench.logs / f"{key}.log"
            run = ports.checks.run(check, done.room, done.env, log, done.redact, **_stopped_by(bench))
            runs[check.run] = run
            if remember:
                _remember(ports, bench, key, run)
    if bench.ready is not None:
        _put_back(ports, bench, room)
    return runs


def _stopped_by(bench: Bench) -> dict[str, Callable[[], str | None]]:
    return {} if bench.stop is None else {"ask": bench.stop}


def _put_back(ports: Ports, bench: Bench, room: Room) -> None:
    wrong = ports.workspaces.put_back(room, bench.commit)
    if wrong:
        ports.narrate(f"checks {bench.commit[:12]}: a check changed {', '.join(wrong[:5])}; put back.")


def _remember(ports: Ports, bench: Bench, key: str, run: CheckRun) -> None:
    """Keep a green run, and a red one only where it is compared with: others are run again when asked for."""
    if run.exit_code == 0 and run.report_fault is None:
        ports.store.cache_run(key, run)
    elif bench.compared and run.exit_code is not None and is_readable(run):
        ports.store.cache_run(f"{key}-red", run)


def key_of(check: Check, bench: Bench) -> str:
    """Equal demand, kind of place, level, surroundings and tree; only names and numbers of a task differ."""
    place = "task" if bench.ready else "fresh"
    shape = [READER, demand_of(check), place, bench.level, bench.around, bench.tree]
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:24]
