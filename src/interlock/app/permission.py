"""A person's answer to a live agent that waits for a permission, which goes on where it is; nothing is answered by default."""

from __future__ import annotations

from interlock.app.decide import find_open
from interlock.app.status import permissions
from interlock.core.agent.seen import Asked
from interlock.core.job.lifecycle import Job, State
from interlock.core.problems import Misuse
from interlock.ports.bundle import Ports

DENY = "deny"
"""The choice that says no, also where the agent offers none that does."""


def permit(ports: Ports, slug: str, choice: str, actor: str, *, request: str | None = None) -> Job:
    """Give the answer with that id or label, or ``deny``; ``request`` says to which of several.

    Raises Misuse when the agent waits for nothing, for several and none is named, or does not offer that.
    """
    job = find_open(ports, slug)
    if job.state is not State.RUNNING:
        raise Misuse(f"No agent of {job.slug} is running: the job is {job.state}.", hint=f"interlock show {job.slug}")
    asked = _asked(job, permissions(ports, job), request)
    ports.agents.answer(ports.records.attempt(job.id, job.attempt), asked.id, _choice(job, asked, choice), actor)
    return ports.store.job(job.id)


def _asked(job: Job, waiting: tuple[Asked, ...], request: str | None) -> Asked:
    named = [each for each in waiting if request is None or each.id == request]
    if len(named) == 1:
        return named[0]
    if not waiting:
        raise Misuse(f"The agent of {job.slug} waits for no permission.", hint=f"interlock logs {job.slug}")
    listed = "; ".join(f"--request {each.id}: {each.what}" for each in waiting)
    said = "It waits for several" if request is None else f"It does not wait for {request}"
    raise Misuse(f"{said}, and one of these has to be named.", hint=listed)


def _choice(job: Job, asked: Asked, choice: str) -> str:
    """The id of what was chosen, by its id or its label."""
    if choice == DENY:
        return next((each.id for each in asked.choices if not each.allows), DENY)
    found = [each.id for each in asked.choices if choice in (each.id, each.label)]
    if found:
        return found[0]
    offered = ", ".join(f"{each.id} ({each.label})" for each in asked.choices) or "nothing by name"
    raise Misuse(f"The agent of {job.slug} does not offer {choice}.", hint=f"It offers {offered}; --deny refuses it.")
