"""What an adapter is asked for, out of an assignment and its surroundings: the order, its gateway's addresses, and where a login goes."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from interlock.adapters.agents.hosting import Surroundings
from interlock.core.agent.adapter import AgentAdapter, Endpoint, Order
from interlock.core.agent.gateway import MODEL_PORT, ModelGateway
from interlock.core.problems import refused
from interlock.ports.agents import Assignment


def order_of(given: Assignment, around: Surroundings, programs: Mapping[str, str]) -> Order:
    """The run that an adapter is to describe; ``programs`` are paths as its room sees them."""
    return Order(
        card=given.card,
        choice=given.choice,
        prompt=given.prompt,
        programs=programs,
        home=around.home,
        tree=around.tree,
        walled=around.sandbox is not None,
        writable=given.writable,
        endpoints=endpoints(given.gateway),
        resume=given.resume,
        hook=f"{shlex.quote(around.tool)} hook",
        usd_left=given.usd_left,
        turns=given.card.budget.turns,
        writes=tuple(path for path in (around.env.get("INTERLOCK_SPOOL"),) if path),
        logged_in=given.login is not None,
    )


def endpoints(gateway: ModelGateway | None) -> tuple[Endpoint, ...]:
    """How an agent reaches its gateway, once for each vendor and dialect."""
    if gateway is None:
        return ()
    at = f"127.0.0.1:{MODEL_PORT}" if gateway.listen == "unix" else gateway.listen.removeprefix("tcp:")
    return tuple(
        Endpoint(name=each.name, dialect=dialect, url=f"http://{at}/{each.name}", token=gateway.token)
        for each in gateway.upstreams
        for dialect in each.dialects
    )


def login_place(adapter: AgentAdapter, given: Assignment, around: Surroundings) -> str:
    """Where below HOME the credentials of a subscription go: nowhere behind a gateway, and not into the user's own HOME.

    Raises Refused (login) for an agent whose credentials are not known.
    """
    if given.login is None or given.gateway is not None or around.home_here is None:
        return ""
    if adapter.login:
        return adapter.login[0]
    raise refused(
        rule="login",
        what=f"The policy has a login for {adapter.name}, which takes none.",
        why="Where its client keeps credentials is not known to its adapter.",
        would_change=f"Take logins.{adapter.name} out of interlock.yaml, or use an agent that logs in.",
    )
