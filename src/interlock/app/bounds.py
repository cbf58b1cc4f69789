"""What an attempt may spend by every limit on it: ceilings with what was spent before, and the ledgers that count; the gateway is spending's.

A day is one of UTC, and an attempt counts on the day on which it started.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from interlock.app.base import View
from interlock.app.ceilings import limits_of
from interlock.app.costs import Cost, Spent, costs_between, costs_of, priced_now, sum_of
from interlock.core.agent.gateway import Ceiling, Reached, Scope
from interlock.core.agent.usage import UNKNOWN, dollars, whole
from interlock.core.contract.card import Card
from interlock.core.job.events import LONE
from interlock.core.job.lifecycle import Job
from interlock.core.job.settle import ask_for
from interlock.core.problems import Refusal, Refused
from interlock.ports.bundle import Ports

_DAY: Final = 86_400.0
_KEPT_DAYS: Final = 31
"""For how many days ledgers are kept: no limit looks at those of another day, so this is for people."""


_ANEW: Final[Mapping[Scope, str]] = {
    "attempt": "Raise budget.attempt in interlock.yaml on the default branch, then try again.",
    "job": "Raise budget in interlock.yaml on the default branch, then try again.",
    "class": "Try again on the next day (UTC), or raise per_day of the class in interlock.yaml on the default branch.",
    "day": "Try again on the next day (UTC), or raise per_day in interlock.yaml on the default branch.",
}
"""What helps a run that belongs to no job: nobody can raise a budget for it alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The limits on one attempt; ``ledger`` is its own below ``folder``."""

    folder: Path
    ledger: str
    ceilings: tuple[Ceiling, ...]

    def totals(self, ceiling: Ceiling) -> tuple[int, float]:
        """Tokens and dollars spent under a limit until now, with the ledgers that count."""
        paths = {self.folder / self.ledger, *(path for each in ceiling.files for path in self.folder.glob(each))}
        tokens, usd = ceiling.spent_tokens, ceiling.spent_usd
        for path in paths:
            more = _ledger(path)
            tokens, usd = tokens + more[0], usd + more[1]
        return tokens, usd

    def usd_left(self) -> float | None:
        """Dollars that may still be spent by every limit; None without one."""
        narrowest = self._narrowest()
        return None if narrowest is None else max(0.0, round(narrowest[0], 6))

    def narrowest(self) -> Reached | None:
        """The limit in dollars that a client which keeps dollars by itself comes to first; None without one."""
        narrowest = self._narrowest()
        return None if narrowest is None else Reached(scope=narrowest[1].scope, unit="usd")

    def refuse_spent(self, slug: str) -> None:
        """Raises Refused (budget) with the first limit that is used up; its detail says which one it is."""
        for ceiling in self.ceilings:
            tokens, usd = self.totals(ceiling)
            if ceiling.tokens is not None and tokens >= ceiling.tokens:
                raise _spent(slug, ceiling, Reached(scope=ceiling.scope, unit="tokens"), f"{tokens} tokens", tokens)
            if ceiling.usd is not None and usd >= ceiling.usd:
                raise _spent(slug, ceiling, Reached(scope=ceiling.scope, unit="usd"), f"usd {usd:.4f}", int(usd))

    def _narrowest(self) -> tuple[float, Ceiling] | None:
        left = [(each.usd - self.totals(each)[1], each) for each in self.ceilings if each.usd is not None]
        return min(left, key=lambda each: each[0], default=None)


def bounds_of(ports: Ports, job: Job, number: int, card: Card, view: View) -> Bounds:
    """Every limit on an attempt; the card is one with its defaults."""
    limits = limits_of(job, card, view.policy)
    day = _day(ports.clock.now())
    scopes = {each.scope for each in limits}
    elsewhere = _not_in_ledgers(ports, day) if scopes & {"class", "day"} else ()
    own = tuple(costs_of(ports, job, leave_out=number)) if "job" in scopes else ()
    before: dict[Scope, Spent] = {
        "attempt": Spent(),
        "job": sum_of(own),
        "class": sum_of(each for each in elsewhere if each.class_name == job.class_name),
        "day": sum_of(elsewhere),
    }
    files = {"class": (f"{day}/{job.class_name}/*.json",), "day": (f"{day}/*/*.json",)}
    ceilings = tuple(
        Ceiling(
            scope=each.scope,
            text=each.text,
            tokens=each.tokens,
            usd=each.usd,
            spent_tokens=before[each.scope].usage.total or 0,
            spent_usd=before[each.scope].known,
            files=files.get(each.scope, ()),
        )
        for each in limits
    )
    return Bounds(folder=ports.records.ledgers(), ledger=_ledger_of(ports, job, number), ceilings=ceilings)


def forget_old(ports: Ports) -> None:
    """Take away the ledgers of days that are long over; what attempts cost stays in the history."""
    oldest = _day(ports.clock.now() - _KEPT_DAYS * _DAY)
    for folder in ports.records.ledgers().iterdir():
        with suppress(ValueError):
            if datetime.strptime(folder.name, "%Y-%m-%d").replace(tzinfo=UTC) and folder.name < oldest:
                shutil.rmtree(folder, ignore_errors=True)


def _not_in_ledgers(ports: Ports, day: str) -> tuple[Cost, ...]:
    """What the attempts of a day cost beside what their ledgers say.

    That is all of one whose ledger is not here (run on another machine, or without a gateway), and the dollars of calls
    that its gateway had no price for: it has the prices only while there is a limit in dollars.
    """
    begin = datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp()
    found = (_beside_ledger(ports, day, each) for each in costs_between(ports, begin, begin + _DAY))
    return tuple(each for each in found if each is not None)


def _beside_ledger(ports: Ports, day: str, cost: Cost) -> Cost | None:
    path = ports.records.ledgers() / _name(day, cost.class_name, cost.job, cost.number)
    if not path.exists():
        return cost
    if not _shape(path).get("unpriced"):
        return None
    usd = cost.usd if cost.usd is not None else priced_now(ports, cost)
    return replace(cost, usage=UNKNOWN, usd=None if usd is None else max(0.0, usd - _ledger(path)[1]))


def _spent(slug: str, ceiling: Ceiling, reached: Reached, figures: str, number: int) -> Refused:
    refusal = Refusal(
        rule="budget",
        what=f"The budget of {ceiling.text} is spent: {figures}.",
        why="No model is called any more under a limit that is used up.",
        would_change=_ANEW[reached.scope] if slug.startswith(LONE) else ask_for(reached, slug),
        number=number,
    )
    return Refused(refusal, detail={"reached": reached.as_json()})


def _ledger(path: Path) -> tuple[int, float]:
    """Tokens and dollars of a ledger; nothing when it is not there, or none of ours."""
    shape = _shape(path)
    return whole(shape.get("tokens")) or 0, dollars(shape.get("usd")) or 0.0


def _shape(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        shape = json.loads(path.read_bytes())
        return shape if isinstance(shape, dict) else {}
    return {}


def _ledger_of(ports: Ports, job: Job, number: int) -> str:
    """Where the attempt's totals are: on the day on which it started, or starts now."""
    event = ports.store.event(job.id, number, "start")
    return _name(_day(event.at if event is not None else ports.clock.now()), job.class_name, job.id, number)


def _name(day: str, class_name: str, job: str, number: int) -> str:
    return f"{day}/{class_name}/{job}-{number}.json"


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).date().isoformat()
