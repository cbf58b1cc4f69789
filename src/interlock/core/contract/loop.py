"""A card's loop as a value: rounds of work around one deterministic gate, with limits, a skip rule and who is asked; running it is app's.

The gate decides, never the agent's word (seed 004; product D10).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopGate:
    """``reproduce``: the command must fail on the base within ``within`` seeds, then pass ``clean`` times on the work.

    ``benchmark``: the command, named ``name``, is run ``runs`` times after ``warm_up`` runs that do not count; the
    95th percentile of its seconds must be at most ``p95``, and the file ``same_output`` (without one: all that it
    prints) must be what it is on the base.  The command reads its seed from ``INTERLOCK_SEED``.  ``timeout`` is the
    seconds of one run.
    """

    kind: Literal["reproduce", "benchmark"]
    run: str
    name: str = ""
    within: int = 20
    clean: int = 10
    p95: float | None = None
    runs: int = 20
    warm_up: int = 1
    same_output: str | None = None
    timeout: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """``rounds`` of agent and gate at most, within ``wall`` seconds; ``skip`` is a command that ends with 0 when there is
    nothing to do; ``escalate`` is who is asked at the end (None: the integration owner).
    """

    gate: LoopGate
    rounds: int = 3
    wall: float | None = None
    skip: str | None = None
    escalate: str | None = None


def from_json(item: Mapping[str, Any] | None) -> Loop | None:
    """The loop as a card's JSON on the record has it; None for a card without one."""
    return Loop(**{**item, "gate": LoopGate(**item["gate"])}) if item else None
