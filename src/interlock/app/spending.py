"""The model gateway of an attempt, and what its client may spend: who can keep a limit, its keys and its port; the limits are bounds'."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from interlock.app.base import View
from interlock.app.bounds import Bounds, bounds_of, forget_old
from interlock.app.keys import permitted
from interlock.app.pricing import prices_for
from interlock.core.agent.gateway import ModelGateway, Upstream
from interlock.core.contract.agents import Models
from interlock.core.contract.around import Secret
from interlock.core.contract.card import AgentChoice, Card
from interlock.core.job.lifecycle import Job
from interlock.core.problems import Refused, refused
from interlock.ports.bundle import Ports


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What an attempt is given: its gateway, None where the policy has no models that its agent speaks to, and the
    dollars that its client may spend, None without a limit.
    """

    gateway: ModelGateway | None
    usd_left: float | None


def check(ports: Ports, job: Job, number: int, card: Card, choice: AgentChoice, view: View) -> None:
    """Let an attempt start whose limits can be kept and are not spent; no key is read for that.

    Raises Refused: budget; secret and approval for a key that it cannot do without.
    """
    _bounds(ports, job, number, card, choice, view)
    vendors = _vendors(ports, choice, view)
    for vendor in vendors:
        try:
            _secret(job, view, vendor)
        except Refused as fault:
            if not _may_do_without(ports, choice, vendors, vendor, fault):
                raise


def means(ports: Ports, job: Job, number: int, card: Card, choice: AgentChoice, view: View) -> Means:
    """The gateway of an attempt, with keys, and its dollars.

    Raises Refused: budget, when a limit is spent or nothing could keep it; secret and approval for a key that it
    cannot do without; ports.
    """
    bounds = _bounds(ports, job, number, card, choice, view)
    vendors = _vendors(ports, choice, view)
    if not vendors:
        return Means(gateway=None, usd_left=bounds.usd_left())
    forget_old(ports)
    dollars = any(each.usd is not None for each in bounds.ceilings) or any(c.per_day.usd for c in view.policy.classes)
    gateway = ModelGateway(
        upstreams=tuple(
            _upstream(ports, job, view, each, partial(_may_do_without, ports, choice, vendors, each))
            for each in vendors
        ),
        token="".join(ports.new_id() for _ in range(4)),
        listen=_listen(job),
        record=str(ports.records.attempt(job.id, number)),
        ledgers=str(bounds.folder),
        ledger=bounds.ledger,
        prices=prices_for(ports, view.policy, vendors, choice.model, table=dollars),
        ceilings=bounds.ceilings,
    )
    return Means(gateway=gateway, usd_left=bounds.usd_left())


def _bounds(ports: Ports, job: Job, number: int, card: Card, choice: AgentChoice, view: View) -> Bounds:
    """The limits on the attempt.  Raises Refused (budget) for one that is spent, or that nothing would keep."""
    _refuse_turns(ports, job, card, choice)
    bounds = bounds_of(ports, job, number, card, view)
    bounds.refuse_spent(job.slug)
    if not _vendors(ports, choice, view):
        _refuse_unkept(ports, job, card, choice)
    return bounds


def _vendors(ports: Ports, choice: AgentChoice, view: View) -> list[Models]:
    """The vendors of the policy that the agent's client speaks to."""
    spoken = set(ports.agents.dialects(choice.use))
    return [each for each in view.policy.models if spoken & set(each.dialects)]


def _may_do_without(
    ports: Ports, choice: AgentChoice, vendors: Sequence[Models], vendor: Models, fault: Refused
) -> bool:
    """Whether a key that is missing keeps the agent from nothing else: one that speaks several dialects, such as a
    command, may call no model at all.  One that speaks a single dialect goes to the first vendor of it; an approval is
    always asked for.
    """
    needed = len(ports.agents.dialects(choice.use)) == 1 and vendor == vendors[0]
    return fault.refusal.rule == "secret" and not needed


def _refuse_turns(ports: Ports, job: Job, card: Card, choice: AgentChoice) -> None:
    """Refuse a limit in turns for a client that knows none."""
    if card.budget.turns is None or ports.agents.capabilities(choice).turn_limit:
        return
    keep = [name for name in ports.agents.names() if _keeps_turns(ports, name)]
    known = f"Use {' or '.join(keep)}, which keeps one, or take" if keep else "Take"
    raise refused(
        rule="budget",
        what=f"{job.slug} has a budget of {card.budget.turns} turns that nothing can keep: {choice.use} knows no such limit.",
        why="A limit that is not enforced while the agent runs is none.",
        would_change=f"{known} budget.turns off and limit tokens, usd or wall.",
        number=card.budget.turns,
        holders=tuple(keep),
    )


def _keeps_turns(ports: Ports, name: str) -> bool:
    with suppress(Refused):
        return ports.agents.capabilities(AgentChoice(use=name)).turn_limit
    return False


def _refuse_unkept(ports: Ports, job: Job, card: Card, choice: AgentChoice) -> None:
    """Refuse a card whose own limit nothing would keep: no gateway, and no client that keeps dollars by itself."""
    budget = card.budget
    tokens = budget.tokens is not None or budget.attempt_tokens is not None
    dollars = budget.usd is not None or budget.attempt_usd is not None
    if not tokens and (not dollars or ports.agents.capabilities(choice).own_budget):
        return
    kind = "tokens" if tokens else "dollars"
    spoken = ports.agents.dialects(choice.use)
    raise refused(
        rule="budget",
        what=f"{job.slug} has a budget in {kind} that nothing can keep: {choice.use} is not behind a gateway.",
        why="A limit that is not enforced while the agent runs is none.",
        would_change=(
            f"Name its vendor under models in interlock.yaml ({', '.join(spoken)}), or take the budget off and limit wall."
            if spoken
            else "Use an agent that speaks to a gateway, or take the budget off and limit wall."
        ),
    )


def _upstream(ports: Ports, job: Job, view: View, vendor: Models, dispensable: Callable[[Refused], bool]) -> Upstream:
    """The vendor with its key; closed, with the reason, where that is not to be had and the agent may do without.

    Raises Refused (secret, approval) where it may not.
    """
    key = closed = ""
    try:
        secret = _secret(job, view, vendor)
        key = ports.secrets.read(secret) if secret is not None else ""
    except Refused as fault:
        if not dispensable(fault):
            raise
        closed = f"{fault.refusal.what} {fault.refusal.would_change}".strip()
    return Upstream(
        name=vendor.name, dialects=vendor.dialects, url=vendor.url, key=key, address=vendor.address, closed=closed
    )


def _secret(job: Job, view: View, vendor: Models) -> Secret | None:
    """The vendor's key by the policy; None where it needs none.  Raises Refused (secret, approval)."""
    name = vendor.key
    if not name:
        return None
    what = f"The key {name} of the models {vendor.name}"
    missing = f"Write secrets: {{{name}: {{variable: {name}}}}} in interlock.yaml."
    return permitted(view.policy, name, job.approved, what=what, slug=job.slug, missing=missing)


def _listen(job: Job) -> str:
    """A socket for a sealed room; else the last port of the job's own block that no family uses."""
    if job.level == "sealed":
        return "unix"
    used = set(job.ports.values())
    free = [port for port in range(min(used, default=0) + 9, min(used, default=0), -1) if port not in used]
    if not used or not free:
        raise refused(
            rule="ports",
            what=f"{job.slug} has no port for its model gateway.",
            why="At level worktree it listens on a port of the job's own block.",
            would_change="Leave one port of a block free under ports in interlock.yaml, or use level sealed.",
        )
    return f"tcp:127.0.0.1:{free[0]}"
