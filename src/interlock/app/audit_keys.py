"""The keys that signed a history, as lines for the policy: who made them is the history's word, and which ones count a person's."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from interlock.core.job.chain import KEYS
from interlock.core.job.trust import signer_of
from interlock.ports.bundle import Ports

_ID: Final = re.compile(r"[0-9a-f]{64}")
_ODD: Final = re.compile(r"[^\w.@-]+", re.ASCII)
_NAME_MOST: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKey:
    """A key by its id: the machine that it is said to be of, since when (None: not in the history), how many rows it signed.

    ``listed``: the policy names it; ``own``: it is this user's.
    """

    id: str
    runner: str
    since: float | None
    rows: int
    listed: bool
    own: bool

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "runner": self.runner,
            "since": self.since,
            "rows": self.rows,
            "listed": self.listed,
            "own": self.own,
        }


def known_keys(ports: Ports) -> tuple[KnownKey, ...]:
    """Every key that the history, the policy or this machine has, in this order.

    This user's own is made when there is none yet.  Raises Refused (secret), BrokenRules.
    """
    listed, own = ports.signer.listed(), ports.signer.key_id
    told = {event.step: event for event in ports.store.events(KEYS)}
    rows = Counter(signer_of(row.envelope) for row in ports.store.filed() if row.envelope)
    return tuple(
        KnownKey(
            id=key,
            runner=plain_name(
                str(told[key].data.get("runner", "")) if key in told else ports.signer.runner * (key == own)
            ),
            since=told[key].at if key in told else None,
            rows=rows[key],
            listed=key in listed,
            own=key == own,
        )
        for key in dict.fromkeys((*told, *listed, own))
        if _ID.fullmatch(key)
    )


def policy_lines(keys: tuple[KnownKey, ...]) -> list[str]:
    """The lines of interlock.yaml that let these keys sign, and no other."""
    return ["evidence:", "  keys:", *(f"    - {key.id}  # {key.runner or 'unknown'}" for key in keys)]


def plain_name(name: str) -> str:
    """A name that can stand in a comment: who can write to the history chose it."""
    return _ODD.sub("-", name)[:_NAME_MOST]
