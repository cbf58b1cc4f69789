"""What several cards need together, for the one room in which their changes are tested; a single card's needs are its own."""

from __future__ import annotations

from collections.abc import Iterable

from interlock.core.contract.card import Card, Needs


def together(cards: Iterable[Card]) -> Needs:
    """The union of needs, each name once.  Cards with different databases are never in one train (merge.order)."""
    known = [card.needs for card in cards]
    return Needs(
        ports=max((each.ports for each in known), default=0),
        database=next((each.database for each in known if each.database), None),
        browser=_once(name for each in known for name in each.browser),
        services=(),
        network=_once(name for each in known for name in each.network),
        secrets=_once(name for each in known for name in each.secrets),
    )


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
