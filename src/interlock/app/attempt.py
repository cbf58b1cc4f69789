"""One attempt of a job in three idempotent steps: start it on the record, follow its runner, settle what came out."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from interlock.app.adopt import ADOPTED, is_adoption, take_over
from interlock.app.approvals import record_refusals
from interlock.app.base import last_view
from interlock.app.cardjson import from_json
from interlock.app.database import level_of
from interlock.app.down import stop_services
from interlock.app.isolate import place_of
from interlock.app.prompt import prompt_for
from interlock.app.rooms import redactions, room_of
from interlock.core.contract.card import Card
from interlock.core.contract.defaults import with_defaults
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import Job, State
from interlock.core.job.settle import Facts, Outcome
from interlock.core.job.settle import settle as judge
from interlock.core.problems import BadInput, Refusal, Refused
from interlock.core.redact import redact_text
from interlock.ports import Author, End, Launch, Message, Ports, Work


def start(ports: Ports, subject: str, number: int) -> dict[str, Any]:
    """Put the attempt on the record before anything of it exists."""
    if ports.store.event(subject, number, "start") is not None:
        return {"started": True}
    job = ports.store.job(subject)
    view = last_view(ports)
    card = with_defaults(from_json(job.card), view.policy)
    if job.state is State.ISOLATED:
        fault = _cannot_start(ports, job, card)
        if fault is not None:
            ports.store.record(fault)
            return {"started": False}
    hypothesis = job.hypotheses[-1] if job.hypotheses else None
    ports.store.record(
        NewEvent(
            subject=subject,
            attempt=number,
            step="start",
            kind="attempt.started",
            data={
                "hypothesis": hypothesis,
                "agent": card.agent.use,
                "model": card.agent.model,
                "sign": view.policy.sign_commits,
            },
        )
    )
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
    place = place_of(job)
    there = ports.workspaces.exists(place)
    _quieten(ports, job)
    head = ports.repo.head_of(place) if there else None
    on_branch = head is not None and head.branch == job.branch
    if head is not None and head.oid and not on_branch:
        ports.repo.keep(f"refs/interlock/kept/{job.id}/{number}", head.oid)
    work = _commit(ports, job, number) if on_branch and end.how != "interrupted" else None
    secrets = _secret_texts(ports, job)
    end = replace(end, tail=redact_text(end.tail, secrets), message=redact_text(end.message, secrets))
    facts = _facts(ports, job, number, end, secrets, there=there, head_branch=head.branch if head else None, work=work)
    outcome = judge(facts)
    record_refusals(ports, job, number, secrets)
    _write(ports, job, number, end, outcome, work)
    return {"kind": outcome.kind}


def _quieten(ports: Ports, job: Job) -> None:
    """Stop a sealed task's services while its work is taken: a folder swapped for a link under our hands would be read."""
    if level_of(job) == "sealed" and (names := stop_services(ports, job)):
        ports.narrate(f"{job.slug}: {', '.join(names)} stopped, since its work is taken; interlock up starts it again.")


def effective_card(ports: Ports, job: Job) -> Card:
    """The job's card with the defaults of its class and the present policy laid under it; for what starts from now on."""
    return with_defaults(from_json(job.card), last_view(ports).policy)


def _secret_texts(ports: Ports, job: Job) -> tuple[str, ...]:
    """What must not reach the record; a policy that broke meanwhile does not keep an attempt from its end."""
    card = from_json(job.card)
    if not card.needs.secrets:
        return ()
    with suppress(BadInput):
        return redactions(ports, card, last_view(ports).policy)
    return ()


def _is_running(job: Job, number: int) -> bool:
    return job.state is State.RUNNING and job.attempt == number


def _cannot_start(ports: Ports, job: Job, card: Card) -> NewEvent | None:
    step = f"cannot-start:{job.rev}"
    if (missing := _no_tree(ports, job)) is not None:
        return _waits(job, step, missing.rule, missing.what, missing.would_change)
    if card.agent.use is None and not is_adoption(job, job.attempt + 1):
        return _waits(
            job,
            step,
            "no-agent",
            f"No agent is configured for {job.slug}.",
            "Name one in the card, its class or interlock.yaml: agent: {use: command, command: …}; then resume.",
        )
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


def _launch(ports: Ports, job: Job, number: int, folder: Path) -> Launch:
    """How to start the attempt by the present policy.  Raises Refused (workspace-missing, no-agent), BadInput."""
    if (missing := _no_tree(ports, job)) is not None:
        raise Refused(missing)
    card = effective_card(ports, job)
    room, values, redact = room_of(ports, job, card, last_view(ports), record=folder)
    values |= {"INTERLOCK_ATTEMPT_NUMBER": str(number), "INTERLOCK_SPOOL": str(ports.records.spool(job.id))}
    launch = ports.agents.launch(card, prompt_for(card, job, number), room, values, folder)
    return replace(launch, redact=redact)


def _commit(ports: Ports, job: Job, number: int) -> Work:
    """The whole tree as one commit on the job's base: what lands is exactly what was judged (ADR 0004)."""
    card = from_json(job.card)
    agent = card.agent.use or "agent"
    trailers = {
        "Interlock-Job": job.id,
        "Interlock-Card": f"{job.slug}@{job.card_oid[:12]}",
        "Interlock-Attempt": str(number),
        "Interlock-Class": job.class_name,
    }
    message = f"{card.subject}\n\n" + "".join(f"{name}: {value}\n" for name, value in trailers.items())
    return ports.repo.commit_work(
        place_of(job),
        parent=job.base,
        message=message,
        author=Author(name=f"{agent} ({job.slug})", email=f"agent+{job.slug}@interlock.invalid"),
        sign=_signs(ports, job, number),
        keep=f"refs/interlock/kept/{job.id}/{number}",
    )


def _signs(ports: Ports, job: Job, number: int) -> bool:
    """Whether the attempt's commit is signed, as the policy said when it started."""
    started = ports.store.event(job.id, number, "start")
    if started is not None and "sign" in started.data:
        return bool(started.data["sign"])
    return last_view(ports).policy.sign_commits


def _end(ports: Ports, job: Job, number: int) -> End:
    """How the attempt ended, from its own record; only where there is none is it started, and the policy read."""
    folder = ports.records.attempt(job.id, number)
    return ports.runs.attach(folder) or ports.runs.run(folder, _launch(ports, job, number, folder))


def _facts(
    ports: Ports,
    job: Job,
    number: int,
    end: End,
    secrets: tuple[str, ...],
    *,
    there: bool,
    head_branch: str | None,
    work: Work | None,
) -> Facts:
    said = ports.records.messages(job.id, number)
    return Facts(
        how=end.how,
        exit_code=end.exit_code,
        tail=end.tail,
        message=end.message,
        branch=job.branch,
        head_branch=head_branch,
        workspace_there=there,
        changed=work is not None and not work.empty,
        interruptions=job.interruptions,
        stop=_last(said, "stop", secrets),
        scope_request=_last(said, "scope-request", secrets),
    )


def _last(said: tuple[Message, ...], verb: str, secrets: tuple[str, ...]) -> dict[str, Any] | None:
    found = [message for message in said if message.verb == verb]
    shape: dict[str, Any] | None = _redacted(dict(found[-1].data), secrets) if found else None
    return shape


def _redacted(value: Any, secrets: tuple[str, ...]) -> Any:
    """The same shape without secrets in any of its texts."""
    match value:
        case str():
            return redact_text(value, secrets)
        case list():
            return [_redacted(each, secrets) for each in value]
        case dict():
            return {redact_text(str(key), secrets): _redacted(each, secrets) for key, each in value.items()}
        case _:
            return value


def _write(ports: Ports, job: Job, number: int, end: End, outcome: Outcome, work: Work | None) -> None:
    data: dict[str, Any] = {
        "how": end.how,
        "exit_code": end.exit_code,
        "seconds": round(end.seconds, 3),
        "leftovers": list(end.leftovers),
        "namespace": end.namespace,
    }
    if outcome.kind == "ended":
        data |= {"rule": outcome.rule, "what": outcome.what, "ask": outcome.ask, "detail": dict(outcome.detail)}
    if work is not None and not work.empty:
        data |= {"head": work.commit, "tree": work.tree}
    ports.store.record(
        NewEvent(subject=job.id, attempt=number, step="settle", kind=f"attempt.{outcome.kind}", data=data)
    )
