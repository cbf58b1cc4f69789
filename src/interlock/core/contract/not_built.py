"""Keys of a card that are known and not built yet: refused in those words when their value is not the default."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.core.contract.agent_known import fault_of
from interlock.core.contract.card import Card
from interlock.core.contract.places import Places
from interlock.core.problems import Problem

_PORTS = 10


def not_built(card: Card, known: tuple[str, ...], places: Places) -> Iterator[Problem]:
    """One problem for each value that asks for what is not there yet, and for an agent that cannot be started.

    Takes the card with the defaults of its class and policy, and the names of the agents that are ``known``.
    """
    for key, asked, value, fix in _later(card):
        if asked:
            yield refusal(key, value, fix, places)
    yield from _agent(card, known, places)


def refusal(key: str, value: object, fix: str, places: Places) -> Problem:
    """The problem of a key that is known and not built yet."""
    return Problem(
        kind="not-built",
        what=f"{key}: {value} is known but not built yet.",
        why="It would be ignored, and the card would promise what nothing keeps.",
        fix=fix,
        where=places.where(key),
    )


def _later(card: Card) -> tuple[tuple[str, bool, object, str], ...]:
    needs = card.needs
    return (
        ("acceptance", bool(card.acceptance), _list(card.acceptance), "Leave it out, and name the items in the goal."),
        ("variants", card.variants != 1, card.variants, "Write variants: 1 or leave it out."),
        ("risk", card.risk == "high", card.risk, "Write risk: normal, and have the owner look before it lands."),
        (
            "needs.ports",
            needs.ports > _PORTS,
            needs.ports,
            f"A block has {_PORTS} ports of each family; ask for no more.",
        ),
    )


def _list(values: tuple[str, ...]) -> str:
    return f"[{', '.join(values)}]"


def _agent(card: Card, known: tuple[str, ...], places: Places) -> Iterator[Problem]:
    fault = fault_of(card.agent, known)
    if fault is not None:
        where = places.where(f"agent.{fault.key}" if fault.key else "agent")
        yield Problem(kind=fault.kind, what=fault.what, why=fault.why, fix=fault.fix, where=where)
