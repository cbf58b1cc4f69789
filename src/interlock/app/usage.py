"""Tokens and dollars of a period, by class, agent, model or phase, and what a landed change cost; limits are spending's.

Names on export are those of the OpenTelemetry conventions for generative AI; a cost has no name there, so it has ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from interlock.app.costs import Cost, costs_between, dollars_of
from interlock.core.agent.usage import Usage, total
from interlock.ports.bundle import Ports

By = Literal["class", "agent", "model", "phase"]

NOT_KNOWN: Final = "(unknown)"
_PROVIDERS: Final = {"claude": "anthropic", "codex": "openai"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one model took in one attempt; all of the attempt where its calls are not on this machine."""

    cost: Cost
    model: str
    provider: str
    usage: Usage
    usd: float | None
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the report.

    ``usd`` is what is known, of all but ``unpriced`` attempts; ``unsettled`` counts those that do not run and that nothing
    says yet how they came out, with their calls so far.  ``landed`` counts changes that landed with its part in
    them; ``usd_per_landed`` is what all its attempts cost for each of them, None when that is not known.
    """

    name: str
    attempts: int
    calls: int
    usage: Usage
    usd: float
    unpriced: int
    landed: int
    unsettled: int = 0

    @property
    def usd_per_landed(self) -> float | None:
        return None if self.unpriced or not self.landed else self.usd / self.landed

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "attempts": self.attempts,
            "calls": self.calls,
            "usage": self.usage.as_json(),
            "tokens": self.usage.total,
            "usd": None if self.unpriced == self.attempts else round(self.usd, 6),
            "unpriced": self.unpriced,
            "unsettled": self.unsettled,
            "landed": self.landed,
            "usd_per_landed": None if self.usd_per_landed is None else round(self.usd_per_landed, 6),
        }


def report(ports: Ports, by: By, *, since: float) -> tuple[Row, ...]:
    """One row for each name, the dearest first, and one of all together (``total``) at the end.

    ``since`` is in seconds since the epoch: attempts count that started then or later.
    """
    parts = tuple(parts_of(ports, since=since))
    names = dict.fromkeys(_name(part, by) for part in parts)
    rows = [_row(name, [part for part in parts if _name(part, by) == name]) for name in names]
    rows.sort(key=lambda row: (-row.usd, -(row.usage.total or 0), row.name))
    return (*rows, _row("total", parts))


def parts_of(ports: Ports, *, since: float) -> Iterator[Part]:
    """What each attempt since then took, model by model; no older one is read."""
    for cost in costs_between(ports, since):
        yield from _parts(ports, cost)


def exported(ports: Ports, *, since: float) -> Iterator[dict[str, Any]]:
    """Each part as an event with the attributes that observability tools know."""
    for part in parts_of(ports, since=since):
        cost, usage = part.cost, part.usage
        put_in = (usage.uncached_input, usage.cache_read, usage.cache_write)
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": part.provider or None,
            "gen_ai.agent.name": cost.began.get("agent"),
            "gen_ai.conversation.id": (cost.ended.get("session") or {}).get("id"),
            "gen_ai.request.model": None if part.model == NOT_KNOWN else part.model,
            "gen_ai.usage.input_tokens": None if put_in == (None,) * 3 else sum(each or 0 for each in put_in),
            "gen_ai.usage.output_tokens": usage.output,
            "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
            "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
            "interlock.job": cost.job,
            "interlock.card": cost.slug,
            "interlock.class": cost.class_name,
            "interlock.attempt": cost.number,
            "interlock.phase": cost.began.get("phase") or None,
            "interlock.outcome": cost.ended.get("outcome"),
            "interlock.calls": part.calls,
            "interlock.usd": part.usd,
        }
        yield {
            "timestamp": datetime.fromtimestamp(cost.started, UTC).isoformat(timespec="milliseconds"),
            "name": "interlock.attempt",
            "attributes": {name: value for name, value in attributes.items() if value is not None},
        }


def _parts(ports: Ports, cost: Cost) -> Iterator[Part]:
    agent = str(cost.began.get("agent") or "")
    calls = [call for call in ports.records.calls(cost.job, cost.number) if not call.refused]
    if not calls:
        named = cost.ended.get("models") or [cost.began.get("model")]
        model = ", ".join(str(each) for each in named if each) or NOT_KNOWN
        provider = _PROVIDERS.get(agent, "")
        yield Part(cost=cost, model=model, provider=provider, usage=cost.usage, usd=cost.usd, calls=cost.calls)
        return
    models = dict.fromkeys(call.model for call in calls)
    for model in models:
        own = [call for call in calls if call.model == model]
        yield Part(
            cost=cost,
            model=model or NOT_KNOWN,
            provider=own[0].upstream,
            usage=total(call.usage for call in own),
            usd=cost.usd
            if len(models) == 1
            else dollars_of(ports, own),  # what is on the record, as it was priced then
            calls=len(own),
        )


def _name(part: Part, by: By) -> str:
    match by:
        case "class":
            return part.cost.class_name
        case "agent":
            return str(part.cost.began.get("agent") or NOT_KNOWN)
        case "phase":
            return str(part.cost.began.get("phase") or NOT_KNOWN)
        case "model":
            return part.model


def _row(name: str, parts: Iterable[Part]) -> Row:
    parts = tuple(parts)
    attempts = {(part.cost.job, part.cost.number) for part in parts}
    unpriced = {(part.cost.job, part.cost.number) for part in parts if part.usd is None}
    return Row(
        name=name,
        attempts=len(attempts),
        calls=sum(part.calls for part in parts),
        usage=total(part.usage for part in parts),
        usd=sum(part.usd for part in parts if part.usd is not None),
        unpriced=len(unpriced),
        landed=len({part.cost.job for part in parts if part.cost.landed}),
        unsettled=len({(part.cost.job, part.cost.number) for part in parts if part.cost.unsettled}),
    )
