"""What the calls of one gateway share, and the line that each of them leaves; no text in it comes from a body or holds a key."""

from __future__ import annotations

import time
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from interlock.core.agent.gateway import ModelGateway, Reached
from interlock.core.agent.usage import UNKNOWN, Usage
from interlock.host.models.body import Pool
from interlock.host.models.budget import Budget
from interlock.host.models.upstream import Vendor
from interlock.host.network.record import Record

MOST_FREE: Final = 200
"""Lines of calls that cost nothing; more of them are only counted, so that they push no paid one off the record."""

_MOST_TEXT: Final = 300


class Lines:
    """The record of one gateway's calls."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._free = 0

    def write(self, told: Told) -> None:
        """Put a call down; a full disk must not cut the agent off."""
        if not told.usage.total:
            self._free += 1
            if self._free > MOST_FREE:
                return
        with suppress(OSError):
            self._record.write(**told.as_json())

    def close(self) -> None:
        """Say how many were left out."""
        if self._free > MOST_FREE:
            with suppress(OSError):
                self._record.write(left_out=self._free - MOST_FREE, metered=False, refused="")
        self._record.close()


@dataclass(slots=True, kw_only=True)
class Desk:
    """One gateway at work; ``refused`` is the budget that the first call was refused for, or empty; ``reached`` the same as data.

    ``folder`` is where large requests are held, ``pool`` how much they are together; ``reading`` reads them beside the
    loop, one at a time.
    """

    gateway: ModelGateway
    vendors: dict[str, Vendor]
    budget: Budget
    lines: Lines
    folder: Path
    reading: Executor
    pool: Pool = field(default_factory=Pool)
    refused: str = ""
    reached: Reached | None = None


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

    def as_json(self) -> dict[str, Any]:
        """The call's line."""
        return {
            "at": round(self.at, 3),
            "upstream": self.upstream,
            "path": self.path,
            "asked": self.asked,
            "model": self.model or self.asked,
            "usage": self.usage.as_json(),
            "usd": self.usd,
            "estimated": self.estimated,
            "metered": self.metered,
            "seconds": self.elapsed(),
            "first_byte": self.first_byte,
            "status": self.status,
            "refused": self.refused[:_MOST_TEXT],
            "cut": self.cut,
        }
