"""Prediction within the life of jobs: what a finished piece of work will meet is noted on both jobs; it informs and never blocks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from interlock.app.base import View
from interlock.app.cardjson import from_json
from interlock.app.conflicts import Asked, Open, predict
from interlock.app.scope import Against
from interlock.core.job.events import NewEvent
from interlock.core.job.ids import branch_of
from interlock.core.job.lifecycle import Job, State
from interlock.core.merge.conflicts import Pair, Prediction, Skipped
from interlock.ports.bundle import Ports

NOTED: Final = 10
# A note moves a job's revision.  A job that is being verified, or that waits for a person's answer, is left alone: it
# would have to begin again; it makes its own prediction when it goes on.
_NOTED_TOO: Final = frozenset({State.READY, State.RUNNING})


def foresee(ports: Ports, view: View, job: Job) -> None:
    """Note on a job, and on those that it will meet, what does not go together.  Never raises: a fault is narrated."""
    try:
        jobs = [each for each in ports.store.jobs() if each.head]
        changes = [*map(_of_job, jobs), *_foreign(ports)]
        if len(changes) < 2 or not any(change.name == job.branch for change in changes):
            return
        found = _predict(ports, view, changes, only=frozenset({job.branch}))
        _note(ports, view, job, {each.branch: each for each in jobs}, found)
    except Exception as fault:  # noqa: BLE001 - prediction informs; no fault of it may keep work from landing
        ports.narrate(f"{job.slug}: conflicts were not predicted: {type(fault).__name__}: {fault}")


def suspects(ports: Ports, view: View, jobs: Iterable[str], base: str = "") -> Mapping[frozenset[str], Pair]:
    """Pairs of jobs that are predicted to be red together, by their ids, on a base (none: the present one).  Raises what predict raises."""
    members = [job for job in map(ports.store.job, jobs) if job.head]
    if len(members) < 2:
        return {}
    ids = {job.branch: job.id for job in members}
    found = _predict(ports, view, [_of_job(job) for job in members], base=base)
    return {
        frozenset((ids[pair.a], ids[pair.b])): pair for pair in reversed(found.pairs) if pair.a in ids and pair.b in ids
    }


def clashing(ports: Ports, view: View, job: Job, others: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Which of other changes (branch, commit) git itself cannot put together with a job's head; nothing where that cannot be told."""
    try:
        with ports.repo.melting(view.base.oid) as pot:
            heads = [job.head or "", *(head for _, head in others)]
            pairs = {frozenset(pair) for pair in pot.matrix(heads).pairs}
        return tuple(branch for branch, head in others if frozenset((job.head or "", head)) in pairs)
    except Exception as fault:  # noqa: BLE001 - as above
        ports.narrate(f"{job.slug}: conflicts were not predicted: {type(fault).__name__}: {fault}")
        return ()


def _predict(
    ports: Ports, view: View, changes: Sequence[Open], only: frozenset[str] = frozenset(), base: str = ""
) -> Prediction:
    on = Against(ref=view.base.ref, oid=base or view.base.oid)
    return predict(ports.repo, Asked(base=on, changes=tuple(changes), facts=ports.facts, only=only))


def _of_job(job: Job) -> Open:
    needs = tuple(map(branch_of, from_json(job.card).depends_on))
    return Open(name=job.branch, head=job.head or "", since=job.admitted_at, depends_on=needs, task=job.slug)


def _foreign(ports: Ports) -> list[Open]:
    """Agent branches on the remote that were started elsewhere."""
    known = {job.branch for job in ports.store.jobs(open_only=False)}
    return [Open(name=name, head=head) for name, head in ports.repo.agent_branches().items() if name not in known]


def _note(ports: Ports, view: View, job: Job, jobs: Mapping[str, Job], found: Prediction) -> None:
    others = dict.fromkeys(pair.b if pair.a == job.branch else pair.a for pair in found.pairs)
    for other in others:
        pairs = found.between(job.branch, other)
        _record(ports, view, job, other, pairs, found.skipped)
        known = jobs.get(other)
        if known is not None and known.state in _NOTED_TOO:
            _record(ports, view, known, job.branch, pairs, found.skipped)
    if found.skipped:
        _record(ports, view, job, "", (), found.skipped)


def _record(ports: Ports, view: View, job: Job, other: str, pairs: Sequence[Pair], skipped: Sequence[Skipped]) -> None:
    """One note for each meeting, and one for what could not be looked at: the same one, seen again, is the same event."""
    shape = [[pair.rule, pair.path, pair.symbol] for pair in pairs] or [[each.tier, each.why] for each in skipped]
    digest = hashlib.sha256(json.dumps([job.head, other, shape]).encode()).hexdigest()[:16]
    data = {
        "text": text_of(other, pairs) if pairs else unseen_of(skipped),
        "foreseen": {
            "with": other,
            "head": job.head,
            "base": view.base.oid,
            "pairs": [pair.as_json() for pair in pairs[:NOTED]],
            "skipped": [each.as_json() | {"pairs": []} for each in skipped[:NOTED]],
            "cut": len(pairs) > NOTED or len(skipped) > NOTED,
        },
    }
    if ports.store.event(job.id, 0, f"foreseen:{digest}") is None:
        ports.store.record(NewEvent(subject=job.id, step=f"foreseen:{digest}", kind="job.note", data=data))
        ports.narrate(f"{job.slug}: {data['text']}")


def unseen_of(skipped: Sequence[Skipped]) -> str:
    """What prediction did not look at, in one line: no conflict there is not the same as none found."""
    more = f" And {len(skipped) - 1} more." if len(skipped) > 1 else ""
    return f"Conflicts were not looked for everywhere ({skipped[0].tier}). {skipped[0].why}{more}"


def text_of(other: str, pairs: Sequence[Pair]) -> str:
    """A meeting in one line: with whom, what, where, why, and what to do."""
    first = pairs[0]
    place = f"{first.path}:{first.line}" if first.line else first.path
    what = f"{first.symbol} in {place}" if first.symbol else place
    more = f" ({len(pairs) - 1} more)" if len(pairs) > 1 else ""
    return f"Predicted {first.kind} conflict with {other}: {what}{more}. {first.why} {first.action}".strip()
