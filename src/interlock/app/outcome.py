"""What an attempt is judged by and what is written down of it: facts for the core, and one event; the judging is core.job.settle's."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from interlock.app import phases, watched
from interlock.app.base import last_view
from interlock.app.cardjson import from_json
from interlock.app.rooms import redactions
from interlock.app.starting import started_by
from interlock.core.agent.packs import Pack
from interlock.core.agent.usage import Usage, total
from interlock.core.contract.agents import WRITING
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import Job
from interlock.core.job.settle import Facts, Outcome
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
    before = job.tree or ports.repo.tree_of(job.base)
    return Facts(
        how=end.how,
        exit_code=end.exit_code,
        tail=end.tail,
        message=end.message,
        branch=job.branch,
        head_branch=head.branch if head else None,
        workspace_there=there,
        changed=work is not None and not work.empty,
        interruptions=job.interruptions,
        stop=_last(said, "stop", secrets),
        scope_request=_last(said, "scope-request", secrets),
        agent=read.outcome,
        phase=phase,
        writing=phase in WRITING,
        final=bool(started_by(ports, job, number).get("last", True)),
        wrote=work is not None and work.tree != before,
        pack=pack is not None,
        objection=phases.objection(phase, pack),
        leaked=watched.leaked(ports, job, number, end),
    )


def record(
    ports: Ports,
    job: Job,
    number: int,
    end: End,
    read: Reading,
    outcome: Outcome,
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
        **_spent(ports, job, number, read),
        **_stream(read, secrets),
        "session": _session(ports, job, number, read),
    }
    if pack is not None:
        data["pack"] = pack.as_json()
    if outcome.kind == "ended":
        detail = _redacted({**outcome.detail, "denied": [each.what for each in read.seen.denied][:_SHOWN]}, secrets)
        data |= {"rule": outcome.rule, "what": redact_text(outcome.what, secrets), "ask": outcome.ask, "detail": detail}
        data |= {"worked": True} if outcome.detail.get("worked") else {}
    # What a reading phase wrote is no work: the next one must find it stray again.
    if work is not None and not work.empty and outcome.rule != "phase-wrote":
        data |= {"head": work.commit, "tree": work.tree}
    ports.store.record(
        NewEvent(subject=job.id, attempt=number, step="settle", kind=f"attempt.{outcome.kind}", data=data)
    )


def secret_texts(ports: Ports, job: Job) -> tuple[str, ...]:
    """What must not reach the record; a policy that broke meanwhile does not keep an attempt from its end."""
    card = from_json(job.card)
    if not card.needs.secrets:
        return ()
    with suppress(BadInput):
        return redactions(ports, card, last_view(ports).policy)
    return ()


def _spent(ports: Ports, job: Job, number: int, read: Reading) -> dict[str, Any]:
    """Tokens and dollars: by the gateway where there was one, else by the client's own word; unknown stays unknown."""
    calls = [call for call in ports.records.calls(job.id, number) if not call.refused]
    if calls:
        usage = total(call.usage for call in calls)
        prices = [ports.prices.of(call.model, call.usage) for call in calls]
        known = [price for price in prices if price is not None]
        usd = sum(known) if len(known) == len(prices) else None
        models = list(dict.fromkeys(call.model for call in calls if call.model))
        return _costs(usage, usd, len(calls), models, "gateway")
    seen = read.seen
    if seen.usage.total is None:
        return _costs(seen.usage, seen.usd, None, list(seen.models), "none" if seen.usd is None else "client")
    usd = seen.usd
    if usd is None and len(seen.models) == 1:
        usd = ports.prices.of(seen.models[0], seen.usage)
    return _costs(seen.usage, usd, None, list(seen.models), "client")


def _costs(usage: Usage, usd: float | None, calls: int | None, models: list[str], source: str) -> dict[str, Any]:
    return {"usage": usage.as_json(), "usd": usd, "calls": calls, "models": models, "usage_from": source}


def _stream(read: Reading, secrets: tuple[str, ...]) -> dict[str, Any]:
    """What the stream said, in short; all of it stays raw in the record."""
    seen = read.seen
    return {
        "tools": dict(seen.tools),
        "failed_tools": seen.failed_tools,
        "denied": [redact_text(each.what, secrets) for each in seen.denied][:_SHOWN],
        "retries": seen.retries,
        "warnings": [redact_text(each, secrets) for each in seen.warnings],
        "raw_usage": [dict(each) for each in seen.raw_usage],
    }


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
