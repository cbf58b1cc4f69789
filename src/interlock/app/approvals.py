"""Approvals of one job: giving one, what its change waits for, and what its guards refused, on the record; rules are core's."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.app.base import View, fresh_view
from interlock.app.redacting import Redaction
from interlock.core.contract.suggest import nearest
from interlock.core.counting import some
from interlock.core.gate.approvals import names_of, paths_needing, rules_of
from interlock.core.job.events import NewEvent
from interlock.core.job.lifecycle import Job
from interlock.core.problems import Misuse, Refusal, Refused
from interlock.ports.bundle import Ports

_SHOWN = 5
_NOTES = 20
"""How many refusals of one attempt go on the record one by one."""


def give(ports: Ports, job: Job, name: str, actor: str) -> None:
    """Put an approval on the record, for this job alone.  Raises Misuse when no rule and no secret knows the name."""
    known = names_of(fresh_view(ports).policy)
    if name not in known:
        guess = nearest(name, known)
        hint = f"Did you mean {guess}?" if guess else f"The policy knows: {', '.join(known)}."
        raise Misuse(f"No approval is called {name}.", hint=hint)
    data = {"approved": name, "text": f"{actor} approved {name}."}
    ports.store.record(NewEvent(subject=job.id, step=f"approve:{job.rev}", kind="job.note", actor=actor, data=data))


def check_approved(ports: Ports, view: View, job: Job) -> None:
    """Let a job's change pass when a person approved all that it touches.  Raises Refused (approval) with the names.

    Asked before a verified change is published.
    """
    changes = ports.repo.changes(view.base.oid, job.head or "")
    waiting = paths_needing(rules_of(view.policy), job.approved, changes)
    if waiting:
        raise Refused(_refusal(job, waiting))


def _refusal(job: Job, waiting: Sequence[tuple[str, str]]) -> Refusal:
    names = list(dict.fromkeys(name for name, _ in waiting))
    paths = list(dict.fromkeys(path for _, path in waiting))
    decide = ", then ".join(f"interlock decide {job.slug} --approve {name}" for name in names)
    return Refusal(
        rule="approval",
        what=f"{job.slug} changes {some(paths, _SHOWN)}, which needs the approval {' and '.join(names)}.",
        why="What such paths do reaches beyond the repository, and a person decides about that.",
        would_change=f"Look at the change, then {decide}; or abandon the job.",
        holders=tuple(names),
    )


def record_refusals(ports: Ports, job: Job, number: int, hidden: Redaction) -> tuple[str, ...]:
    """Put on the record what the guards of an attempt refused; gives the approvals that its agent asked for.

    Doing it again is nothing.  What the agent's side said is told as a text and moves nothing.
    """
    said = [message for message in ports.records.messages(job.id, number) if "guard" in message.data]
    asked: list[str] = []
    for message in said[:_NOTES]:
        text = hidden.text(message.text)
        data = {"text": text, "guard": "approval" if message.data["guard"] == "approval" else "guard"}
        name = message.data.get("approval")
        if data["guard"] == "approval" and isinstance(name, str):
            data["asked"] = hidden.text(name)
            asked.append(data["asked"])
        step = f"guard:{message.number}"
        ports.store.record(NewEvent(subject=job.id, attempt=number, step=step, kind="job.note", data=data))
    if len(said) > _NOTES:
        data = {"text": f"The guards refused {len(said) - _NOTES} more commands of this attempt.", "guard": "guard"}
        ports.store.record(NewEvent(subject=job.id, attempt=number, step="guard:more", kind="job.note", data=data))
    return tuple(dict.fromkeys(asked))
