"""What an attempt is judged by and what is written down of it: facts for the core, and one event; the judging is core.job.settle's."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

from interlock.app import neighbour_trees, phases
from interlock.app.base import last_view
from interlock.app.bounds import bounds_of
from interlock.app.costs import taken
from interlock.app.last_words import last_words
from interlock.app.redacting import Redaction
from interlock.app.starting import effective_card, started_by
from interlock.core.agent.outcome import AgentOutcome
from interlock.core.agent.packs import Pack
from interlock.core.contract.agents import WRITING
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import Job
from interlock.core.job.settle import Facts, Settlement
from interlock.core.problems import BadInput
from interlock.ports.agents import Message, Reading
from interlock.ports.bundle import Ports
from interlock.ports.processes import End
from interlock.ports.repository import Head, Work

_SHOWN = 20


def facts_of(
    ports: Ports,
    job: Job,
    number: int,
    end: End,
    read: Reading,
    pack: Pack | None,
    hidden: Redaction,
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
        tail=hidden.text(last_words(ports, job, number, end, pack if objection else None)),
        message=end.message,
        branch=job.branch,
        head_branch=head.branch if head else None,
        workspace_there=there,
        changed=work is not None and not work.empty,
        interruptions=job.interruptions,
        stop=_last(said, "stop", hidden),
        scope_request=_last(said, "scope-request", hidden),
        agent=_came_to(ports, job, number, read, hidden),
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
    hidden: Redaction,
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
        **_stream(read, hidden),
        "session": _session(ports, job, number, read),
        "beside": list(_beside(ports, job, number, end, work).told),
    }
    if pack is not None:
        data["pack"] = pack.as_json()
    if outcome.kind == "ended":
        sure = replace(hidden, unknown=())  # it was judged by texts that are withheld already
        denied = hidden.value([each.what for each in read.seen.denied][:_SHOWN])
        reached = {name: outcome.detail[name] for name in ("reached",) if name in outcome.detail}  # of our words alone
        detail = sure.parts({**outcome.detail, "denied": denied}) | reached
        data |= {"rule": outcome.rule, "what": sure.text(outcome.what), "ask": sure.text(outcome.ask), "detail": detail}
        data |= {"worked": True} if outcome.detail.get("worked") else {}
    if work is not None and outcome.rule == "phase-wrote":
        data["stray"] = work.tree  # no work; but only what the next attempt adds to it is held against that one
    elif work is not None and not work.empty:
        data |= {"head": work.commit, "tree": work.tree}
    ports.store.record(
        NewEvent(subject=job.id, attempt=number, step="settle", kind=f"attempt.{outcome.kind}", data=data)
    )


def _came_to(ports: Ports, job: Job, number: int, read: Reading, hidden: Redaction) -> AgentOutcome:
    """How the run came out; of dollars that its client kept by itself, with the limit that they were counted by."""
    outcome = replace(read.outcome, message=hidden.text(read.outcome.message))
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


def _beside(ports: Ports, job: Job, number: int, end: End, work: Work | None) -> neighbour_trees.Beside:
    return neighbour_trees.beside(ports, job, number, end, changed=work is not None and not work.empty)


def _stream(read: Reading, hidden: Redaction) -> dict[str, Any]:
    """What the stream said, in short; all of it stays raw in the record."""
    seen = read.seen
    return {
        "tools": hidden.value(dict(seen.tools)),
        "failed_tools": seen.failed_tools,
        "denied": [hidden.text(each.what) for each in seen.denied][:_SHOWN],
        "retries": seen.retries,
        "lines": seen.lines,
        "unknown_lines": seen.unknown,
        "warnings": [hidden.text(each) for each in seen.warnings],
        "raw_usage": hidden.value(_plain([dict(each) for each in seen.raw_usage])),
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


def _last(said: tuple[Message, ...], verb: str, hidden: Redaction) -> dict[str, Any] | None:
    found = [message for message in said if message.verb == verb]
    return hidden.parts(found[-1].data) if found else None
