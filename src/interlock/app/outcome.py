"""What an attempt is judged by and what is written down of it: facts for the core, and one event; the judging is core.job.settle's."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

from interlock.app import phases, watched
from interlock.app.base import last_view
from interlock.app.bounds import bounds_of
from interlock.app.cardjson import from_json
from interlock.app.costs import taken
from interlock.app.last_words import last_words
from interlock.app.rooms import redactions
from interlock.app.starting import effective_card, started_by
from interlock.core.agent.outcome import AgentOutcome
from interlock.core.agent.packs import Pack
from interlock.core.contract.agents import WRITING
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import Job
from interlock.core.job.settle import Facts, Settlement
from interlock.core.problems import BadInput
from interlock.core.redact import redact_text
from interlock.ports import End, Head, Message, Ports, Reading, Work

_SHOWN = 20


def facts_of(
    ports: Ports,
    job: Job,
    number: int,
    end: End,
    read: Reading,
    pack: Pack | None,
    secrets: tuple[str, ...],
    *,
    head: Head | None,
    there: bool,
    work: Work | None,
) -> Facts:
    """What the harness saw of one attempt."""
    said = ports.records.messages(job.id, number)
    phase = job.phase or "implement"
    objection = phases.objection(phase, pack)
    before = _stray(ports, job, number) or job.tree or ports.repo.tree_of(job.base)
    return Facts(
        how=end.how,
        exit_code=end.exit_code,
        tail=redact_text(last_words(ports, job, number, end, pack if objection else None), secrets),
        message=end.message,
        branch=job.branch,
        head_branch=head.branch if head else None,
        workspace_there=there,
        changed=work is not None and not work.empty,
        interruptions=job.interruptions,
        stop=_last(said, "stop", secrets),
        scope_request=_last(said, "scope-request", secrets),
        agent=_came_to(ports, job, number, read),
        phase=phase,
        writing=phase in WRITING,
        final=bool(started_by(ports, job, number).get("last", True)),
        wrote=work is not None and work.tree != before,
        pack=pack is not None,
        objection=objection,
        leaked=_beside(ports, job, number, end, work).leaked,
    )


def record(
    ports: Ports,
    job: Job,
    number: int,
    end: End,
    read: Reading,
    outcome: Settlement,
    work: Work | None,
    pack: Pack | None,
    secrets: tuple[str, ...],
) -> None:
    """Write how an attempt came out, what it cost and what it left, in one event."""
    data: dict[str, Any] = {
        "how": end.how,
        "exit_code": end.exit_code,
        "seconds": round(end.seconds, 3),
        "leftovers": list(end.leftovers),
        "namespace": end.namespace,
        "outcome": read.outcome.kind,
        "phase": job.phase,
        **taken(ports, job.id, number, read.seen),
        **_stream(read, secrets),
        "session": _session(ports, job, number, read),
        "beside": list(_beside(ports, job, number, end, work).told),
    }
    if pack is not None:
        data["pack"] = pack.as_json()
    if outcome.kind == "ended":
        detail = _redacted({**outcome.detail, "denied": [each.what for each in read.seen.denied][:_SHOWN]}, secrets)
        data |= {"rule": outcome.rule, "what": redact_text(outcome.what, secrets), "ask": outcome.ask, "detail": detail}
        data |= {"worked": True} if outcome.detail.get("worked") else {}
    if work is not None and outcome.rule == "phase-wrote":
        data["stray"] = work.tree  # no work; but only what the next attempt adds to it is held against that one
    elif work is not None and not work.empty:
        data |= {"head": work.commit, "tree": work.tree}
    ports.store.record(
        NewEvent(subject=job.id, attempt=number, step="settle", kind=f"attempt.{outcome.kind}", data=data)
    )


def _came_to(ports: Ports, job: Job, number: int, read: Reading) -> AgentOutcome:
    """How the run came out; of dollars that its client kept by itself, with the limit that they were counted by."""
    outcome = read.outcome
    if outcome.kind != "limit" or outcome.limit != "money" or outcome.reached is not None:
        return outcome
    with suppress(BadInput):
        bounds = bounds_of(ports, job, number, effective_card(ports, job), last_view(ports))
        return replace(outcome, reached=bounds.narrowest())
    return outcome


def _stray(ports: Ports, job: Job, number: int) -> str | None:
    """The tree that a reading phase was found to have left, where the attempt before this one did."""
    earlier = ports.store.event(job.id, number - 1, "settle")
    stray: str | None = earlier.data.get("stray") if earlier is not None else None
    return stray


def _beside(ports: Ports, job: Job, number: int, end: End, work: Work | None) -> watched.Beside:
    return watched.beside(ports, job, number, end, changed=work is not None and not work.empty)


def secret_texts(ports: Ports, job: Job) -> tuple[str, ...]:
    """What must not reach the record; a policy that broke meanwhile does not keep an attempt from its end."""
    card = from_json(job.card)
    if not card.needs.secrets:
        return ()
    with suppress(BadInput):
        return redactions(ports, card, last_view(ports).policy)
    return ()


def _stream(read: Reading, secrets: tuple[str, ...]) -> dict[str, Any]:
    """What the stream said, in short; all of it stays raw in the record."""
    seen = read.seen
    return {
        "tools": dict(seen.tools),
        "failed_tools": seen.failed_tools,
        "denied": [redact_text(each.what, secrets) for each in seen.denied][:_SHOWN],
        "retries": seen.retries,
        "lines": seen.lines,
        "unknown_lines": seen.unknown,
        "warnings": [redact_text(each, secrets) for each in seen.warnings],
        "raw_usage": _plain([dict(each) for each in seen.raw_usage]),
    }


def _plain(raw: Any) -> Any:
    """The same without NaN and infinity, which are no JSON, and which a database refuses."""
    return json.loads(json.dumps(raw), parse_constant=lambda _: None)


def _session(ports: Ports, job: Job, number: int, read: Reading) -> dict[str, Any] | None:
    """What this attempt could be gone on with, and the session's totals to be taken off then."""
    seen = read.seen
    if not seen.session:
        return None
    return {
        "agent": started_by(ports, job, number).get("agent"),
        "id": seen.session,
        "attempt": number,
        "phase": job.phase,
        "usage": seen.session_usage.as_json(),
        "usd": seen.session_usd,
    }


def _last(said: tuple[Message, ...], verb: str, secrets: tuple[str, ...]) -> dict[str, Any] | None:
    found = [message for message in said if message.verb == verb]
    shape: dict[str, Any] | None = _redacted(dict(found[-1].data), secrets) if found else None
    return shape


def _redacted(value: Any, secrets: tuple[str, ...]) -> Any:
    """The same shape without secrets in any of its texts."""
    match value:
        case str():
            return redact_text(value, secrets)
        case list() | tuple():
            return [_redacted(each, secrets) for each in value]
        case dict():
            return {redact_text(str(key), secrets): _redacted(each, secrets) for key, each in value.items()}
        case _:
            return value
