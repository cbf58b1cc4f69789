"""How an attempt is started: its phase, route, session, gateway, prompt and room by the present policy; running it is the runner's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from interlock.app import handed_rules, intents, neighbour_trees, phases, resolution, spending
from interlock.app.adopt import is_adoption
from interlock.app.base import View, last_view
from interlock.app.cardjson import from_json
from interlock.app.prompt import came_back, prompt_for, resumed_prompt
from interlock.app.rooms import room_of
from interlock.app.trials import end_of_log
from interlock.core.agent.adapter import Capabilities
from interlock.core.agent.routing import Routed, route
from interlock.core.contract.agents import WRITING, Login
from interlock.core.contract.card import AgentChoice, Card
from interlock.core.contract.defaults import with_defaults
from interlock.core.job.lifecycle import Job
from interlock.core.problems import refused
from interlock.ports.agents import Assignment
from interlock.ports.bundle import Ports
from interlock.ports.isolation import Room
from interlock.ports.processes import Launch


def effective_card(ports: Ports, job: Job) -> Card:
    """The job's card with the defaults of its class and the present policy laid under it; for what starts from now on."""
    return with_defaults(from_json(job.card), last_view(ports).policy)


def started_by(ports: Ports, job: Job, number: int) -> Mapping[str, Any]:
    """What the record says of an attempt's start; empty when it is not there."""
    event = ports.store.event(job.id, number, "start")
    return event.data if event is not None else {}


def starting(ports: Ports, job: Job, number: int) -> dict[str, Any]:
    """What the record says of an attempt that starts now.

    Raises Refused (no-agent, budget, secret, approval, rules-size, evidence-key) when it cannot be started by the present policy.
    """
    ports.signer.check()  # nobody could prove here what the agent makes
    view = last_view(ports)
    if view.policy.evidence.keys:
        ports.store.check_signed([job.id], view.policy.evidence.keys)  # nor land it, whatever it makes
    card = effective_card(ports, job)
    hypothesis = job.hypotheses[-1] if job.hypotheses else None
    data: dict[str, Any] = {"hypothesis": hypothesis, "sign": view.policy.sign_commits}
    data |= {"secrets": list(card.needs.secrets), "rules_at": view.base.oid}
    if is_adoption(job, number):
        adopted = ports.repo.agent_branches().get(job.adopt or "")
        return data | {"agent": card.agent.use, "model": card.agent.model, "phase": "implement", "adopted": adopted}
    phase = phases.due(job, view)
    routed, can = _routed(ports, job, view, phase)
    spending.check(ports, job, number, card, routed.choice, view)
    handed = handed_rules.handed(ports, view, routed.choice)
    choice = routed.choice
    return data | {
        "agent": choice.use,
        "model": choice.model,
        "effort": choice.effort,
        "choice": asdict(choice),
        "tier": routed.tier,
        "why": routed.why,
        "phase": phase,
        "last": phases.is_last(job, view, phase),
        "resumes": _resumes(ports, job, choice, view, phase) if can.resume else None,
        "approvals": can.approvals,
        "handed": [each.as_json() for each in handed],
    }


def launch_of(ports: Ports, job: Job, number: int, folder: Path) -> Launch:
    """How to start an attempt that is on the record.  Raises Refused (no-agent, login, budget, secret, sandbox), BadInput."""
    view = last_view(ports)
    card = effective_card(ports, job)
    begun = started_by(ports, job, number)
    phase = str(begun.get("phase") or "implement")
    choice = AgentChoice(**begun["choice"]) if begun.get("choice") else card.agent
    if phase == "resolve":
        card = resolution.widened(card, resolution.partner(ports, job))
    room, values, redact = room_of(ports, job, card, view, record=folder)
    if phase == "resolve" and room.sandbox is not None:
        room = replace(room, sandbox=replace(room.sandbox, gate=None))  # what it makes is judged first
    values |= {"INTERLOCK_ATTEMPT_NUMBER": str(number), "INTERLOCK_SPOOL": str(ports.records.spool(job.id))}
    values |= {"INTERLOCK_PHASE": phase}
    session = begun.get("resumes") or {}
    means = spending.means(ports, job, number, card, choice, view)
    given = Assignment(
        card=card,
        choice=choice,
        prompt=resumed_prompt(card, job, number, phase=phase)
        if session
        else _prompt(ports, job, number, card, choice, view, phase, layered=_layered(room)),
        room=room,
        env=values,
        folder=folder,
        writable=phase in WRITING,
        gateway=means.gateway,
        login=_login(view, choice),
        resume=str(session.get("id") or ""),
        resume_home=ports.records.attempt(job.id, int(session["attempt"])) / "home" if session else None,
        usd_left=means.usd_left,
    )
    launch = ports.agents.launch(given)
    trees = neighbour_trees.trees(ports, job) if room.sandbox is None else ()
    return replace(launch, redact=(*launch.redact, *redact), watched=trees)


def _layered(room: Room) -> bool:
    return room.sandbox is not None and room.sandbox.layers is not None


def _prompt(
    ports: Ports,
    job: Job,
    number: int,
    card: Card,
    choice: AgentChoice,
    view: View,
    phase: str,
    *,
    layered: bool,
) -> str:
    handed = handed_rules.handed(ports, view, choice)
    if phase == "resolve":
        briefing = intents.briefing(ports, job)
        return prompt_for(card, job, number, phase=phase, handed=handed, resolution=briefing, layered=layered)
    packs, log, back = phases.packs(ports, job), end_of_log(ports, job), came_back(ports.store.events(job.id))
    return prompt_for(card, job, number, phase=phase, packs=packs, handed=handed, log=log, back=back, layered=layered)


def _routed(ports: Ports, job: Job, view: View, phase: str) -> tuple[Routed, Capabilities]:
    """The agent, model and effort for this run, of what the card itself names and the policy adds, and what it can do.

    Raises Refused (no-agent) when nothing names an agent that is known.
    """
    tries = phases.tries(ports.store.events(job.id), phase)
    routed = route(from_json(job.card), view.policy, phase, attempt=tries)
    if routed.choice.use is None:
        raise refused(
            rule="no-agent",
            what=f"No agent is configured for {job.slug}.",
            why="Nothing is started by itself.",
            would_change="Name one in the card, its class or interlock.yaml: agent: {use: command, command: …}.",
        )
    return routed, ports.agents.capabilities(routed.choice)


def _login(view: View, choice: AgentChoice) -> Login | None:
    return next((each for each in view.policy.logins if each.agent == choice.use), None)


def _resumes(ports: Ports, job: Job, choice: AgentChoice, view: View, phase: str) -> dict[str, Any] | None:
    """The session that is gone on with: of the same agent and phase, only where a person answered it, and while it is there.

    Where it is gone a fresh run is told everything; a HOME that the policy lets in keeps sessions by itself.
    """
    session = job.session
    if not session or session.get("agent") != choice.use or session.get("phase") != phase or not session.get("id"):
        return None
    own = job.level != "sealed" and "HOME" in view.policy.environment
    if not own and not ports.agents.has_session(
        str(choice.use), ports.records.attempt(job.id, int(session["attempt"]))
    ):
        return None
    return dict(session)
