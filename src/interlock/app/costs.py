"""What attempts cost, by the record: tokens and dollars of each, one that is not settled with its calls so far; limits are spending's.

Runs that belong to no job (app.lone) count as attempts do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from interlock.core.agent.seen import Summary
from interlock.core.agent.usage import UNKNOWN, Usage, dollars, from_json, total, whole
from interlock.core.job.events import LONE, Event
from interlock.core.job.lifecycle import Job, State
from interlock.ports.agents import Call
from interlock.ports.bundle import Ports

_STARTED: Final = "attempt.started"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What attempts cost: ``usd`` is None when it is not known for one of them (``unpriced`` says for how many).

    ``known`` is the sum of the dollars that are known; ``unsaid`` counts attempts whose tokens are not.
    """

    usage: Usage = UNKNOWN
    usd: float | None = 0.0
    attempts: int = 0
    calls: int = 0
    unpriced: int = 0
    unsaid: int = 0
    known: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """For a report: a figure is None when no attempt said it."""
        return {
            "tokens": self.usage.total,
            "usd": self.known if self.unpriced < self.attempts else None,
            "attempts": self.attempts,
            "unknown": self.unpriced,
            "unsaid": self.unsaid,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One attempt on the record: whose it is, when it started, what did it, and what it cost as far as that is known.

    ``began`` and ``ended`` are the data of its two events; the latter is empty while it ``runs``, and for one that was
    not settled: its job waits since that ended with a fault, and resume settles it.
    """

    job: str
    slug: str
    class_name: str
    landed: bool
    number: int
    started: float
    usage: Usage
    usd: float | None
    calls: int
    began: Mapping[str, Any] = field(default_factory=dict)
    ended: Mapping[str, Any] = field(default_factory=dict)
    runs: bool = False

    @property
    def unsettled(self) -> bool:
        return not self.ended and not self.runs


class _Whose(NamedTuple):
    """What a run belongs to, and the number of the one that goes on now; None where that is not on the record."""

    slug: str
    class_name: str
    landed: bool
    running: int | None


def spent(ports: Ports, job: Job) -> Spent:
    """What all attempts of a job cost until now, one that is not settled with its calls so far."""
    return sum_of(costs_of(ports, job))


def costs_of(ports: Ports, job: Job, *, leave_out: int = 0) -> Iterator[Cost]:
    """Every attempt of a job that started, but one, oldest first."""
    whose = _of_job(job)
    return _costs(ports, (each for each in ports.store.events(job.id) if each.attempt != leave_out), lambda _: whose)


def costs_between(ports: Ports, since: float, until: float | None = None) -> Iterator[Cost]:
    """Every attempt of this store that started since then (seconds since the epoch) and before ``until``, oldest first."""
    known: dict[str, _Whose] = {}

    def whose(begun: Event) -> _Whose:
        if begun.subject not in known:
            known[begun.subject] = _whose(ports, begun)
        return known[begun.subject]

    return _costs(ports, ports.store.attempts(since=since, until=until), whose)


def taken(ports: Ports, name: str, number: int, seen: Summary) -> dict[str, Any]:
    """Tokens and dollars of a run that ended, for its event: by the gateway where there was one, else by its client's word.

    Unknown stays unknown.
    """
    calls = _calls(ports, name, number)
    usage, usd, count = _summed(ports, name, number, calls)
    if count:
        models = list(dict.fromkeys(call.model for call in calls if call.model))
        return _taken(usage, usd, count, models, "gateway")
    usd = seen.usd
    if usd is None and len(seen.models) == 1:
        usd = ports.prices.of(seen.models[0], seen.usage)
    source = "none" if usd is None and seen.usage.total is None else "client"
    return _taken(seen.usage, usd, None, list(seen.models), source)


def dollars_of(ports: Ports, calls: Iterable[Call]) -> float | None:
    """What calls cost by the present prices; None when it is not known of one of them."""
    prices = [ports.prices.of(call.model, call.usage) for call in calls]
    return None if None in prices else sum(price for price in prices if price is not None)


def priced_now(ports: Ports, cost: Cost) -> float | None:
    """What an attempt cost by the present prices of its calls; None when it is not known of one, or there is none here."""
    calls = _calls(ports, cost.job, cost.number)
    return dollars_of(ports, calls) if calls else None


def sum_of(costs: Iterable[Cost]) -> Spent:
    """All of them together."""
    costs = tuple(costs)
    known = sum(cost.usd for cost in costs if cost.usd is not None)
    unpriced = sum(cost.usd is None for cost in costs)
    return Spent(
        usage=total(cost.usage for cost in costs),
        usd=None if unpriced else known,
        attempts=len(costs),
        calls=sum(cost.calls for cost in costs),
        unpriced=unpriced,
        unsaid=sum(cost.usage.total is None for cost in costs),
        known=known,
    )


def ended_in(job: Job, events: Iterable[Event]) -> Iterator[Cost]:
    """The attempts of a job that ended in these events."""
    whose = _of_job(job)
    for event in events:
        if _is_end(event):
            yield _ended(whose, event, event)


def _costs(ports: Ports, events: Iterable[Event], whose: Callable[[Event], _Whose]) -> Iterator[Cost]:
    started: dict[tuple[str, int], Event] = {}
    ended: dict[tuple[str, int], Event] = {}
    for event in events:
        if event.kind == _STARTED:
            started[event.subject, event.attempt] = event
        elif _is_end(event):
            ended[event.subject, event.attempt] = event
    for key, begun in started.items():
        if (end := ended.get(key)) is not None:
            yield _ended(whose(begun), begun, end)
        else:
            yield _unsettled(ports, whose(begun), begun)


def _is_end(event: Event) -> bool:
    return event.kind.startswith("attempt.") and event.step == "settle"


def _whose(ports: Ports, begun: Event) -> _Whose:
    if begun.subject.startswith(LONE):
        return _Whose(begun.subject, str(begun.data.get("class") or ""), landed=False, running=None)
    return _of_job(ports.store.job(begun.subject))


def _of_job(job: Job) -> _Whose:
    running = job.attempt if job.state is State.RUNNING else 0
    return _Whose(job.slug, job.class_name, landed=job.state is State.LANDED, running=running)


def _ended(whose: _Whose, begun: Event, end: Event) -> Cost:
    return Cost(
        job=end.subject,
        slug=whose.slug,
        class_name=whose.class_name,
        landed=whose.landed,
        number=end.attempt,
        started=begun.at,
        usage=from_json(end.data.get("usage")),
        usd=dollars(end.data.get("usd")),
        calls=whole(end.data.get("calls")) or 0,
        began=begun.data,
        ended=end.data,
    )


def _unsettled(ports: Ports, whose: _Whose, begun: Event) -> Cost:
    """An attempt that runs, or that nothing says yet how it came out: by its calls so far."""
    calls = _calls(ports, begun.subject, begun.attempt)
    usage, usd, count = _summed(ports, begun.subject, begun.attempt, calls)
    return Cost(
        job=begun.subject,
        slug=whose.slug,
        class_name=whose.class_name,
        landed=whose.landed,
        number=begun.attempt,
        started=begun.at,
        usage=usage,
        usd=usd,
        calls=count,
        began=begun.data,
        runs=whose.running in (None, begun.attempt),
    )


def _summed(ports: Ports, name: str, number: int, calls: list[Call]) -> tuple[Usage, float | None, int]:
    """Usage, dollars and number of an attempt's calls: by its ledger where that holds more than the record has room for.

    Tokens of which only the ledger knows are counted as input, since it does not tell their kind.
    """
    usage, usd = total(call.usage for call in calls), dollars_of(ports, calls)
    ledger = ports.records.ledger(name, number)
    more = 0 if ledger is None else ledger["tokens"] - (usage.total or 0)
    if ledger is None or (more <= 0 and ledger["calls"] <= len(calls)):
        return usage, usd, len(calls)
    if more > 0:
        usage += Usage(uncached_input=more)
        usd = None if ledger["unpriced"] else max(usd or 0.0, ledger["usd"])
    return usage, usd, max(len(calls), ledger["calls"])


def _calls(ports: Ports, name: str, number: int) -> list[Call]:
    return [call for call in ports.records.calls(name, number) if not call.refused]


def _taken(usage: Usage, usd: float | None, calls: int | None, models: list[str], source: str) -> dict[str, Any]:
    return {"usage": usage.as_json(), "usd": usd, "calls": calls, "models": models, "usage_from": source}
