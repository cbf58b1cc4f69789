"""Caps as people look at them: one row a class, with who holds its slots; deciding is admission's, storing the store's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.core.gate.admission import effective_cap
from interlock.core.gate.request import Holder

Foreign = Sequence[tuple[str, str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One class as the store knows it.

    ``cap`` is the line in tasks/caps.txt as of the newest fetch (None: there is none); ``kind`` is empty for a
    class that the policy does not know.
    """

    name: str
    kind: str
    cap: int | None
    paused_by: str | None
    holders: tuple[Holder, ...] = ()

    @property
    def limit(self) -> int | None:
        """The number of slots that really are: at most one for serial and alone classes."""
        return effective_cap(self.cap, self.kind)

    @property
    def drained(self) -> bool:
        """True when the class is paused and nothing of it is in flight any more."""
        return self.paused_by is not None and not self.holders


def show(lanes: Iterable[Lane], ceiling: int | None, foreign: Foreign = ()) -> dict[str, Any]:
    """The shape of ``caps show --json``; agent branches that were started by other means count as holders.

    Takes ``foreign`` as (branch, class or None); one without a class counts against the ceiling alone.
    """
    rows = [_row(lane, foreign) for lane in lanes]
    used = sum(len(row["holders"]) for row in rows)
    listed = {row["name"] for row in rows}
    used += sum(1 for _, class_name in foreign if class_name not in listed)
    return {"ceiling": {"cap": ceiling, "used": used}, "classes": rows}


def _row(lane: Lane, foreign: Foreign) -> dict[str, Any]:
    holders: list[dict[str, Any]] = [
        {"slug": holder.slug, "job": holder.job, "slot": holder.slot, "state": holder.state, "since": holder.since}
        for holder in sorted(lane.holders, key=lambda holder: holder.slot)
    ]
    holders += [
        {"slug": branch, "job": None, "slot": None, "state": "foreign", "since": None}
        for branch, class_name in foreign
        if class_name == lane.name
    ]
    return {
        "name": lane.name,
        "kind": lane.kind,
        "cap": lane.limit,
        "used": len(holders),
        "paused": lane.paused_by is not None,
        "paused_by": lane.paused_by,
        "holders": holders,
    }
