"""What the calls of one gateway share, and the line that each of them leaves; no text in it comes from a body or holds a key."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from interlock.core.agent.gateway import ModelGateway
from interlock.core.agent.usage import UNKNOWN, Usage
from interlock.host.models.budget import Budget
from interlock.host.models.upstream import Vendor
from interlock.host.network.record import Record


@dataclass(slots=True, kw_only=True)
class Desk:
    """One gateway at work; ``refused`` is the budget that a call was refused for, or empty.

    ``folder`` is where large requests are held.
    """

    gateway: ModelGateway
    vendors: dict[str, Vendor]
    budget: Budget
    record: Record
    folder: Path
    refused: str = ""


@dataclass(slots=True, kw_only=True)
class Told:
    """One call: ``cut`` says who ended it too early (``client``, ``upstream``, or ``gateway`` when the run ended).

    ``usage`` is what was counted, by the vendor's word, or by its size when that never came (``estimated``);
    ``metered`` tells that it asked for work of a model at all.
    """

    upstream: str = ""
    path: str = ""
    asked: str = ""
    model: str = ""
    status: int = 0
    refused: str = ""
    cut: str = ""
    first_byte: float | None = None
    usage: Usage = UNKNOWN
    usd: float | None = None
    estimated: bool = False
    metered: bool = False
    at: float = field(default_factory=time.time)
    began: float = field(default_factory=time.monotonic)

    def elapsed(self) -> float:
        """Seconds since the request's head was there."""
        return round(time.monotonic() - self.began, 4)

    def write(self, record: Record) -> None:
        """Put it on the record; a full disk must not cut the agent off."""
        with suppress(OSError):
            record.write(
                at=round(self.at, 3),
                upstream=self.upstream,
                path=self.path,
                asked=self.asked,
                model=self.model or self.asked,
                usage=self.usage.as_json(),
                usd=self.usd,
                estimated=self.estimated,
                metered=self.metered,
                seconds=self.elapsed(),
                first_byte=self.first_byte,
                status=self.status,
                refused=self.refused,
                cut=self.cut,
            )
