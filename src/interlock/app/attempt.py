"""One attempt of a job in three idempotent steps: start it on the record, follow its runner, settle what came out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from interlock.app import phases
from interlock.app.adopt import ADOPTED, is_adoption, take_over
from interlock.app.approvals import record_refusals
from interlock.app.base import last_view
from interlock.app.cardjson import from_json
from interlock.app.database import level_of
from interlock.app.down import stop_services
from interlock.app.isolate import place_of
from interlock.app.outcome import facts_of, record
from interlock.app.redacting import redaction
from interlock.app.revert_effects import trailers
from interlock.app.starting import launch_of, started_by, starting
from interlock.core.agent.outcome import AgentOutcome
from interlock.core.agent.seen import Summary
from interlock.core.agent.usage import from_json as usage_from
from interlock.core.contract.card import Card
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import Job, State
from interlock.core.job.settle import settle as judge
from interlock.core.problems import InterlockError, Refusal, Refused
from interlock.ports.agents import Reading
from interlock.ports.bundle import Ports
from interlock.ports.processes import End
from interlock.ports.repository import Author, Work


def start(ports: Ports, subject: str, number: int) -> dict[str, Any]:
    """Put the attempt on the record before anything of it exists: its agent, phase, route and what is handed over.

    Raises Refused when it cannot be started by the present policy (starting.starting).
    """
    if ports.store.event(subject, number, "start") is not None:
        return {"started": True}
    job = ports.store.job(subject)
    if job.state is State.ISOLATED and (fault := _cannot_start(ports, job)) is not None:
        ports.store.record(fault)
        return {"started": False}
    data = starting(ports, job, number)
    ports.store.record(NewEvent(subject=subject, attempt=number, step="start", kind="attempt.started", data=data))
    return {"started": True}


def follow(ports: Ports, subject: str, number: int) -> dict[str, Any]:
    """Run the attempt under its runner, or attach to it, until it ends."""
    job = ports.store.job(subject)
    if not _is_running(job, number):
        return {"how": "none"}
    if is_adoption(job, number):
        return {"how": "adopted", "clashes": take_over(ports, job)}
    return {"how": _end(ports, job, number).how}


def settle(ports: Ports, subject: str, number: int) -> dict[str, Any]:
    """Decide what came out, commit the work from outside, and write both down in one event."""
    job = ports.store.job(subject)
    if not _is_running(job, number):
        return {"kind": "none"}
    end = ADOPTED if is_adoption(job, number) else _end(ports, job, number)
    _log_out(ports, job, number)
    place = place_of(job)
    there = ports.workspaces.exists(place)
    _quieten(ports, job)
    head = ports.repo.head_of(place) if there else None
    on_branch = head is not None and head.branch == job.branch
    if head is not None and head.oid and not on_branch:
        ports.repo.keep(f"refs/interlock/kept/{job.id}/{number}", head.oid)
    if there:
        _tidy(ports, job, number)
    work = _commit(ports, job, number) if on_branch and end.how != "interrupted" else None
    hidden = redaction(ports, job, number)
    end = replace(end, tail=hidden.text(end.tail), message=hidden.text(end.message))
    read = _read(ports, job, number, end)
    pack = phases.pack_of(ports, job, number, read.seen, hidden)
    facts = facts_of(ports, job, number, end, read, pack, hidden, head=head, there=there, work=work)
    outcome = judge(facts)
    record_refusals(ports, job, number, hidden)
    record(ports, job, number, end, read, outcome, work, pack, hidden)
    return {"kind": outcome.kind}


def _read(ports: Ports, job: Job, number: int, end: End) -> Reading:
    """What the agent's stream said; taken over work has none, and came as it is."""
    if is_adoption(job, number):
        return Reading(seen=Summary(), outcome=AgentOutcome(kind="completed"))
    begun = started_by(ports, job, number)
    before = begun.get("resumes") or {}
    return ports.agents.read(
        str(begun.get("agent") or "command"),
        ports.records.attempt(job.id, number),
        end,
        before=usage_from(before.get("usage")),
        usd_before=before.get("usd"),
        resumed=str(before.get("id") or ""),
    )


def _log_out(ports: Ports, job: Job, number: int) -> None:
    """Take away the credentials that the agent had: its run is over, and the record stays for as long as the job."""
    if left := ports.agents.forget(ports.records.attempt(job.id, number)):
        ports.narrate(f"{job.slug}: credentials of attempt {number} could not be removed: {', '.join(left)}.")


def _tidy(ports: Ports, job: Job, number: int) -> None:
    tree = ports.workspaces.room(place_of(job)).written
    if gone := ports.agents.tidy(ports.records.attempt(job.id, number), tree):
        ports.narrate(f"{job.slug}: empty folders that its client left were taken away: {', '.join(gone)}.")


def _quieten(ports: Ports, job: Job) -> None:
    """Stop a sealed task's services while its work is taken: a folder swapped for a link under our hands would be read."""
    if level_of(job) == "sealed" and (names := stop_services(ports, job)):
        ports.narrate(f"{job.slug}: {', '.join(names)} stopped, since its work is taken; interlock up starts it again.")


def _is_running(job: Job, number: int) -> bool:
    return job.state is State.RUNNING and job.attempt == number


def _cannot_start(ports: Ports, job: Job) -> NewEvent | None:
    step = f"cannot-start:{job.rev}"
    if (missing := _no_tree(ports, job)) is not None:
        return _waits(job, step, missing.rule, missing.what, missing.would_change)
    return None


def _no_tree(ports: Ports, job: Job) -> Refusal | None:
    """Why no agent may be started in the job's folder: it would work elsewhere, or on nothing (case AI-02)."""
    place = place_of(job)
    there = ports.workspaces.exists(place)
    if there and (place.level != "worktree" or (place.path / ".git").is_file()):
        return None
    again = "resume makes it again from the branch; what was not committed is lost."
    return Refusal(
        rule="workspace-missing",
        what=f"The task's folder {place.path} {'holds no tree any more' if place.path.is_dir() else 'is gone'}.",
        why="An agent is started in its own tree and nowhere else.",
        would_change=f"Move the folder away; {again}" if place.path.is_dir() else again[0].upper() + again[1:],
    )


def _waits(job: Job, step: str, rule: str, what: str, ask: str) -> NewEvent:
    return NewEvent(subject=job.id, step=step, kind="job.waits", data={"rule": rule, "what": what, "ask": ask})


def _commit(ports: Ports, job: Job, number: int) -> Work:
    """The whole tree as one commit on the job's base: what lands is exactly what was judged (ADR 0004)."""
    card = from_json(job.card)
    agent = _agent_of(ports, job, number, card)
    lines = [
        f"Interlock-Job: {job.id}",
        f"Interlock-Card: {job.slug}@{job.card_oid[:12]}",
        f"Interlock-Attempt: {number}",
        f"Interlock-Class: {job.class_name}",
    ]
    body = ""
    if job.reverts:
        of = ports.store.job(job.reverts["job"])
        lines += trailers(ports, of, job.reverts["commit"])
        body = f"This reverts commit {job.reverts['commit']}.\n\n"
    message = f"{card.subject}\n\n{body}" + "".join(f"{line}\n" for line in lines)
    return ports.repo.commit_work(
        place_of(job),
        parent=job.base,
        message=message,
        author=Author(name=f"{agent} ({job.slug})", email=f"agent+{job.slug}@interlock.invalid"),
        sign=_signs(ports, job, number),
        keep=f"refs/interlock/kept/{job.id}/{number}",
    )


def _agent_of(ports: Ports, job: Job, number: int, card: Card) -> str:
    return str(started_by(ports, job, number).get("agent") or card.agent.use or "agent")


def _signs(ports: Ports, job: Job, number: int) -> bool:
    """Whether the attempt's commit is signed, as the policy said when it started."""
    begun = started_by(ports, job, number)
    return bool(begun["sign"]) if "sign" in begun else last_view(ports).policy.sign_commits


def _end(ports: Ports, job: Job, number: int) -> End:
    """How the attempt ended, from its own record; only where there is none is it started, and the policy read."""
    folder = ports.records.attempt(job.id, number)
    found = ports.runs.attach(folder)
    if found is not None:
        return found
    if (missing := _no_tree(ports, job)) is not None:
        raise Refused(missing)
    try:
        return ports.runs.run(folder, launch_of(ports, job, number, folder))
    except InterlockError:  # nothing was started, so nothing will read them
        _log_out(ports, job, number)
        raise
