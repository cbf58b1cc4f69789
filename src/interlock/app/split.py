"""``card split``: an agent's cards for a plan are judged, handed back with every problem, and kept; judging them is app.proposal's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from interlock.app import jobless_run, leftover
from interlock.app.base import View, view_of
from interlock.app.card_source import Source, from_default_branch
from interlock.app.proposal import Judged, judge, keep
from interlock.core.agent.proposing import ask, ask_again, documents
from interlock.core.job.events import LONE
from interlock.core.problems import BadInput, refused
from interlock.ports.bundle import Ports

REPAIRS: Final = 2
"""How often a batch that is not ready is handed back with its problems."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What came of a split: its name, where its cards are, how they are judged, and what each run cost."""

    name: str
    plan: str
    folder: Path
    judged: Judged
    runs: tuple[Mapping[str, Any], ...]

    def as_json(self) -> dict[str, Any]:
        shape = {"proposal": self.name, "plan": self.plan, "folder": str(self.folder), "runs": list(self.runs)}
        return shape | self.judged.as_json()


def split(ports: Ports, plan: str, actor: str, *, agent: str | None = None) -> Proposal:
    """Have an agent split a plan of the default branch into cards, with two rounds of repair at most.

    Raises Refused (plan, no-agent, budget, rules-size, agent-stopped, agent-failed), BadInput for the policy.
    """
    source = from_default_branch(ports.repo, ports.files)
    if source.policy_problems:
        raise BadInput(source.policy_problems)
    view = view_of(ports, ports.repo.last_base())
    text = _plan(ports, view, plan)
    landed = ports.repo.landed_slugs(view.base.oid)
    others = [each.draft for each in source.cards if each.draft is not None and each.slug not in landed]
    name = f"{LONE}{ports.new_id()}"
    with leftover.held(ports, name):
        desk = jobless_run.desk(ports, view, name, f"Split {plan} into cards", actor, "plan", agent=agent)
        try:
            judged, runs = _rounds(desk, source, landed, ask(plan, text, view.policy, others))
        finally:
            jobless_run.close(desk)
        about = {"proposal": name, "plan": plan, "by": actor, "at": ports.clock.now(), **desk.as_json(), "runs": runs}
        folder = keep(ports, name, judged, about)
    return Proposal(name=name, plan=plan, folder=folder, judged=judged, runs=tuple(runs))


def _rounds(
    desk: jobless_run.Desk, source: Source, landed: frozenset[str], first: str
) -> tuple[Judged, list[Mapping[str, Any]]]:
    """The first run, and one for each round of repair; what they cost, and how the last batch is judged."""
    ports, prompt = desk.ports, first
    runs: list[Mapping[str, Any]] = []
    for number in range(1, REPAIRS + 2):
        heard = jobless_run.run(desk, number, prompt)
        found, faults = documents(heard.text)
        judged = judge(ports.files, source, landed, found, faults=faults)
        runs.append({"run": number, **heard.as_json(), "cards": len(found), "problems": list(judged.told)})
        if judged.ready or number > REPAIRS:
            break
        ports.narrate(f"{desk.name}: {len(judged.told)} problems are handed back (round {number} of {REPAIRS}).")
        prompt = ask_again(first, heard.text, judged.told)
    return judged, runs


def _plan(ports: Ports, view: View, plan: str) -> str:
    data = ports.repo.read(view.base.oid, plan)
    if data is None:
        raise refused(
            rule="plan",
            what=f"There is no {plan} on {view.base.ref}.",
            why="A plan is accepted once it is on the default branch, and agents work from there.",
            would_change=f"Commit it to {view.base.branch} and push it, or mend its path.",
        )
    return data.decode("utf-8", "replace")
