"""What one call costs, from its first byte to its line on the record and its place in the ledger; passing it on is others' work."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from interlock.core.agent.dialect import Dialect
from interlock.core.agent.usage import UNKNOWN, Usage
from interlock.host.models.budget import Entry
from interlock.host.models.call_record import Desk, Told
from interlock.host.models.estimate import Need, estimated
from interlock.host.models.meter import Meter

NOTHING: Final = Usage(uncached_input=0, output=0)
LEFT: Final = 499
"""On the record: the call was over before its vendor answered."""


@dataclass(slots=True, kw_only=True)
class Counting:
    """One call of ``size`` bytes; ``entry`` is its place in the ledger, where it costs something, ``need`` what was set aside.

    ``sent`` tells that its vendor may have begun, ``left`` that its client has gone, ``received`` how many bytes of the
    answer came, ``written`` that it is on the record.
    """

    desk: Desk
    told: Told
    entry: Entry | None
    need: Need
    size: int
    sent: bool = False
    left: bool = False
    written: bool = False
    received: int = 0
    _meter: Meter | None = None

    @property
    def costs(self) -> bool:
        return self.entry is not None

    def begin(self, dialect: Dialect, coding: str) -> None:
        """A good answer begins."""
        if self.entry is not None:
            self._meter = Meter(dialect, coding=coding)

    def take(self, data: bytes) -> None:
        """A part of the answer; the last word is in the ledger before the client hears it, and can ask for more."""
        if self.told.first_byte is None:
            self.told.first_byte = self.told.elapsed()
        self.received += len(data)
        if self._meter is not None:
            before = self._meter.usage
            self._meter.feed(data)
            if self._meter.whole and self._meter.usage != before:
                self._settle()

    def complete(self) -> None:
        """All of the answer is here; written down before the client hears that."""
        if self.written:
            return
        if self._meter is not None:
            self._meter.end()
        self.told.cut = "client" if self.left else ""
        if self.left and self._meter is not None and not self._meter.whole:
            return  # nobody said what it cost: as one that was never heard to its end
        self._settle()
        self._write()

    def end(self) -> None:
        """Nothing comes any more; a call that is not on the record yet was cut."""
        if self.written:
            return
        self._settle()
        if not self.told.status and (self.left or self.told.cut != "upstream"):
            self.told.status = LEFT
        if self.told.status:
            self._write()

    def _write(self) -> None:
        self.written = True
        self.desk.lines.write(self.told)

    def _settle(self) -> None:
        """Put what the call cost, as far as it is known now, into the ledger; doing it again corrects it."""
        if self.entry is None:
            return
        told = self.told
        try:
            self._count()
        except Exception:  # noqa: BLE001 - whatever a vendor says, its call is counted
            told.estimated, told.usage = True, estimated(UNKNOWN, self.size, self.received, self.need)
            told.usd = None
            with suppress(Exception):
                told.usd = self._price(told.usage)
        self.entry.write(told.usage, told.usd)

    def _count(self) -> None:
        meter, told = self._meter, self.told
        told.usage, told.estimated = NOTHING, False  # an error of the vendor costs nothing
        if meter is not None:
            told.model = meter.model or told.model
            told.estimated = not meter.whole
            told.usage = meter.usage
            if told.estimated:
                told.usage = estimated(meter.usage, self.size, meter.bytes, self._floor())
            else:
                self.desk.budget.largest = max(self.desk.budget.largest, _input(meter.usage))
        elif not told.status and self.sent and told.cut != "upstream":
            told.estimated, told.usage = True, estimated(UNKNOWN, self.size, 0, self._floor())
        told.usd = 0.0 if told.usage is NOTHING else self._price(told.usage)

    def _floor(self) -> Need:
        """What a call costs at least that an agent has cut: it may hide what was thought, or refer to more than it sent."""
        if self.told.cut in ("client", "gateway"):
            return Need(self.desk.budget.largest, self.need.output)
        return Need()

    def _price(self, usage: Usage) -> float | None:
        """Dollars; None where they are not known."""
        return self.desk.budget.price(self.told.model, usage, other=self.told.asked)


def _input(usage: Usage) -> int:
    return sum(each or 0 for each in (usage.uncached_input, usage.cache_read, usage.cache_write))
