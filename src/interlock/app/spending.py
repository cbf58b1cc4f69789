"""Budgets and the model gateway of an attempt: what was spent, what is left, and what may be spent; keeping it live is host.models'.

A day is one of UTC, and an attempt counts on the day on which it started.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

from interlock.app.base import View, last_view
from interlock.app.ceilings import Scope, limits_of
from interlock.app.costs import Cost, Spent, costs_of, spent, sum_of
from interlock.core.agent.gateway import Ceiling, ModelGateway, Upstream
from interlock.core.agent.naming import price_of
from interlock.core.agent.usage import UNKNOWN, Price
from interlock.core.contract.agents import Models
from interlock.core.contract.card import AgentChoice, Card
from interlock.core.job.lifecycle import Job, State
from interlock.core.problems import Refusal, Refused
from interlock.ports import Ports

__all__ = ["Spent", "gateway_of", "money_left", "spent"]

_DAY: Final = 86_400.0
_SOLD: Final = {"api.anthropic.com": ("claude",), "api.openai.com": ("gpt", "o1", "o3", "o4", "codex", "computer")}
"""How the models of two vendors are called; of any other, the whole table is taken along."""


def money_left(ports: Ports, job: Job, card: Card) -> float | None:
    """Dollars that the job's running attempt, or its next one, may still spend by every limit on it; None without one."""
    number = job.attempt if job.state is State.RUNNING else job.attempt + 1
    view, own = last_view(ports), _ledger(ports, job, number)
    left = [
        ceiling.usd - _totals(ports, ceiling, own)[1]
        for ceiling in _ceilings(ports, job, number, card, view)
        if ceiling.usd is not None
    ]
    return max(0.0, round(min(left), 6)) if left else None


def gateway_of(ports: Ports, job: Job, number: int, card: Card, choice: AgentChoice, view: View) -> ModelGateway | None:
    """The gateway of an attempt, with keys; None where the policy has no models that its agent speaks to.

    Raises Refused: budget, when a limit is spent or nothing could keep it; secret and approval for its keys; ports.
    """
    spoken = set(ports.agents.dialects(choice.use))
    vendors = [each for each in view.policy.models if spoken & set(each.dialects)]
    ceilings = _ceilings(ports, job, number, card, view)
    own = _ledger(ports, job, number)
    for ceiling in ceilings:
        _refuse_spent(ports, job, ceiling, own)
    if not vendors:
        _refuse_unkept(ports, job, card, choice)
        return None
    dollars = any(each.usd is not None for each in ceilings) or any(c.per_day.usd for c in view.policy.classes)
    return ModelGateway(
        upstreams=tuple(_upstream(ports, job, view, each) for each in vendors),
        token="".join(ports.new_id() for _ in range(4)),
        listen=_listen(job),
        record=str(ports.records.attempt(job.id, number)),
        ledgers=str(ports.records.ledgers()),
        ledger=own,
        prices={**(_prices(ports, vendors, choice) if dollars else {}), **_own_prices(view)},
        ceilings=ceilings,
    )


def _ceilings(ports: Ports, job: Job, number: int, card: Card, view: View) -> tuple[Ceiling, ...]:
    """Every limit on an attempt, with what was spent under it and stands in no ledger of this machine."""
    limits = limits_of(job, card, view.policy)
    before = {scope: _before(ports, job, number, scope) for scope in dict.fromkeys(each.scope for each in limits)}
    found = []
    for limit in limits:
        spent_before, files = before[limit.scope]
        found.append(
            Ceiling(
                scope=limit.scope,
                text=limit.text,
                tokens=limit.tokens,
                usd=limit.usd,
                spent_tokens=spent_before.usage.total or 0,
                spent_usd=spent_before.known,
                files=files,
            )
        )
    return tuple(found)


def _before(ports: Ports, job: Job, number: int, scope: Scope) -> tuple[Spent, tuple[str, ...]]:
    """What counts in a scope and is in no ledger, and the patterns of the ledgers that count."""
    if scope == "attempt":
        return Spent(), ()
    if scope == "job":
        return sum_of(costs_of(ports, job, leave_out=number)), ()
    day, name = _day(ports.clock.now()), job.class_name if scope == "class" else None
    return _elsewhere(ports, day, name), (f"{day}/{name or '*'}/*.json",)


def _elsewhere(ports: Ports, day: str, class_name: str | None) -> Spent:
    """What attempts of a day cost whose ledger is not here: run on another machine, or without a gateway."""
    begin = datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp()
    ledgers = ports.records.ledgers()
    found: list[Cost] = []
    for job in ports.store.jobs(open_only=False):
        if class_name not in (None, job.class_name) or (job.since < begin and job.state is not State.RUNNING):
            continue
        found += [
            cost
            for cost in costs_of(ports, job)
            if begin <= cost.started < begin + _DAY and not (ledgers / _name(day, job, cost.number)).exists()
        ]
    return sum_of(found)


def _totals(ports: Ports, ceiling: Ceiling, own: str) -> tuple[int, float]:
    """Tokens and dollars spent under a limit until now, with the ledgers that count."""
    folder = ports.records.ledgers()
    paths = {folder / own, *(path for pattern in ceiling.files for path in folder.glob(pattern))}
    tokens, usd = ceiling.spent_tokens, ceiling.spent_usd
    for path in paths:
        with suppress(OSError, ValueError, KeyError, TypeError):
            shape = json.loads(path.read_bytes())
            more = int(shape["tokens"]), float(shape["usd"])
            tokens, usd = tokens + more[0], usd + more[1]
    return tokens, usd


def _refuse_spent(ports: Ports, job: Job, ceiling: Ceiling, own: str) -> None:
    tokens, usd = _totals(ports, ceiling, own)
    over_tokens = ceiling.tokens is not None and tokens >= ceiling.tokens
    if not over_tokens and (ceiling.usd is None or usd < ceiling.usd):
        return
    figures = f"{tokens} tokens" if over_tokens else f"usd {usd:.4f}"
    change = (
        f"interlock decide {job.slug} --raise {'tokens' if over_tokens else 'usd'}=N, narrow the card, or abandon it."
        if ceiling.scope in ("attempt", "job")
        else "Wait for the next day (UTC), or raise per_day in interlock.yaml."
    )
    raise Refused(
        Refusal(
            rule="budget",
            what=f"The budget of {ceiling.text} is spent: {figures}.",
            why="No model is called any more under a limit that is used up.",
            would_change=change,
            number=int(tokens if over_tokens else usd),
        )
    )


def _refuse_unkept(ports: Ports, job: Job, card: Card, choice: AgentChoice) -> None:
    """Refuse a card whose own limit nothing would keep: no gateway, and no client that keeps dollars by itself."""
    budget = card.budget
    tokens = budget.tokens is not None or budget.attempt_tokens is not None
    dollars = budget.usd is not None or budget.attempt_usd is not None
    if not tokens and (not dollars or ports.agents.capabilities(choice).own_budget):
        return
    kind = "tokens" if tokens else "dollars"
    spoken = ports.agents.dialects(choice.use)
    raise Refused(
        Refusal(
            rule="budget",
            what=f"{job.slug} has a budget in {kind} that nothing can keep: {choice.use} is not behind a gateway.",
            why="A limit that is not enforced while the agent runs is none.",
            would_change=(
                f"Name its vendor under models in interlock.yaml ({', '.join(spoken)}), or take the budget off and limit wall."
                if spoken
                else "Use an agent that speaks to a gateway, or take the budget off and limit wall."
            ),
        )
    )


def _upstream(ports: Ports, job: Job, view: View, vendor: Models) -> Upstream:
    return Upstream(
        name=vendor.name,
        dialects=vendor.dialects,
        url=vendor.url,
        key=_key(ports, job, view, vendor) if vendor.key else "",
        address=vendor.address,
    )


def _key(ports: Ports, job: Job, view: View, vendor: Models) -> str:
    """The vendor's key.  Raises Refused (secret, approval)."""
    secret = view.policy.secret(vendor.key or "")
    if secret is None:
        raise Refused(
            Refusal(
                rule="secret",
                what=f"The key {vendor.key} of the models {vendor.name} is not among the secrets.",
                why="A key comes from the one source that the policy approves.",
                would_change=f"Write secrets: {{{vendor.key}: {{variable: {vendor.key}}}}} in interlock.yaml.",
            )
        )
    if secret.approval and secret.approval not in job.approved:
        raise Refused(
            Refusal(
                rule="approval",
                what=f"The key {secret.name} of the models {vendor.name} waits for the approval {secret.approval}.",
                why="The policy uses it only when a person has approved that for the job.",
                would_change=f"interlock decide {job.slug} --approve {secret.approval}.",
                holders=(secret.approval,),
            )
        )
    return ports.secrets.read(secret)


def _listen(job: Job) -> str:
    """A socket for a sealed room; else the last port of the job's own block that no family uses."""
    if job.level == "sealed":
        return "unix"
    used = set(job.ports.values())
    free = [port for port in range(min(used, default=0) + 9, min(used, default=0), -1) if port not in used]
    if not used or not free:
        raise Refused(
            Refusal(
                rule="ports",
                what=f"{job.slug} has no port for its model gateway.",
                why="At level worktree it listens on a port of the job's own block.",
                would_change="Leave one port of a block free under ports in interlock.yaml, or use level sealed.",
            )
        )
    return f"tcp:127.0.0.1:{free[0]}"


def _prices(ports: Ports, vendors: list[Models], choice: AgentChoice) -> Mapping[str, Price]:
    """The prices that the vendors' models may need: the order of a run is held in memory for as long as it lasts."""
    table = ports.prices.table()
    sold = [_SOLD.get(urlsplit(each.url).hostname or "") for each in vendors]
    kept = {
        name: price
        for name, price in table.items()
        if any(families is None or name.startswith(families) for families in sold)
        and ("/" not in name or name.rpartition("/")[2] not in table)
    }
    if choice.model and price_of(kept, choice.model) is None and (price := _price_by(ports, choice.model)) is not None:
        kept[choice.model] = price
    return kept


def _own_prices(view: View) -> Mapping[str, Price]:
    return {each.model: each.price for each in view.policy.prices}


def _price_by(ports: Ports, model: str) -> Price | None:
    """A flat price out of what single counts cost, for names that the table matches by rules of its own."""
    parts = ("uncached_input", "output", "cache_read", "cache_write")
    costs = [ports.prices.of(model, replace(UNKNOWN, **{part: 1000})) for part in parts]
    if costs[0] is None or costs[1] is None:
        return None
    numbers = [None if cost is None else cost * 1000 for cost in costs]
    return Price(input=numbers[0] or 0.0, output=numbers[1] or 0.0, cache_read=numbers[2], cache_write=numbers[3])


def _ledger(ports: Ports, job: Job, number: int) -> str:
    """Where the attempt's totals are: on the day on which it started, or starts now."""
    event = ports.store.event(job.id, number, "start")
    return _name(_day(event.at if event is not None else ports.clock.now()), job, number)


def _name(day: str, job: Job, number: int) -> str:
    return f"{day}/{job.class_name}/{job.id}-{number}.json"


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).date().isoformat()
