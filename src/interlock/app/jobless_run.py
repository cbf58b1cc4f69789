"""An agent run that belongs to no job, such as the one that splits a plan: a fresh tree of the base that it may not write, and its record.

It is routed, metered and bounded as an attempt is; what its words are worth is its caller's to judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from interlock.app import handed_rules, leftover, neighbour_trees, spending
from interlock.app.base import View
from interlock.app.prompt import rules_of
from interlock.app.rooms import Wanted, furnish
from interlock.core.agent.routing import Routed, route
from interlock.core.agent.rules import Handed
from interlock.core.agent.usage import UNKNOWN
from interlock.core.contract.agents import Phase
from interlock.core.contract.card import AgentChoice, Card, Level, Needs
from interlock.core.contract.defaults import with_defaults
from interlock.core.job.events import LONE, Event, NewEvent
from interlock.core.job.lifecycle import Job, State
from interlock.core.problems import refused
from interlock.ports.agents import Assignment, Reading
from interlock.ports.bundle import Ports
from interlock.ports.isolation import Room
from interlock.ports.processes import End

_CLASS = "cross-cutting"
"""What such a run counts as, for routes and for what is spent in a day: it looks at everything."""

_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """All that the runs of one undertaking have in common; ``job`` stands for it where a limit or a port needs one."""

    ports: Ports
    view: View
    card: Card
    job: Job
    level: Level
    phase: Phase
    routed: Routed
    handed: tuple[Handed, ...]

    @property
    def name(self) -> str:
        """Its name in the records."""
        return self.job.id

    def as_json(self) -> dict[str, Any]:
        """What was started and why, for the record."""
        return {
            "base": self.view.base.oid,
            "level": self.level,
            "agent": asdict(self.routed.choice),
            "why": self.routed.why,
            "handed": [each.as_json() for each in self.handed],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What came of one run that reached its end: the last pack it handed in, else its last text.

    ``beside`` are changes meanwhile in trees that are not its own, by it or by somebody else: a person judges them.
    """

    text: str
    read: Reading
    seconds: float
    beside: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        seen = self.read.seen
        return {
            "seconds": round(self.seconds, 3),
            "models": list(seen.models),
            "usage": seen.usage.as_json(),
            "usd": seen.usd,
            "beside": list(self.beside),
        }


def desk(ports: Ports, view: View, name: str, goal: str, actor: str, phase: Phase, *, agent: str | None = None) -> Desk:
    """Route and furnish an undertaking; ``close`` it afterwards.  ``agent`` takes the place of the policy's.

    ``name`` begins with LONE, by which the record knows that it is no job.  Raises Refused (no-agent, isolation,
    rules-size).
    """
    if not name.startswith(LONE):
        raise ValueError(f"{name} is the name of no such undertaking.")
    policy = view.policy
    card = Card(
        slug=name,
        class_name=_CLASS,
        owned_paths=(),
        checks=(),
        stop_when=(),
        integration_owner=actor,
        goal=goal,
        needs=Needs(ports=0),
        agent=AgentChoice() if agent in (None, policy.agent.use) else AgentChoice(use=agent),
    )
    routed = route(card, policy, phase)
    if routed.choice.use is None:
        raise refused(
            rule="no-agent",
            what="No agent is configured.",
            why="interlock.yaml names none, and the command did not either.",
            would_change="Write agent: {use: …} in interlock.yaml, or say --agent NAME.",
        )
    ports.agents.capabilities(routed.choice)
    level = ports.workspaces.level_for(policy.isolation)
    return Desk(
        ports=ports,
        view=view,
        card=with_defaults(card, policy),
        job=_stand_in(ports, view, name, actor, level),
        level=level,
        phase=phase,
        routed=routed,
        handed=handed_rules.handed(ports, view, routed.choice),
    )


def close(made: Desk) -> None:
    """Give back what the undertaking held."""
    made.ports.blocks.release(made.name)


def run(made: Desk, number: int, prompt: str) -> Heard:
    """One run to its end.  Raises Refused: agent-stopped with its question, agent-failed, or why it could not start."""
    ports, folder = made.ports, made.ports.records.attempt(made.name, number)
    with ports.workspaces.fresh(made.view.base.oid, ports.records.job(made.name) / "tree", made.level) as bare:
        end, begun = _carried_out(made, number, "\n\n".join([prompt, *rules_of(made.handed)]), bare)
    read = ports.agents.read(made.routed.choice.use or "", folder, end, before=UNKNOWN, usd_before=None)
    leftover.settle(ports, begun, read.outcome.kind, read.seen)
    _refuse_bad_end(made, number, read)
    beside = neighbour_trees.beside(ports, made.job, number, end, changed=False).leaked
    if beside:
        ports.narrate(f"{made.name}: while the agent ran, it or somebody else changed {', '.join(beside[:_SHOWN])}.")
    packs = [each.text for each in ports.records.messages(made.name, number) if each.verb == "pack"]
    return Heard(text=packs[-1] if packs else read.seen.last_text, read=read, seconds=end.seconds, beside=beside)


def _carried_out(made: Desk, number: int, prompt: str, bare: Room) -> tuple[End, Event]:
    """Start the run in a furnished room and wait; it is ended when the wait is broken off, by a kill too."""
    ports, policy, choice = made.ports, made.view.policy, made.routed.choice
    folder = ports.records.attempt(made.name, number)
    means = spending.means(ports, made.job, number, made.card, choice, made.view)
    wanted = Wanted(name=made.name, needs=made.card.needs, policy=policy, values=_values(made, number), record=folder)
    room, env, redact = furnish(ports, wanted, bare, None)
    given = Assignment(
        card=made.card,
        choice=choice,
        prompt=prompt,
        room=room,
        env=env,
        folder=folder,
        writable=False,
        gateway=means.gateway,
        login=next((each for each in policy.logins if each.agent == choice.use), None),
        usd_left=means.usd_left,
    )
    launch = ports.agents.launch(given)
    trees = neighbour_trees.trees(ports, made.job) if room.sandbox is None else ()
    begun = _begin(made, number)
    try:
        order = replace(launch, redact=(*launch.redact, *redact), watched=trees, tied=True)
        return ports.runs.run(folder, order), begun
    except BaseException:
        leftover.end(ports, begun)
        raise
    finally:
        ports.agents.forget(folder)


def _begin(made: Desk, number: int) -> Event:
    """Put it on the record: what such a run costs counts in its day and class, and is told by usage."""
    choice = made.routed.choice
    data = {
        "class": made.job.class_name,
        "agent": choice.use,
        "model": choice.model,
        "phase": made.phase,
        "base": made.view.base.oid,
        "level": made.level,
    }
    return made.ports.store.record(
        NewEvent(
            subject=made.name,
            attempt=number,
            step="start",
            kind="attempt.started",
            actor=made.job.owner,
            data=data,
        )
    )


def _values(made: Desk, number: int) -> Mapping[str, str]:
    return {
        "INTERLOCK_JOB": made.name,
        "INTERLOCK_SLUG": made.name,
        "INTERLOCK_ATTEMPT_NUMBER": str(number),
        "INTERLOCK_SPOOL": str(made.ports.records.spool(made.name)),
        "INTERLOCK_PHASE": made.phase,
    }


def _stand_in(ports: Ports, view: View, name: str, actor: str, level: Level) -> Job:
    """A job that is not in the store: what a gateway asks for its limits, its ledger and its port."""
    now = ports.clock.now()
    return Job(
        id=name,
        slug=name,
        class_name=_CLASS,
        state=State.RUNNING,
        rev=0,
        owner=actor,
        branch="",
        base=view.base.oid,
        card_oid="",
        card={},
        since=now,
        admitted_at=now,
        slot=0,
        level=level,
        ports=_ports(ports, view, name, level),
    )


def _ports(ports: Ports, view: View, name: str, level: Level) -> dict[str, int]:
    """A block for the gateway to listen on, where no sandbox has a loopback of its own."""
    if level == "sealed" or not view.policy.models:
        return {}
    return ports.blocks.claim(name, dict(view.policy.ports))[1]


def _refuse_bad_end(made: Desk, number: int, read: Reading) -> None:
    ports = made.ports
    stops = [each for each in ports.records.messages(made.name, number) if each.verb == "stop"]
    if not stops and read.outcome.kind == "completed":
        return
    if stops:
        question = str(stops[-1].data.get("question") or stops[-1].text)
        rule, what, change = (
            "agent-stopped",
            f"The agent stopped: {stops[-1].text}",
            f"Decide it, then try again: {question}",
        )
    else:
        rule, change = (
            "agent-failed",
            f"Look at its record, then try again: {ports.records.attempt(made.name, number)}.",
        )
        what = f"The agent did not come to its end ({read.outcome.kind}). {read.outcome.message}".strip()
    raise refused(rule=rule, what=what, why="Only a run that came to its end is judged.", would_change=change)
