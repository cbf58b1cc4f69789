"""``interlock policy``: what routing and rules are in force on the default branch; deciding by them is core's."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from interlock.cli import policy_forge
from interlock.cli.groups import ThingGroup
from interlock.cli.render import Face, table, verb
from interlock.core.problems import BadInput, Misuse

if TYPE_CHECKING:
    from interlock.app.card_source import Source
    from interlock.app.handed_rules import Overview
    from interlock.core.agent.routing import Routed
    from interlock.ports.repository import Repo


@click.group("policy", cls=ThingGroup)
def command() -> None:
    """What interlock.yaml on the default branch means for agents, and whether a forge keeps what the gates need."""


command.add_command(policy_forge.branch)
command.add_command(policy_forge.checks)


@command.command("routes")
@click.argument("slug", required=False, metavar="[SLUG]")
@verb
def routes(face: Face, slug: str | None) -> int:
    """Show which agent, model and effort each phase gets, and why; with SLUG for the phases of that card.

    Fetches first. Refuses a policy or a card that cannot be read.
    """
    from interlock.app.routes import in_force, of_card

    _, source = _open(slug)
    rows = of_card(source.policy, source.cards, slug) if slug else in_force(source.policy)
    shape = {"source": source.name, "routes": [each.as_json() for each in rows]}
    shown = [(each.class_name, each.phase, *_cells(each.first), _short(each.retry), each.first.why) for each in rows]
    header = ("class", "phase", "agent", "model", "effort", "on retry", "why")
    face.answer(shape, [f"read from {source.name}", *table(shown, header)])
    return 0


@command.command("rules")
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="For this agent; can be given again.")
@verb
def rules(face: Face, agents: tuple[str, ...]) -> int:
    """Show the rules that agents are handed, with size, digest and age, and flag stale ones.

    Without --agent for those that the policy names. Fetches first. Ends with 1 when an agent would be handed more
    than rules.most_bytes; a stale file is flagged, and keeps nothing from starting. Refuses an agent that nobody brings.
    """
    from interlock.app.handed_rules import overview
    from interlock.app.routes import agents_named

    _refuse_unknown(agents)
    repo, source = _open(None)
    commit = repo.last_base().oid
    named: tuple[str | None, ...] = agents or agents_named(source.policy) or (None,)
    found = [overview(repo, source.policy, commit, each) for each in named]
    shape = {"source": source.name, "agents": [each.as_json() for each in found]}
    face.answer(shape, [f"read from {source.name}", *(line for each in found for line in _lines(each))])
    return 1 if any(each.refusal for each in found) else 0


def _refuse_unknown(agents: tuple[str, ...]) -> None:
    """An agent that nobody brings is a slip of the hand, and would be told that it is handed no rules."""
    from interlock.wiring import known_agents

    known = known_agents()
    for name in agents:
        if name not in known:
            fault = Misuse(f"There is no agent {name}.", hint=f"Known are {', '.join(known)}.")
            fault.code = "no-agent"
            raise fault


def _open(slug: str | None) -> tuple[Repo, Source]:
    """The default branch as it stands now.  Raises BadInput when its policy has problems."""
    from interlock.app.card_source import from_default_branch
    from interlock.wiring import contract_files, open_repo

    repo = open_repo()
    source = from_default_branch(repo, contract_files(), (slug,) if slug else ())
    if source.policy_problems:
        raise BadInput(source.policy_problems)
    return repo, source


def _cells(routed: Routed) -> tuple[str, str, str]:
    choice = routed.choice
    return choice.use or "none", choice.model or "its own", choice.effort or "its own"


def _short(routed: Routed) -> str:
    choice = routed.choice
    return " ".join(part for part in (choice.model, choice.effort) if part) or "the same"


def _lines(each: Overview) -> list[str]:
    who = each.agent or "any agent"
    if not each.files:
        return ["", f"{who}: no rules are handed over."]
    rows = [
        (
            file.path,
            "put into the prompt" if file.how == "prompt" else "read by its client",
            file.size,
            file.loaded,
            file.digest[:12],
            time.strftime("%Y-%m-%d", time.gmtime(file.changed)) if file.changed is not None else "unknown",
            f"stale: {file.stale}" if file.stale else "",
        )
        for file in each.files
    ]
    lines = ["", f"{who}: {each.loaded} bytes in every call"]
    lines += table(rows, ("file", "how", "bytes", "in every call", "digest", "changed", ""))
    if each.refusal is not None:
        lines.append(f"refused ({each.refusal.rule}): {each.refusal.what} {each.refusal.would_change}")
    return lines
