"""What a loop decides, from values alone: what reproduced, which seeds a gate runs, whether another round is due; running is app's.

The gate decides, never the agent's word; every way out has a stop reason (seed 004, product D10).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from interlock.core.contract.loop import Loop, LoopGate
from interlock.core.job.evidence import CheckRun

_NOT_STARTED: Final = frozenset({126, 127})
"""What a shell ends with when a command cannot be run: that reproduces nothing."""

_TELLING: Final = re.compile(r"error|exception|assert|fail|panic|abort|fault|timed? ?out|deadlock", re.IGNORECASE)
_CHANGING: Final = re.compile(r"0x[0-9a-f]+|\d+(?:\.\d+)?", re.IGNORECASE)
_PATH: Final = re.compile(r"(?<![\w.])/(?:[\w.@+-]+/)+")
_TOLD_LINES: Final = 3
_MOST_TEXT: Final = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How a gate failed: what two failures have in common, a sentence, the seed where it has one, the log and its end."""

    signature: str
    what: str
    seed: int | None = None
    log: str = ""
    tail: str = ""

    def as_json(self, attempt: int) -> dict[str, Any]:
        """What a loop keeps of it; the end of the log stays in the log."""
        return {
            "attempt": attempt,
            "signature": self.signature,
            "what": self.what,
            "seed": self.seed,
            "log": self.log,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """``round``: the agent is started again with ``what`` as its hypothesis; ``wait``: a person is asked, by a rule."""

    kind: Literal["round", "wait"]
    what: str
    rule: str = ""
    ask: str = ""


# ---------------------------------------------------------------- the base
def key_of(gate: LoopGate) -> list[str | None]:
    """What a measurement of the base depends on; when it changes, the base is measured again."""
    return [gate.kind, gate.run, gate.same_output]


def due(loop: Loop | None, state: Mapping[str, Any], base: str) -> bool:
    """Whether a job's loop has to look at the base before anything else; ``state`` is what it knows so far."""
    return loop is not None and (state.get("base") != base or state.get("gate") != key_of(loop.gate))


def failed(run: CheckRun) -> bool:
    """Whether a run on the base shows the failure: it ended badly, and where it counts tests, one of them failed."""
    if run.timed_out or run.exit_code is None:
        return True
    if run.exit_code in (0, *_NOT_STARTED):
        return False
    return not run.expected_report or (run.report is not None and run.report.count("failed", "error") > 0)


def unusable(run: CheckRun) -> bool:
    """Whether a run says nothing at all: it was not started, or ended badly without running a test."""
    return run.exit_code not in (0, None) and not run.timed_out and not failed(run)


def signature(run: CheckRun) -> str:
    """What this failure has in common with another one of the same kind: no number, address or folder is in it."""
    how = "timed out" if run.timed_out else "ended by a signal" if run.exit_code is None else f"exit {run.exit_code}"
    tests = (
        sorted(name for name, state in run.report.cases.items() if state in ("failed", "error")) if run.report else []
    )
    lines = [line.strip() for line in run.tail.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.search(line)] or lines
    said = dict.fromkeys(_steady(line) for line in telling[-_TOLD_LINES:])
    return "; ".join([how, *tests[:_TOLD_LINES], *said])[:_MOST_TEXT]


def _steady(line: str) -> str:
    return " ".join(_CHANGING.sub("N", _PATH.sub("", line)).split())


# ---------------------------------------------------------------- the work
def seeds_of_base(gate: LoopGate) -> range:
    """The seeds with which the failure is looked for on the base."""
    return range(1, gate.within + 1)


def seeds_of_work(gate: LoopGate, state: Mapping[str, Any], attempt: int) -> tuple[int, ...]:
    """The seeds of one judgement of work: first those that ever failed, then ``clean`` that this job has not run before.

    New ones for each attempt, since an agent could make known seeds pass and no others.
    """
    known = [state.get("seed"), *(each.get("seed") for each in state.get("failed", ()))]
    first = gate.within + max(0, attempt - 1) * gate.clean + 1
    return (*dict.fromkeys(seed for seed in known if seed is not None), *range(first, first + gate.clean))


def p95(seconds: Iterable[float]) -> float:
    """The 95th percentile by nearest rank: the smallest value that is not exceeded by 95 of 100 runs."""
    ordered = sorted(seconds)
    return ordered[max(0, math.ceil(0.95 * len(ordered)) - 1)]


def too_slow(gate: LoopGate, seconds: Sequence[float], log: str) -> Failure | None:
    """What is wrong with the measured seconds, if anything; figures that differ by less than a tenth are one failure."""
    limit, found = gate.p95 or 0.0, p95(seconds)
    if found <= limit:
        return None
    what = (
        f"p95 of {gate.name} is {milliseconds(found)} over {len(seconds)} runs, and {milliseconds(limit)} is allowed."
    )
    return Failure(
        signature=f"too slow: step {round(math.log(found / limit, 1.1))} above the limit", what=what, log=log
    )


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


# ---------------------------------------------------------------- the rounds
def with_failure(state: Mapping[str, Any], failure: Failure, attempt: int) -> list[dict[str, Any]]:
    """The failures of the loop with one more; judging the same attempt again replaces its own."""
    before = [dict(each) for each in state.get("failed", ()) if each["attempt"] != attempt]
    return [*before, failure.as_json(attempt)]


def after(loop: Loop, failures: Sequence[Mapping[str, Any]], *, began: float, now: float) -> Next:
    """What follows the last of these failures of the gate, each of one round; times are seconds since the epoch."""
    last = failures[-1]
    what, used = str(last["what"]), len(failures)
    if used > 1 and failures[-2]["signature"] == last["signature"]:
        return _stop("loop-stuck", f"Two rounds in a row ended in the same failure ({last['signature']}). {what}")
    if used >= loop.rounds:
        return _stop("loop-limit", f"The loop used up its {_rounds(loop.rounds)}. {what}")
    if loop.wall is not None and now - began >= loop.wall:
        return _stop("loop-limit", f"The loop used up its time of {loop.wall:.0f} s. {what}")
    seed = f" Run it with INTERLOCK_SEED={last['seed']}." if last["seed"] is not None else ""
    return Next(
        kind="round", what=f"Round {used} failed the gate: {what}{seed} ({last['signature']}; log {last['log']})"
    )


def _stop(rule: str, what: str) -> Next:
    ask = "Read the log, then retry with a new hypothesis, change the loop on the default branch, or abandon the job."
    return Next(kind="wait", rule=rule, what=what, ask=ask)


def _rounds(number: int) -> str:
    return "one round" if number == 1 else f"{number} rounds"


def last_failure(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """How the last round failed its gate; empty before one did."""
    failures: Sequence[Mapping[str, Any]] = state.get("failed") or ()
    return failures[-1] if failures else {}


def log_of(state: Mapping[str, Any]) -> str:
    """The log of what the next attempt starts from, as the job's record names it: the last failure's, else the base's."""
    return str(last_failure(state).get("log") or state.get("log") or "")


def briefing(loop: Loop, state: Mapping[str, Any]) -> str:
    """What an agent is told of its loop: the gate, and what the harness saw on the base."""
    gate = loop.gate
    if gate.kind == "benchmark":
        now = f" It is {milliseconds(state['p95'])} on the base." if state.get("p95") is not None else ""
        output = gate.same_output or "what it prints"
        return (
            f"The harness runs the benchmark {gate.name} ({gate.run}) {gate.runs} times: p95 must be at most "
            f"{milliseconds(gate.p95 or 0)}, and {output} must stay as it is.{now}"
        )
    seen = (
        f" On the base it failed with INTERLOCK_SEED={state['seed']}: {state['signature']}." if "seed" in state else ""
    )
    return (
        f"The harness runs {gate.run}: it must pass with each seed that failed, then {gate.clean} times with new seeds "
        f"in INTERLOCK_SEED.{seen}"
    )
