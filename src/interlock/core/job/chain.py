"""The chain that makes one whole of a history: each event's digest covers all before it; writing and reading rows is the store's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from interlock.core.job.events import Event

FIRST: Final = ""
"""What stands for the digest before the first event."""

KEYS: Final = "keys"
"""The subject of the events that say with which keys evidence is signed: ``key.added``, by the key's id."""

FILED: Final = "evidence:"
"""How the subjects of the events begin that bind a row of evidence into the chain; then what the evidence is of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """An event with the digest that was written with it; None where there is none."""

    event: Event
    digest: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """A row of evidence as it stands: its columns, its document, and its signed envelope (None: it was never signed)."""

    number: int
    at: float
    subject: str
    commit: str
    tree: str
    doc: Mapping[str, Any]
    envelope: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """A place where a chain does not hold: the event's number, and whether events before it are gone or it was changed."""

    seq: int
    kind: Literal["changed", "gone"]
    what: str


def canonical(value: Any) -> bytes:
    """A value of plain JSON as the one sequence of bytes that digests and signatures are made of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def sha256(data: bytes) -> str:
    """The SHA-256 of bytes, as hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def digest_of(previous: str, event: Event) -> str:
    """The digest of an event whose predecessor has the digest ``previous``: over that and the whole row."""
    row = {
        "seq": event.seq,
        "at": float(event.at),
        "subject": event.subject,
        "attempt": event.attempt,
        "step": event.step,
        "kind": event.kind,
        "actor": event.actor,
        "data": event.data,
    }
    return sha256(previous.encode("ascii") + canonical(row))


def breaks(links: Iterable[Linked], previous: str | None = FIRST, seq: int = 0) -> tuple[Break, ...]:
    """Where the chain does not hold; one change is one break, or two where the changed event was digested anew.

    ``previous`` and ``seq`` are the digest and number of the event before the first one.
    """
    found = []
    for link in links:
        event = link.event
        if link.digest is None or link.digest != _digest(previous or FIRST, event):
            found.append(_break(seq, link))
        previous, seq = link.digest, event.seq
    return tuple(found)


def _digest(previous: str, event: Event) -> str | None:
    """The digest that an event should have; None where a column holds what was never written there."""
    try:
        return digest_of(previous, event)
    except (TypeError, ValueError, RecursionError):
        return None


def signed_json(payload: bytes) -> Any:
    """What was signed, as a value.  Raises ValueError where it is not the one text that such a value is signed as: a key twice, or other words."""
    value = json.loads(payload)
    if canonical(value) != payload:
        raise ValueError("what is signed is written in another way")
    return value


def _break(before: int, link: Linked) -> Break:
    seq = link.event.seq
    if seq > before + 1:
        missing = f"Event {seq - 1} is" if seq == before + 2 else f"Events {before + 1} to {seq - 1} are"
        return Break(seq=seq, kind="gone", what=f"{missing} gone, or event {seq} is not what was written.")
    return Break(seq=seq, kind="changed", what=f"Event {seq}, or the one before it, is not what was written.")
