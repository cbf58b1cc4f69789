"""A card's loop carried out: look at the base before the first attempt, judge each attempt by the gate; deciding is core's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from interlock.app import phases, retry_cost
from interlock.app.base import View, last_view
from interlock.app.cardjson import from_json
from interlock.app.trials import Trials, measure, telling, trials
from interlock.core.agent import loops
from interlock.core.agent.loops import Failure
from interlock.core.contract.card import Card, Check
from interlock.core.contract.loop import Loop
from interlock.core.counting import count
from interlock.core.gate.judge import judge_check
from interlock.core.gate.scope import judge_scope
from interlock.core.job.events import NewEvent
from interlock.core.job.evidence import CheckRun, Verdict
from interlock.core.job.lifecycle import Job, State
from interlock.ports.bundle import Ports

_SKIP_SECONDS = 600.0
_ABANDON = "Abandon the job, or change the loop on the default branch and resume."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stop:
    """Why a loop does not go on: the rule, what happened, what is asked, and the log with its last lines."""

    rule: str
    what: str
    ask: str
    log: str = ""
    tail: str = ""


# ---------------------------------------------------------------- the base
def reproduce_step(ports: Ports, subject: str) -> dict[str, Any]:
    """The engine's step: the skip rule, then what the gate does on the base; the job goes on, or waits with a reason."""
    job = ports.store.job(subject)
    card = from_json(job.card)
    if job.state is not State.ISOLATED or card.loop is None or not loops.due(card.loop, job.loop, job.base):
        return {"reproduced": None}
    return {"reproduced": _look(ports, last_view(ports), job, card, card.loop, kind="job.reproduced", skip=True)}


def _look(ports: Ports, view: View, job: Job, card: Card, loop: Loop, *, kind: str, skip: bool) -> bool:
    """Look at the base and write down what was seen; False when the job waits now."""
    with trials(ports, view, job, card, commit=job.base, name=f"base-{job.rev}") as on:
        stop = _skipped(on, loop.skip) if skip and loop.skip is not None else None
        seen = stop or (_reproduced(on, loop) if loop.gate.kind == "reproduce" else _baseline(on, loop))
    if isinstance(seen, _Stop):
        _wait(ports, job, loop, seen)
        return False
    state = {
        "base": job.base,
        "gate": loops.key_of(loop.gate),
        "failed": [],
        "passed": None,
        "began": ports.clock.now(),
    }
    data = {"text": seen.pop("text"), "runs": seen.pop("runs"), "loop": {**state, **seen}}
    step = f"{kind.partition('.')[2]}-loop:{job.rev}"
    ports.store.record(NewEvent(subject=job.id, step=step, kind=kind, data=data), expect=job.rev)
    return True


def _skipped(on: Trials, command: str) -> _Stop | None:
    run = on.run(command, "skip", seconds=_SKIP_SECONDS)
    if run.exit_code != 0:
        return None
    what = f"The skip rule ended with 0 on the base: {command}"
    return _Stop(rule="loop-skipped", what=what, ask=_ABANDON, log=run.log, tail=_tail(run))


def _reproduced(on: Trials, loop: Loop) -> dict[str, Any] | _Stop:
    """The first seed that fails, with its log and what the failure looks like; or why the loop stops here."""
    gate, runs = loop.gate, []
    for seed in loops.seeds_of_base(gate):
        run = on.run(gate.run, f"seed-{seed}", seconds=gate.timeout, seed=seed)
        runs.append(_short(run, seed))
        if loops.unusable(run):
            what = f"The gate's command ended with {run.exit_code} on the base without running anything: {gate.run}"
            ask = "Mend the command of the loop on the default branch, then resume."
            return _Stop(rule="not-reproduced", what=what, ask=ask, log=run.log, tail=_tail(run))
        if loops.failed(run):
            mark = loops.signature(run)
            text = f"Seed {seed} of {gate.within} fails on the base: {mark}"
            return {
                "text": text,
                "runs": runs,
                "kind": gate.kind,
                "seed": seed,
                "signature": mark,
                "log": run.log,
                "tail": _tail(run),
            }
    what = f"The gate passed on the base with each of {gate.within} seeds, so there is nothing to mend: {gate.run}"
    ask = "Abandon the job, or look with more seeds (loop.gate.within on the default branch) and resume."
    return _Stop(rule="not-reproduced", what=what, ask=ask, log=run.log, tail=_tail(run))


def _baseline(on: Trials, loop: Loop) -> dict[str, Any] | _Stop:
    """The seconds and the output of a benchmark on the base; or why the loop stops here."""
    gate = loop.gate
    found = measure(on, gate)
    if found.fault is not None:
        what = f"The benchmark {gate.name} ended badly on the base, so there is nothing to compare with: {gate.run}"
        ask = "Mend the benchmark on the default branch, then resume."
        return _Stop(rule="not-reproduced", what=what, ask=ask, log=found.log, tail=_tail(found.fault))
    if len(found.outputs) != 1 or "" in found.outputs:
        said = "writes no output file" if "" in found.outputs else "gives out something else in each run"
        what = f"The benchmark {gate.name} {said}, so an unchanged output cannot be told."
        ask = "Name a file without times or addresses under loop.gate.same_output on the default branch, then resume."
        return _Stop(rule="not-reproduced", what=what, ask=ask, log=found.log)
    if loops.too_slow(gate, found.seconds, found.log) is None:
        what = f"There is nothing to do: {telling(gate, found)} on the base."
        return _Stop(rule="loop-skipped", what=what, ask=_ABANDON, log=found.log)
    seconds = [round(each, 4) for each in found.seconds]
    return {
        "text": f"On the base {telling(gate, found)}.",
        "runs": seconds,
        "kind": gate.kind,
        "p95": loops.p95(found.seconds),
        "output": next(iter(found.outputs)),
        "log": found.log,
    }


# ---------------------------------------------------------------- the work
def gate(ports: Ports, view: View, job: Job, card: Card) -> Verdict | None:
    """Judge a job's work by its card's loop before anything else does; None without one, or for work out of scope.

    A verdict that passed is on the record, and verification goes on.  With one that is refused the job was moved: to
    its next round, or to a person with the loop's stop reason.
    """
    loop = card.loop
    if loop is None or judge_scope(
        card, ports.repo.changes(view.base.oid, job.head or ""), protected_paths=view.policy.protected_paths
    ):
        return None
    if loops.due(loop, job.loop, job.base):
        if not _look(ports, view, job, card, loop, kind="job.note", skip=False):
            return _verdict(loop, "refused", "The loop's gate says nothing about the base.")
        job = ports.store.job(job.id)
    passed = job.loop.get("passed")
    if passed and passed["commit"] == job.head and passed["demand"] == _demand(loop):
        return _verdict(loop, "passed", passed["what"], log=passed["log"])
    ports.narrate(f"{job.slug}: the loop's gate judges attempt {job.worked}: {loop.gate.run}")
    with trials(ports, view, job, card, commit=job.head or "", name=f"attempt-{job.worked}-{job.rev}") as on:
        found = _clean(on, loop, job) if loop.gate.kind == "reproduce" else _fast(on, loop, job)
    if isinstance(found, Failure):
        _go_on(ports, job, card, loop, found)
        return _verdict(loop, "refused", found.what, log=found.log)
    what, log = found
    state = {"passed": {"commit": job.head, "demand": _demand(loop), "what": what, "log": log, "attempt": job.worked}}
    data = {"text": f"The loop's gate passed: {what}", "loop": state}
    ports.store.record(NewEvent(subject=job.id, step=f"gate:{job.rev}", kind="job.note", data=data), expect=job.rev)
    return _verdict(loop, "passed", what, log=log)


def _clean(on: Trials, loop: Loop, job: Job) -> Failure | tuple[str, str]:
    """The seeds that failed before, then clean runs with new ones; the first failure ends it."""
    gate = loop.gate
    seeds = loops.seeds_of_work(gate, job.loop, job.worked)
    log = ""
    for place, seed in enumerate(seeds, 1):
        run = on.run(gate.run, f"seed-{seed}", seconds=gate.timeout, seed=seed)
        log = run.log
        verdict = judge_check(Check(run=gate.run, timeout=gate.timeout), run, None)
        if verdict.state != "passed":
            what = f"Seed {seed}, run {place} of {len(seeds)}, failed: {verdict.what or gate.run}"
            return Failure(signature=loops.signature(run), what=what, seed=seed, log=log, tail=_tail(run))
    known = len(seeds) - gate.clean
    return f"{count(known, 'seed')} that failed before, then {gate.clean} clean runs", log


def _fast(on: Trials, loop: Loop, job: Job) -> Failure | tuple[str, str]:
    """The benchmark's seconds within the limit and its output as on the base."""
    gate = loop.gate
    found = measure(on, gate)
    if found.fault is not None:
        what = f"The benchmark {gate.name} ended badly: {_tail(found.fault, 3)}"
        return Failure(signature=loops.signature(found.fault), what=what, log=found.log, tail=_tail(found.fault))
    if found.outputs != {job.loop["output"]}:
        what = f"The output of {gate.name} is not what it is on the base ({gate.same_output or 'all that it prints'})."
        return Failure(signature="other output", what=what, log=found.log)
    slow = loops.too_slow(gate, found.seconds, found.log)
    return slow or (telling(gate, found), found.log)


def _go_on(ports: Ports, job: Job, card: Card, loop: Loop, failure: Failure) -> None:
    """Another round, or a stop with its reason; judged again, the same attempt counts once."""
    failures = loops.with_failure(job.loop, failure, job.worked)
    state: dict[str, Any] = {"failed": failures}
    following = loops.after(loop, failures, began=float(job.loop["began"]), now=ports.clock.now())
    stop = _Stop(rule=following.rule, what=following.what, ask=following.ask, log=failure.log, tail=failure.tail)
    if following.kind == "wait":
        _wait(ports, job, loop, stop, state)
        return
    expected = retry_cost.expected(ports, job, card)
    if fault := expected.fault():
        ask = "Raise the budget, decide that it goes on all the same (interlock retry --even-so), or abandon the job."
        _wait(
            ports,
            job,
            loop,
            replace(stop, rule="not-worth", what=f"{fault} {failure.what}", ask=ask),
            state,
            unit=expected.unit,
        )
        return
    data = {
        "hypothesis": following.what,
        "loop": state,
        "phases": list(phases.kept(job)),
        "expected": expected.as_json(),
    }
    ports.store.record(NewEvent(subject=job.id, step=f"round:{job.rev}", kind="job.round", data=data), expect=job.rev)


# ---------------------------------------------------------------- parts
def _wait(
    ports: Ports, job: Job, loop: Loop, stop: _Stop, state: dict[str, Any] | None = None, *, unit: str | None = None
) -> None:
    """``unit`` is what the worth of another round was told in, where that is the reason."""
    detail = {"tail": stop.tail, "log": stop.log, "owner": loop.escalate or job.owner}
    detail |= {"unit": unit} if unit else {}
    data: dict[str, Any] = {"rule": stop.rule, "what": stop.what, "ask": stop.ask, "detail": detail}
    if state is not None:
        data["loop"] = state
    ports.store.record(NewEvent(subject=job.id, step=f"loop:{job.rev}", kind="job.waits", data=data), expect=job.rev)


def _verdict(loop: Loop, state: Any, what: str, *, log: str = "") -> Verdict:
    run = CheckRun(
        run=f"loop gate: {loop.gate.run}", exit_code=0 if state == "passed" else 1, seconds=0.0, log=log, tail=what
    )
    return Verdict(
        run=run, state=state, rule=None if state == "passed" else "check-failed", what="" if state == "passed" else what
    )


def _demand(loop: Loop) -> list[Any]:
    """What the gate asks of work: proof by other numbers is none."""
    known = loop.gate
    return [*loops.key_of(known), known.clean, known.p95, known.runs, known.warm_up]


def _short(run: CheckRun, seed: int) -> dict[str, Any]:
    return {"seed": seed, "exit": run.exit_code, "seconds": round(run.seconds, 3), "log": run.log}


def _tail(run: CheckRun, most: int = 20) -> str:
    return "\n".join(run.tail.splitlines()[-most:])
