"""Runs of a loop's gate on one exact commit, behind the walls of checks, each kept with its log; what they mean is core's."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from interlock.app.base import View
from interlock.app.database import level_of
from interlock.app.rooms import Furnished, checking, wanted_by
from interlock.core.agent import loops
from interlock.core.contract.card import Card, Check
from interlock.core.contract.loop import LoopGate
from interlock.core.job.evidence import CheckRun
from interlock.core.job.lifecycle import Job
from interlock.ports.bundle import Ports

SEED: Final = "INTERLOCK_SEED"
"""The variable in which a gate's command finds the seed of one run."""

_SHOWN_MOST: Final = 4096


@dataclass(slots=True, kw_only=True)
class Trials:
    """Runs on one commit in one fresh tree, which is made when a run is not known from before a crash.

    Between two runs the tracked files are put back.  ``name`` tells the logs of one look at the commit from others;
    ``ran`` whether anything was run at all.
    """

    ports: Ports
    view: View
    job: Job
    card: Card
    commit: str
    name: str
    _stack: ExitStack
    _done: Furnished | None = None
    ran: bool = False

    def run(self, command: str, called: str, *, seconds: float, seed: int | None = None) -> CheckRun:
        """Run a command, or take over what it did when this very look was interrupted by a crash."""
        shape = [self.job.id, self.job.rev, self.commit, self.name, called, command, seconds]
        key = f"loop-{hashlib.sha256(json.dumps(shape).encode()).hexdigest()[:24]}"
        if (known := self.ports.store.cached_run(key)) is not None:
            return known
        self.ports.signer.check()
        room, env, redact = self._room()
        if seed is not None:
            env = {**env, SEED: str(seed)}
        log = self.ports.records.job(self.job.id) / "loop" / f"{self.name}-{called}.log"
        run = self.ports.checks.run(Check(run=command, timeout=seconds), room, env, log, redact)
        self.ports.store.cache_run(key, run)
        return run

    def _room(self) -> Furnished:
        if self._done is None:
            self._done = self._stack.enter_context(_furnished(self))
        elif wrong := self.ports.workspaces.put_back(self._done.room, self.commit):
            self.ports.narrate(f"{self.job.slug}: the gate changed {', '.join(wrong[:5])}; put back.")
        self.ran = True
        return self._done


@contextmanager
def trials(ports: Ports, view: View, job: Job, card: Card, *, commit: str, name: str) -> Iterator[Trials]:
    """Runs on a commit; the tree is gone when this ends, also one that a crash left after the last run."""
    with ExitStack() as stack:
        made = Trials(ports=ports, view=view, job=job, card=card, commit=commit, name=name, _stack=stack)
        yield made
        if not made.ran and _tree(ports, job).exists():
            stack.enter_context(_furnished(made))


@contextmanager
def _furnished(of: Trials) -> Iterator[Furnished]:
    ports, level = of.ports, level_of(of.job)
    logs = ports.records.job(of.job.id) / "loop"
    wanted = wanted_by(ports, of.job, of.card, of.view.policy, logs)
    logs.mkdir(parents=True, exist_ok=True)
    with (
        ports.records.lock(f"loop-{of.job.id}", wait=None),
        ports.workspaces.fresh(of.commit, _tree(ports, of.job), level) as room,
        checking(ports, wanted, room, of.job.base, level) as done,
    ):
        yield done


def _tree(ports: Ports, job: Job) -> Path:
    return ports.records.job(job.id) / "loop" / "tree"


def end_of_log(ports: Ports, job: Job) -> str:
    """The last lines of the run that a job's next attempt starts from; nothing without a loop, or once the log is gone."""
    name = loops.log_of(job.loop)
    if not name:
        return ""
    data = b""
    with suppress(OSError), (ports.records.job(job.id) / name).open("rb") as stream:
        stream.seek(0, os.SEEK_END)
        stream.seek(max(0, stream.tell() - _SHOWN_MOST))
        data = stream.read(_SHOWN_MOST)
    text = data.decode("utf-8", "replace")
    return "".join(each for each in text if each.isprintable() or each in "\n\t").strip()


# ---------------------------------------------------------------- a benchmark
@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Seconds of each run that counts, the digests of what they gave out, the last log, and the run that failed."""

    seconds: tuple[float, ...] = ()
    outputs: frozenset[str] = field(default_factory=frozenset)
    log: str = ""
    fault: CheckRun | None = None


def measure(on: Trials, gate: LoopGate) -> Measured:
    """Run a benchmark as often as its gate says, alone among the benchmarks of this repository; stops at a failed run."""
    found = Measured()
    with on.ports.records.lock("loop-benchmark", wait=None):
        for number in range(1, gate.warm_up + gate.runs + 1):
            counts = number > gate.warm_up
            run, output = _measured(on, gate, f"{'run' if counts else 'warm-up'}-{number}")
            found = replace(found, log=run.log)
            if run.exit_code != 0:
                return replace(found, fault=run)
            outputs = found.outputs | {output}
            found = replace(found, outputs=outputs, seconds=(*found.seconds, run.seconds) if counts else found.seconds)
    return found


def _measured(on: Trials, gate: LoopGate, called: str) -> tuple[CheckRun, str]:
    """One run and the digest of its output; a file that stood there before is no output of this run."""
    path = shlex.quote(gate.same_output) if gate.same_output else None
    if path:
        on.run(f"rm -rf -- {path}", f"{called}-clear", seconds=60)
    run = on.run(gate.run, called, seconds=gate.timeout, seed=1)
    if run.exit_code != 0:
        return run, ""
    if path:
        told = on.run(f"sha256sum < {path}", f"{called}-output", seconds=60)
        return run, told.tail.split()[0] if told.exit_code == 0 and told.tail.split() else ""
    written = (on.ports.records.job(on.job.id) / run.log).read_bytes()
    return run, hashlib.sha256(written).hexdigest()


def telling(gate: LoopGate, measured: Measured) -> str:
    """One line about what was measured."""
    return (
        f"{gate.name}: p95 {loops.milliseconds(loops.p95(measured.seconds))} over {len(measured.seconds)} runs "
        f"after {gate.warm_up} to warm up"
    )
