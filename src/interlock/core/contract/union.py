"""What several cards need together, for the one room in which their changes are tested; a single card's needs are its own."""

from __future__ import annotations

from collections.abc import Iterable

from interlock.core.contract.card import Card, Needs


def together(cards: Iterable[Card]) -> Needs:
    """The union of needs, each name once, without hosts, which are what each of them may reach (in_all).  Cards with different databases are never in one train (merge.order)."""
    known = [card.needs for card in cards]
    return Needs(
        ports=max((each.ports for each in known), default=0),
        database=next((each.database for each in known if each.database), None),
        browser=_once(name for each in known for name in each.browser),
        services=(),
        network=(),
        secrets=_once(name for each in known for name in each.secrets),
    )


def in_all(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Names that every list holds, in the order of the first."""
    first, *others = [tuple(each) for each in lists] or [()]
    return tuple(name for name in dict.fromkeys(first) if all(name in other for other in others))


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
