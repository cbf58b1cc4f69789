"""Publishing one verified job: its proof is derived again, overlaps with open changes stop it, its branch is pushed."""

from __future__ import annotations

from typing import Any

from interlock.app.approvals import check_approved
from interlock.app.base import View, fresh_view
from interlock.app.branches import refuse_replaced
from interlock.core.counting import some
from interlock.core.gate.changes import Change
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import Job, State
from interlock.core.job.trust import TAMPERED
from interlock.core.job.verified import Verified
from interlock.core.problems import Refusal, Refused
from interlock.ports.bundle import Ports

SHOWN = 5


def publish_step(ports: Ports, subject: str) -> dict[str, Any]:
    """The engine's step: make a verified job ready for the train, or make it wait for a person."""
    job = ports.store.job(subject)
    if job.state is not State.VERIFIED:
        return {"published": None}
    view = fresh_view(ports)
    proof = prove(ports, view, job)
    if isinstance(proof, Refusal):
        if proof.rule in TAMPERED:
            raise Refused(proof)
        if proof.rule == "evidence-key":
            ports.narrate(f"{job.slug}: {proof.what} It is checked again.")
        _verify_again(ports, job)
        return {"published": False}
    check_approved(ports, view, job)
    if refuse_replaced(ports, job):
        return {"published": False}
    stands = _push(ports, view, job)
    with ports.records.lock("publish", wait=None):
        shared = {} if "file-overlap" in job.waivers else overlapping(ports, view, job)
        if shared:
            _wait_for_owner(ports, view, job, shared)
        else:
            _publish(ports, view, job, proof, stands)
    from interlock.app.foreseen import foresee  # what it loads, a look at the status must not wait for

    foresee(ports, view, ports.store.job(job.id))
    return {"published": not shared}


def _publish(ports: Ports, view: View, job: Job, proof: Verified, stands: str) -> None:
    data = {"commit": proof.commit, "tree": proof.tree, "head": proof.commit, "policy_digest": view.policy_digest}
    data |= {"stands": stands}
    event = NewEvent(subject=job.id, step=f"publish:{job.rev}", kind="job.published", data=data)
    ports.store.record(event, expect=job.rev)


def prove(ports: Ports, view: View, job: Job) -> Verified | Refusal:
    """The proof that the job's head passed its card's checks under the present policy, or why there is none."""
    return ports.store.proof(
        job.id,
        commit=job.head or "",
        card_oid=job.card_oid,
        policy_digest=view.policy_digest,
        tree=job.tree,
        listed=view.policy.evidence.keys,
    )


def overlapping(ports: Ports, view: View, job: Job) -> dict[str, list[str]]:
    """Files that this job and another open change both change: path → the others' branches.

    Compared with published changes, with verified ones that were admitted earlier, and with agent branches on
    the remote that were started elsewhere.  The caller looks and writes under one lock, so that of two at least
    one waits.
    """
    others = _others(ports, job)
    mine = {change.path for change in ports.repo.changes(view.base.oid, job.head or "")}
    found = ports.repo.changes_many(view.base.oid, [head for _, head in others])
    shared: dict[str, list[str]] = {}
    for branch, head in others:
        for path in sorted(mine & _paths(found[head])):
            shared.setdefault(path, []).append(branch)
    return shared


def _others(ports: Ports, job: Job) -> list[tuple[str, str]]:
    jobs = [other for other in ports.store.jobs() if other.id != job.id and other.head]
    known = {other.branch for other in ports.store.jobs(open_only=False)}
    ours = [
        (other.branch, other.head or "")
        for other in jobs
        if other.state is State.READY or (other.state is State.VERIFIED and _earlier(other, job))
    ]
    foreign = [(name, oid) for name, oid in ports.repo.agent_branches().items() if name not in known]
    return ours + foreign


def _earlier(other: Job, job: Job) -> bool:
    return (other.admitted_at, other.id) < (job.admitted_at, job.id)


def _paths(changes: tuple[Change, ...] | Refused) -> set[str]:
    """The paths of another branch's changed set; one without a common ancestor can never merge, and shares nothing."""
    return set() if isinstance(changes, Refused) else {change.path for change in changes}


def _wait_for_owner(ports: Ports, view: View, job: Job, shared: dict[str, list[str]]) -> None:
    from interlock.app.foreseen import clashing

    meeting = {branch for branches in shared.values() for branch in branches}
    clashes = clashing(ports, view, job, [each for each in _others(ports, job) if each[0] in meeting])
    told = f" Git cannot put it together with {', '.join(clashes)}." if clashes else ""
    shown = some([f"{path} ({', '.join(branches)})" for path, branches in shared.items()], SHOWN)
    data = {
        "rule": "file-overlap",
        "what": f"Another open change changes the same file: {shown}.{told}",
        "ask": f"{job.owner} decides: --accept lets the train test both together, --abandon keeps the other one.",
        "detail": {"files": shared, "clashes": list(clashes)},
    }
    ports.store.record(NewEvent(subject=job.id, step=f"overlap:{job.rev}", kind="job.waits", data=data))


def _verify_again(ports: Ports, job: Job) -> None:
    ports.store.record(
        NewEvent(subject=job.id, step=f"stale:{job.rev}", kind="job.verify-again", data={"why": "stale-evidence"})
    )


def _push(ports: Ports, view: View, job: Job) -> str:
    """Put the head onto its branch on the remote, unless work stands there that is not this job's; gives what stands there then."""
    head = job.head or ""
    if view.base.remote is None:
        return head
    expected = ports.repo.agent_branches().get(job.branch)
    earlier = {event.data.get("head") for event in ports.store.events(job.id)}
    if job.reverts and job.worked == 1:
        earlier.add(expected)  # the branch was made with the job, and is what was taken over
    if expected is not None and expected not in earlier and not ports.repo.is_ancestor(expected, head):
        ports.narrate(f"{job.slug}: {job.branch} on the remote holds earlier work and stays as it is.")
        return expected
    answer = ports.repo.push_branch(job.branch, head, expected)
    if answer.state != "landed":
        ports.narrate(
            f"{job.slug}: the branch was not pushed ({answer.message or answer.state}); the train goes on without."
        )
        return expected or head
    return head
