"""What an attempt may still spend, looked at before each call, and the ledger that outlives the runner; prices come with the order.

Calls that run at the same time are each let go while there is something left, so a limit is overshot by at most
the calls in flight: what a call costs is known when it is over.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from interlock.core.agent.gateway import Ceiling, ModelGateway
from interlock.core.agent.naming import is_among, price_of
from interlock.core.agent.usage import Usage

BYTES_PER_TOKEN: Final = 3
"""For a call whose usage never came; tokens of text and code are 3.5 to 4.5 bytes, so this is more than it was."""

_MOST_LEDGER: Final = 4096


@dataclass(slots=True)
class Sum:
    """Totals of one ledger: tokens, dollars, calls, and how many of them had no price."""

    tokens: int = 0
    usd: float = 0.0
    calls: int = 0
    unpriced: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Why a call is refused: ``limit`` names the budget when it is one (then the attempt ends), ``text`` tells it all."""

    text: str
    limit: str = ""


class Budget:
    """The ceilings and the ledger of one gateway."""

    def __init__(self, gateway: ModelGateway) -> None:
        self._gateway = gateway
        self._folder = Path(gateway.ledgers)
        self._path = self._folder / gateway.ledger
        self._seen: dict[Path, tuple[int, int, Sum]] = {}
        self.own = _read(self._path) or Sum()

    def refuse(self, model: str) -> Spent | None:
        """Why a call to a model may not be made now, or None."""
        gateway = self._gateway
        if gateway.models and not is_among(model, gateway.models):
            return Spent(text=f"The model {model or '(none named)'} is not among {', '.join(gateway.models)}.")
        for ceiling in gateway.ceilings:
            if ceiling.usd is not None and price_of(gateway.prices, model) is None:
                return _unpriced(ceiling, model)
        return next((found for each in gateway.ceilings if (found := self._over(each)) is not None), None)

    def price(self, model: str, usage: Usage, *, other: str = "") -> float | None:
        """Dollars of one call: by the model that answered, else by the one that was asked for; None when unknown."""
        price = price_of(self._gateway.prices, model) or price_of(self._gateway.prices, other)
        return None if price is None else price.of(usage)

    def entry(self) -> Entry:
        """A place for one call that may be made."""
        return Entry(self)

    def change(self, tokens: int, usd: float, calls: int, unpriced: int) -> None:
        """Add to the ledger, before anything else is said about it; the file is the old or the new one at any moment."""
        own = self.own
        own.tokens += tokens
        own.usd = round(own.usd + usd, 9)
        own.calls += calls
        own.unpriced += unpriced
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_name(f".{self._path.name}.new")
        shape = {"tokens": own.tokens, "usd": own.usd, "calls": own.calls, "unpriced": own.unpriced}
        temporary.write_text(json.dumps(shape))
        temporary.replace(self._path)

    def _over(self, ceiling: Ceiling) -> Spent | None:
        tokens, usd = ceiling.spent_tokens, ceiling.spent_usd
        for each in (self.own, *self._others(ceiling)):
            tokens, usd = tokens + each.tokens, usd + each.usd
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
        """What the call cost, as far as it is known; ``usd`` None when it has no price."""
        now = (usage.total or 0, usd or 0.0, 1, int(usd is None))
        if now != self._written:
            old, self._written = self._written, now
            self._budget.change(now[0] - old[0], now[1] - old[1], now[2] - old[2], now[3] - old[3])


def estimated(usage: Usage, sent: int, received: int) -> Usage:
    """What a call is taken to have cost when its vendor's last word never came: more than it was, from its bytes.

    So a client that cuts its streams does not run for nothing.
    """
    put_in = usage if usage.uncached_input is not None else Usage(uncached_input=_tokens(sent))
    return Usage(
        uncached_input=put_in.uncached_input,
        cache_read=put_in.cache_read,
        cache_write=put_in.cache_write,
        output=max(usage.output or 0, _tokens(received)),
    )


def _tokens(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)


def _spent(ceiling: Ceiling, figures: str) -> Spent:
    where = f" for the {ceiling.scope}" if ceiling.scope not in ceiling.text else ""
    text = f"The budget of {ceiling.text}{where} is spent: {figures}."
    return Spent(text=f"{text} A person can raise it; do not try again.", limit=text)


def _unpriced(ceiling: Ceiling, model: str) -> Spent:
    text = f"The budget of {ceiling.text} cannot be kept: the model {model or '(none named)'} has no price."
    fix = f"Write one into interlock.yaml (prices: {{{model or 'MODEL'}: {{input: N, output: N}}}}), or install interlock[prices]."
    return Spent(text=f"{text} {fix}", limit=f"{text} {fix}")


def _read(path: Path) -> Sum | None:
    """The totals of a ledger; None when there is none, or it is none of ours."""
    try:
        with path.open("rb") as file:
            said = json.loads(file.read(_MOST_LEDGER))
        return Sum(int(said["tokens"]), float(said["usd"]), int(said["calls"]), int(said["unpriced"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
