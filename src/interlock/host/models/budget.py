"""What an attempt may still spend, looked at before each call, and the ledger that outlives the runner; prices come with the order.

What a call costs is known when it is over.  So something is set aside for each that runs, and another waits while that
might use up what is left; with none under way one may always start, until the limit is reached.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from interlock.core.agent.gateway import Ceiling, ModelGateway, Reached
from interlock.core.agent.naming import price_of
from interlock.core.agent.usage import Usage, dollars, whole
from interlock.host.models.estimate import Need
from interlock.host.text import plain

_MOST_LEDGER: Final = 4096
_MOST_NAME: Final = 100


@dataclass(slots=True)
class Sum:
    """Totals of one ledger: tokens, dollars, calls, and how many of them had no price."""

    tokens: int = 0
    usd: float = 0.0
    calls: int = 0
    unpriced: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Why a call is refused: ``limit`` names the budget when it is one (then the attempt ends), ``text`` tells it all.

    ``reached`` says as data which one it is.
    """

    text: str
    limit: str = ""
    reached: Reached | None = None


class Budget:
    """The ceilings and the ledger of one gateway."""

    def __init__(self, gateway: ModelGateway) -> None:
        self._gateway = gateway
        self._folder = Path(gateway.ledgers)
        self._path = self._folder / gateway.ledger
        self._seen: dict[Path, tuple[int, int, Sum]] = {}
        self._held: dict[Entry, tuple[int, float]] = {}
        self._moved = asyncio.Event()
        self._unsaved = False
        self.largest = 0
        self.own = _read(self._path) or Sum()

    @property
    def limited(self) -> bool:
        return bool(self._gateway.ceilings)

    async def enter(self, model: str, need: Need) -> Entry | Spent:
        """A place for one call, waited for while the calls under way might use up what is left; or why there is none."""
        in_dollars = any(each.usd is not None for each in self._gateway.ceilings)
        aside = need.input + need.output, (self.price(model, need.usage) if in_dollars else None) or 0.0
        while (no := self.refuse(model)) is None:
            if not self._held or all(self._fits(each, *aside) for each in self._gateway.ceilings):
                entry = Entry(self)
                self._held[entry] = aside
                return entry
            self._moved.clear()
            await self._moved.wait()
        return no

    def leave(self, entry: Entry) -> None:
        """What was set aside for a call is free again."""
        if self._held.pop(entry, None) is not None:
            self._moved.set()

    def refuse(self, model: str) -> Spent | None:
        """Why a call to a model may not be made now, or None."""
        if self._unsaved and not self._save():
            return Spent(text="What was spent cannot be written down; make room on the disk.")
        gateway = self._gateway
        for ceiling in gateway.ceilings:
            if ceiling.usd is not None and price_of(gateway.prices, model) is None:
                return _unpriced(ceiling, model)
        return next((found for each in gateway.ceilings if (found := self._over(each)) is not None), None)

    def price(self, model: str, usage: Usage, *, other: str = "") -> float | None:
        """Dollars of one call: by the model that answered, else by the one that was asked for; None when unknown."""
        price = price_of(self._gateway.prices, model) or price_of(self._gateway.prices, other)
        return None if price is None else price.of(usage)

    def change(self, tokens: int, usd: float, calls: int, unpriced: int) -> None:
        """Add to the ledger, before anything else is said about it.

        Without room on the disk it is kept in memory, and no further call is let through until it is written.
        """
        own = self.own
        own.tokens += tokens
        own.usd = round(own.usd + usd, 9)
        own.calls += calls
        own.unpriced += unpriced
        self._unsaved = not self._save()

    def _save(self) -> bool:
        """Write the ledger; the file is the old or the new one at any moment."""
        own = self.own
        shape = {"tokens": own.tokens, "usd": own.usd, "calls": own.calls, "unpriced": own.unpriced}
        temporary = self._path.with_name(f".{self._path.name}.new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(shape))
            temporary.replace(self._path)
        except OSError:
            return False
        return True

    def _fits(self, ceiling: Ceiling, tokens: int, usd: float) -> bool:
        """Whether a call has room beside those under way."""
        spent_tokens, spent_usd = self._spent(ceiling)
        tokens += spent_tokens + sum(held[0] for held in self._held.values())
        usd += spent_usd + sum(held[1] for held in self._held.values())
        return (ceiling.tokens is None or tokens <= ceiling.tokens) and (ceiling.usd is None or usd <= ceiling.usd)

    def _spent(self, ceiling: Ceiling) -> tuple[int, float]:
        """Tokens and dollars under a limit until now."""
        counted = (self.own, *self._others(ceiling))
        tokens = ceiling.spent_tokens + sum(each.tokens for each in counted)
        return tokens, ceiling.spent_usd + sum(each.usd for each in counted)

    def _over(self, ceiling: Ceiling) -> Spent | None:
        tokens, usd = self._spent(ceiling)
        if ceiling.tokens is not None and tokens >= ceiling.tokens:
            return _spent(ceiling, f"{tokens} tokens of {ceiling.tokens}")
        if ceiling.usd is not None and usd >= ceiling.usd:
            return _spent(ceiling, f"usd {usd:.4f} of {ceiling.usd:g}")
        return None

    def _others(self, ceiling: Ceiling) -> list[Sum]:
        found: dict[Path, Sum] = {}
        for pattern in ceiling.files:
            for path in self._folder.glob(pattern):
                if path != self._path and (known := self._ledger(path)) is not None:
                    found[path] = known
        return list(found.values())

    def _ledger(self, path: Path) -> Sum | None:
        """A ledger of another attempt, read again when it changed."""
        with suppress(OSError):
            facts = path.stat()
            known = self._seen.get(path)
            if known is None or known[:2] != (facts.st_mtime_ns, facts.st_ino):
                known = (facts.st_mtime_ns, facts.st_ino, _read(path) or Sum())
                self._seen[path] = known
            return known[2]
        return None


class Entry:
    """One call in the ledger; written again when more is known of it, it still counts once."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._written: tuple[int, float, int, int] = (0, 0.0, 0, 0)

    def write(self, usage: Usage, usd: float | None) -> None:
        """What the call cost, as far as it is known; ``usd`` None when it has no price.  Nothing is set aside for it then."""
        self._budget.leave(self)
        now = (usage.total or 0, usd or 0.0, 1, int(usd is None))
        if now != self._written:
            old, self._written = self._written, now
            self._budget.change(now[0] - old[0], now[1] - old[1], now[2] - old[2], now[3] - old[3])


def _spent(ceiling: Ceiling, figures: str) -> Spent:
    where = f" for the {ceiling.scope}" if ceiling.scope not in ceiling.text else ""
    text = f"The budget of {ceiling.text}{where} is spent: {figures}."
    return Spent(text=f"{text} A person can raise it; do not try again.", limit=text, reached=_reached(ceiling))


def _reached(ceiling: Ceiling) -> Reached:
    return Reached(scope=ceiling.scope, unit="tokens" if ceiling.tokens is not None else "usd")


def _unpriced(ceiling: Ceiling, model: str) -> Spent:
    model = " ".join(plain(model[:_MOST_NAME]).split())
    text = f"The budget of {ceiling.text} cannot be kept: the model {model or '(none named)'} has no price."
    fix = f"Write one into interlock.yaml (prices: {{{model or 'MODEL'}: {{input: N, output: N}}}}), or install interlock[prices]."
    return Spent(text=f"{text} {fix}", limit=f"{text} {fix}", reached=replace(_reached(ceiling), priced=False))


def _read(path: Path) -> Sum | None:
    """The totals of a ledger; None when there is none, or it is none of ours."""
    try:
        with path.open("rb") as file:
            said = json.loads(file.read(_MOST_LEDGER))
        tokens, usd = whole(said["tokens"]), dollars(said["usd"])
        return None if tokens is None or usd is None else Sum(tokens, usd, int(said["calls"]), int(said["unpriced"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
