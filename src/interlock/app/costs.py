"""What attempts cost, by the record: tokens and dollars of each, the running one with its calls so far; limits are spending's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from interlock.core.agent.usage import UNKNOWN, Usage, from_json, total
from interlock.core.job.events import Event
from interlock.core.job.lifecycle import Job, State
from interlock.ports import Call, Ports

_STARTED: Final = "attempt.started"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What attempts cost: ``usd`` is None when it is not known for one of them (``unpriced`` says for how many).

    ``known`` is the sum of the dollars that are known.
    """

    usage: Usage = UNKNOWN
    usd: float | None = 0.0
    calls: int = 0
    unpriced: int = 0
    known: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One attempt on the record: when it started, what did it, and what it cost as far as that is known.

    ``began`` and ``ended`` are the data of its two events; the latter is empty while it runs.
    """

    job: Job
    number: int
    started: float
    usage: Usage
    usd: float | None
    calls: int
    began: Mapping[str, Any] = field(default_factory=dict)
    ended: Mapping[str, Any] = field(default_factory=dict)


def spent(ports: Ports, job: Job) -> Spent:
    """What all attempts of a job cost until now, the running one with its calls so far."""
    return sum_of(costs_of(ports, job))


def costs_of(ports: Ports, job: Job, *, leave_out: int = 0) -> Iterator[Cost]:
    """Every attempt of a job that started, but one, oldest first."""
    started: dict[int, Event] = {}
    ended: dict[int, Event] = {}
    for event in ports.store.events(job.id):
        if event.kind == _STARTED:
            started[event.attempt] = event
        elif event.kind.startswith("attempt.") and event.step == "settle":
            ended[event.attempt] = event
    for number, begun in started.items():
        if number == leave_out:
            continue
        if number in ended:
            yield _ended(job, begun, ended[number].data)
        elif job.state is State.RUNNING and number == job.attempt:
            yield _running(ports, job, begun)


def _ended(job: Job, begun: Event, data: Mapping[str, Any]) -> Cost:
    usd = data.get("usd")
    return Cost(
        job=job,
        number=begun.attempt,
        started=begun.at,
        usage=from_json(data.get("usage")),
        usd=float(usd) if isinstance(usd, int | float) else None,
        calls=int(data.get("calls") or 0),
        began=begun.data,
        ended=data,
    )


def _running(ports: Ports, job: Job, begun: Event) -> Cost:
    calls = [call for call in ports.records.calls(job.id, begun.attempt) if not call.refused]
    return Cost(
        job=job,
        number=begun.attempt,
        started=begun.at,
        usage=total(call.usage for call in calls),
        usd=dollars_of(ports, calls),
        calls=len(calls),
        began=begun.data,
    )


def dollars_of(ports: Ports, calls: Iterable[Call]) -> float | None:
    """What calls cost by the present prices; None when it is not known of one of them."""
    prices = [ports.prices.of(call.model, call.usage) for call in calls]
    return None if None in prices else sum(price for price in prices if price is not None)


def sum_of(costs: Iterable[Cost]) -> Spent:
    """All of them together."""
    costs = tuple(costs)
    known = sum(cost.usd for cost in costs if cost.usd is not None)
    unpriced = sum(cost.usd is None for cost in costs)
    return Spent(
        usage=total(cost.usage for cost in costs),
        usd=None if unpriced else known,
        calls=sum(cost.calls for cost in costs),
        unpriced=unpriced,
        known=known,
    )
